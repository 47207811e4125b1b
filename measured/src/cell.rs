//! How the measurement of one type, size and cache ended: the row of `cells.csv`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    Cache, Result,
    sample::{read_csv, write_csv},
};

/// One type, size and cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The type of an element.
    #[serde(rename = "type")]
    pub element: String,
    /// Elements.
    pub n: u64,
    /// Where they were.
    pub cache: Cache,
    /// Rounds kept: each has one sample of every variant.
    pub rounds: u32,
    /// Rounds thrown away, because the SM clock was below that of the start.
    pub rejected: u32,
    /// The widest interval of a paired ratio, relative to the ratio.
    pub widest: f64,
    /// The pair that it belongs to.
    pub pair: String,
    /// Whether all intervals are as narrow as was asked for.
    pub converged: bool,
    /// The SM clock that the rounds kept were held to, in MHz; 0 where it cannot be read.
    pub sm_mhz: u32,
    /// Seconds that it took, drawing and copying the input included.
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
