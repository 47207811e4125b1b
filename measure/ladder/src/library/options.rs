//! The options of `ladder library`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use common::plan::Sizes;
use reduce::Operation;

use crate::options::OnGpu;

/// The options of `ladder library`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The numbers of elements, as a list
    #[arg(
        long,
        value_name = "N",
        default_value = "2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26,2^28,2^30",
        allow_hyphen_values = true
    )]
    pub n: Sizes,

    /// Instead of `--n`, draw this many sizes from 1 to 2^30 with uniformly distributed logarithms,
    /// and add all powers of two in that range
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub drawn: u32,

    /// The seed for drawn sizes and elements
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    pub seed: u64,

    /// The types of the elements, a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32,i32")]
    pub element: Vec<Kind>,

    /// The operations, as a list
    #[arg(long, value_name = "OPERATION", value_delimiter = ',', default_value = "sum")]
    pub operation: Vec<Wanted>,

    /// Rounds for each size, timed on the device
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub rounds: u32,

    /// Rounds for each size, in wall time
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub callers: u32,

    /// Instead, measure the time to first result for each type and operation, each in its own
    /// process and without the driver's compilation cache
    #[arg(long)]
    pub first: bool,

    /// The mode of a process that `--first` starts
    #[arg(long, hide = true)]
    pub alone: bool,

    /// The folder of a run, to which library.csv.gz (or first.csv) is written [default: none, only
    /// the table]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// The device to measure on.
    #[command(flatten)]
    pub place: OnGpu,
}

/// A type that `reduce` supports.
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

/// An operation, named as on the command line.
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
