//! `cargo x ci`: everything that CI runs, cheapest first.

use std::process::ExitCode;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::programs::{self, Which};

pub(crate) fn run(sh: &Shell) -> Result<ExitCode> {
    cmd!(sh, "cargo fmt --all --check").run()?;
    crate::tidy::run()?;
    crate::spell::run(sh)?;
    cmd!(sh, "cargo clippy --workspace --all-targets -- -D warnings").run()?;
    cmd!(sh, "cargo test --workspace").run()?;
    let flags = sh.push_env("RUSTDOCFLAGS", "-D warnings");
    cmd!(sh, "cargo doc --workspace --no-deps --document-private-items").run()?;
    drop(flags);
    crate::ptx::run(true)?;
    // The weaver as the tests have it: alone, it would build half of what it takes again.
    programs::build(sh, Which::Tested)?;
    crate::compilers::run(sh, true, Which::Tested)?;
    for words in [&["results", "--check"][..], &["wasm", "--check"], &["book", "--check", "--test"]]
    {
        let code = programs::built("weave", words)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}
