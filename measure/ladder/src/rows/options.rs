//! The options of `ladder rows`.

use std::path::PathBuf;

use clap::Args;
use common::plan::Sizes;

use crate::options::OnGpu;

/// The options of `ladder rows`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The numbers of elements in a row, as a list
    #[arg(
        long,
        value_name = "N",
        default_value = "1,2,4,8,16,32,64,128,256,512,2^10,2^11,2^12,2^13,2^14,2^15,2^16,2^17,2^18,2^19,2^20,2^21,2^22,2^23,2^24,2^25,2^26,2^27,2^28",
        allow_hyphen_values = true
    )]
    pub n: Sizes,

    /// The total numbers of elements, as a list; for each row length, there are as many rows as fit
    /// in the total
    #[arg(long, value_name = "TOTAL", default_value = "2^28", allow_hyphen_values = true)]
    pub total: Sizes,

    /// Instead of `--n`, draw this many lengths from 1 to the total, with uniformly distributed
    /// logarithms
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub drawn: u32,

    /// Instead of `--n` and `--drawn`, measure every pair of powers of two as the number of rows
    /// and the number of elements in a row, up to the total
    #[arg(long, conflicts_with_all = ["drawn"])]
    pub map: bool,

    /// The seed for drawn lengths and elements
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    pub seed: u64,

    /// The number of rounds for each shape
    #[arg(long, value_name = "COUNT", default_value_t = 60, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub rounds: u32,

    /// Also measure CUB with offsets, which takes about a second for short rows
    #[arg(long)]
    pub offsets: bool,

    /// The library that `cargo x peers` compiled from peers/rows.cu [default: in the folder of
    /// this program, then in target/peers]
    #[arg(long, value_name = "FILE")]
    pub cub: Option<PathBuf>,

    /// The folder in which rows.csv.gz is written [default: none, only the table]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// The device to measure on.
    #[command(flatten)]
    pub place: OnGpu,
}
