//! Options that several commands have.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use common::{Element, device::Choice, plan::Block};

/// Which GPU, and where the peers' library is.
#[derive(Args, Clone, Debug)]
pub struct OnGpu {
    /// The GPU: cuda, or cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    pub device: Choice,

    /// The library that `cargo x peers` compiled [default: beside this program, then
    /// target/peers]
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
}

/// How two are compared.
#[derive(Args, Clone, Debug)]
pub struct How {
    /// The type of an element, a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32")]
    pub element: Vec<Element>,

    /// Threads of a block
    #[arg(long, value_name = "THREADS", default_value = "256")]
    pub threads: Block,

    /// Compare with the input already in L2
    #[arg(long)]
    pub warm: bool,

    /// Seconds that a size may take
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = positive)]
    pub seconds: f64,
}

/// A cache, as it is named on the command line.
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
        _ => Err(format!("`{text}` is no number above 0")),
    }
}

/// A line on standard error; nobody has to read it.
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
