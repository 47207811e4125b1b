//! The rows of `sums.csv`, each of which has the distance of a sum from the exact sum.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    sample::{read_csv, write_csv},
};

/// A variant's sum of the elements on which the variant was then timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    /// The variant.
    pub variant: String,
    /// The element type.
    #[serde(rename = "type")]
    pub element: String,
    /// The number of threads per block; 0 if the variant has its own block size.
    pub threads: u32,
    /// The number of elements.
    pub n: u64,
    /// The sum.
    pub sum: f64,
    /// The distance from the exact sum, which is a compensated sum in f64. For integers the
    /// distance is 0, unless the sum is wrong.
    pub error: f64,
    /// The largest distance that rounding can cause in the variant's own summation tree.
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
