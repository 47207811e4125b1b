//! `ladder library`: `reduce` against CUB, in every type and operation that it has, at named or
//! drawn sizes, on the device's clock and on the caller's, and what its first answers take.

mod cell;
mod drawn;
mod first;

use std::{io::Write, path::PathBuf};

use clap::{Args, ValueEnum};
use common::{Error, cli::Stop, plan::Size};
use half::{bf16, f16};
use measured::{Clock, library::Taken};
use reduce::Operation;

use self::drawn::Drawn;
use crate::{
    options::{OnGpu, progress},
    rig::Rig,
    stop::{file, needs_a_gpu},
};

/// What is measured.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many elements, a list
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26,2^28,2^30",
        allow_hyphen_values = true
    )]
    pub n: Vec<Size>,

    /// In place of these, as many sizes, drawn from 1 to 2^30 with even logarithms, and all powers
    /// of two up to there
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub drawn: u32,

    /// The seed that sizes and elements are drawn from
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    pub seed: u64,

    /// The types of an element, a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32,i32")]
    pub element: Vec<Kind>,

    /// The operations, a list
    #[arg(long, value_name = "OPERATION", value_delimiter = ',', default_value = "sum")]
    pub operation: Vec<Wanted>,

    /// Rounds of a size on the device's clock
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub rounds: u32,

    /// Rounds of a size on the caller's clock
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub callers: u32,

    /// Time the first answer of each type and operation instead, each in a process of its own with
    /// no cache of the driver's
    #[arg(long)]
    pub first: bool,

    /// What a process of `--first` is
    #[arg(long, hide = true)]
    pub alone: bool,

    /// The folder of a run, in which library.csv.gz (or first.csv) is written
    /// [default: none, only the table]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// Where to measure.
    #[command(flatten)]
    pub place: OnGpu,
}

/// A type that `reduce` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Kind {
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
}

/// An operation, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Wanted {
    Sum,
    Min,
    Max,
}

impl From<Wanted> for Operation {
    fn from(wanted: Wanted) -> Operation {
        match wanted {
            Wanted::Sum => Operation::Sum,
            Wanted::Min => Operation::Min,
            Wanted::Max => Operation::Max,
        }
    }
}

/// Measures, prints a table for each type and operation, and writes every sample.
pub fn run(options: &Options) -> Result<(), Stop> {
    if options.alone {
        return first::alone(options);
    }
    let rig = Rig::open(options.place.device, options.place.peers.as_deref())
        .map_err(needs_a_gpu("library"))?;
    if options.first {
        return first::run(&rig, options);
    }
    let sizes = match options.drawn {
        0 => options.n.iter().map(|size| size.0).collect(),
        count => drawn::sizes(count, options.seed),
    };
    if sizes.contains(&0) {
        return Err(Error::Usage("no elements take no time: `--n` starts at 1 here".into()).into());
    }
    let mut mhz = rig.wake()?;
    let mut taken = Vec::new();
    for kind in &options.element {
        let measure = match kind {
            Kind::F32 => typed::<f32>,
            Kind::F64 => typed::<f64>,
            Kind::I32 => typed::<i32>,
            Kind::U32 => typed::<u32>,
            Kind::I64 => typed::<i64>,
            Kind::U64 => typed::<u64>,
            Kind::F16 => typed::<f16>,
            Kind::Bf16 => typed::<bf16>,
        };
        taken.extend(measure(&rig, options, &sizes, &mut mhz)?);
    }
    let mut out = anstream::stdout();
    writeln!(out, "{}\n", rig.device.facts().line)?;
    for (clock, says) in [
        (Clock::Gpu, "on the device: events, gated, L2 cold"),
        (Clock::Host, "as a caller waits for it: from the call until the result is on the host"),
    ] {
        for title in measured::library::tables(&taken, clock) {
            writeln!(out, "{}, {says}\n\n{}", title.0, title.1)?;
        }
    }
    match &options.out {
        None => Ok(()),
        Some(folder) => {
            Taken::write(&folder.join("library.csv.gz"), &taken).map_err(file)?;
            writeln!(out, "every sample is in {}", folder.join("library.csv.gz").display())?;
            Ok(())
        }
    }
}

/// All operations and sizes of one type.
fn typed<T: Drawn>(
    rig: &Rig,
    options: &Options,
    sizes: &[u64],
    mhz: &mut u32,
) -> common::Result<Vec<Taken>>
where
    T::Output: bytemuck::Pod,
{
    let most = sizes.iter().copied().max().unwrap_or(1);
    progress(&format!("drawing {most} {}", T::NAME));
    let input = cell::Input::<T>::draw(rig, most, options.seed)?;
    let mut taken = Vec::new();
    for &operation in &options.operation {
        for &n in sizes {
            taken.extend(cell::measure(rig, options, &input, operation.into(), n, mhz)?);
        }
        progress(&format!(
            "{} of {}: {} sizes",
            cell::name(operation.into()),
            T::NAME,
            sizes.len()
        ));
    }
    Ok(taken)
}
