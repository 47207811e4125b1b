//! The book's weaver: what `cargo x book`, `cargo x results` and `cargo x wasm` run, and nothing else builds.

mod book;
mod folders;
mod library;
mod matrices;
mod plots;
mod results;
mod rows;
mod wasm;

use std::process::ExitCode;

use anyhow::{Result, bail};
use xshell::Shell;
use xtask::Task;

fn main() -> ExitCode {
    // Asked by itself alone: it serves the book, and compiles a kernel for one of its pages.
    if std::env::args().nth(1).as_deref() == Some(book::serve::WORD) {
        return book::serve::child();
    }
    match run(&Task::asked()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Takes the same words as `cargo x`, which hands them on.
fn run(task: &Task) -> Result<()> {
    let sh = Shell::new()?;
    sh.change_dir(xtask::root());
    match task {
        Task::Results { check } => results::run(*check),
        Task::Wasm { check } => wasm::run(&sh, *check),
        Task::Book(options) => book::run(&sh, options),
        _ => bail!(
            "the weaver has `book`, `results` and `wasm`: everything else is `cargo x` itself"
        ),
    }
}
