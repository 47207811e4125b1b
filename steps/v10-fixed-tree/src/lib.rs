//! The same bits on every GPU.

use common::{
    Step,
    plan::{Chunks, Pass, Plan, Problem, Scratch},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "bits that depend on the GPU: equal chunks, cut by the length alone",
    costs: "a fence, a ticket and the partial sums at the end, one after the other",
    kernel: common::kernel!(),
    blocks: &[512],
    aligned: 16,
    fixed_order: true,
    plan,
    variants: &variants::ALL,
};

mod variants;

/// One launch over chunks that the length alone decides.
fn plan(problem: &Problem) -> Plan {
    let chunks = Chunks::of(problem);
    Plan::over_chunks(problem, &chunks, pass(&chunks))
}

/// Two blocks of 512 threads on a multiprocessor: with eight vectors per thread, 128 KiB are in flight.
fn pass(chunks: &Chunks) -> Pass {
    Pass {
        entry: "reduce".into(),
        threads: 512,
        resident: 2,
        shared: 0,
        scratch: vec![Scratch::Partials(chunks.count), Scratch::Zeroed(4)],
    }
}
