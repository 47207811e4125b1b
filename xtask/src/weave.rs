//! `cargo x book` and `cargo x results`: the weaver's, a program of its own, because nobody else
//! has a use for mdBook, plotters and what they take.

use std::{
    ffi::OsString,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

/// Hands these words to the weaver; its streams are ours, and so is its exit code.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> Result<ExitCode> {
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--package", "weave", "--"])
        .args(words)
        .current_dir(crate::root())
        .status()
        .context("running the weaver takes cargo")?;
    // A weaver that a signal has ended has no code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, Into::into))
}
