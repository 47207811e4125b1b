//! The variants of v10: sums with smaller rounding errors, over the same chunks.

use common::{
    Step,
    plan::{Chunks, Pass, Plan, Problem, Scratch},
};

/// All variants.
pub(crate) static ALL: [Step; 3] = [
    Step {
        name: "v10-fixed-tree/kahan",
        cures: "rounding errors: each addition now first restores the part that the previous one rounded off",
        kernel: common::kernel!("variants/kahan"),
        ..VARIANT
    },
    Step {
        name: "v10-fixed-tree/neumaier",
        cures: "rounding errors: the exact error of each addition is now added to a second sum",
        kernel: common::kernel!("variants/neumaier"),
        ..VARIANT
    },
    Step {
        name: "v10-fixed-tree/f64",
        cures: "rounding errors: f32 elements are now added as f64",
        kernel: common::kernel!("variants/f64"),
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
    plan: pairs,
    variants: &[],
};

/// Makes the plan of the step, with a second buffer for the rounding error of each partial sum.
fn pairs(problem: &Problem) -> Plan {
    let chunks = Chunks::of(problem);
    let pass = super::pass(&chunks);
    let errors = Scratch::Partials(chunks.count);
    let scratch = pass.scratch.iter().copied().chain([errors]).collect();
    Plan::over_chunks(problem, &chunks, Pass { scratch, ..pass })
}
