//! Defines the questions that a page asks.

use common::{Element, Error, Result, plan::Block, sum::Input};
use serde::Deserialize;

/// A kernel, how to launch it, and which results to return.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The step whose plan launches the kernel.
    pub step: String,
    /// Its PTX.
    pub ptx: String,
    /// The source, if it is known; findings take names from it.
    #[serde(default)]
    pub source: String,
    /// The number of elements.
    pub n: u64,
    /// The element type, in the form that `--type` accepts.
    pub r#type: String,
    /// Threads per block; the default is the step's own.
    #[serde(default)]
    pub threads: Option<u32>,
    /// The schedule, in the form that `--schedule` accepts.
    #[serde(default)]
    pub schedule: Option<String>,
    /// The number of multiprocessors; the default is that of an H200.
    #[serde(default)]
    pub sms: Option<u32>,
    /// Whether to run all checks.
    #[serde(default)]
    pub checks: bool,
    /// Whether to return the frames of the first block.
    #[serde(default)]
    pub frames: bool,
    /// The maximum number of warp instructions that a launch may execute.
    #[serde(default)]
    pub budget: Option<u64>,
}

/// The default limit on the warp instructions of a launch; executing this many instructions takes a
/// fifth of a second in a page.
const BUDGET: u64 = 1 << 22;

/// The limit on the number of elements, chosen so that counting takes less than a second, even on a
/// phone.
pub(crate) const MOST: u64 = 1 << 20;

/// The input and the seed that a program uses by default.
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
                "a page adds at most {MOST} elements, but {n} were requested: `cargo run` adds as many as fit in memory"
            ))),
        }
    }

    pub(crate) fn budget(&self) -> u64 {
        self.budget.unwrap_or(BUDGET)
    }
}
