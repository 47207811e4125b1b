//! Implements `cargo x book --outputs`, which produces the outputs of commands, the counts and the
//! traces that the book shows, and stores them.
//!
//! The outputs are committed, so that building the book takes seconds and changes can be reviewed.
//! With `--check`, everything is run again and compared.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xshell::Shell;
use xtask::programs::{self, Which};

use super::block::{console, highlight::Language, number};
use super::page::segment::{self, Part};
use super::source::{
    BOOK, GENERATED,
    counts::{Case, Counts, THREADS},
    file::read,
    frames, plan, size,
};

/// Everything that must be run for the chapters.
#[derive(Debug, Default)]
struct Wanted {
    /// The commands, and whether they are expected to fail.
    runs: BTreeMap<String, bool>,
    /// The commands in consoles, each with its place and the output below it, which may be empty.
    typed: Vec<(String, String, String)>,
    /// The commands that cannot be checked on this machine.
    untried: Vec<String>,
    /// The sums whose operations are counted.
    cases: BTreeSet<Case>,
    /// The sizes at which the kernels for small sums are counted.
    ways: BTreeSet<u64>,
    /// The steps that are traced.
    steppers: BTreeSet<String>,
}

pub(crate) fn run(sh: &Shell, check: bool) -> Result<()> {
    let root = xtask::root();
    let folder = root.join(BOOK).join(GENERATED);
    let wanted = Wanted::of(&root.join(BOOK).join("src"))?;
    programs::build(sh, if check { Which::Tested } else { Which::Default })?;
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut failed = Vec::new();
    for (command, fails) in &wanted.runs {
        println!("$ {command}");
        match output(&root, command, *fails) {
            Ok(text) => {
                files.insert(console::file(command), format!("$ {command}\n{text}"));
            }
            Err(error) => failed.push(error.to_string()),
        }
    }
    let mut counted = counts(&root, &wanted.cases, &mut failed)?;
    for n in &wanted.ways {
        failed.extend(ways(&root, *n, &mut counted).err().map(|error| format!("{error:#}")));
    }
    let (name, text) = counted.file()?;
    files.insert(name, text);
    for step in &wanted.steppers {
        println!("tracing {step}");
        match frames::trace(step).and_then(|frames| frames::file(&frames)) {
            Ok(text) => {
                files.insert(format!("traces/{step}.json"), text);
            }
            Err(error) => failed.push(format!("tracing {step}: {error:#}")),
        }
    }
    let mut stale = Vec::new();
    for command in &wanted.untried {
        println!("not tried: {command}");
    }
    for (place, command, typed) in &wanted.typed {
        if check {
            println!("$ {command}");
            let text = match output(&root, command, false) {
                Ok(text) => text,
                Err(error) => {
                    failed.push(format!("{place}: {error}"));
                    continue;
                }
            };
            if !typed.is_empty() && timeless(typed) != timeless(&text) {
                stale.push(format!("{place}: `{command}` now prints:\n{text}"));
            }
        }
    }
    keep(&folder, &files, check, !failed.is_empty(), &mut stale)?;
    ensure!(failed.is_empty(), "{} failed:\n  {}", failed.len(), failed.join("\n  "));
    match stale.as_slice() {
        [] => Ok(()),
        stale if check => bail!(
            "{} outputs of the book are stale:\n  {}\nrun `cargo x book --outputs`",
            stale.len(),
            stale.join("\n  ")
        ),
        _ => Ok(()),
    }
}

