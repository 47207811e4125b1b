//! The program `check`: `cargo run -p check -- 3` is the same as `cargo x check 3`.

use std::{
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

use check::{Ended, Options};
use clap::Parser;

fn main() -> ExitCode {
    let error = match check::run(&Options::parse()) {
        Ok(Ended::Well) => return ExitCode::SUCCESS,
        Ok(Ended::Failed) => return ExitCode::FAILURE,
        Err(error) => error,
    };
    // If a reader such as `head` has closed the pipe, the run has not failed.
    if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    let _ = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::from(2)
}
