//! The variants of v12: other rings, a different refill order, and a cache hint for the copies.

use common::Step;

/// All variants.
pub(crate) static ALL: [Step; 4] = [
    Step {
        name: "v12-bulk-copy/refill-after",
        cures: "nothing: this variant refills a stage right after its additions",
        kernel: common::kernel!("variants/refill-after", "bulk.cuh"),
        ..VARIANT
    },
    Step {
        name: "v12-bulk-copy/unaligned",
        cures: "nothing: with a ring aligned to only 16 bytes, the copies are slower",
        kernel: common::kernel!("variants/unaligned", "bulk.cuh"),
        ..VARIANT
    },
    Step {
        name: "v12-bulk-copy/small-stages",
        cures: "a long wait for the first stage: there are now six stages of 16 KiB",
        kernel: common::kernel!("variants/small-stages", "bulk.cuh"),
        ..VARIANT
    },
    Step {
        name: "v12-bulk-copy/evict-first",
        cures: "lines that stay in L2 but are not read again: a hint now evicts these lines first",
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
