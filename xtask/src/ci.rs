//! `cargo x ci`: everything that CI runs, cheapest first.

use anyhow::Result;
use xshell::{Shell, cmd};

pub(crate) fn run(sh: &Shell) -> Result<()> {
    cmd!(sh, "cargo fmt --all --check").run()?;
    crate::tidy::run()?;
    crate::spell::run(sh)?;
    cmd!(sh, "cargo clippy --workspace --all-targets -- -D warnings").run()?;
    cmd!(sh, "cargo test --workspace").run()?;
    let flags = sh.push_env("RUSTDOCFLAGS", "-D warnings");
    cmd!(sh, "cargo doc --workspace --no-deps --document-private-items").run()?;
    drop(flags);
    crate::results::run(true)?;
    crate::ptx::run(sh, true)?;
    crate::book::run(sh, &crate::book::Options::all_checks())
}
