//! The rows of `cells.csv`, each of which describes the outcome of the measurement for one type,
//! size and cache state.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    Cache, Result,
    sample::{read_csv, write_csv},
};

/// The outcome for one type, size and cache state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The element type.
    #[serde(rename = "type")]
    pub element: String,
    /// The number of elements.
    pub n: u64,
    /// The cache state.
    pub cache: Cache,
    /// The number of rounds that were kept; each has one sample of every variant.
    pub rounds: u32,
    /// The number of rounds that were discarded because the SM clock rate was lower than at the
    /// start.
    pub rejected: u32,
    /// The width of the widest interval of a paired ratio, relative to the ratio.
    pub widest: f64,
    /// The pair with the widest interval.
    pub pair: String,
    /// Whether all intervals reached the requested width.
    pub converged: bool,
    /// The SM clock rate that the kept rounds had to reach, in MHz; 0 if it cannot be read.
    pub sm_mhz: u32,
    /// The duration of the measurement in seconds, including generating and copying the input.
    pub seconds: f64,
}

impl Cell {
    /// Reads a file of cells.
    pub fn read(path: &Path) -> Result<Vec<Cell>> {
        read_csv(path)
    }

    /// Writes a file of cells.
    pub fn write(path: &Path, cells: &[Cell]) -> Result<()> {
        write_csv(path, cells)
    }
}
