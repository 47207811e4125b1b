//! The program: prints the study's table, and the sums of files.

use std::{io::Write, path::PathBuf, process::ExitCode};

use clap::{Args, FromArgMatches, Subcommand};
use common::{
    Error, cli,
    device::{Choice, Device, Settings, feed::Span},
    plan::{Order, Size},
};

use crate::{
    STUDY, file, measure,
    part::Part,
    sums::{self, Before, Sums},
    volume,
};

/// The subcommands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Write a file of matrices with numbers from -1 to 1
    Generate(Generate),
    /// Print the four sums of a file of matrices
    Sum(Sum),
    /// Time files in pieces, and compare the CPU with the GPU for few matrices
    Measure(Measure),
}

#[derive(Args, Debug)]
struct Generate {
    /// The file to write; it appears only once it is complete
    file: PathBuf,

    /// The number of matrices, for example 1000000, 2^20, 3*2^19+77 or 1Mi
    #[arg(long, value_name = "COUNT", default_value = "2^20")]
    matrices: Size,

    /// row: one whole matrix after another; column: the first element of every matrix, then the
    /// second element of every matrix, and so on
    #[arg(long, value_name = "ORDER", default_value = "row", value_parser = order)]
    order: Order,

    /// The seed of the random numbers
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    seed: u64,
}

#[derive(Args, Debug)]
struct Sum {
    /// A file written by `matrix-sum generate`, which contains its order
    file: PathBuf,

    /// The version of the kernel: naive, compressed, banks, first, unrolled, wide or one-pass
    #[arg(long, value_name = "WAY", default_value = "one-pass")]
    way: String,

    /// The device: auto (the GPU if there is one, otherwise the interpreter), cuda, cuda:1 or simt
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    device: Choice,

    /// The number of bytes of GPU memory for the file, which is copied in pieces, two at a time
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, conflicts_with_all = ["pad", "pre_reduce", "cpu_threshold"])]
    volume: Option<Size>,

    /// Let the CPU finish once at most this many matrices are left
    #[arg(long, value_name = "COUNT", default_value = "0", allow_hyphen_values = true)]
    cpu_threshold: Size,

    /// Pad with zeros to a multiple of 1024 matrices, for kernels without a bounds check
    #[arg(long, conflicts_with = "pre_reduce")]
    pad: bool,

    /// On the host, add the matrices beyond the last multiple of 1024 to the first matrices
    #[arg(long)]
    pre_reduce: bool,
}

#[derive(Args, Debug)]
struct Measure {
    /// The folder for the samples and, temporarily, for two files of matrices
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,

    /// The number of bytes of GPU memory for the pieces of a file
    #[arg(long, value_name = "BYTES", default_value = "2^30", allow_hyphen_values = true)]
    volume: Size,

    /// The number of bytes in each file; there is one file in each order
    #[arg(long, value_name = "BYTES", default_value = "2^31", allow_hyphen_values = true)]
    bytes: Size,

    /// The number of rounds of each measurement
    #[arg(long, value_name = "COUNT", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// The GPU to measure
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    device: Choice,
}

fn order(text: &str) -> Result<Order, String> {
    match text {
        "row" => Ok(Order::Row),
        "column" => Ok(Order::Column),
        _ => Err(format!("`{text}` is not an order: choose row or column")),
    }
}

/// Runs the program.
pub fn run() -> ExitCode {
    let command = cli::numeric(Command::augment_subcommands(cli::study_command(&STUDY)))
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
        Ok(Command::Sum(asked)) => cli::exit(sum(&asked).map_err(in_pieces)),
        Ok(Command::Measure(asked)) => cli::exit(measured(&asked)),
        Err(error) => cli::refused(&error),
    }
}

