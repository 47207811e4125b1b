//! What a page asks.

use common::{Element, Error, Result, plan::Block, sum::Input};
use serde::Deserialize;

/// A kernel, how it is launched, and what is to be seen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The step whose plan it is launched by.
    pub step: String,
    /// Its PTX.
    pub ptx: String,
    /// Its source, where that is known: findings take names from it.
    #[serde(default)]
    pub source: String,
    /// Elements.
    pub n: u64,
    /// Their type, as `--type` takes it.
    pub r#type: String,
    /// Threads of a block; the step's own where it takes no other.
    #[serde(default)]
    pub threads: Option<u32>,
    /// The order of execution, as `--schedule` takes it.
    #[serde(default)]
    pub schedule: Option<String>,
    /// Multiprocessors; an H200's where nothing is said.
    #[serde(default)]
    pub sms: Option<u32>,
    /// Whether all checks look on.
    #[serde(default)]
    pub checks: bool,
    /// Whether the first block's frames are wanted.
    #[serde(default)]
    pub frames: bool,
    /// Warp instructions that a launch may execute.
    #[serde(default)]
    pub budget: Option<u64>,
}

/// Warp instructions that a launch may execute where nothing else is said: a fifth of a second in
/// a page.
const BUDGET: u64 = 1 << 22;

/// The most elements that are taken: their counts come within a second, also on a phone.
pub(crate) const MOST: u64 = 1 << 20;

/// The elements are those that a program draws where nothing else is said.
pub(crate) const INPUT: (Input, u64) = (Input::Uniform, 42);

impl Question {
    pub(crate) fn element(&self) -> Result<Element> {
        self.r#type.parse().map_err(Error::Usage)
    }

    pub(crate) fn block(&self) -> Result<Option<Block>> {
        self.threads.map(Block::new).transpose()
    }

    pub(crate) fn schedule(&self) -> Result<simt::Schedule> {
        let schedule = self.schedule.as_deref().map(str::parse).transpose();
        schedule.map(Option::unwrap_or_default).map_err(Error::Usage)
    }

    pub(crate) fn elements(&self) -> Result<u64> {
        match self.n {
            n if n <= MOST => Ok(n),
            n => Err(Error::Usage(format!(
                "a page adds at most {MOST} elements, and {n} are asked for: `cargo run` takes as many as there is memory for"
            ))),
        }
    }

    pub(crate) fn budget(&self) -> u64 {
        self.budget.unwrap_or(BUDGET)
    }
}
