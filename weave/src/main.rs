//! The book's weaver, which `cargo x book`, `cargo x results` and `cargo x wasm` build and run.

mod book;
mod results;
mod wasm;

use std::{process::ExitCode, sync::LazyLock};

use anyhow::Result;
use xshell::Shell;
use xtask::{Task, said};

fn main() -> ExitCode {
    // The server has started this program to compile a kernel for a page.
    if std::env::args().nth(1).as_deref() == Some(book::serve::WORD) {
        return book::serve::child();
    }
    LazyLock::force(&book::serve::PROGRAM);
    let task = match Task::from_command_line() {
        Ok(task) => task,
        Err(code) => return code,
    };
    match run(&task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => said::failed(&error),
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
        _ => Err(said::Usage(
            "the weaver runs only `book`, `results` and `wasm`: run `cargo x` for everything else"
                .into(),
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_task_is_an_error_in_the_command_line() {
        let error = run(&Task::Nvrtc).unwrap_err();
        assert!(error.is::<said::Usage>(), "{error}");
    }
}
