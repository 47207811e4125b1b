//! In v5, the compiler unrolls every round, for each block size.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the loop over the rounds: the block size is now a template parameter, so every round is unrolled",
    costs: "the last six rounds use shared memory, although all their data is in one warp",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan,
    variants: &[],
};

/// Plans two elements per thread, and one kernel for each block size.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.threads();
    Plan::until_one(
        problem,
        &Phase {
            entry: format!("reduce_{threads}"),
            tile: 2 * threads,
            shared: threads * problem.element.size(),
            depth: 1 + problem.block.rounds(),
        },
    )
}
