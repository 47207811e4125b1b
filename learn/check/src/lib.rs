//! `cargo x check`: judges the kernel of an exercise, and reports the first thing to fix.
//!
//! [`judge`] judges kernels, without files or a clock. This crate contains the rest of the program:
//! it finds the exercises, calls compilers, stores the progress, watches files, and prints.
//! [`mutants`] tests the judge.
#![forbid(unsafe_code)]

/// Prints a line. If writing to standard output fails, returns the error instead of panicking.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($words)*)?
    }};
}

pub mod compile;
mod ended;
pub mod exercise;
pub mod mutants;
mod options;
mod predict;
mod progress;
mod watch;

pub use ended::Ended;
pub use options::Options;

use std::{
    hash::{BuildHasher, RandomState},
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use compiler::Compiler;
use judge::{Kernel, TASKS, Verdict};

use exercise::{Exercise, read, shown};
use progress::{Known, Progress};

/// Runs the command.
///
/// # Errors
/// A sentence that explains why a kernel cannot be judged.
pub fn run(options: &Options) -> Result<Ended> {
    let mut progress = Progress::load(options.progress.as_deref())?;
    if options.list {
        return list(&progress);
    }
    if let Some(many) = options.mutants {
        return mutants::run(options.number, many, options.compiler);
    }
    let open = || TASKS.iter().map(|task| task.number).find(|number| !progress.of(*number).passed);
    let Some(number) = options.number.or_else(open) else {
        say!(
            "you have passed all {} exercises; to check one of them again, run for example `cargo x check 1`",
            TASKS.len()
        );
        return Ok(Ended::Well);
    };
    let exercise = Exercise::of(number)?;
    if options.task {
        return asked(&exercise);
    }
    if options.hint {
        return hint(&exercise, &mut progress);
    }
    if options.show {
        return show(&exercise);
    }
    let path = options.kernel.clone().unwrap_or_else(|| exercise.kernel());
    if !path.exists() {
        bail!(
            "{} does not exist: write it, or restore the skeleton with `git checkout`",
            shown(&path)
        );
    }
    let compiler = compile::compiler(options.compiler)?;
    let mut check = |source: &str| {
        let seed = options.seed.unwrap_or_else(|| RandomState::new().hash_one(0) % 1_000_000);
        let ended = checked(&exercise, &compiler, source, &path, seed)?;
        if ended == Ended::Well && exercise.is_own(&path) {
            // Another process may have changed the file in the meantime.
            progress = Progress::load(options.progress.as_deref())?;
            progress.note(number, Known { passed: true, ..progress.of(number) })?;
        }
        match &options.predict {
            Some(gpu) if ended == Ended::Well => {
                let absolute = std::path::absolute(&path)?;
                predict::print(exercise.task, &absolute, gpu)
            }
            _ => Ok(ended),
        }
    };
    if options.watch {
        say!("watching {}; press Ctrl-C to stop", shown(&path));
        return watch::watch(&path, |source| {
            let ended = check(source)?;
            say!("");
            Ok(ended)
        });
    }
    check(&read(&path)?)
}

/// Compiles a source and judges it, or returns the compiler's first message.
///
/// # Errors
/// An included file is missing, or the compiler cannot be called.
pub fn judged(
    exercise: &Exercise,
    compiler: &Compiler,
    source: &str,
    path: &Path,
    seed: u64,
) -> Result<Result<Verdict, String>> {
    let made = compile::compile(compiler, source, path)?;
    Ok(made.map(|ptx| {
        let [f32, i32, f64] = &ptx;
        judge::judge(
            exercise.task,
            &Kernel { source, ptx: [f32, i32, f64].map(|ptx| Some(ptx.as_str())) },
            seed,
        )
    }))
}

/// Judges the current contents of a file, and prints the verdict.
fn checked(
    exercise: &Exercise,
    compiler: &Compiler,
    source: &str,
    path: &Path,
    seed: u64,
) -> Result<Ended> {
    let task = exercise.task;
    let verdict = match judged(exercise, compiler, source, path, seed)? {
        Ok(verdict) => verdict,
        Err(message) => {
            say!(
                "exercise {}: {}\n  {compiler} rejects the kernel:\n{message}",
                task.number,
                task.name
            );
            return Ok(Ended::Failed);
        }
    };
    write!(io::stdout(), "{}", verdict.page(source))?;
    if !verdict.passed() {
        let hint = format!("cargo x check {} --hint", task.number);
        say!("not passed yet (seed {seed}; {}). For a hint: {hint}", shown(path));
        return Ok(Ended::Failed);
    }
    if !exercise.is_own(path) {
        let own = shown(&exercise.kernel());
        say!("passed (seed {seed}). Not recorded: {} is not {own}", shown(path));
        return Ok(Ended::Well);
    }
    let left = |number: &usize| *number > task.number;
    match TASKS.iter().map(|task| task.number).find(left) {
        Some(next) => say!("passed (seed {seed}). Next: cargo x check {next}"),
        None => say!("passed (seed {seed}). That was the last exercise."),
    }
    Ok(Ended::Well)
}

/// Lists all exercises, and the reader's progress.
fn list(progress: &Progress) -> Result<Ended> {
    for task in &TASKS {
        let known = progress.of(task.number).to_string();
        say!("{:2}  {:29} {:16} {}", task.number, task.name, known, task.chapter);
    }
    say!(
        "\nThe files are in exercises/; the last column is the chapter that the exercise belongs to."
    );
    Ok(Ended::Well)
}

/// Prints the task and its budgets.
fn asked(exercise: &Exercise) -> Result<Ended> {
    let (text, _) = exercise.text()?;
    say!("exercise {}: {}\n\n{}", exercise.task.number, exercise.task.name, wrapped(&text));
    write!(io::stdout(), "{}", judge::paragraph("", &exercise.task.asked()))?;
    Ok(Ended::Well)
}

/// Wraps the long lines of a Markdown text in which each sentence is on its own line.
fn wrapped(text: &str) -> String {
    let line = |line: &str| match line.chars().count() {
        81.. => judge::paragraph("", line),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Prints the next hint. After the last hint, prints the last hint again.
fn hint(exercise: &Exercise, progress: &mut Progress) -> Result<Ended> {
    let (_, hints) = exercise.text()?;
    let (number, known) = (exercise.task.number, progress.of(exercise.task.number));
    let many = hints.len();
    let Some(last) = hints.last() else { bail!("{}/task.md has no hint", exercise.task.folder) };
    match hints.get(known.hints) {
        Some(hint) => {
            write!(
                io::stdout(),
                "exercise {number}, hint {} of {many}:\n\n{}",
                known.hints + 1,
                wrapped(hint)
            )?;
        }
        None => write!(
            io::stdout(),
            "exercise {number} has no more hints: you have seen all {many}. The last one:\n\n{}",
            wrapped(last)
        )?,
    }
    let seen = many.min(known.hints.saturating_add(1));
    if seen == many {
        say!("\nThat was the last hint. `cargo x check {number} --show` shows a solution.");
    }
    progress.note(number, Known { hints: seen, ..known })?;
    Ok(Ended::Well)
}

/// Prints a solution after the reader has confirmed the request.
fn show(exercise: &Exercise) -> Result<Ended> {
    let number = exercise.task.number;
    write!(io::stdout(), "Show a solution to exercise {number}, {}? [y/N] ", exercise.task.name)?;
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if !answer.trim().to_lowercase().starts_with('y') {
        say!("Not shown.");
        return Ok(Ended::Well);
    }
    let solutions = exercise.solutions()?;
    if let Some((name, source)) = solutions.first() {
        let file: PathBuf = exercise.folder.join("solutions").join(name);
        say!(
            "\n{}\nThere are {} correct solutions in {}",
            source,
            solutions.len(),
            shown(file.parent().unwrap_or(&file))
        );
    }
    Ok(Ended::Well)
}
