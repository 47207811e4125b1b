//! Other rings, another order of refilling, and another hint for the copies.

use common::Step;

/// All of them.
pub(crate) static ALL: [Step; 4] = [
    Step {
        name: "v12-bulk-copy/refill-after",
        cures: "nothing: a stage is copied again when it was added, and not while the next one is",
        kernel: common::kernel!("variants/refill-after", "bulk.cuh"),
        ..VARIANT
    },
    Step {
        name: "v12-bulk-copy/unaligned",
        cures: "nothing: the ring begins at a multiple of 16 bytes only, and the copies are slower",
        kernel: common::kernel!("variants/unaligned", "bulk.cuh"),
        ..VARIANT
    },
    Step {
        name: "v12-bulk-copy/small-stages",
        cures: "a long wait for the first stage: each has 16 KiB, and there are six",
        kernel: common::kernel!("variants/small-stages", "bulk.cuh"),
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
