//! All steps, in lesson order, and what is measured on them.

pub mod blas;
pub mod cell;
pub mod clock;
pub mod commands;
pub mod compare;
pub mod contender;
pub mod counters;
pub mod date;
pub mod library;
pub mod measure;
pub mod peer;
pub mod rounds;
mod stop;
pub mod sweep;

use common::Step;

/// The ladder, from the bottom.
pub static STEPS: [&Step; 10] = [
    &v0_naive::STEP,
    &v1_divergence::STEP,
    &v2_bank_conflicts::STEP,
    &v3_first_add::STEP,
    &v4_unroll_warp::STEP,
    &v5_template_unroll::STEP,
    &v6_shuffle::STEP,
    &v7_grid_stride::STEP,
    &v8_single_pass::STEP,
    &v9_bulk_copy::STEP,
];
