//! `many`: sums over several GPUs, or over interpreters that play them.

mod args;
mod say;
mod start;
mod sum;
mod timed;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use args::{Command, What};
use clap::Parser;

fn main() -> ExitCode {
    many::nccl::connect_early();
    let done = match Command::parse().what {
        // On any machine, and nothing asked: all ranks in this process.
        None => {
            let Command { what: Some(What::Sum(asked)) } = Command::parse_from(["many", "sum"])
            else {
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
