//! The table of `results/exact`, about exact sums.

use std::path::Path;

use anyhow::{Context, Result};
use measured::exact::{Taken, by_data, series};

use super::folders::{newest, of_gpu};

/// Returns the table of the plain and the exact sums on some kinds of data, such as `uniform`, from
/// the newest folder or, with `on=h100`, from that GPU's newest folder.
pub(crate) fn block(root: &Path, words: &[&str]) -> Result<String> {
    let (kinds, gpu) = of_gpu(words);
    let file = "exact.csv.gz";
    let folder = newest(root, "exact", gpu, file)?.with_context(|| {
        format!("results/exact has no {file} for a GPU whose name contains `{gpu}`")
    })?;
    let all = series(&Taken::read(&folder.join(file))?);
    let table = by_data(&all, kinds).with_context(|| {
        format!("{} does not have all of the data `{}`", folder.display(), kinds.join("`, `"))
    })?;
    Ok(table.to_string())
}
