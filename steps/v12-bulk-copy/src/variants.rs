//! Other rings, another refill order, and a cache hint for the copies.

use common::Step;

/// All variants.
pub(crate) static ALL: [Step; 4] = [
    Step {
        name: "v12-bulk-copy/refill-after",
        cures: "nothing: a stage is refilled right after its additions",
        kernel: common::kernel!("variants/refill-after", "bulk.cuh"),
        ..VARIANT
    },
    Step {
        name: "v12-bulk-copy/unaligned",
        cures: "nothing: the ring starts at a multiple of 16 bytes only, and the copies are slower",
        kernel: common::kernel!("variants/unaligned", "bulk.cuh"),
        ..VARIANT
    },
    Step {
        name: "v12-bulk-copy/small-stages",
        cures: "a long wait for the first stage: there are six of 16 KiB",
        kernel: common::kernel!("variants/small-stages", "bulk.cuh"),
        ..VARIANT
    },
    Step {
        name: "v12-bulk-copy/evict-first",
        cures: "lines that stay in L2 and are not read again: the copies say so",
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
    fixed_order: true,
    plan: super::plan,
    variants: &[],
};
