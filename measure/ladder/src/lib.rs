//! Provides all steps, in the order of the lessons, and the commands that measure them.

pub mod accuracy;
mod baseline;
pub mod cell;
pub mod clock;
pub mod commands;
pub mod compare;
pub mod competitors;
pub mod compilers;
mod counted;
pub mod counters;
pub mod date;
pub mod device;
pub mod exact;
mod gated;
pub mod library;
pub mod measure;
mod names;
pub mod operations;
mod options;
mod own;
mod predicted;
pub mod probe;
pub mod rig;
pub mod rounds;
pub mod rows;
mod stop;
pub mod sweep;
pub mod validate;
pub mod zoo;

use common::{Kernel, Step};
pub use steps::{STEPS, STUDIES};

/// The kernels that measure the limits on every sum.
static LIMITS: Kernel = common::kernel!();

/// Returns the steps, their variants, and the kernels of every study.
pub fn steps_and_ways() -> impl Iterator<Item = &'static Step> {
    let variants = STEPS.into_iter().flat_map(|step| step.variants);
    let ways = STUDIES.into_iter().flat_map(|study| study.ways.iter().copied());
    let others = ways.clone().flat_map(|way| way.variants);
    STEPS.into_iter().chain(variants).chain(ways).chain(others)
}
