//! Builds the workspace's programs together, and runs them without cargo.
//!
//! `cargo run -p NAME` builds dependencies with the features of that program only, so many
//! dependencies are built again for each program. If all programs are built together, each
//! dependency is built once.

use std::{
    env::consts::EXE_SUFFIX,
    ffi::OsString,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// The programs to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The steps, the studies and the ladder.
    Default,
    /// The whole workspace with its tests, which already exist after `cargo test --workspace`.
    Tested,
}

/// Builds the programs.
///
/// # Errors
/// Fails if cargo fails.
pub fn build(sh: &Shell, which: Which) -> Result<()> {
    match which {
        Which::Default => cmd!(sh, "cargo build --quiet").run()?,
        Which::Tested => cmd!(sh, "cargo build --quiet --workspace --bins --tests").run()?,
    }
    Ok(())
}

/// Returns the path of a program, which is in the same folder as the running program.
///
/// # Errors
/// Fails if the path of the running program is unknown.
pub fn path(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("finding the folder of this program")?;
    Ok(own.with_file_name(format!("{name}{EXE_SUFFIX}")))
}

/// Builds a program and runs it with these arguments: `cargo x book` runs the weaver, and `cargo x
/// check` runs the judge. These are separate programs, so that `cargo x` does not need their
/// dependencies. The streams and the exit code of the program are passed on.
pub(crate) fn run(package: &str, words: impl IntoIterator<Item = OsString>) -> Result<ExitCode> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", package, "--"]);
    ended(cargo.args(words))
}

/// Runs a program like `run`, but assumes that the program has already been built together with all
/// others.
pub(crate) fn built(name: &str, words: &[&str]) -> Result<ExitCode> {
    ended(Command::new(path(name)?).args(words))
}

fn ended(command: &mut Command) -> Result<ExitCode> {
    let status = command
        .current_dir(crate::root())
        .status()
        .with_context(|| format!("running {}", command.get_program().display()))?;
    // A program that was terminated by a signal has no exit code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, Into::into))
}
