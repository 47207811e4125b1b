//! Tests the judge: changes each correct solution in one place, and requires that the judge rejects
//! it.
//!
//! `learn/check/harmless.txt` lists the mutants that pass. For each mutant, the file gives the
//! reason why the mutant is as correct as its original, or why no test can distinguish the two. A
//! mutant that compiles to the same PTX does not count.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Result, bail};
use compiler::{Compiler, Kind};
use judge::{Kernel, Stage, TASKS};

use crate::{
    compile,
    ended::Ended,
    exercise::{Exercise, read},
};

/// A solution with one change.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The location and the change, which form the mutant's name in `learn/check/harmless.txt`.
    pub name: String,
    /// The source.
    pub source: String,
}

/// The replacements for stand-alone words and operators.
const WORDS: &[(&str, &[&str])] = &[
    ("__syncthreads();", &[""]),
    ("__syncwarp();", &[""]),
    ("__threadfence();", &["", "__threadfence_block();"]),
    ("acq_rel.gpu", &["relaxed.gpu", "acq_rel.cta"]),
    ("__shfl_down_sync", &["__shfl_up_sync"]),
    ("__shfl_up_sync", &["__shfl_down_sync"]),
    ("__shfl_xor_sync", &["__shfl_down_sync"]),
    ("0xffffffff", &["0x0000ffff", "0x7fffffff"]),
    ("unsigned long long", &["unsigned int", "int"]),
    ("atomicInc", &["atomicAdd"]),
    ("lowest()", &["(Element)0"]),
    ("max", &["min"]),
    ("tid", &["(tid + 1)"]),
    ("blockIdx.x", &["0"]),
    ("blockDim.x", &["(blockDim.x / 2)"]),
    ("gridDim.x", &["(gridDim.x + 1)"]),
    ("Block", &["(Block / 2)"]),
    ("<", &["<=", ">"]),
    (">", &[">=", "<"]),
    ("<=", &["<"]),
    (">=", &[">"]),
    ("==", &["!="]),
    ("&&", &["||"]),
    ("+", &["-"]),
    ("-", &["+"]),
    ("+=", &["=", "-="]),
    ("*=", &["+="]),
    ("*", &["+"]),
    ("/", &["*"]),
    ("/=", &["-="]),
    ("%", &["/"]),
];

/// Returns every mutant of a source.
pub fn of(of: &str, source: &str) -> Vec<Mutant> {
    let mut all = Vec::new();
    let lines: Vec<&str> = source.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        // A kernel's declaration, which a macro may generate, is its interface to the host, so it
        // is not changed.
        if line.contains("__global__") || line.contains("#define") || line.contains("ENTRY(") {
            continue;
        }
        let code = line.split("//").next().unwrap_or_default();
        let mut times: BTreeMap<(String, String), u32> = BTreeMap::new();
        for (from, to, place) in changes(code) {
            let mutated = format!("{}{to}{}", &line[..place], &line[place + from.len()..]);
            let time = times.entry((from.clone(), to.clone())).or_default();
            *time += 1;
            let nth = if *time > 1 { format!(" ({time})") } else { String::new() };
            let mut whole: Vec<&str> = lines.clone();
            whole[at] = &mutated;
            all.push(Mutant {
                name: format!("{of}:{} `{from}` to `{to}`{nth}", at + 1),
                source: whole.join("\n") + "\n",
            });
        }
    }
    all
}

