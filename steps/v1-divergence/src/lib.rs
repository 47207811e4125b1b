//! In v1, the lanes that add are neighbours: a strided index replaces the test with `%`.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the test with '%': the lanes that add are now neighbours, and whole warps work or are idle",
    costs: "a warp's lanes stride over shared memory, so several lanes access the same bank",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan,
    variants: &[],
};

/// Plans one element per thread, and one kernel for all block sizes.
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
