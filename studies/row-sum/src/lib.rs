//! A sum for each row, in many ways: that of the seed, what it made of it, and what it left undone.
//!
//! Elements are rows of [`ROW`], the last one perhaps shorter. Behind each way a block adds the sums of
//! the rows to one, so that a run has a single sum; a verdict holds every row's. The same ways on shorter
//! and longer rows are their `variants`.

mod plan;

use common::{Kernel, Step, Study};
pub use plan::{LONG, ROW, SHORT};
use plan::{Way, plan};

/// The study: the seed's ways first.
pub static STUDY: Study = Study {
    name: env!("CARGO_PKG_NAME"),
    about: "A sum for each row of 2048 elements, in many ways, in one table",
    sizes: "2^16,2^20,2^20+13",
    up_to: 1 << 30,
    ways: &[
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
    ],
};

const ACCUMULATORS: Kernel = common::kernel!("accumulators", "total.cuh");

/// The same way on rows of another length.
macro_rules! way {
    ($name:literal, $cures:literal, $costs:literal, $kernel:expr, $aligned:literal, $way:ident) => {
        Step {
            variants: &[
                Step {
                    name: concat!($name, "/rows-of-64"),
                    cures: "nothing: the rows are of 64 elements",
                    plan: |problem| plan(problem, Way::$way, SHORT),
                    variants: &[],
                    ..way!(@ $name, $cures, $costs, $kernel, $aligned, $way)
                },
                Step {
                    name: concat!($name, "/rows-of-65536"),
                    cures: "nothing: the rows are of 65,536 elements",
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
            variants: &[],
            plan: |problem| plan(problem, Way::$way, ROW),
        }
    };
}

/// The seed, as found.
pub static ONE: Step = way!(
    "one-accumulator",
    "a row on one core: a block has it",
    "an addition waits for the one before it",
    ACCUMULATORS,
    1,
    One
);
/// Two sums a thread.
pub static TWO: Step = way!(
    "two-accumulators",
    "half of the waiting: two sums a thread, which wait for nobody else's",
    "registers",
    ACCUMULATORS,
    1,
    Two
);
/// Three.
pub static THREE: Step = way!(
    "three-accumulators",
    "two thirds of the waiting",
    "registers, and turns that a row has no multiple of",
    ACCUMULATORS,
    1,
    Three
);
/// Five.
pub static FIVE: Step = way!(
    "five-accumulators",
    "four fifths of the waiting",
    "registers, and turns that a row has no multiple of",
    ACCUMULATORS,
    1,
    Five
);
/// Ten.
pub static TEN: Step = way!(
    "ten-accumulators",
    "nine tenths of the waiting, if a row is long enough",
    "registers; a row of 2048 has eight elements a thread",
    ACCUMULATORS,
    1,
    Ten
);
/// One, and the length known to the compiler.
pub static ONE_FIXED: Step = way!(
    "one-accumulator-fixed",
    "the loop: the compiler knows that a row has 2048 elements",
    "a kernel for each length",
    ACCUMULATORS,
    1,
    OneFixed
);
/// Two.
pub static TWO_FIXED: Step = way!(
    "two-accumulators-fixed",
    "the loop, of two accumulators",
    "a kernel for each length",
    ACCUMULATORS,
    1,
    TwoFixed
);
/// Three.
pub static THREE_FIXED: Step = way!(
    "three-accumulators-fixed",
    "the loop, of three accumulators",
    "a kernel for each length",
    ACCUMULATORS,
    1,
    ThreeFixed
);
/// Five.
pub static FIVE_FIXED: Step = way!(
    "five-accumulators-fixed",
    "the loop, of five accumulators",
    "a kernel for each length",
    ACCUMULATORS,
    1,
    FiveFixed
);
/// Ten.
pub static TEN_FIXED: Step = way!(
    "ten-accumulators-fixed",
    "the loop, of ten accumulators",
    "a kernel for each length",
    ACCUMULATORS,
    1,
    TenFixed
);
/// What the seed did last.
pub static TAIL: Step = way!(
    "shuffle-tail",
    "five barriers: the last warp shuffles",
    "nothing less: the loads are what takes the time",
    common::kernel!("tail", "total.cuh"),
    1,
    Tail
);
/// Words of 16 bytes.
pub static WIDE: Step = way!(
    "block-a-row",
    "loads of four bytes: words of 16, four in flight a thread",
    "a block for a row that a warp could have",
    common::kernel!("wide", "word.cuh", "total.cuh"),
    16,
    Wide
);
/// A warp, or a few of its lanes.
pub static LANES: Step = way!(
    "lanes-a-row",
    "barriers, and threads without an element: lanes share a warp",
    "a warp alone on a long row",
    common::kernel!("lanes", "word.cuh", "total.cuh"),
    16,
    Lanes
);
/// Several blocks.
pub static SPLIT: Step = way!(
    "blocks-a-row",
    "few long rows, which keep few blocks busy: a row has several",
    "another launch",
    common::kernel!("split", "word.cuh", "total.cuh"),
    16,
    Split
);
