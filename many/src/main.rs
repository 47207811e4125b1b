//! `many`: sums over several GPUs, or over interpreters that play them.

mod args;
mod start;
mod sum;
mod timed;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use args::{Command, What};
use clap::Parser;
use many::Error;

fn main() -> ExitCode {
    let done = match Command::parse().what {
        // On any machine, and nothing asked: all ranks in this process.
        None => {
            let Command { what: Some(What::Sum(asked)) } = Command::parse_from(["many", "sum"]) else {
                return ExitCode::FAILURE;
            };
            sum::run(&args::Sum { one_process: true, ..asked })
        }
        Some(What::Sum(asked)) => sum::run(&asked),
        Some(What::Measure(asked)) => timed::measure(&asked),
        Some(What::Model(asked)) => timed::model(&asked),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "many: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Says a line. Where nobody reads it, that is no error.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// A failure that no part of the library has.
fn failed(sentence: String) -> Error {
    Error::Gpus(sentence)
}
