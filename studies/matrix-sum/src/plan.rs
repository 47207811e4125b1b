//! Plans the launches of each version.
//!
//! Every plan produces a single number, so these plans have one more stage than a step's plan. The
//! four sums are in a separate buffer, and the result is the sum of the four. The verdict checks
//! all five numbers.

use common::plan::{
    Arg, Buffer, Chunks, Holds, Launch, Order, Plan, Problem, Scratch, Stage, additions,
};

/// The buffer for the four sums, in the order of the entries.
pub const SUMS: Buffer = Buffer::Scratch(0);

/// The number of entries in a matrix.
pub const ENTRIES: u64 = Holds::ENTRIES;

/// The stage that adds the four sums: first in two pairs, then the sums of the pairs.
const TOTAL: Stage = Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 2 };

/// The number of threads in a block that loads vectors.
const WIDE: u32 = 512;

/// A chunk starts at a multiple of this number of matrices, so that each plane's chunk begins at a
/// cache line if the plane does.
const LINE: u64 = 32;

/// A launch of a kernel with several blocks, each of which reduces `tile` matrices to one matrix.
struct Level {
    n: u64,
    input: Buffer,
    tile: u64,
    depth: u32,
}

impl Level {
    fn blocks(&self) -> u64 {
        matrices(self.n).div_ceil(self.tile).max(1)
    }

    fn stage(&self, order: Order, sums: Buffer) -> Stage {
        let holds = Holds::Matrices { order, tile: self.tile, count: self.blocks() };
        Stage { sums, holds, depth: self.depth }
    }
}

/// Returns the number of matrices with this many elements; the last matrix may be incomplete.
fn matrices(n: u64) -> u64 {
    n.div_ceil(ENTRIES)
}

/// Launches a kernel repeatedly until one matrix is left. Each thread loads `loads` matrices.
pub fn until_one(problem: &Problem, order: Order, entry: &str, loads: u64) -> Plan {
    let threads = problem.threads();
    let mut plan = Plan { launches: Vec::new(), scratch: vec![Scratch::Partials(ENTRIES)] };
    let depth = problem.block.rounds() + loads as u32 - 1;
    let mut level = Level { n: problem.n, input: Buffer::Input, tile: loads * threads, depth };
    loop {
        let blocks = level.blocks();
        let sums = next(&mut plan, blocks);
        plan.launches.push(Launch {
            entry: entry.into(),
            block: problem.block.threads(),
            shared: (ENTRIES * threads * problem.element.size()) as u32,
            args: vec![
                Arg::Address(level.input),
                Arg::Address(sums),
                Arg::U64(level.n),
                Arg::Address(Buffer::Result),
            ],
            ..launch(&level, order, sums)
        });
        if blocks == 1 {
            return plan;
        }
        level = Level { n: ENTRIES * blocks, input: sums, ..level };
    }
}

/// Plans vectorized loads: a chunk for each block that can be resident at the same time, then one
/// block for the sums of the chunks.
pub fn wide(problem: &Problem, order: Order, entry: &str) -> Plan {
    let fill = 2 * u64::from(problem.chip.sms);
    let mut plan = Plan { launches: Vec::new(), scratch: vec![Scratch::Partials(ENTRIES)] };
    let chunk = |n: u64, most: u64| matrices(n).div_ceil(most).next_multiple_of(LINE).max(LINE);
    let (mut n, mut input, mut tile) = (problem.n, Buffer::Input, chunk(problem.n, fill));
    // A chunk with less than one vector per thread is too small for a separate block.
    tile = tile.max(u64::from(WIDE));
    loop {
        let level = Level { n, input, tile, depth: depth(problem, order, tile) };
        let blocks = level.blocks();
        let sums = next(&mut plan, blocks);
        plan.launches.push(Launch {
            entry: entry.into(),
            args: vec![
                Arg::Address(input),
                Arg::Address(sums),
                Arg::U64(n),
                Arg::U64(tile),
                Arg::Address(Buffer::Result),
            ],
            ..launch(&level, order, sums)
        });
        if blocks == 1 {
            return plan;
        }
        (n, input, tile) = (ENTRIES * blocks, sums, chunk(ENTRIES * blocks, 1));
    }
}

/// Plans one launch over chunks that depend on the length alone; the last block adds the sums of
/// the chunks.
pub fn one_pass(problem: &Problem, order: Order, entry: &str) -> Plan {
    let most = Chunks::of(problem).count;
    let tile = matrices(problem.n).div_ceil(most).next_multiple_of(LINE).max(LINE);
    let level =
        Level { n: problem.n, input: Buffer::Input, tile, depth: depth(problem, order, tile) };
    let chunks = level.blocks();
    let partials = Buffer::Scratch(1);
    let last = Level { n: ENTRIES * chunks, input: partials, tile: u64::MAX, depth: 5 + 4 };
    let fill = 2 * u64::from(problem.chip.sms);
    let launch = Launch {
        entry: entry.into(),
        grid: chunks.min(fill) as u32,
        args: vec![
            Arg::Address(Buffer::Input),
            Arg::Address(SUMS),
            Arg::U64(problem.n),
            Arg::U64(tile),
            Arg::U32(chunks as u32),
            Arg::Address(Buffer::Result),
            Arg::Address(partials),
            Arg::Address(Buffer::Scratch(2)),
        ],
        stages: vec![level.stage(order, partials), last.stage(order, SUMS), TOTAL],
        ..launch(&level, order, SUMS)
    };
    let scratch =
        vec![Scratch::Partials(ENTRIES), Scratch::Partials(ENTRIES * chunks), Scratch::Zeroed(4)];
    Plan { launches: vec![launch], scratch }
}

/// Returns the longest chain of additions in a chunk of this many matrices. The chain goes through
/// the vectors of a thread, the elements in a vector, the elements at both ends, the lanes of a
/// warp, and the warps of the block.
fn depth(problem: &Problem, order: Order, tile: u64) -> u32 {
    let width = 16 / problem.element.size();
    let each = match order {
        Order::Row => ENTRIES * tile,
        Order::Column => tile,
    };
    let vectors = additions((each / width).div_ceil(u64::from(WIDE)));
    vectors + width as u32 + 2 + 5 + 4
}

/// Returns the buffer for the sums of this many blocks: the buffer for the four sums, or one for
/// partial sums.
fn next(plan: &mut Plan, blocks: u64) -> Buffer {
    if blocks == 1 {
        return SUMS;
    }
    plan.scratch.push(Scratch::Partials(ENTRIES * blocks));
    Buffer::Scratch(plan.scratch.len() - 1)
}

/// Returns a launch without its entry and arguments. `Plan::check` rejects too many blocks.
fn launch(level: &Level, order: Order, sums: Buffer) -> Launch {
    let blocks = level.blocks();
    let mut stages = vec![level.stage(order, sums)];
    if blocks == 1 {
        stages.push(TOTAL);
    }
    Launch {
        entry: String::new(),
        grid: u32::try_from(blocks).unwrap_or(u32::MAX),
        block: WIDE,
        cluster: 1,
        shared: 0,
        early: false,
        n: level.n,
        input: level.input,
        args: Vec::new(),
        stages,
    }
}
