//! Options that several commands share.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use common::{Element, device::Choice, plan::Block};

/// The GPU, and the path of the peers' library.
#[derive(Args, Clone, Debug)]
pub struct OnGpu {
    /// The GPU: cuda, or cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    pub device: Choice,

    /// The library that `cargo x peers` compiled [default: in the folder of this
    /// program, then in target/peers]
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
}

/// The settings for comparing two competitors.
#[derive(Args, Clone, Debug)]
pub struct How {
    /// The element types, a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32")]
    pub element: Vec<Element>,

    /// The number of threads per block
    #[arg(long, value_name = "THREADS", default_value = "256")]
    pub threads: Block,

    /// Compare with the input already in L2
    #[arg(long)]
    pub warm: bool,

    /// The time limit for each size, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = positive)]
    pub seconds: f64,
}

/// A cache state, named as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CacheName {
    /// The input is in memory.
    Cold,
    /// The input is in L2.
    Warm,
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1e6 => Ok(value),
        _ => Err(format!("`{text}` is not a number above 0")),
    }
}

/// Prints a line to standard error. A write error is ignored, because standard error may be closed.
pub(crate) fn progress(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_above_zero() {
        assert_eq!(positive("0.5"), Ok(0.5));
        for bad in ["0", "-1", "nan", "inf", "x", ""] {
            assert!(positive(bad).is_err(), "{bad}");
        }
    }
}
