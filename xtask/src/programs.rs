//! The workspace's programs, built together and run as they are.
//!
//! `cargo run -p NAME` asks of every dependency what that one program needs, and so builds many of them
//! again for each; one build of all has them once.

use std::{
    env::consts::EXE_SUFFIX,
    ffi::OsString,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// What is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The steps, the studies, the ladder.
    Default,
    /// All of the workspace and its tests. After `cargo test --workspace`, it is there already.
    Tested,
}

/// Builds them.
///
/// # Errors
/// Cargo's.
pub fn build(sh: &Shell, which: Which) -> Result<()> {
    match which {
        Which::Default => cmd!(sh, "cargo build --quiet").run()?,
        Which::Tested => cmd!(sh, "cargo build --quiet --workspace --bins --tests").run()?,
    }
    Ok(())
}

/// Where a program lies: beside the one that asks.
///
/// # Errors
/// The running program's place is not known.
pub fn path(name: &str) -> Result<PathBuf> {
    let here = std::env::current_exe().context("finding the folder of this program")?;
    Ok(here.with_file_name(format!("{name}{EXE_SUFFIX}")))
}

/// Builds one program and hands it these words: `cargo x book` is the weaver's, and `cargo x check` the
/// judge's, which are programs of their own because nobody else has a use for what they take. Its
/// streams are ours, and so is its exit code.
pub(crate) fn run(package: &str, words: impl IntoIterator<Item = OsString>) -> Result<ExitCode> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", package, "--"]);
    ended(cargo.args(words))
}

/// As `run`, where the program has been built with all others.
pub(crate) fn built(name: &str, words: &[&str]) -> Result<ExitCode> {
    ended(Command::new(path(name)?).args(words))
}

fn ended(command: &mut Command) -> Result<ExitCode> {
    let status = command
        .current_dir(crate::root())
        .status()
        .with_context(|| format!("running {}", command.get_program().display()))?;
    // A program that a signal has ended has no code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, Into::into))
}
