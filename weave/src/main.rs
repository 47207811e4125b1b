//! The book's weaver, which `cargo x book`, `cargo x results` and `cargo x wasm` build and run.

mod book;
mod results;
mod wasm;

use std::process::ExitCode;

use anyhow::{Result, bail};
use xshell::Shell;
use xtask::Task;

fn main() -> ExitCode {
    // The server has started this program to compile a kernel for a page.
    if std::env::args().nth(1).as_deref() == Some(book::serve::WORD) {
        return book::serve::child();
    }
    match run(&Task::from_command_line()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the task; the arguments are those that `cargo x` passes on.
fn run(task: &Task) -> Result<()> {
    let sh = Shell::new()?;
    sh.change_dir(xtask::root());
    match task {
        Task::Results { check } => results::run(*check),
        Task::Wasm { check } => wasm::run(&sh, *check),
        Task::Book(options) => book::run(&sh, options),
        _ => bail!(
            "the weaver has only `book`, `results` and `wasm`: run `cargo x` for everything else"
        ),
    }
}
