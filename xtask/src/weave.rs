//! `cargo x book` and `cargo x results`: the weaver's, a program of its own, because nobody else
//! has a use for mdBook, plotters and what they take.

use std::{
    ffi::OsString,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::programs;

/// Hands these words to the weaver; its streams are ours, and so is its exit code.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> Result<ExitCode> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", "weave", "--"]);
    ended(cargo.args(words))
}

/// As `run`, where the weaver has been built with all other programs.
pub(crate) fn built(words: &[&str]) -> Result<ExitCode> {
    ended(Command::new(programs::path("weave")?).args(words))
}

fn ended(command: &mut Command) -> Result<ExitCode> {
    let status = command
        .current_dir(crate::root())
        .status()
        .with_context(|| format!("running {}", command.get_program().display()))?;
    // A weaver that a signal has ended has no code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, Into::into))
}
