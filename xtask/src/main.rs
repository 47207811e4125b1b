//! The project's own tools, behind one door: `cargo x`.
#![forbid(unsafe_code)]

mod book;
mod bundle;
mod ci;
mod diff;
mod kernels;
mod library;
mod nvrtc;
mod peers;
mod plots;
mod ptx;
mod results;
mod sass;
mod spell;
mod tidy;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::Parser;
use xshell::Shell;

/// The project's own tools.
#[derive(Parser, Debug)]
#[command(name = "cargo x", bin_name = "cargo x")]
enum Task {
    /// Compile every kernel.cu to the PTX beside it, with the pinned NVRTC
    Ptx {
        /// Write nothing; fail where the committed PTX is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Bring the pinned NVRTC from PyPI into .venv, so that an edited kernel can be compiled
    Nvrtc,
    /// Hold the tree against its own rules: parallel steps, small diffs, fresh PTX, no unsafe
    Tidy,
    /// Show what a step changes in its kernel: `cargo x diff 3` is v2 against v3
    Diff {
        /// The number of the step
        step: usize,
    },
    /// Compile peers/cub.cu with nvcc (PyPI's, or yours) to the library that `ladder measure` loads
    Peers {
        /// The architectures, as nvcc's -arch: all-major, native, sm_90
        #[arg(long, value_name = "ARCH", default_value = "all-major")]
        arch: String,
        /// An nvcc of your own, with the CUB of its toolkit
        #[arg(long, value_name = "FILE")]
        nvcc: Option<String>,
    },
    /// Render every table and plot from results/, between the markers of README.md and the book
    Results {
        /// Write nothing; fail where a page is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Gather stripped programs, benches and tests in dist/, for a GPU machine that has no Rust
    Bundle,
    /// Look for misspelt words, and for American ones, with codespell from PyPI
    Spell,
    /// Keep the machine code that ptxas from PyPI makes of every kernel, for the book
    Sass {
        /// Write nothing; fail where what is kept is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Build the book into book/book, and hold it against its rules
    Book(book::Options),
    /// Everything that CI runs: fmt, tidy, spell, clippy, tests, doc, ptx --check, book --check
    Ci,
}

fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    let sh = Shell::new()?;
    sh.change_dir(root());
    match task {
        Task::Ptx { check } => ptx::run(&sh, check),
        Task::Nvrtc => nvrtc::bring(&sh).map(|library| {
            println!("NVRTC {} is at {}", common::nvrtc::PINNED, library.path().display())
        }),
        Task::Tidy => tidy::run(),
        Task::Diff { step } => diff::print(step),
        Task::Peers { arch, nvcc } => peers::run(&sh, &arch, nvcc.as_deref()),
        Task::Results { check } => results::run(check),
        Task::Bundle => bundle::run(&sh),
        Task::Spell => spell::run(&sh),
        Task::Sass { check } => sass::run(&sh, check),
        Task::Book(options) => book::run(&sh, &options),
        Task::Ci => ci::run(&sh),
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
        .to_owned()
}
