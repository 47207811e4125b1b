//! The commands of `ladder`. Without a command, `ladder` prints the table of all steps.

use std::process::ExitCode;

use clap::{Args, FromArgMatches, Subcommand};
use common::cli;

use crate::{
    accuracy,
    baseline::{self, Baseline},
    compare, compilers, counters, device, exact, library, measure, operations, probe, rows, sweep,
    validate, zoo,
};

/// The commands of the ladder.
#[derive(Debug, Subcommand)]
enum Command {
    /// Measure every step and peer, interleaved, and keep every sample in a folder of results/
    Measure(measure::Options),
    /// Compare two steps, peers, or a step and your own kernel: by paired times, with the ratio and
    /// its interval, or, without a GPU, by counts
    Compare(compare::Options),
    /// Compare the errors of summation methods: pairs, running sums, Kahan, Neumaier, f64
    /// accumulators
    Accuracy(accuracy::Options),
    /// Time every step with every block size, interleaved
    Sweep(sweep::Options),
    /// Measure the crate reduce against CUB: types, operations, drawn sizes, both timers, cold
    /// starts
    Library(library::Options),
    /// Measure the exact sums and dot products of the crate reduce against its plain sum, on data
    /// of many kinds
    Exact(exact::Options),
    /// Count the instructions for each vector, for each operation of the crate reduce
    Operations(operations::Options),
    /// Measure the sum of each row, by the crate reduce and by CUB: rows of any length, or a map of
    /// all shapes
    Rows(rows::Options),
    /// Compare the counts for every step as compiled by NVRTC and by clang
    Compilers(compilers::Options),
    /// Print the ncu command for each step, or turn ncu's output into counters.csv
    Counters(counters::Options),
    /// Run one step once, verified and untimed, for a profiler
    Once(counters::Once),
    /// Measure the parts of this GPU's multiprocessors, for `--predict`
    Probe(probe::Options),
    /// Predict every measured time, and write the errors to results/predictions/
    Validate(validate::Options),
    /// Print the device's properties, and mark the limits that plans use
    Device(device::Options),
    /// Run a broken sum from the zoo many times, and count the correct results
    Zoo(zoo::Options),
}

/// Runs the program.
pub fn run() -> ExitCode {
    // Without this line, the subcommand's description would replace the ladder's description.
    let ladder = cli::ladder_command();
    let (about, page) = (ladder.get_about().cloned(), ladder.get_long_about().cloned());
    let command = cli::numeric(Command::augment_subcommands(Baseline::augment_args(ladder)))
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
            Command::Accuracy(options) => accuracy::run(&options),
            Command::Sweep(options) => sweep::run(&options),
            Command::Library(options) => library::run(&options),
            Command::Exact(options) => exact::run(&options),
            Command::Operations(options) => operations::run(&options),
            Command::Rows(options) => rows::run(&options),
            Command::Compilers(options) => compilers::run(&options),
            Command::Counters(options) => counters::run(&options),
            Command::Once(options) => counters::once(&options),
            Command::Probe(options) => probe::run(&options),
            Command::Validate(options) => validate::run(&options),
            Command::Device(options) => device::run(&options),
            Command::Zoo(options) => zoo::run(&options),
        }),
        Err(error) => cli::refused(&error),
    }
}
