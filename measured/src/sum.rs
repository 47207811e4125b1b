//! How far a sum was from the exact one: the row of `sums.csv`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    sample::{read_csv, write_csv},
};

/// One variant's sum of the elements that it was then timed on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    /// Whose it is.
    pub variant: String,
    /// The type of an element.
    #[serde(rename = "type")]
    pub element: String,
    /// Threads of a block; 0 where the variant has its own.
    pub threads: u32,
    /// Elements.
    pub n: u64,
    /// The sum.
    pub sum: f64,
    /// Its distance from the exact sum, which is compensated and in f64. Integers: 0, or it is wrong.
    pub error: f64,
    /// The largest distance that the rounding of the variant's own tree explains.
    pub bound: f64,
}

impl Sum {
    /// Reads a file of sums.
    pub fn read(path: &Path) -> Result<Vec<Sum>> {
        read_csv(path)
    }

    /// Writes a file of sums.
    pub fn write(path: &Path, sums: &[Sum]) -> Result<()> {
        write_csv(path, sums)
    }
}
