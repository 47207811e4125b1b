//! The lanes of a warp hand their sums over by shuffle.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "shared memory inside a warp: lanes hand their sums over by shuffle",
    costs: "a block loads only once: more loads start only when another block does",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan,
    variants: &[],
};

/// Two elements per thread, one kernel for each block size, one shared value per warp.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.threads();
    Plan::until_one(
        problem,
        &Phase {
            entry: format!("reduce_{threads}"),
            tile: 2 * threads,
            shared: threads / 32 * problem.element.size(),
            // The first add, five rounds in each warp, and five in the warp that adds the warps.
            depth: 1 + 5 + 5,
        },
    )
}
