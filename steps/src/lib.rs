//! Lists the steps in lesson order, and the studies. A new step is a folder beside this crate, a
//! line in this crate's manifest, and a line in [`STEPS`].

#[cfg(not(target_family = "wasm"))]
use common::Study;
use common::{Error, Result, Step};

/// All steps, from the first lesson to the last.
pub static STEPS: [&Step; 14] = [
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
    &v13_exact_sum::STEP,
];

/// All studies. The book's WebAssembly modules do not include the studies.
#[cfg(not(target_family = "wasm"))]
pub static STUDIES: [&Study; 3] = [&small_sum::STUDY, &row_sum::STUDY, &matrix_sum::STUDY];

/// Returns the step, or the variant of a step, with this name.
pub fn step(name: &str) -> Result<&'static Step> {
    let variants = STEPS.into_iter().flat_map(|step| step.variants);
    STEPS.into_iter().chain(variants).find(|step| step.name == name).ok_or_else(|| {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        Error::Usage(format!("there is no step `{name}`: choose one of {}", known.join(", ")))
    })
}
