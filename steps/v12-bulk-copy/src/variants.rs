//! Another order of refilling the ring, and another hint for the copies.

use common::Step;

/// All of them.
pub(crate) static ALL: [Step; 2] = [
    Step {
        name: "v12-bulk-copy/refill-after",
        cures: "nothing: a stage is copied again when it was added, and not while the next one is",
        kernel: common::kernel!("variants/refill-after", "bulk.cuh"),
        ..VARIANT
    },
    Step {
        name: "v12-bulk-copy/evict-first",
        cures: "lines that stay in the L2 and are not read again: the copies say so",
        kernel: common::kernel!("variants/evict-first", "bulk.cuh"),
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