/// If there is not enough memory, the error suggests summing the file in pieces, because `--n` does
/// not apply to a file.
fn in_pieces(stop: cli::Stop) -> cli::Stop {
    match stop {
        cli::Stop::Error(Error::Memory { what, place, needed, free }) => Error::Usage(format!(
            "{what} needs {needed} bytes of {place} memory, but only {free} are free: sum the file in pieces, with a smaller `--volume`"
        ))
        .into(),
        cli::Stop::Error(Error::Refused { what, needed }) => Error::Usage(format!(
            "{what} need {needed} bytes of host memory, more than this program may allocate (see `ulimit -v`): sum the file in pieces, with a smaller `--volume`"
        ))
        .into(),
        other => other,
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
    if let Some(Size(bytes)) = asked.volume {
        return volume(asked, bytes);
    }
    let matrices = file::read(&asked.file)?;
    let count = matrices.values.len() / 4;
    let device = Device::open(asked.device, &Settings::default())?;
    let Size(most_left) = asked.cpu_threshold;
    let Sums { sums, exact, given, left } =
        sums::sums(&device, &asked.way, matrices, before, most_left)?;
    let mut out = anstream::stdout();
    writeln!(out, "{}", device.facts().line)?;
    writeln!(out, "  matrices  {count}, {given} of them passed to the device")?;
    if most_left > 0 {
        writeln!(out, "  finished  by the CPU, which added the last {left} matrices")?;
    }
    lines(&mut out, sums.map(f64::from), exact)?;
    Ok(())
}

/// Sums a file in pieces.
fn volume(asked: &Sum, bytes: u64) -> Result<(), cli::Stop> {
    let device = Device::open(asked.device, &Settings::default())?;
    let volume = volume::add(&device, &asked.file, &asked.way, bytes)?;
    let mut out = anstream::stdout();
    writeln!(out, "{}", device.facts().line)?;
    writeln!(out, "  matrices  {}, in {} pieces", volume.matrices, volume.pieces)?;
    if let Some(seconds) = volume.seconds {
        let total = |part: fn(&Span) -> [f64; 2]| {
            let spans = volume.spans.iter().map(part);
            spans.map(|[from, to]| to - from).sum::<f64>() / 1e3
        };
        let (copied, added) = (total(|span| span.copied), total(|span| span.added));
        writeln!(out, "  copied    {copied:.2} ms")?;
        writeln!(out, "  added     {added:.2} ms, overlapped with the copies")?;
        writeln!(out, "  in all    {:.2} ms, including the reads", 1e3 * seconds)?;
    }
    lines(&mut out, volume.sums, volume.exact)?;
    Ok(())
}

/// Prints the four sums.
fn lines(out: &mut impl Write, sums: [f64; 4], exact: [f64; 4]) -> std::io::Result<()> {
    for (entry, (sum, exact)) in sums.into_iter().zip(exact).enumerate() {
        let error = (sum - exact).abs();
        writeln!(out, "  sum {entry}     {sum:<16} exactly {exact:<22} off by {error:.1e}")?;
    }
    writeln!(out, "  verified  all four sums, and every partial sum")
}

fn measured(asked: &Measure) -> Result<(), cli::Stop> {
    let (Size(volume), Size(bytes)) = (asked.volume, asked.bytes);
    let failed = |source| {
        let doing = format!("making the folder {}", asked.out.display());
        Error::File { doing, source }
    };
    std::fs::create_dir_all(&asked.out).map_err(failed)?;
    let device = Device::open(asked.device, &Settings::default())?;
    device.gpu()?;
    let files = [("row", Order::Row), ("column", Order::Column)]
        .map(|(name, order)| (Part::new(asked.out.join(format!("{name}.matrices"))), order));
    for (part, order) in &files {
        file::generate(part.path(), *order, bytes / 16, 42)?;
    }
    let paths = files.each_ref().map(|(part, _)| part.path());
    measure::run(&device, &paths, volume, asked.rounds, &asked.out)?;
    writeln!(anstream::stdout(), "every sample is in {}", asked.out.display())?;
    Ok(())
}
