//! The variants of v8: fewer loads in flight, and a second launch that starts early.

use common::{
    Step,
    plan::{Plan, Problem},
};

/// All variants, which support only blocks of 256 threads.
pub(crate) static ALL: [Step; 5] = [
    Step {
        name: "v8-wide-loads/one-word",
        cures: "16 KiB in flight on a multiprocessor: one load of 16 bytes in each thread",
        kernel: common::kernel!("variants/one-word"),
        plan: |problem| super::grid_stride(problem, 1),
        ..VARIANT
    },
    Step {
        name: "v8-wide-loads/two-words",
        cures: "32 KiB in flight on a multiprocessor: two loads of 16 bytes in each thread",
        kernel: common::kernel!("variants/two-words"),
        plan: |problem| super::grid_stride(problem, 2),
        ..VARIANT
    },
    Step {
        name: "v8-wide-loads/four-words",
        cures: "64 KiB in flight on a multiprocessor: four loads of 16 bytes in each thread",
        kernel: common::kernel!("variants/four-words"),
        plan: |problem| super::grid_stride(problem, 4),
        ..VARIANT
    },
    Step {
        name: "v8-wide-loads/not-grouped",
        cures: "eight loads in the source, but one in flight: each vector is added before the next load starts",
        kernel: common::kernel!("variants/not-grouped"),
        ..VARIANT
    },
    Step {
        name: "v8-wide-loads/dependent-launch",
        cures: "the gap between two launches: the second now starts before the first has ended",
        kernel: common::kernel!("variants/dependent-launch"),
        plan: dependent,
        ..VARIANT
    },
];

const VARIANT: Step = Step {
    name: "",
    cures: "",
    costs: super::STEP.costs,
    kernel: super::STEP.kernel,
    blocks: &[256],
    aligned: 16,
    fixed_order: false,
    plan: super::plan,
    variants: &[],
};

/// Makes a plan in which the second launch may start early; its kernel waits for the sums of the
/// first launch.
fn dependent(problem: &Problem) -> Plan {
    let mut plan = super::plan(problem);
    plan.launches.iter_mut().skip(1).for_each(|launch| launch.early = true);
    plan
}
