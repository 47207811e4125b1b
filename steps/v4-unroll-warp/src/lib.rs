//! In v4, the last warp's rounds are unrolled and need no block barrier.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the barriers of the last rounds: one warp now works alone, and its six rounds are unrolled",
    costs: "the earlier rounds are a loop, with a test, a halving and a jump in each round",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan,
    variants: &[],
};

/// Plans two elements per thread, which halves the number of blocks in both phases.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.threads();
    Plan::until_one(
        problem,
        &Phase {
            entry: "reduce".into(),
            tile: 2 * threads,
            shared: threads * problem.element.size(),
            depth: 1 + problem.block.rounds(),
        },
    )
}
