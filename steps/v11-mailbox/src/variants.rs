//! Another hint for the loads, another block size, another way to look into a box.

use common::{
    Step,
    plan::{Parts, Pass, Plan, Problem, Scratch},
};

/// All of them.
pub(crate) static ALL: [Step; 4] = [
    Step {
        name: "v11-mailbox/no-allocate",
        cures: "lines that stay in the L1 and are not read again: the loads say so",
        kernel: common::kernel!("variants/no-allocate"),
        ..VARIANT
    },
    Step {
        name: "v11-mailbox/large-block",
        cures: "half of the parts in one block of 1024 threads a multiprocessor",
        kernel: common::kernel!("variants/large-block"),
        blocks: &[1024],
        plan: large,
        ..VARIANT
    },
    Step {
        name: "v11-mailbox/unrolled",
        cures: "a pause between two turns: the compiler lets the next turn's loads begin among the additions",
        kernel: common::kernel!("variants/unrolled"),
        ..VARIANT
    },
    Step {
        name: "v11-mailbox/relaxed",
        cures: "an atomic operation for every look into a box: plain loads look, and a store empties",
        kernel: common::kernel!("variants/relaxed"),
        ..VARIANT
    },
];

const VARIANT: Step = Step {
    name: "",
    cures: "",
    costs: super::STEP.costs,
    kernel: super::STEP.kernel,
    blocks: &[512],
    aligned: 16,
    plan: super::plan,
    variants: &[],
};

/// The parts of the step, in blocks of 1024 threads.
fn large(problem: &Problem) -> Plan {
    let parts = Parts::of(problem);
    let scratch = vec![Scratch::Mail(parts.count)];
    let pass = Pass { entry: "reduce".into(), threads: 1024, resident: 1, shared: 0, scratch };
    Plan::over_parts(problem, &parts, pass)
}
