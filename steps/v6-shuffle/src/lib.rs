//! In v6, the lanes of a warp exchange their sums by shuffles.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "shared memory inside a warp: lanes now exchange their sums by shuffles",
    costs: "a block loads only once, so further loads start only when another block starts",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan,
    variants: &[],
};

/// Plans two elements per thread, one kernel for each block size, and one shared value per warp.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.threads();
    Plan::until_one(
        problem,
        &Phase {
            entry: format!("reduce_{threads}"),
            tile: 2 * threads,
            shared: threads / 32 * problem.element.size(),
            // The first addition, five rounds in each warp, and five rounds in the warp that adds
            // the warps' sums.
            depth: 1 + 5 + 5,
        },
    )
}
