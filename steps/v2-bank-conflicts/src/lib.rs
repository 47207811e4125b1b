//! v2 adds the upper half to the lower half: sequential addressing.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "bank conflicts: neighbouring lanes now use neighbouring banks",
    costs: "half of the threads load one element and then never add anything",
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
