//! The same bits on every GPU.

use common::{
    Step,
    plan::{Parts, Pass, Plan, Problem, Scratch},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "a sum that depends on the GPU: even parts, as many as the length alone decides",
    costs: "the end: a fence, a ticket and the partial sums, each waiting for the one before it",
    kernel: common::kernel!(),
    blocks: &[512],
    aligned: 16,
    plan,
    variants: &[],
};

/// Two blocks of 512 threads a multiprocessor: with eight words in flight each, 128 KiB are on their way.
fn plan(problem: &Problem) -> Plan {
    let parts = Parts::of(problem);
    let pass = Pass {
        entry: "reduce".into(),
        threads: 512,
        resident: 2,
        shared: 0,
        scratch: vec![Scratch::Partials(parts.count), Scratch::Zeroed(4)],
    };
    Plan::over_parts(problem, &parts, pass)
}
