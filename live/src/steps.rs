//! The steps whose plans a page can ask for.

use common::{Error, Result, Step};

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

/// The step, or the kept experiment of one, that has this name.
pub fn step(name: &str) -> Result<&'static Step> {
    let variants = STEPS.into_iter().flat_map(|step| step.variants);
    STEPS.into_iter().chain(variants).find(|step| step.name == name).ok_or_else(|| {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        Error::Usage(format!("there is no step `{name}`: take one of {}", known.join(", ")))
    })
}
