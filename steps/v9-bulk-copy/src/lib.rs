//! Hopper's copy engine fills shared memory, and threads only add.

use common::{
    Step,
    plan::{Pass, Plan, Problem},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "registers for bytes in flight: the copy engine fills shared memory ahead of the threads",
    costs: "the memory's own pauses, and for small sums the launch: no kernel saves those",
    kernel: common::kernel!(),
    plan,
};

/// Stages of the ring, of 32 KiB and room for a word each, at multiples of 128 bytes.
const RING: u64 = 3 * ((32 << 10) + 128);

/// The chunks of v8. Two rings fit a multiprocessor, and so do two blocks but the largest.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.block.threads();
    let per_sm = (1024 / threads).clamp(1, 2);
    Plan::single_pass(problem, &Pass { entry: format!("reduce_{threads}"), per_sm, shared: RING })
}
