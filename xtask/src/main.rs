//! `cargo x`.

use std::process::ExitCode;

use clap::Parser;
use xtask::Task;

fn main() -> ExitCode {
    xtask::run(&Task::parse()).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
