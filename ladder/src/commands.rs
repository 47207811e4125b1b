//! The commands of `ladder`: without one, the table of all steps.

use std::process::ExitCode;

use clap::{Args, FromArgMatches, Subcommand};
use common::cli;

use crate::{
    baseline::{self, Baseline},
    compare, compilers, counters, device, library, measure, rows, sweep, zoo,
};

/// What else the ladder does.
#[derive(Debug, Subcommand)]
enum Command {
    /// Measure every step and peer, interleaved, and keep every sample in a folder of results/
    Measure(measure::Options),
    /// Does this step matter here? Two steps, peers, or a step and a kernel of your own: paired, with
    /// the ratio and its interval; without a GPU, their counts beside each other
    Compare(compare::Options),
    /// Every step in every block size, interleaved
    Sweep(sweep::Options),
    /// The crate reduce against CUB: types, operations, drawn sizes, both clocks, first answers
    Library(library::Options),
    /// A sum for each row, by the crate reduce and by CUB: rows of any length, or a map of all shapes
    Rows(rows::Options),
    /// Every step as NVRTC and as clang make it: which counts are the kernel's, which the compiler's
    Compilers(compilers::Options),
    /// Print the ncu command for each step, or turn what ncu printed into counters.csv
    Counters(counters::Options),
    /// Run one step once, verified and untimed: what a profiler is put around
    Once(counters::Once),
    /// Print what the device says of itself, with the limits that plans go by marked
    Device(device::Options),
    /// Run a broken sum of the zoo many times, and count the right ones
    Zoo(zoo::Options),
}

/// Runs the program.
pub fn run() -> ExitCode {
    // The subcommands' own line would take the place of what the ladder is.
    let ladder = cli::ladder_command();
    let (about, page) = (ladder.get_about().cloned(), ladder.get_long_about().cloned());
    let command = Command::augment_subcommands(Baseline::augment_args(ladder))
        .term_width(80)
        .about(about.unwrap_or_default())
        .long_about(page.unwrap_or_default())
        .subcommand_required(false)
        .args_conflicts_with_subcommands(true);
    let matches = match command.try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return cli::refused(&error),
    };
    if matches.subcommand().is_none() {
        return match Baseline::from_arg_matches(&matches) {
            Ok(asked) => baseline::run(&asked, &matches),
            Err(error) => cli::refused(&error),
        };
    }
    match Command::from_arg_matches(&matches) {
        Ok(command) => cli::exit(match command {
            Command::Measure(options) => measure::run(&options),
            Command::Compare(options) => compare::run(&options),
            Command::Sweep(options) => sweep::run(&options),
            Command::Library(options) => library::run(&options),
            Command::Rows(options) => rows::run(&options),
            Command::Compilers(options) => compilers::run(&options),
            Command::Counters(options) => counters::run(&options),
            Command::Once(options) => counters::once(&options),
            Command::Device(options) => device::run(&options),
            Command::Zoo(options) => zoo::run(&options),
        }),
        Err(error) => cli::refused(&error),
    }
}
