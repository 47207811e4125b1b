//! The lanes that add are neighbours: a strided index instead of a test with `%`.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the test with '%': the lanes that add are neighbours, and whole warps work or rest",
    costs: "the lanes of a warp stride over shared memory and meet in the same banks",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan,
    variants: &[],
};

/// One element per thread, one kernel for all block sizes.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.threads();
    Plan::until_one(
        problem,
        &Phase {
            entry: "reduce".into(),
            tile: threads,
            shared: threads * problem.element.size(),
            depth: problem.block.rounds(),
        },
    )
}