impl Wanted {
    fn of(src: &Path) -> Result<Wanted> {
        let mut wanted = Wanted::default();
        for path in chapters(src)? {
            let text = read(&path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for (line, part) in segment::split(&text) {
                match part {
                    Part::Directive(text) => wanted.directive(text),
                    Part::Fence(info, body) if Language::of(info) == Some(Language::Console) => {
                        wanted.typed(&format!("{name}:{line}"), body);
                    }
                    Part::Opaque(code) if code.starts_with("`cargo ") => {
                        wanted.typed(&format!("{name}:{line}"), code.trim_matches('`'));
                    }
                    _ => {}
                }
            }
        }
        Ok(wanted)
    }

    fn directive(&mut self, text: &str) {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let first = rest.split_whitespace().next().unwrap_or_default();
        match name {
            "run" | "run!" => {
                self.runs.insert(console::command(rest), name == "run!");
            }
            "excerpt" => {
                if let Ok([_, _, command]) = console::excerpted(rest) {
                    self.runs.insert(console::command(command), false);
                }
            }
            "ledger" => {
                self.cases.insert(Case::of(first));
            }
            "ways" => self.ways.extend(size(first)),
            "stepper" => {
                self.steppers.insert(first.to_owned());
            }
            _ => self.cases.extend(number::cases(text)),
        }
    }

    /// Collects the commands in a console that run on any machine, each with the lines below it.
    ///
    /// A shell block has no prompts and no outputs; commands for a GPU in such a block are tried in
    /// the interpreter.
    fn typed(&mut self, place: &str, body: &str) {
        for line in body.lines().filter(|line| line.starts_with("cargo ")) {
            match on_the_interpreter(line) {
                Some(command) => self.typed.push((place.to_owned(), command, String::new())),
                None => self.untried.push(format!("{place}: {line}")),
            }
        }
        for part in format!("\n{body}").split("\n$ ").skip(1) {
            let (command, output) = part.split_once('\n').unwrap_or((part, ""));
            if ["cargo run ", "cargo x diff "].iter().any(|known| command.starts_with(known)) {
                self.typed.push((
                    place.to_owned(),
                    command.to_owned(),
                    output.trim_end().to_owned(),
                ));
            }
        }
    }
}

fn chapters(src: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(src)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Adapts a command for a GPU to a machine without a GPU: the program is not optimized, and adds at
/// most the number of elements that the interpreter adds in a second.
fn on_the_interpreter(command: &str) -> Option<String> {
    const MOST: u64 = 1 << 20;
    let command = command.strip_prefix("cargo run ")?.replace("--release ", "");
    let (package, options) = command.split_once(" -- ").unwrap_or((&command, ""));
    // Measurements, hardware counters and the program without a harness need a GPU.
    let asks_a_gpu = ["--counters", "--profile"].iter().any(|flag| options.contains(flag))
        || package == "-p first-program";
    if asks_a_gpu || !options.is_empty() && !options.starts_with('-') {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for word in options.split_whitespace() {
        let sizes = words.last().is_some_and(|last| last == "--n");
        words.push(match sizes {
            true => {
                let small = |text: &&str| size(text).is_ok_and(|n| n <= MOST);
                let kept: Vec<&str> = word.split(',').filter(small).collect();
                if kept.is_empty() { MOST.to_string() } else { kept.join(",") }
            }
            false => word.to_owned(),
        });
    }
    if !options.contains("--device") {
        words.extend(["--device", "simt"].map(str::to_owned));
    }
    if !options.contains("--n ") {
        words.extend(["--n".to_owned(), MOST.to_string()]);
    }
    Some(format!("cargo run {package} -- {}", words.join(" ")))
}

/// Replaces `cargo run -p` in a command with the path of the program, which has been built.
fn built(command: &str) -> Result<String> {
    let Some(rest) = command.strip_prefix("cargo run -p ") else {
        // Cargo's own messages are not output from the program.
        return Ok(command.replacen("cargo run ", "cargo run --quiet ", 1));
    };
    let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
    let program = programs::path(name)?;
    ensure!(program.exists(), "`{command}`: there is no program {name}");
    Ok(format!("'{}' {}", program.display(), words.strip_prefix("-- ").unwrap_or(words)))
}

/// Returns the output of a command. Both streams are included, in the order in which they were
/// written.
fn output(root: &Path, command: &str, fails: bool) -> Result<String> {
    let done = Command::new("bash")
        .args(["-c", &format!("{} 2>&1", built(command)?)])
        .current_dir(root)
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .env_remove("REDUCE_DEVICE")
        .env_remove("REDUCE_N")
        .env_remove("RUST_BACKTRACE")
        .output()
        .context("running a command needs bash")?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    ensure!(
        done.status.success() != fails,
        "`{command}` {}, but should {}:\n{text}",
        if fails { "succeeds" } else { "fails" },
        if fails { "fail" } else { "succeed" },
    );
    // The output must not contain the workspace's path.
    Ok(text.replace(&format!("{}/", root.display()), ""))
}

fn counts(root: &Path, cases: &BTreeSet<Case>, failed: &mut Vec<String>) -> Result<Counts> {
    let mut counts = Counts::default();
    for case in cases {
        let Case { step, n, threads } = case;
        println!("counting {step}, n = {n}, blocks of {threads}");
        let command = format!(
            "cargo run -p {step} -- --device simt --n {n} --threads {threads} --check none --format json"
        );
        let counted = output(root, &command, false).and_then(|text| {
            let record: Value = serde_json::from_str(text.trim())?;
            let plan = plan::of(step, *n, *threads)?;
            let blocks = plan.launches.iter().map(|launch| u64::from(launch.grid)).collect();
            counts.add(case, blocks, &record)
        });
        failed.extend(counted.err().map(|error| format!("counting {step}: {error:#}")));
    }
    Ok(counts)
}

/// Counts the kernels for a small sum. One program runs all of these kernels and prints a record
/// for each.
fn ways(root: &Path, n: u64, counts: &mut Counts) -> Result<()> {
    println!("counting the kernels for a small sum, n = {n}");
    let command = format!(
        "cargo run -p small-sum -- --device simt --n {n} --threads {} --check none --format json",
        THREADS
    );
    for line in output(root, &command, false)?.lines() {
        let record: Value = serde_json::from_str(line)?;
        let way = record["step"].as_str().context("a record names its way")?;
        counts.add(&Case { n, ..Case::of(way) }, Vec::new(), &record)?;
    }
    Ok(())
}

/// Writes changed files and removes unused files, unless something failed. A check only reports
/// changed and unused files.
fn keep(
    folder: &Path,
    files: &BTreeMap<String, String>,
    check: bool,
    failed: bool,
    stale: &mut Vec<String>,
) -> Result<()> {
    for (name, text) in files {
        let path = folder.join(name);
        let same = fs::read_to_string(&path).is_ok_and(|kept| timeless(&kept) == timeless(text));
        if same {
            continue;
        }
        if check {
            stale.push(format!("{BOOK}/{GENERATED}/{name}"));
            continue;
        }
        fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        fs::write(&path, text)?;
        println!("wrote {BOOK}/{GENERATED}/{name}");
    }
    for kind in ["runs", "traces"] {
        let Ok(entries) = fs::read_dir(folder.join(kind)) else { continue };
        for entry in entries {
            let path = entry?.path();
            let name = format!("{kind}/{}", path.file_name().unwrap_or_default().to_string_lossy());
            if files.contains_key(&name) || failed {
                continue;
            }
            if check {
                stale.push(format!("{BOOK}/{GENERATED}/{name}: no chapter uses it"));
            } else {
                fs::remove_file(&path)?;
                println!("removed {BOOK}/{GENERATED}/{name}");
            }
        }
    }
    Ok(())
}

/// Masks all times and rates, because they differ from run to run.
fn timeless(text: &str) -> String {
    const UNITS: [&str; 8] = ["ns", "µs", "us", "ms", "s", "GB/s", "MB/s", "kB/s"];
    let mut words: Vec<&str> = text.trim_end().split([' ', '\n']).collect();
    for index in 1..words.len() {
        let unit = words[index].trim_end_matches([',', ')', ';']);
        let number = words[index - 1].trim_start_matches('(');
        if UNITS.contains(&unit) && number.parse::<f64>().is_ok() {
            words[index - 1] = "TIME";
            words[index] = "";
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_the_built_program() {
        let name = std::env::current_exe().unwrap().file_name().unwrap().display().to_string();
        let direct = |words: &str| built(&format!("cargo run -p {name}{words}")).unwrap();
        assert!(direct("").starts_with('\'') && direct("").ends_with(&format!("/{name}' ")));
        assert!(direct(" -- --n 2^10").ends_with(&format!("/{name}' --n 2^10")));
        assert_eq!(built("cargo run -q").unwrap(), "cargo run --quiet -q");
        assert_eq!(built("cargo x diff 3").unwrap(), "cargo x diff 3");
        assert!(built("cargo run -p gone").unwrap_err().to_string().contains("no program gone"));
    }

    #[test]
    fn times_are_masked() {
        assert_eq!(
            timeless("copy 1.25 ms to (3.4 GB/s), sum 5\n"),
            timeless("copy 900 µs to (7 GB/s), sum 5")
        );
        assert_ne!(timeless("sum 5"), timeless("sum 6"));
    }

    #[test]
    fn chapters_ask_for_runs_counts_and_traces() {
        let mut wanted = Wanted::default();
        for text in [
            "run v0-naive -- --n 2^10",
            "run! v0-naive -- --n 0",
            "ledger v1-divergence",
            "stepper v2-bank-conflicts 64",
            "num count v0-naive barriers block=64",
        ] {
            wanted.directive(text);
        }
        wanted.typed(
            "x.md:1",
            "$ cargo run -p a -- --explain\nline\n$ cargo build\n$ cargo x diff 3\n",
        );
        wanted.typed(
            "x.md:9",
            "cargo run --release -p a -- --n 2^10,2^28 --warm\ncargo run -p a -- measure\n",
        );
        let tried = wanted.typed.pop().map(|(_, command, _)| command);
        assert_eq!(tried.as_deref(), Some("cargo run -p a -- --n 2^10 --warm --device simt"));
        assert_eq!(wanted.untried, ["x.md:9: cargo run -p a -- measure"]);
        assert_eq!(wanted.runs.len(), 2);
        assert_eq!(wanted.cases.len(), 2);
        assert_eq!(wanted.steppers.len(), 1);
        let typed: Vec<(&str, &str)> =
            wanted.typed.iter().map(|(_, c, o)| (c.as_str(), o.as_str())).collect();
        assert_eq!(typed, [("cargo run -p a -- --explain", "line"), ("cargo x diff 3", "")]);
    }
}
