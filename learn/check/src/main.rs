//! `cargo run -p check -- 3`, which is `cargo x check 3`.

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
    // A reader that closed the pipe, such as `head`, is no failure.
    if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    let _ = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::from(2)
}
