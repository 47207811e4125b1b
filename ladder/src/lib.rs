//! All steps, in lesson order, and what is measured on them.

mod baseline;
pub mod cell;
pub mod clock;
pub mod commands;
pub mod compare;
pub mod compilers;
pub mod contenders;
mod counted;
pub mod counters;
pub mod date;
pub mod device;
pub mod library;
pub mod measure;
mod names;
mod options;
mod own;
pub mod rig;
pub mod rounds;
pub mod rows;
mod stop;
pub mod sweep;
pub mod zoo;

use common::{Kernel, Step, Study};

/// The ladder, from the bottom.
pub static STEPS: [&Step; 13] = [
    &v0_naive::STEP,
    &v1_divergence::STEP,
    &v2_bank_conflicts::STEP,
    &v3_first_add::STEP,
    &v4_unroll_warp::STEP,
    &v5_template_unroll::STEP,
    &v6_shuffle::STEP,
    &v7_grid_stride::STEP,
    &v8_wide_loads::STEP,
    &v9_single_pass::STEP,
    &v10_fixed_tree::STEP,
    &v11_mailbox::STEP,
    &v12_bulk_copy::STEP,
];

/// What is measured beside the ladder.
pub static STUDIES: [&Study; 3] = [&small_sum::STUDY, &row_sum::STUDY, &matrix_sum::STUDY];

/// The kernels that no sum can be faster than.
static LIMITS: Kernel = common::kernel!();

/// The steps, their kept experiments, and the ways of every study.
pub fn steps_and_ways() -> impl Iterator<Item = &'static Step> {
    let variants = STEPS.into_iter().flat_map(|step| step.variants);
    let ways = STUDIES.into_iter().flat_map(|study| study.ways.iter().copied());
    let others = ways.clone().flat_map(|way| way.variants);
    STEPS.into_iter().chain(variants).chain(ways).chain(others)
}
