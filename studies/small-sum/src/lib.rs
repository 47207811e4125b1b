//! Computes sums that are too small to fill the GPU, in four versions. Each version is correct for
//! any number of elements; the study shows which is fast at which size.

use common::{
    Step, Study,
    plan::{Arg, Buffer, Holds, Launch, Plan, Problem, Scratch, Stage, additions},
};

/// The study: four versions, starting with the one for the smallest sums.
pub static STUDY: Study = Study {
    name: env!("CARGO_PKG_NAME"),
    about: "Sums that are too small to fill the GPU, in four versions, in one table",
    sizes: "2^10,2^12,2^14,2^16,2^18",
    up_to: SMALL,
    ways: &[&BLOCK, &CLUSTER, &COUNTER, &MAILBOX],
};

/// One block, which has no partial sums.
pub static BLOCK: Step = Step {
    name: "one-block",
    cures: "partial sums: a single block adds everything and needs none",
    costs: "memory bandwidth, of which one multiprocessor uses only a fraction",
    kernel: common::kernel!("block", "tile.cuh"),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: true,
    variants: &[],
    plan: |problem| {
        let loads = loads(problem, 1);
        plan(problem, loads, 1, 1, vec![])
    },
};

/// One cluster, whose blocks store to the shared memory of its first block.
pub static CLUSTER: Step = Step {
    name: "one-cluster",
    cures: "the trip through L2: a cluster's blocks now store to the shared memory of its first block",
    costs: "memory bandwidth, because at most sixteen multiprocessors read",
    kernel: common::kernel!("cluster", "tile.cuh"),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    // A GPU whose clusters have sixteen blocks adds in a different order from a GPU whose clusters
    // have eight.
    fixed_order: false,
    variants: &[],
    plan: |problem| {
        // Eight blocks start sooner than sixteen, and are enough while a thread has at most two
        // vectors. Every GPU with clusters supports eight blocks; some do not support sixteen.
        let sixteen = bytes(problem) > 2 * 8 * TILE && problem.chip.cluster >= 16;
        let blocks = if sixteen { 16 } else { 8 };
        let loads = loads(problem, blocks);
        plan(problem, loads, blocks, blocks, vec![])
    },
};

/// Any number of blocks; the block that takes the last ticket adds the partial sums.
pub static COUNTER: Step = Step {
    name: "counter",
    cures: "the limit of a cluster: with more blocks, the last block to finish adds all partial sums",
    costs: "three trips to L2 in sequence, for the partial sum, the ticket and all partial sums",
    kernel: common::kernel!("counter", "tile.cuh"),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: true,
    variants: &[],
    plan: |problem| {
        let loads = loads(problem, FULL);
        let blocks = blocks(problem, loads);
        let scratch = vec![Scratch::Partials(u64::from(blocks)), Scratch::Zeroed(4)];
        plan(problem, loads, blocks, 1, scratch)
    },
};

/// Any number of blocks. Each block publishes its partial sum with a flag, and the last block polls
/// for all of them.
pub static MAILBOX: Step = Step {
    name: "mailbox",
    cures: "the ticket: one store now writes a partial sum and its flag, for which the last block polls",
    costs: "one block that polls; while it does, all other blocks must be able to run",
    kernel: common::kernel!("mailbox", "tile.cuh"),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: true,
    variants: &[],
    plan: |problem| {
        let loads = loads(problem, FULL);
        let blocks = blocks(problem, loads);
        plan(problem, loads, blocks, 1, vec![Scratch::Messages(u64::from(blocks))])
    },
};

/// The number of threads in a block, which does not depend on `--threads`.
const THREADS: u64 = 512;

/// The size in bytes of a tile with one vector per thread.
const TILE: u64 = THREADS * 16;

/// Up to this number of blocks, each thread loads only one vector.
const FULL: u32 = 64;

/// The size of the largest small sum, in bytes: 64 blocks with eight vectors per thread.
const SMALL: u64 = FULL as u64 * 8 * TILE;

fn bytes(problem: &Problem) -> u64 {
    problem.n * problem.element.size()
}

/// Returns the number of loads in flight in each thread of `blocks` blocks: the smallest number
/// that suffices, but at most eight.
fn loads(problem: &Problem, blocks: u32) -> u64 {
    bytes(problem).div_ceil(u64::from(blocks) * TILE).next_power_of_two().min(8)
}

/// Returns the number of blocks for this many loads per thread. The number saturates; the plan's
/// check then rejects it.
fn blocks(problem: &Problem, loads: u64) -> u32 {
    u32::try_from(bytes(problem).div_ceil(loads * TILE).max(1)).unwrap_or(u32::MAX)
}

fn plan(problem: &Problem, loads: u64, grid: u32, cluster: u32, scratch: Vec<Scratch>) -> Plan {
    let mut args =
        vec![Arg::Address(Buffer::Input), Arg::Address(Buffer::Result), Arg::U64(problem.n)];
    args.extend((0..scratch.len()).map(|index| Arg::Address(Buffer::Scratch(index))));
    let tile = loads * TILE / problem.element.size();
    let tiles = additions(problem.n.div_ceil(tile * u64::from(grid)));
    // Counts consecutive additions: those of the vectors in a tile, the elements in a vector, the
    // tiles, the lanes of a warp, and the warps of the block.
    let depth = 3 + 2 + tiles + 5 + 4;
    let all = Stage { sums: Buffer::Result, holds: Holds::ALL, depth };
    let stages = match scratch.len() {
        // All warps in a cluster, 16 per block, store their sums in shared memory.
        0 => vec![Stage { depth: depth + cluster / 2 + 5, ..all }],
        _ => {
            let holds = Holds::Strides { tile, count: u64::from(grid), width: 1 };
            let finish = grid.div_ceil(32) + 5;
            vec![Stage { sums: Buffer::Scratch(0), holds, depth }, Stage { depth: finish, ..all }]
        }
    };
    let launch = Launch {
        entry: format!("reduce_{loads}"),
        grid,
        block: THREADS as u32,
        cluster,
        shared: 0,
        early: false,
        n: problem.n,
        input: Buffer::Input,
        args,
        stages,
    };
    Plan { launches: vec![launch], scratch }
}
