//! v10 gives the same bits on every GPU.

use common::{
    Step,
    plan::{Chunks, Pass, Plan, Problem, Scratch},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "bits that depend on the GPU: the length alone now determines the chunks",
    costs: "at the end, a fence, a ticket and reads of the partial sums, one after another",
    kernel: common::kernel!(),
    blocks: &[512],
    aligned: 16,
    fixed_order: true,
    plan,
    variants: &variants::ALL,
};

mod variants;

/// Plans one launch over chunks that depend on the length alone.
fn plan(problem: &Problem) -> Plan {
    let chunks = Chunks::of(problem);
    Plan::over_chunks(problem, &chunks, pass(&chunks))
}

/// Plans two blocks of 512 threads on each multiprocessor. With eight vectors per thread, 128 KiB
/// are in flight.
fn pass(chunks: &Chunks) -> Pass {
    Pass {
        entry: "reduce".into(),
        threads: 512,
        resident: 2,
        shared: 0,
        scratch: vec![Scratch::Partials(chunks.count), Scratch::Zeroed(4)],
    }
}
