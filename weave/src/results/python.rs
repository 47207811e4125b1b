//! The tables of `results/python`, about sums in Python and in other libraries' programs.

use std::path::Path;

use anyhow::{Context, Result, bail};
use measured::python;

use super::folders::{newest, of_gpu};

/// Returns the text of a block: `python sums CLOCK` and `python rows CLOCK`, where the clock is
/// `gpu`, `host` or `call`; `python batches`; `python start`; `python peer NAME CLOCK`. Each block
/// comes from the newest folder that has the samples or, with `on=h200`, from that GPU's newest
/// folder.
pub(crate) fn block(root: &Path, words: &[&str]) -> Result<String> {
    let (words, gpu) = of_gpu(words);
    let folder = |file: &str| {
        newest(root, "python", gpu, file)?.with_context(|| {
            format!("results/python has no {file} for a GPU whose name contains `{gpu}`")
        })
    };
    Ok(match words {
        ["sums", clock] => python::sums(&folder("sums.csv.gz")?, clock, false)?,
        ["rows", clock] => python::sums(&folder("sums.csv.gz")?, clock, true)?,
        ["batches"] => python::batches(&folder("batches.csv.gz")?)?,
        ["start"] => python::start(&folder("start.csv")?)?,
        ["peer", name, clock] => python::peer(&folder(&format!("{name}.csv.gz"))?, name, clock)?,
        _ => bail!("`python {}`: use sums, rows, batches, start or peer", words.join(" ")),
    })
}
