//! Two elements are added while they are loaded.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the idle half: every thread loads two elements and adds them on the way in",
    costs: "in the last six rounds one warp works while all others wait at barriers",
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
