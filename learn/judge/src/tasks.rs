//! The seventeen exercises.

use crate::cost::{
    ATOMICS, BARRIERS, CONFLICTS, Cost, DIVERGENT, INSTRUCTIONS, REQUESTS, SECTORS, SHARED,
    SHUFFLES, WARP_BARRIERS,
};
use crate::task::{Budget, Operation, Shape, Task};

/// Includes the correct solution of an exercise.
macro_rules! reference {
    ($folder:literal) => {
        include_str!(concat!("../../../exercises/", $folder, "/solutions/reference.cu"))
    };
}

/// The first exercise; most others share its values.
const TREE: Task = Task {
    number: 1,
    folder: "01-tree",
    reference: reference!("01-tree"),
    name: "a correct tree",
    chapter: "v0-naive",
    operation: Operation::Sum,
    shape: Shape::Tiles { each: 1 },
    blocks: &[256, 64, 128, 512, 1024],
    same_bits: false,
    warps: false,
    unrolled: false,
    volatile: true,
    copies: false,
    orders: 12,
    measured: (256, 1),
    budgets: &[idea(BARRIERS, 72), at_most(SHARED, 150)],
    idea: (
        u64::MAX,
        "One barrier after the load and one in each of eight rounds make nine barriers for each of the eight warps.",
    ),
};

/// The values that the exercises with two elements per thread have in common.
const TWO: Task = Task { shape: Shape::Tiles { each: 2 }, measured: (512, 1), ..TREE };

