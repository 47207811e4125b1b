//! Sums too small to fill the chip, in four ways. Each is right for any number of elements; which is
//! fast for how many is what the study asks.

use common::{
    Step, Study,
    plan::{Arg, Buffer, Holds, Launch, Plan, Problem, Scratch, Stage, additions},
};

/// The study: four ways, from the smallest sums to the largest.
pub static STUDY: Study = Study {
    name: env!("CARGO_PKG_NAME"),
    about: "Sums too small to fill the chip, in four ways, in one table",
    sizes: "2^10,2^12,2^14,2^16,2^18",
    up_to: SMALL,
    ways: &[&BLOCK, &CLUSTER, &COUNTER, &MAILBOX],
};

/// One block: nothing to agree on.
pub static BLOCK: Step = Step {
    name: "one-block",
    cures: "partial sums: one block needs none",
    costs: "one multiprocessor's share of the memory's speed",
    kernel: common::kernel!("block", "tile.cuh"),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    variants: &[],
    plan: |problem| {
        let words = words(problem, 1);
        plan(problem, words, 1, 1, vec![])
    },
};

/// One cluster: its blocks write into the shared memory of the first.
pub static CLUSTER: Step = Step {
    name: "one-cluster",
    cures: "the way through memory: blocks of a cluster write into each other's shared memory",
    costs: "sixteen multiprocessors at the most",
    kernel: common::kernel!("cluster", "tile.cuh"),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    variants: &[],
    plan: |problem| {
        // Eight blocks start sooner than sixteen, and are enough for a word a thread or two. They
        // are also what every GPU with clusters has; sixteen are a Hopper's.
        let sixteen = bytes(problem) > 2 * 8 * TILE && problem.chip.cluster >= 16;
        let blocks = if sixteen { 16 } else { 8 };
        let words = words(problem, blocks);
        plan(problem, words, blocks, blocks, vec![])
    },
};

/// Any number of blocks: the one that draws the last ticket adds the partial sums.
pub static COUNTER: Step = Step {
    name: "counter",
    cures: "the limit of a cluster: the last block to finish adds what all have written",
    costs: "three ways to the L2 cache, one after the other: the partial sum, the ticket, all partial sums",
    kernel: common::kernel!("counter", "tile.cuh"),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    variants: &[],
    plan: |problem| {
        let words = words(problem, FULL);
        let blocks = blocks(problem, words);
        let scratch = vec![Scratch::Partials(u64::from(blocks)), Scratch::Zeroed(4)];
        plan(problem, words, blocks, 1, scratch)
    },
};

/// Any number of blocks: each posts its partial sum with a flag, and the last one waits for all.
pub static MAILBOX: Step = Step {
    name: "mailbox",
    cures: "the ticket: a partial sum and its flag are one store, and the last block waits for them",
    costs: "a block that waits: others must be able to run beside it",
    kernel: common::kernel!("mailbox", "tile.cuh"),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    variants: &[],
    plan: |problem| {
        let words = words(problem, FULL);
        let blocks = blocks(problem, words);
        plan(problem, words, blocks, 1, vec![Scratch::Mail(u64::from(blocks))])
    },
};

/// Threads of a block; the study asks for other things than `--threads`.
const THREADS: u64 = 512;

/// Bytes of a tile of one word a thread.
const TILE: u64 = THREADS * 16;

/// Blocks that are enough to hide that they share a memory bus.
const FULL: u32 = 64;

/// Bytes of the largest sum that is small: 64 blocks of eight words a thread.
const SMALL: u64 = FULL as u64 * 8 * TILE;

fn bytes(problem: &Problem) -> u64 {
    problem.n * problem.element.size()
}

/// Words that a thread of that many blocks has in flight: as few as are enough, eight at the most.
fn words(problem: &Problem, blocks: u32) -> u64 {
    bytes(problem).div_ceil(u64::from(blocks) * TILE).next_power_of_two().min(8)
}

/// Blocks of that many words a thread; more than a number of blocks can be are refused with the plan.
fn blocks(problem: &Problem, words: u64) -> u32 {
    u32::try_from(bytes(problem).div_ceil(words * TILE).max(1)).unwrap_or(u32::MAX)
}

fn plan(problem: &Problem, words: u64, grid: u32, cluster: u32, scratch: Vec<Scratch>) -> Plan {
    let mut args =
        vec![Arg::Address(Buffer::Input), Arg::Address(Buffer::Result), Arg::U64(problem.n)];
    args.extend((0..scratch.len()).map(|index| Arg::Address(Buffer::Scratch(index))));
    let tile = words * TILE / problem.element.size();
    let tiles = additions(problem.n.div_ceil(tile * u64::from(grid)));
    // Words and their elements, tile after tile, a warp, and the warps of a block.
    let depth = 3 + 2 + tiles + 5 + 4;
    let all = Stage { sums: Buffer::Result, holds: Holds::ALL, depth };
    let stages = match scratch.len() {
        // In shared memory a cluster has a sum for each of its 16 warps a block.
        0 => vec![Stage { depth: depth + cluster / 2 + 5, ..all }],
        _ => {
            let holds = Holds::Strides { tile, count: u64::from(grid), word: 1 };
            let finish = grid.div_ceil(32) + 5;
            vec![Stage { sums: Buffer::Scratch(0), holds, depth }, Stage { depth: finish, ..all }]
        }
    };
    let launch = Launch {
        entry: format!("reduce_{words}"),
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
