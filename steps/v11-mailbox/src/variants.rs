//! The variants of v11: a cache hint for the loads, another block size, two iterations at a time,
//! and other ways to access a slot.

use common::{
    Step,
    plan::{Chunks, Pass, Plan, Problem, Scratch},
};

/// All variants.
pub(crate) static ALL: [Step; 4] = [
    Step {
        name: "v11-mailbox/no-allocate",
        cures: "lines that stay in L1 but are not read again: the loads now allocate none",
        kernel: common::kernel!("variants/no-allocate"),
        ..VARIANT
    },
    Step {
        name: "v11-mailbox/large-block",
        cures: "two blocks on a multiprocessor: one block of 1024 threads now replaces them",
        kernel: common::kernel!("variants/large-block"),
        blocks: &[1024],
        plan: large,
        ..VARIANT
    },
    Step {
        name: "v11-mailbox/unrolled",
        cures: "a pause between two iterations: the next loads now start during the additions",
        kernel: common::kernel!("variants/unrolled"),
        ..VARIANT
    },
    Step {
        name: "v11-mailbox/relaxed",
        cures: "an atomic operation for every poll: relaxed loads now poll, and a store clears the flag",
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
    fixed_order: true,
    plan: super::plan,
    variants: &[],
};

/// Plans the chunks of the step in blocks of 1024 threads.
fn large(problem: &Problem) -> Plan {
    let chunks = Chunks::of(problem);
    let scratch = vec![Scratch::Messages(chunks.count)];
    let pass = Pass { entry: "reduce".into(), threads: 1024, resident: 1, shared: 0, scratch };
    Plan::over_chunks(problem, &chunks, pass)
}
