//! The program `many`, which computes sums over several GPUs or over interpreters that simulate
//! them.

mod args;
mod room;
mod say;
mod splits;
mod start;
mod sum;
mod timed;

use std::process::ExitCode;

use args::{Command, What};
use clap::Parser;

fn main() -> ExitCode {
    many::nccl::connect_early();
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(error) => return say::refused(&error),
    };
    let done = match command.what {
        // Without arguments, all ranks run in this process, which works on any machine.
        None => {
            let Command { what: Some(What::Sum(asked)) } = Command::parse_from(["many", "sum"])
            else {
                return ExitCode::FAILURE;
            };
            sum::run(&args::Sum { one_process: true, ..asked })
        }
        Some(What::Sum(asked)) => sum::run(&asked),
        Some(What::Measure(asked)) => timed::measure(&asked),
        Some(What::Exact(asked)) => splits::exact(&asked),
        Some(What::Model(asked)) => timed::model(&asked),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say::note(&format!("many: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
