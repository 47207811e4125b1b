//! The last warp's rounds are written out, and need no block barrier.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the barriers of the last rounds: one warp works alone, its six rounds written out",
    costs: "the rounds before it are a loop, with a test, a halving and a jump in each",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan,
    variants: &[],
};

/// Two elements per thread: half the blocks, in the second phase too.
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
