//! The variants of v13: bins whose two words are adjacent, and registers that are used before the
//! bins.

use common::Step;

/// All variants.
pub(crate) static ALL: [Step; 2] = [
    Step {
        name: "v13-exact-sum/words-together",
        cures: "nothing: the two words of a bin are neighbours, so one 8-byte instruction accesses both",
        kernel: common::kernel!("variants/words-together", "exact.cuh"),
        ..VARIANT
    },
    Step {
        name: "v13-exact-sum/registers-first",
        cures: "shared memory for most elements: now only elements whose addition would round go to a bin",
        kernel: common::kernel!("variants/registers-first", "exact.cuh"),
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