/// Returns the possible changes to a line of code: the old text, the new text, and the position.
fn changes(code: &str) -> Vec<(String, String, usize)> {
    let mut found = Vec::new();
    let bytes = code.as_bytes();
    let wordy = |at: usize| {
        bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.')
    };
    let operator = |at: usize| bytes.get(at).is_some_and(|b| b"<>=+-*/%&|:".contains(b));
    for (from, tos) in WORDS {
        for (place, _) in code.match_indices(from) {
            let (before, end) = (place.checked_sub(1), place + from.len());
            let first = from.as_bytes()[0];
            let whole = if first.is_ascii_alphanumeric() || first == b'_' {
                !before.is_some_and(wordy)
                    && (from.ends_with([';', ')']) || !wordy(end))
                    && !code[end..].starts_with('<')
            } else {
                // If there is a space on both sides, the character is an operator, not part of a
                // pointer or template.
                !before.is_some_and(operator)
                    && !operator(end)
                    && before.is_some_and(|b| bytes[b] == b' ')
                    && bytes.get(end) == Some(&b' ')
            };
            if whole {
                found.extend(tos.iter().map(|to| (from.to_string(), to.to_string(), place)));
            }
        }
    }
    // Replaces integers with their neighbours.
    let mut at = 0;
    while at < code.len() {
        let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let end = at + digits;
        if digits > 0 && !at.checked_sub(1).is_some_and(wordy) && !wordy(end) {
            let text = &code[at..end];
            if let Ok(number) = text.parse::<u64>() {
                found.push((text.into(), (number + 1).to_string(), at));
                if number > 0 {
                    found.push((text.into(), (number - 1).to_string(), at));
                }
            }
        }
        at = end.max(at + 1);
    }
    // Replaces conditions with true and false.
    for (place, _) in code.match_indices("if (") {
        let (mut depth, mut end) = (0, place + 3);
        for b in &bytes[end..] {
            end += 1;
            depth += i32::from(*b == b'(') - i32::from(*b == b')');
            if depth == 0 {
                break;
            }
        }
        if depth == 0 {
            let test = &code[place..end];
            found.push((test.into(), "if (true)".into(), place));
            found.push((test.into(), "if (false)".into(), place));
        }
    }
    found
}

/// The result for a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The compiler rejected the mutant.
    NoKernel,
    /// The mutant compiled to the same PTX as the original.
    Same,
    /// The judge rejected the mutant at this stage.
    Rejected(Stage),
    /// The mutant passed.
    Passed,
}

/// Judges one mutant.
///
/// # Errors
/// The compiler cannot be called.
pub fn fate(
    exercise: &Exercise,
    compiler: &Compiler,
    original: &[String; 3],
    mutant: &Mutant,
    seed: u64,
) -> Result<Fate> {
    let path = Path::new("mutant.cu");
    let Ok(ptx) = compile::compile(compiler, &mutant.source, path)? else {
        return Ok(Fate::NoKernel);
    };
    if ptx.iter().zip(original).all(|(a, b)| instructions(a).eq(instructions(b))) {
        return Ok(Fate::Same);
    }
    let [f32, i32, f64] = &ptx;
    let kernel =
        Kernel { source: &mutant.source, ptx: [f32, i32, f64].map(|ptx| Some(ptx.as_str())) };
    let verdict = judge::judge(exercise.task, &kernel, seed);
    Ok(verdict.failure.map_or(Fate::Passed, |failure| Fate::Rejected(failure.stage)))
}

/// Returns the lines of PTX without source locations.
fn instructions(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines().take_while(|line| !line.contains(".section")).filter(|line| !line.contains(".loc"))
}

/// Returns the names in `learn/check/harmless.txt`; each group has a reason above it.
///
/// # Errors
/// The file cannot be read, or a name in it has no reason.
pub fn harmless() -> Result<Vec<String>> {
    let mut known = Vec::new();
    let mut reason = "";
    let text = read(&xtask::root().join("learn/check/harmless.txt"))?;
    for line in text.lines() {
        match line.strip_prefix("    ") {
            Some(name) if reason.is_empty() => bail!("`{name}` has no reason above it"),
            Some(name) => known.push(name.to_owned()),
            None => reason = line.trim(),
        }
    }
    Ok(known)
}

/// Returns whether a listed name matches; `*` stands for any text.
fn means(known: &str, name: &str) -> bool {
    let Some((first, rest)) = known.split_once('*') else { return known == name };
    name.starts_with(first) && rest.split('*').all(|part| name.contains(part))
}