/// The exercises, in order of their numbers: first those up to the small sum, in the order of the
/// ladder, and then the later ones.
pub static TASKS: [Task; 17] = [
    TREE,
    Task {
        number: 2,
        folder: "02-side-by-side",
        reference: reference!("02-side-by-side"),
        name: "lanes side by side",
        chapter: "v1-divergence",
        budgets: &[at_most(BARRIERS, 72), idea(DIVERGENT, 12), at_most(SHARED, 60)],
        idea: (
            u64::MAX,
            "Let the lanes that add be neighbours: thread t does the t-th addition of a round, so that whole warps are active or idle.",
        ),
        ..TREE
    },
    Task {
        number: 3,
        folder: "03-no-conflicts",
        reference: reference!("03-no-conflicts"),
        name: "no bank conflicts",
        chapter: "v2-bank-conflicts",
        budgets: &[idea(CONFLICTS, 0), at_most(SHARED, 60), at_most(BARRIERS, 72)],
        idea: (
            u64::MAX,
            "Let neighbouring lanes use neighbouring banks: add the upper half of the remaining values to the lower half.",
        ),
        ..TREE
    },
    Task {
        number: 4,
        folder: "04-first-add",
        reference: reference!("04-first-add"),
        name: "add while loading",
        chapter: "v3-first-add",
        budgets: &[
            idea(SECTORS, 64),
            at_most(INSTRUCTIONS, 870),
            at_most(CONFLICTS, 0),
            at_most(SHARED, 60),
            at_most(BARRIERS, 72),
        ],
        idea: (
            257,
            "Each block now has 512 elements: every thread loads two of them, blockDim.x apart, and adds them before it stores.",
        ),
        ..TWO
    },
    Task {
        number: 5,
        warps: true,
        folder: "05-last-warp",
        reference: reference!("05-last-warp"),
        name: "the last warp",
        chapter: "v4-unroll-warp",
        volatile: false,
        orders: 100,
        budgets: &[idea(BARRIERS, 24), at_most(SHARED, 60), at_most(CONFLICTS, 0)],
        idea: (
            u64::MAX,
            "When 32 threads remain, one warp works alone: it needs `__syncwarp()`, and the other warps need not wait for it.",
        ),
        ..TWO
    },
    Task {
        number: 6,
        warps: true,
        folder: "06-no-loop",
        reference: reference!("06-no-loop"),
        name: "no loop",
        unrolled: true,
        chapter: "v5-template-unroll",
        budgets: &[idea(INSTRUCTIONS, 600), at_most(SHARED, 60), at_most(BARRIERS, 32)],
        idea: (
            u64::MAX,
            "The block size is a template parameter: with a compile-time number of rounds you need no loop, no halving and no branch.",
        ),
        ..TWO
    },
    Task {
        number: 7,
        warps: true,
        folder: "07-shuffles",
        reference: reference!("07-shuffles"),
        name: "shuffles",
        chapter: "v6-shuffle",
        budgets: &[
            idea(SHARED, 9),
            idea(WARP_BARRIERS, 0),
            at_most(SHUFFLES, 45),
            at_most(BARRIERS, 8),
        ],
        idea: (
            u64::MAX,
            "Within a warp no shared memory is needed: lanes exchange their sums by shuffles, and each warp stores one value. The first warp loads these values, one per lane, and adds them in the same way.",
        ),
        ..TWO
    },
    Task {
        number: 8,
        warps: true,
        folder: "08-wide-loads",
        reference: reference!("08-wide-loads"),
        name: "sixteen bytes per load",
        chapter: "v8-wide-loads",
        shape: Shape::Shares { grids: &[1, 3, 8], most: 300 },
        blocks: &[256],
        measured: ((1 << 15) + 3, 4),
        budgets: &[
            idea(REQUESTS, (1 << 15) / 128 + 8),
            // One thread may load the last three elements one after another.
            at_most(SECTORS, (1 << 15) / 8 + 3),
            at_most(BARRIERS, 4 * 8),
        ],
        idea: (
            513,
            "The grid has a fixed size: each block loops over its tiles until none is left, and each load reads sixteen bytes.",
        ),
        ..TREE
    },
    Task {
        number: 9,
        warps: true,
        folder: "09-one-launch",
        reference: reference!("09-one-launch"),
        name: "one launch",
        chapter: "v9-single-pass",
        shape: Shape::Single { grids: &[1, 2, 5], most: 256 },
        blocks: &[256],
        measured: ((1 << 15) + 3, 5),
        budgets: &[at_most(ATOMICS, 6), at_most(REQUESTS, (1 << 15) / 128 + 18)],
        idea: (
            0,
            "There is no second launch: the block that takes the last ticket adds all partial sums.",
        ),
        ..TREE
    },
    Task {
        number: 10,
        warps: true,
        folder: "10-same-bits",
        reference: reference!("10-same-bits"),
        name: "the same bits",
        chapter: "v10-fixed-tree",
        shape: Shape::Single { grids: &[1, 2, 5], most: 1024 },
        blocks: &[256],
        same_bits: true,
        measured: ((1 << 15) + 3, 5),
        budgets: &[at_most(ATOMICS, 6), at_most(INSTRUCTIONS, 22_250)],
        idea: (
            0,
            "Cut the elements into chunks that depend only on n, and let blocks take chunks: then the order of additions does not depend on the grid.",
        ),
        ..TREE
    },
    Task {
        number: 11,
        warps: true,
        folder: "11-small-sum",
        reference: reference!("11-small-sum"),
        name: "a small sum",
        chapter: "small-sum",
        shape: Shape::Alone,
        blocks: &[512],
        measured: (1 << 14, 1),
        budgets: &[
            idea(INSTRUCTIONS, 2300),
            at_most(BARRIERS, 16),
            at_most(REQUESTS, (1 << 14) / 128 + 8),
        ],
        idea: (
            0,
            "One block does everything, so it needs no partial sums and no ticket: vectorized loads, shuffles and one barrier.",
        ),
        ..TREE
    },
    Task {
        number: 12,
        folder: "12-ninety-six",
        reference: reference!("12-ninety-six"),
        name: "a block of 96 threads",
        chapter: "v2-bank-conflicts",
        shape: Shape::Tiles { each: 1 },
        blocks: &[96, 32, 160],
        measured: (96, 1),
        budgets: &[at_most(BARRIERS, 24), at_most(SHARED, 28)],
        idea: (
            3,
            "Halving 96 repeatedly gives 48, 24, 12, 6 and 3. Because 3 is odd, the middle value is left over.",
        ),
        ..TREE
    },
    Task {
        number: 13,
        folder: "13-maximum",
        reference: reference!("13-maximum"),
        name: "the maximum",
        chapter: "v1-divergence",
        operation: Operation::Max,
        budgets: &[at_most(BARRIERS, 72), at_most(SHARED, 72)],
        idea: (
            0,
            "A thread without an element must not change the result: the neutral element of the maximum is the lowest value, not 0.",
        ),
        ..TREE
    },
    Task {
        number: 14,
        warps: true,
        folder: "14-sum-and-maximum",
        reference: reference!("14-sum-and-maximum"),
        name: "sum and maximum in one pass",
        chapter: "v6-shuffle",
        operation: Operation::SumAndMax,
        shape: Shape::Tiles { each: 2 },
        measured: (512, 1),
        budgets: &[idea(BARRIERS, 8), at_most(REQUESTS, 16)],
        idea: (
            u64::MAX,
            "Two values can use the same tree side by side: one barrier between the warps is enough for both.",
        ),
        ..TREE
    },
    Task {
        number: 15,
        warps: true,
        folder: "15-grid-stride",
        reference: reference!("15-grid-stride"),
        name: "a grid-stride loop",
        chapter: "v7-grid-stride",
        shape: Shape::Shares { grids: &[1, 3, 8], most: 300 },
        blocks: &[256],
        measured: ((1 << 15) + 3, 4),
        budgets: &[
            idea(BARRIERS, 4 * 2 * 8),
            idea(SHUFFLES, 4 * 45),
            at_most(REQUESTS, (1 << 15) / 32 + 32),
        ],
        idea: (
            513,
            "The grid has a fixed size: each block loops over its elements until none is left, and executes its tree once, after the loop.",
        ),
        ..TREE
    },
    Task {
        number: 16,
        warps: true,
        folder: "16-mailbox",
        reference: reference!("16-mailbox"),
        name: "a mailbox",
        chapter: "v11-mailbox",
        shape: Shape::Mailbox { grids: &[1, 2, 5], most: 256 },
        blocks: &[256],
        same_bits: true,
        orders: 40,
        measured: ((1 << 15) + 3, 5),
        budgets: &[idea(ATOMICS, 12), at_most(REQUESTS, (1 << 15) / 128 + 18)],
        idea: (
            0,
            "A partial sum and its flag are one 64-bit store, so a block that sees the flag also sees the sum. One block polls for all messages, clears their flags, and adds the sums in the order of the blocks.",
        ),
        ..TREE
    },
    Task {
        number: 17,
        warps: true,
        copies: true,
        folder: "17-ring",
        reference: reference!("17-ring"),
        name: "a ring of stages",
        chapter: "v12-bulk-copy",
        shape: Shape::Shares { grids: &[1, 3, 8], most: 300 },
        blocks: &[256],
        measured: ((1 << 15) + 3, 4),
        budgets: &[idea(REQUESTS, 8), at_most(INSTRUCTIONS, 20_000)],
        idea: (
            0,
            "Threads load nothing from global memory except the last few elements: one thread requests stages by bulk copies, and all threads wait for a stage and add it from shared memory.",
        ),
        ..TREE
    },
];

const fn at_most(cost: Cost, most: u64) -> Budget {
    Budget { cost, most, idea: false }
}

/// Returns a budget that a kernel can meet only by using the idea of the exercise.
const fn idea(cost: Cost, most: u64) -> Budget {
    Budget { cost, most, idea: true }
}
