//! Runs `cargo x`.

use std::process::ExitCode;

use xtask::{Task, said};

fn main() -> ExitCode {
    let task = match Task::from_command_line() {
        Ok(task) => task,
        Err(code) => return code,
    };
    xtask::run(&task).unwrap_or_else(|error| said::failed(&error))
}