/// The results for many mutants.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The numbers of mutants that were rejected at each stage.
    pub rejected: [usize; 3],
    /// The number of mutants that do not compile, and the number of those that compile to the same
    /// PTX as their original.
    pub none: [usize; 2],
    /// The mutants that passed and are listed as harmless.
    pub harmless: Vec<String>,
    /// The mutants that passed but are not listed.
    pub unknown: Vec<String>,
    /// The mutants that are listed as harmless, but were rejected.
    pub stale: Vec<String>,
}

/// A mutant to judge.
struct Candidate {
    exercise: Arc<Exercise>,
    original: Arc<[String; 3]>,
    mutant: Mutant,
    seed: u64,
}

/// Judges every `step`-th mutant of all solutions, or of one exercise, on all cores.
///
/// # Errors
/// A file cannot be read, or the compiler cannot be called.
pub fn tally(number: Option<usize>, step: usize, compiler: &Compiler) -> Result<Tally> {
    let (known, chosen, next) = (harmless()?, chosen(number, step, compiler)?, AtomicUsize::new(0));
    let judge = || {
        let mut fates = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = chosen.get(at) else { return Ok(fates) };
            fates.push((at, fate(&one.exercise, compiler, &one.original, &one.mutant, one.seed)?));
        }
    };
    let mut fates = thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(judge)).collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(fates) => fates,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect::<Result<Vec<_>>>()
    })?
    .concat();
    fates.sort_unstable_by_key(|(at, _)| *at);
    let mut tally = Tally::default();
    for (at, fate) in fates {
        let name = chosen[at].mutant.name.clone();
        // A name with `*` may also match mutants that are rejected.
        if known.contains(&name) && fate != Fate::Passed {
            tally.stale.push(name.clone());
        }
        match fate {
            Fate::NoKernel => tally.none[0] += 1,
            Fate::Same => tally.none[1] += 1,
            Fate::Rejected(stage) => tally.rejected[stage as usize] += 1,
            Fate::Passed if known.iter().any(|known| means(known, &name)) => {
                tally.harmless.push(name);
            }
            Fate::Passed => tally.unknown.push(name),
        }
    }
    Ok(tally)
}

/// Returns every `step`-th mutant of all solutions, or of one exercise.
fn chosen(number: Option<usize>, step: usize, compiler: &Compiler) -> Result<Vec<Candidate>> {
    let (mut chosen, mut place) = (Vec::new(), 0);
    for task in TASKS.iter().filter(|task| number.is_none_or(|number| number == task.number)) {
        let exercise = Arc::new(Exercise::of(task.number)?);
        for (file, source) in exercise.solutions()? {
            let Ok(original) = compile::compile(compiler, &source, Path::new("mutant.cu"))? else {
                bail!("{}/solutions/{file} does not compile", task.folder);
            };
            let original = Arc::new(original);
            for mutant in of(&format!("{}/{file}", task.folder), &source) {
                place += 1;
                if place % step == 0 {
                    let (exercise, original) = (exercise.clone(), original.clone());
                    chosen.push(Candidate { exercise, original, mutant, seed: place as u64 });
                }
            }
        }
    }
    Ok(chosen)
}

/// Runs `cargo x check --mutants`: prints the number of mutants for each result, and lists the
/// mutants that passed.
pub(crate) fn run(number: Option<usize>, step: usize, asked: Option<Kind>) -> Result<Ended> {
    let compiler = compile::compiler(asked)?;
    let tally = tally(number, step.max(1), &compiler)?;
    let Tally { rejected: [right, clean, budget], none: [no_kernel, same], .. } = tally;
    let (harmless, unknown) = (tally.harmless.len(), tally.unknown.len());
    say!(
        "{} mutants: {} rejected ({right} wrong, {clean} not clean, {budget} over a budget), \
         {harmless} harmless; {no_kernel} more do not compile, and {same} compile to the same PTX",
        right + clean + budget + harmless + unknown,
        right + clean + budget
    );
    for name in &tally.unknown {
        say!("    {name}");
    }
    for name in &tally.stale {
        say!("listed in learn/check/harmless.txt, but rejected: {name}");
    }
    let known = tally.unknown.is_empty() && tally.stale.is_empty();
    Ok(if known { Ended::Well } else { Ended::Failed })
}
