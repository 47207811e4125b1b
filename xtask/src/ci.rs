//! `cargo x ci`: everything that CI runs, in parts that can run in parallel.

use std::{path::PathBuf, process::ExitCode, time::Instant};

use anyhow::{Result, bail};
use clap::ValueEnum;
use xshell::{Shell, cmd};

use crate::{
    programs::{self, Which},
    publish::{capi, package, python},
};

/// A part of CI.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Check formatting, the rules of the tree, spelling, clippy and documentation
    Lint,
    /// Run all tests
    Test,
    /// Run the tests that compile kernels, without a compiler and with each version of clang
    Worlds,
    /// Check that the committed PTX, tables and WebAssembly match their sources
    Generated,
    /// Build the book, and test its pages in a browser
    Book,
    /// Check the packed crate, and test the C library's examples and the Python module without a
    /// GPU
    Publish,
    /// Check types for other systems: macOS, Windows and ARM
    Foreign,
}

/// Runs one part, or all of them, and prints how long each part took.
///
/// # Errors
/// Returns the error of the first part that fails.
pub(crate) fn run(sh: &Shell, part: Option<Part>, sweeps: bool) -> Result<ExitCode> {
    if sweeps {
        timed("sweeps", || Ok(cmd!(sh, "cargo test --workspace -- --ignored").run()?))?;
        return Ok(ExitCode::SUCCESS);
    }
    for each in Part::value_variants() {
        if part.is_none_or(|part| part == *each) {
            let name =
                each.to_possible_value().map_or(String::new(), |name| name.get_name().into());
            timed(&name, || match each {
                Part::Lint => lint(sh),
                Part::Test => Ok(cmd!(sh, "cargo test --locked --workspace").run()?),
                Part::Worlds => worlds(sh),
                Part::Generated => generated(sh),
                Part::Book => weave(sh, &["book", "--check", "--test"]),
                Part::Publish => publish(sh),
                Part::Foreign => Ok(cmd!(sh, ".ci/foreign").run()?),
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn timed(name: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    run()?;
    say!("ci: {name} took {} s", start.elapsed().as_secs());
    Ok(())
}

fn lint(sh: &Shell) -> Result<()> {
    cmd!(sh, "cargo fmt --all --check").run()?;
    crate::msrv::run(sh)?;
    crate::tidy::run(sh)?;
    crate::spell::run(sh)?;
    cmd!(sh, "cargo clippy --locked --workspace --all-targets -- -D warnings").run()?;
    let _flags = sh.push_env("RUSTDOCFLAGS", "-D warnings");
    cmd!(sh, "cargo doc --locked --workspace --no-deps --document-private-items").run()?;
    Ok(())
}

/// `cargo test` arguments for the tests that compile kernels. All these lists, apart from the first
/// one, select the whole workspace, so that dependencies have the same features as in the part
/// `test`, and are not built again.
const COMPILING: [&str; 3] = [
    "-p compiler",
    "--workspace --test kernels --test program --test edits --test foreign",
    "--workspace --test all answers_bad_input",
];

/// Runs the tests that compile kernels, without a compiler and with each version of clang. The part
/// `test` covers only the NVRTC in `.venv`.
fn worlds(sh: &Shell) -> Result<()> {
    for world in ["none", "clang-16", "clang-19"] {
        let clang = world != "none";
        if clang && !on_path(world) {
            say!("SKIPPED: {world} is not installed; on Debian, `apt install {world}` installs it");
            continue;
        }
        say!("testing with {world}");
        let _world = sh.push_env(compiler::ONLY, world);
        for tests in COMPILING {
            let words = tests.split_whitespace();
            cmd!(sh, "cargo test --locked --quiet {words...}").quiet().run()?;
        }
    }
    Ok(())
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder: PathBuf| folder.join(program).exists())
}

fn generated(sh: &Shell) -> Result<()> {
    crate::ptx::run(true)?;
    programs::build(sh, Which::Tested)?;
    crate::compilers::run(sh, true, Which::Tested)?;
    weave(sh, &["results", "--check"])?;
    weave(sh, &["wasm", "--check"])
}

/// Packs samebits, and builds and tests its C and Python interfaces.
fn publish(sh: &Shell) -> Result<()> {
    package::run(sh)?;
    // CUDA's headers and runtime, for the examples.
    crate::nvrtc::install()?;
    capi::check(sh)?;
    python::check(sh)
}

/// Runs the weaver that was built with the tests. Building the weaver separately would compile half
/// of its dependencies again.
fn weave(sh: &Shell, words: &[&str]) -> Result<()> {
    programs::build(sh, Which::Tested)?;
    match programs::built("weave", words)? {
        ExitCode::SUCCESS => Ok(()),
        _ => bail!("`cargo x {}` failed", words.join(" ")),
    }
}
