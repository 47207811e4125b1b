//! The options of `ladder exact`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use common::{device::Choice, plan::Sizes};

use super::data::Data;

/// Options of `ladder exact`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The numbers of elements, as a list [default: 2^10,2^20,2^24,2^28; in the interpreter
    /// 1000,2^12]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub n: Option<Sizes>,

    /// The types of the elements, as a list
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_delimiter = ',',
        default_value = "f32,f16,bf16,f64"
    )]
    pub element: Vec<Kind>,

    /// The kinds of data, as a list [default: all]
    #[arg(long, value_name = "DATA", value_delimiter = ',')]
    pub data: Vec<Data>,

    /// The seed of the elements
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    pub seed: u64,

    /// Rounds for each size
    #[arg(long, value_name = "COUNT", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: u32,

    /// The folder of a run, to which exact.csv.gz is written [default: none, only the tables]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// The device: cuda, cuda:1, or simt, which verifies and counts but measures no times
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    pub device: Choice,
}

/// A type that has exact sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Floats
    F32,
    /// Doubles
    F64,
    /// Halves
    F16,
    /// bfloat16
    Bf16,
}
