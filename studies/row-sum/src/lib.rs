//! Computes a sum for each row, with the kernels from a learner's notebook and with three improved
//! kernels.
//!
//! The input consists of rows of [`ROW`] elements; the last row may be shorter. In each version, a
//! block finally adds up the rows' sums, so that a run has a single sum; the verdict checks the sum
//! of each row. The `variants` are the same versions with shorter and longer rows.

mod plan;

use common::{Kernel, Step, Study};
pub use plan::{LONG, ROW, SHORT};
use plan::{Way, plan};

/// The study, with the notebook's versions first.
pub static STUDY: Study = Study {
    name: env!("CARGO_PKG_NAME"),
    about: "A sum for each row of 2048 elements, in many versions, in one table",
    sizes: "2^16,2^20,2^20+13",
    up_to: 1 << 30,
    ways: WAYS.split_at(WAYS.len() - 1).0,
};

/// The study as its program runs it. Several blocks add a row only if the row is long, so the last
/// version also runs with long rows; otherwise no run would launch its second kernel.
pub static PROGRAM: Study = Study {
    name: STUDY.name,
    about: STUDY.about,
    sizes: STUDY.sizes,
    up_to: STUDY.up_to,
    ways: &WAYS,
};

/// All versions, and at the end the last version with long rows.
static WAYS: [&Step; 15] = [
    &ONE,
    &TWO,
    &THREE,
    &FIVE,
    &TEN,
    &ONE_FIXED,
    &TWO_FIXED,
    &THREE_FIXED,
    &FIVE_FIXED,
    &TEN_FIXED,
    &TAIL,
    &WIDE,
    &LANES,
    &SPLIT,
    &SPLIT.variants[1],
];

const ACCUMULATORS: Kernel = common::kernel!("accumulators", "total.cuh");

/// Defines a version, and the same version for rows of other lengths.
macro_rules! way {
    ($name:literal, $cures:literal, $costs:literal, $kernel:expr, $aligned:literal, $way:ident) => {
        Step {
            variants: &[
                Step {
                    name: concat!($name, "/rows-of-64"),
                    cures: "nothing: this variant only has shorter rows, of 64 elements",
                    plan: |problem| plan(problem, Way::$way, SHORT),
                    variants: &[],
                    ..way!(@ $name, $cures, $costs, $kernel, $aligned, $way)
                },
                Step {
                    name: concat!($name, "/rows-of-65536"),
                    cures: "nothing: this variant only has longer rows, of 65,536 elements",
                    plan: |problem| plan(problem, Way::$way, LONG),
                    variants: &[],
                    ..way!(@ $name, $cures, $costs, $kernel, $aligned, $way)
                },
            ],
            ..way!(@ $name, $cures, $costs, $kernel, $aligned, $way)
        }
    };
    (@ $name:literal, $cures:literal, $costs:literal, $kernel:expr, $aligned:literal, $way:ident) => {
        Step {
            name: $name,
            cures: $cures,
            costs: $costs,
            kernel: $kernel,
            blocks: &[256],
            aligned: $aligned,
            fixed_order: true,
            variants: &[],
            plan: |problem| plan(problem, Way::$way, ROW),
        }
    };
}

/// The notebook's kernel, unchanged.
pub static ONE: Step = way!(
    "one-accumulator",
    "one core for each row: now a whole block adds a row",
    "each addition waits for the previous one",
    ACCUMULATORS,
    1,
    One
);
/// Two sums per thread.
pub static TWO: Step = way!(
    "two-accumulators",
    "half of the waiting: each thread now has two independent sums",
    "registers",
    ACCUMULATORS,
    1,
    Two
);
/// Three sums per thread.
pub static THREE: Step = way!(
    "three-accumulators",
    "two thirds of the waiting",
    "registers, and iterations that do not divide a row evenly",
    ACCUMULATORS,
    1,
    Three
);
/// Five sums per thread.
pub static FIVE: Step = way!(
    "five-accumulators",
    "four fifths of the waiting",
    "registers, and iterations that do not divide a row evenly",
    ACCUMULATORS,
    1,
    Five
);
/// Ten sums per thread.
pub static TEN: Step = way!(
    "ten-accumulators",
    "nine tenths of the waiting, if a row is long enough",
    "registers; in a row of 2048 elements, a thread adds only eight",
    ACCUMULATORS,
    1,
    Ten
);
/// One sum per thread, with a length that is known at compile time.
pub static ONE_FIXED: Step = way!(
    "one-accumulator-fixed",
    "the loop: the compiler now knows that a row has 2048 elements",
    "one kernel for each length",
    ACCUMULATORS,
    1,
    OneFixed
);
/// Two sums per thread, with a fixed length.
pub static TWO_FIXED: Step = way!(
    "two-accumulators-fixed",
    "the loop over two accumulators",
    "one kernel for each length",
    ACCUMULATORS,
    1,
    TwoFixed
);
/// Three sums per thread, with a fixed length.
pub static THREE_FIXED: Step = way!(
    "three-accumulators-fixed",
    "the loop over three accumulators",
    "one kernel for each length",
    ACCUMULATORS,
    1,
    ThreeFixed
);
/// Five sums per thread, with a fixed length.
pub static FIVE_FIXED: Step = way!(
    "five-accumulators-fixed",
    "the loop over five accumulators",
    "one kernel for each length",
    ACCUMULATORS,
    1,
    FiveFixed
);
/// Ten sums per thread, with a fixed length.
pub static TEN_FIXED: Step = way!(
    "ten-accumulators-fixed",
    "the loop over ten accumulators",
    "one kernel for each length",
    ACCUMULATORS,
    1,
    TenFixed
);
/// The notebook's last version.
pub static TAIL: Step = way!(
    "shuffle-tail",
    "five barriers: the last warp now uses shuffles",
    "as much as before, because the loads take the time",
    common::kernel!("tail", "total.cuh"),
    1,
    Tail
);
/// Vectorized loads.
pub static WIDE: Step = way!(
    "block-a-row",
    "loads of four bytes: each thread now has four vectors of 16 bytes in flight",
    "a whole block for a row that a warp could add",
    common::kernel!("wide", "vector.cuh", "total.cuh"),
    16,
    Wide
);
/// One warp for each row, or, for short rows, a few lanes of a warp.
pub static LANES: Step = way!(
    "lanes-a-row",
    "barriers, and threads without an element: several rows now share a warp",
    "only one warp for each long row",
    common::kernel!("lanes", "vector.cuh", "total.cuh"),
    16,
    Lanes
);
/// Several blocks for each row.
pub static SPLIT: Step = way!(
    "blocks-a-row",
    "few long rows, which occupy few blocks: several blocks now add a row",
    "another launch",
    common::kernel!("split", "vector.cuh", "total.cuh"),
    16,
    Split
);
