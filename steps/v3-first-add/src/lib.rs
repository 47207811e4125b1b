//! In v3, each thread adds two elements as it loads them.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the idle half of the threads: every thread now loads two elements and adds them at once",
    costs: "in the last six rounds, one warp works while all others wait at barriers",
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
