//! Defines the questions that a page asks.

use common::{
    Element, Error, Result,
    plan::{Block, Chip, Problem},
};
use predict::Gpu;
use serde::Deserialize;

/// A kernel, how to launch it, and the GPU.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Question {
    /// The step whose plan launches the kernel.
    pub step: String,
    /// The kernel's PTX, for `float`.
    pub ptx: String,
    /// Threads per block; the default is the step's own.
    pub threads: Option<u32>,
    /// The number of multiprocessors; the default is that of an H200.
    pub sms: Option<u32>,
    /// The latency of memory, as a multiple of an H200's.
    pub latency: Option<f64>,
    /// The bandwidth of memory, as a multiple of an H200's.
    pub bandwidth: Option<f64>,
    /// The number of cycles to film; 0 for no film.
    pub cycles: Option<u32>,
    /// The number of elements for which the kernel's time is predicted, or `None` for no
    /// prediction.
    pub n: Option<u64>,
}

/// The number of cycles that a figure shows: four microseconds, long enough for each step to repeat
/// its work.
pub const CYCLES: u32 = 8192;

/// The number of elements for each multiprocessor, which is enough for more cycles than the film
/// shows.
const EACH: u64 = 1 << 17;

/// The limits of a question.
const SMS: [u32; 2] = [1, 512];
const TIMES: [f64; 2] = [0.1, 8.0];
const MOST_CYCLES: u32 = 1 << 15;
const MOST: u64 = 1 << 30;

impl Question {
    /// Returns the GPU of the question.
    pub(crate) fn gpu(&self) -> Result<Gpu> {
        let usage = |error: predict::Error| Error::Usage(error.to_string());
        let mut gpu = Gpu::named("h200").map_err(usage)?;
        gpu.sms = within("multiprocessors", self.sms.unwrap_or(gpu.sms), SMS)?;
        let latency = within("times the latency", self.latency.unwrap_or(1.0), TIMES)?;
        let bandwidth = within("times the bandwidth", self.bandwidth.unwrap_or(1.0), TIMES)?;
        Ok(gpu.with_latency(latency).with_bandwidth(bandwidth))
    }

    /// Returns whether the GPU is an unchanged H200, for which a prediction has a range.
    pub(crate) fn is_h200(&self) -> bool {
        let once = |times: Option<f64>| times.is_none_or(|times| times == 1.0);
        self.sms.is_none_or(|sms| sms == Chip::H200.sms)
            && once(self.latency)
            && once(self.bandwidth)
    }

    pub(crate) fn cycles(&self) -> Result<u32> {
        within("cycles", self.cycles.unwrap_or(CYCLES), [0, MOST_CYCLES])
    }

    /// Returns the number of elements for which the time is predicted.
    pub(crate) fn elements(&self) -> Result<Option<u64>> {
        self.n.map(|n| within("elements", n, [0, MOST])).transpose()
    }

    /// Returns the problem with `n` elements or, without `n`, with enough elements for a film.
    pub(crate) fn problem(&self, step: &common::Step, n: Option<u64>) -> Result<Problem> {
        let chip = Chip { sms: self.sms.unwrap_or(Chip::H200.sms), ..Chip::H200 };
        let n = n.unwrap_or(EACH * u64::from(chip.sms));
        let block = step.block(self.threads.map(Block::new).transpose()?);
        Ok(Problem { n, block, element: Element::F32, chip })
    }
}

/// Rejects a value that is outside its limits.
fn within<T: PartialOrd + std::fmt::Display + Copy>(
    what: &str,
    value: T,
    [least, most]: [T; 2],
) -> Result<T> {
    if value >= least && value <= most {
        return Ok(value);
    }
    Err(Error::Usage(format!("{value} {what} were requested: choose {least} to {most}")))
}
