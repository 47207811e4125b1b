//! In v12, Hopper's bulk copies fill shared memory, and threads only add.

use common::{
    Step,
    plan::{Chunks, Pass, Plan, Problem, Scratch},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "registers for bytes in flight: bulk copies now fill a ring in shared memory, and threads only add",
    costs: "for small sums, setting up the ring, which v11 avoids, and the launch",
    kernel: common::kernel!("kernel", "bulk.cuh"),
    blocks: &[512],
    aligned: 16,
    fixed_order: true,
    plan,
    variants: &variants::ALL,
};

mod variants;

/// The size of the ring in bytes: three stages of 2048 vectors.
const RING: u64 = 3 * 2048 * 16;

/// Makes a plan like v11's, with two rings on each multiprocessor, so that up to 128 KiB are in
/// flight while both blocks add. A block counts its stages with a 32-bit counter, which wraps after 128 TiB.
fn plan(problem: &Problem) -> Plan {
    let chunks = Chunks::of(problem);
    let pass = Pass {
        entry: "reduce".into(),
        threads: 512,
        resident: 2,
        shared: RING,
        scratch: vec![Scratch::Messages(chunks.count)],
    };
    Plan::over_chunks(problem, &chunks, pass)
}
