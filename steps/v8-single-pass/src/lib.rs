//! One launch, and the same bits on every device.

use common::{
    Step,
    plan::{Pass, Plan, Problem},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the second launch: the last block to finish adds the partial sums, in a fixed order",
    costs: "a register for every byte in flight, and a pause of the loads at the end of every chunk",
    kernel: common::kernel!(),
    plan,
};

/// Chunks of fixed size, spread over a grid of 1024 threads a multiprocessor.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.block.threads();
    Plan::single_pass(
        problem,
        &Pass { entry: format!("reduce_{threads}"), per_sm: 1024 / threads, shared: 0 },
    )
}
