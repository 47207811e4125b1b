//! v0 adds neighbours first: interleaved addressing, the naive tree.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the limits of one core: now thousands of threads add, with one tree per block",
    costs: "'%' is slow, and in every warp, most lanes have nothing to add",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan,
    variants: &[Step {
        name: "v0-naive/and",
        cures: "the cost of '%': '&' now selects the same lanes",
        costs: "in every warp, most lanes have nothing to add",
        kernel: common::kernel!("variants/and"),
        blocks: &[64, 128, 256, 512, 1024],
        aligned: 1,
        fixed_order: false,
        plan,
        variants: &[],
    }],
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
