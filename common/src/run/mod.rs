//! One step on one problem: the job, its outcome and its times.

mod beyond;
#[cfg(not(target_family = "wasm"))]
mod counted;
mod extra;
mod extremes;
mod first;
mod fits;
#[cfg(not(target_family = "wasm"))]
mod growth;
mod job;
mod leftover;
mod long;
mod many;
mod often;
mod orders;
mod outcome;
#[cfg(test)]
mod played;
mod predicted;
mod refusal;
mod registers;
mod rounding;
mod special;
mod timing;
#[cfg(not(target_family = "wasm"))]
mod types;
mod why;

#[cfg(target_family = "wasm")]
pub use crate::device::cuda::Counted;
#[cfg(not(target_family = "wasm"))]
pub use counted::{Counted, Drawn, SAME, by_hardware, count};
pub use extra::ALL_RUNS;
pub use job::{Checked, Job};
pub use outcome::{Outcome, Samples, run};
pub use predicted::{Prediction, chip, film, predicted, timed};
pub use refusal::Refusal;
pub use timing::Timing;
