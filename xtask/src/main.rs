//! Runs `cargo x`.

use std::{
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

use xtask::Task;

fn main() -> ExitCode {
    let error = match xtask::run(&Task::from_command_line()) {
        Ok(code) => return code,
        Err(error) => error,
    };
    // A reader that stops early, such as `head`, does not cause an error.
    if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    let _ = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::FAILURE
}
