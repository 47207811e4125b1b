//! v11 writes a partial sum and its flag with one store.

use common::{
    Step,
    plan::{Chunks, Pass, Plan, Problem, Scratch},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the fence and the ticket: one store now writes a partial sum and its flag",
    costs: "registers for every byte in flight",
    kernel: common::kernel!(),
    blocks: &[512],
    aligned: 16,
    fixed_order: true,
    plan,
    variants: &variants::ALL,
};

mod variants;

/// Makes a plan like v10's, with a slot for each chunk's sum.
fn plan(problem: &Problem) -> Plan {
    let chunks = Chunks::of(problem);
    let pass = Pass {
        entry: "reduce".into(),
        threads: 512,
        resident: 2,
        shared: 0,
        scratch: vec![Scratch::Messages(chunks.count)],
    };
    Plan::over_chunks(problem, &chunks, pass)
}
