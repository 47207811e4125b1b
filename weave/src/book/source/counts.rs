//! The interpreter's counts, for every step, size and block size that the book uses.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, bail};
use common::plan::Block;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The size at which hardware counters were read, which is the default size for counts.
pub(crate) const N: u64 = 1 << 22;
/// The default block size.
pub(crate) const THREADS: u32 = 256;

const FILE: &str = "counts.json";

/// The counts, keyed by step, number of elements and block size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts(BTreeMap<String, Counted>);

/// The counts for a sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// The number of blocks in each launch.
    pub(crate) blocks: Vec<u64>,
    /// The counts for each launch, keyed by name.
    pub(crate) launches: Vec<BTreeMap<String, u64>>,
}

/// The key under which the counts for a sum are stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    /// The step.
    pub(crate) step: String,
    /// The number of elements.
    pub(crate) n: u64,
    /// The number of threads per block.
    pub(crate) threads: u32,
}

impl Case {
    /// Returns the case with the default size and block size. A step that supports only one block
    /// size uses that size.
    pub(crate) fn of(step: &str) -> Case {
        let known = ladder::steps_and_ways().find(|known| known.name == step);
        let usual = Block::new(THREADS).ok();
        let threads = known.map_or(THREADS, |known| known.block(usual).threads());
        Case { step: step.to_owned(), n: N, threads }
    }

    fn key(&self) -> String {
        format!("{} n={} block={}", self.step, self.n, self.threads)
    }
}

impl Counts {
    /// Reads the committed file; empty if it does not exist.
    pub(crate) fn read(folder: &Path) -> Result<Counts> {
        match std::fs::read_to_string(folder.join(FILE)) {
            Ok(text) => serde_json::from_str(&text).with_context(|| FILE.to_owned()),
            Err(_) => Ok(Counts::default()),
        }
    }

    /// Returns the name and the text of the file.
    pub(crate) fn file(&self) -> Result<(String, String)> {
        Ok((FILE.to_owned(), serde_json::to_string_pretty(self)? + "\n"))
    }

    /// Returns the counts for a sum.
    pub(crate) fn get(&self, case: &Case) -> Result<&Counted> {
        self.0.get(&case.key()).with_context(|| {
            format!(
                "the interpreter has not counted {} yet: run `cargo x book --outputs`",
                case.key()
            )
        })
    }

    /// Returns the names of the kernels counted at a size, in alphabetical order.
    pub(crate) fn at(&self, n: u64) -> impl Iterator<Item = &str> {
        let end = format!(" n={n} block={THREADS}");
        self.0.keys().filter_map(move |key| key.strip_suffix(&end))
    }

    /// Adds a record that the ladder prints with `--format json`.
    pub(crate) fn add(&mut self, case: &Case, blocks: Vec<u64>, record: &Value) -> Result<()> {
        let launches = record["counts"]["launches"].as_array().context("a record has counts")?;
        let launches = launches.iter().filter_map(Value::as_object).map(numbers).collect();
        self.0.insert(case.key(), Counted { blocks, launches });
        Ok(())
    }
}

impl Counted {
    /// Returns a count for the first launch, or for all launches.
    pub(crate) fn count(&self, name: &str, all: bool) -> Result<u64> {
        let launches = if all { &self.launches[..] } else { &self.launches[..1] };
        let values: Option<Vec<u64>> = launches.iter().map(|l| l.get(name).copied()).collect();
        match values {
            Some(values) => Ok(values.iter().sum()),
            None => {
                let known: Vec<&str> = self.launches[0].keys().map(String::as_str).collect();
                bail!("there is no count `{name}`: use one of {}", known.join(", "))
            }
        }
    }

    /// Returns the number of blocks in the first launch, or in all launches.
    pub(crate) fn blocks(&self, all: bool) -> u64 {
        if all { self.blocks.iter().sum() } else { self.blocks[0] }
    }
}

fn numbers(object: &Map<String, Value>) -> BTreeMap<String, u64> {
    object.iter().filter_map(|(name, value)| Some((name.clone(), value.as_u64()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_counted_in_supported_blocks() {
        let threads = ["v6-shuffle", "v10-fixed-tree", "v11-mailbox/large-block", "one-block"]
            .map(|step| Case::of(step).threads);
        assert_eq!(threads, [256, 512, 1024, 256]);
    }
}
