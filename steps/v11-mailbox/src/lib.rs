//! A partial sum and its flag in one store.

use common::{
    Step,
    plan::{Parts, Pass, Plan, Problem, Scratch},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the fence and the ticket: a partial sum and its flag are one store, and the last block waits for mail",
    costs: "a register for every byte in flight",
    kernel: common::kernel!(),
    blocks: &[512],
    aligned: 16,
    plan,
    variants: &variants::ALL,
};

mod variants;

/// As v10, with a box for each part's sum.
fn plan(problem: &Problem) -> Plan {
    let parts = Parts::of(problem);
    let pass = Pass {
        entry: "reduce".into(),
        threads: 512,
        resident: 2,
        shared: 0,
        scratch: vec![Scratch::Mail(parts.count)],
    };
    Plan::over_parts(problem, &parts, pass)
}
