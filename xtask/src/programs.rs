//! The workspace's programs, built together and run as they are.
//!
//! `cargo run -p NAME` asks of every dependency what that one program needs, and so builds many of them
//! again for each; one build of all has them once.

use std::{env::consts::EXE_SUFFIX, path::PathBuf};

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
