//! Hopper's copy engine fills shared memory, and threads only add.

use common::{
    Step,
    plan::{Parts, Pass, Plan, Problem, Scratch},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "registers for bytes in flight: the copy engine fills a ring in shared memory, and threads only add",
    costs: "the memory's own pauses, and for small sums the launch: no kernel saves those",
    kernel: common::kernel!("kernel", "bulk.cuh"),
    blocks: &[512],
    aligned: 16,
    plan,
    variants: &variants::ALL,
};

mod variants;

/// Bytes of the ring: three stages of 2048 words.
const RING: u64 = 3 * 2048 * 16;

/// As v11, and two rings a multiprocessor: at least 128 KiB are on their way. A block counts its stages in
/// 32 bits, which go round after 128 TiB.
fn plan(problem: &Problem) -> Plan {
    let parts = Parts::of(problem);
    let pass = Pass {
        entry: "reduce".into(),
        threads: 512,
        resident: 2,
        shared: RING,
        scratch: vec![Scratch::Mail(parts.count)],
    };
    Plan::over_parts(problem, &parts, pass)
}
