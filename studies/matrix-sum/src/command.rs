//! The program: the study's table, and the sums of files.

use std::{io::Write, path::PathBuf, process::ExitCode};

use clap::{Args, FromArgMatches, Subcommand};
use common::{
    cli,
    device::{Choice, Device, Settings},
    plan::{Order, Size},
};

use crate::{
    STUDY, file,
    sums::{self, Before, Sums},
};

/// What else the program does.
#[derive(Debug, Subcommand)]
enum Command {
    /// Write a file of matrices with numbers from -1 to 1
    Generate(Generate),
    /// Print the four sums of a file of matrices
    Sum(Sum),
}

#[derive(Args, Debug)]
struct Generate {
    /// The file; it appears when all is written
    file: PathBuf,

    /// How many matrices: 1000000, 2^20, 3*2^19+77, 1Mi
    #[arg(long, value_name = "COUNT", default_value = "2^20")]
    matrices: Size,

    /// row: each matrix together; column: the first numbers of all, then the second ones
    #[arg(long, value_name = "ORDER", default_value = "row", value_parser = order)]
    order: Order,

    /// The seed that the numbers come from
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    seed: u64,
}

#[derive(Args, Debug)]
struct Sum {
    /// A file that `matrix-sum generate` wrote; the order stands in it
    file: PathBuf,

    /// The way: naive, compressed, banks, first, unrolled, wide, one-pass
    #[arg(long, value_name = "WAY", default_value = "one-pass")]
    way: String,

    /// Where to run: auto (the GPU if there is one, the interpreter if not), cuda, cuda:1, simt
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    device: Choice,

    /// Fill up with zeros to a multiple of 1024 matrices, as kernels without a bounds check need it
    #[arg(long, conflicts_with = "pre_reduce")]
    pad: bool,

    /// Add the matrices beyond the last multiple of 1024 to the first ones, on the host
    #[arg(long)]
    pre_reduce: bool,
}

fn order(text: &str) -> Result<Order, String> {
    match text {
        "row" => Ok(Order::Row),
        "column" => Ok(Order::Column),
        _ => Err(format!("`{text}` is no order: take row or column")),
    }
}

/// Runs the program.
pub fn run() -> ExitCode {
    let command = Command::augment_subcommands(cli::study_command(&STUDY))
        .about(STUDY.about)
        .term_width(80)
        .subcommand_required(false)
        .args_conflicts_with_subcommands(true);
    let matches = match command.try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return cli::refused(&error),
    };
    if matches.subcommand().is_none() {
        return match cli::options(&matches) {
            Ok(options) => cli::ladder(&options, STUDY.ways),
            Err(error) => cli::refused(&error),
        };
    }
    match Command::from_arg_matches(&matches) {
        Ok(Command::Generate(asked)) => cli::exit(generate(&asked)),
        Ok(Command::Sum(asked)) => cli::exit(sum(&asked)),
        Err(error) => cli::refused(&error),
    }
}

fn generate(asked: &Generate) -> Result<(), cli::Stop> {
    let Size(count) = asked.matrices;
    file::generate(&asked.file, asked.order, count, asked.seed)?;
    writeln!(anstream::stdout(), "wrote {count} matrices to {}", asked.file.display())?;
    Ok(())
}

fn sum(asked: &Sum) -> Result<(), cli::Stop> {
    let before = match asked {
        Sum { pad: true, .. } => Before::Pad,
        Sum { pre_reduce: true, .. } => Before::PreReduce,
        _ => Before::Nothing,
    };
    let matrices = file::read(&asked.file)?;
    let count = matrices.values.len() / 4;
    let device = Device::open(asked.device, &Settings::default())?;
    let Sums { sums, exact, given } = sums::sums(&device, &asked.way, matrices, before)?;
    let mut out = anstream::stdout();
    writeln!(out, "{}", device.facts().line)?;
    writeln!(out, "  matrices  {count}, of which the device was given {given}")?;
    for (entry, (sum, exact)) in sums.into_iter().zip(exact).enumerate() {
        let error = (f64::from(sum) - exact).abs();
        writeln!(out, "  sum {entry}     {sum:<16} exactly {exact:<22} off by {error:.1e}")?;
    }
    writeln!(out, "  verified  all four, and every partial sum")?;
    Ok(())
}
