//! Neighbours are added first: interleaved addressing, the naive tree.

use common::{
    Step,
    plan::{Phase, Plan, Problem},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "a sum on one core: thousands of threads add, each block its own tree",
    costs: "'%' is slow, and in every warp most lanes have nothing to add",
    kernel: common::kernel!(),
    plan,
};

/// One element a thread, one kernel for all block sizes.
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
