//! How the ways are launched.
//!
//! Four sums are not one, so a plan goes one stage further than a step's: the four sums lie in a
//! buffer of their own, and the result is what they add up to. The verdict holds all five.

use common::plan::{
    Arg, Buffer, Holds, Launch, Order, Parts, Plan, Problem, Scratch, Stage, additions,
};

/// Where the four sums lie, in the order of the entries.
pub const SUMS: Buffer = Buffer::Scratch(0);

/// Numbers of a matrix.
pub const ENTRIES: u64 = Holds::ENTRIES;

/// The last additions: two pairs, and these two.
const TOTAL: Stage = Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 2 };

/// Threads of a block that loads words.
const WIDE: u32 = 512;

/// A part of the matrices begins at a multiple of so many, so that a part of each entry begins with a
/// line of the caches where the entry itself does.
const LINE: u64 = 32;

/// A launch of a kernel over blocks that add `tile` matrices each, to one matrix each.
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

/// Matrices of that many elements; the last one may lack some.
fn matrices(n: u64) -> u64 {
    n.div_ceil(ENTRIES)
}

/// Launch after launch until one matrix is left: a thread loads `loads` matrices.
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

/// Words of 16 bytes: a part for each block that the GPU holds at once, and a block for their sums.
pub fn wide(problem: &Problem, order: Order, entry: &str) -> Plan {
    let fill = 2 * u64::from(problem.chip.sms);
    let mut plan = Plan { launches: Vec::new(), scratch: vec![Scratch::Partials(ENTRIES)] };
    let part = |n: u64, most: u64| matrices(n).div_ceil(most).next_multiple_of(LINE).max(LINE);
    let (mut n, mut input, mut tile) = (problem.n, Buffer::Input, part(problem.n, fill));
    // A part of less than a word a thread is not worth a block.
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
        (n, input, tile) = (ENTRIES * blocks, sums, part(ENTRIES * blocks, 1));
    }
}

/// One launch over parts that the length alone decides; the last block adds their sums.
pub fn one_pass(problem: &Problem, order: Order, entry: &str) -> Plan {
    let most = Parts::of(problem).count;
    let tile = matrices(problem.n).div_ceil(most).next_multiple_of(LINE).max(LINE);
    let level =
        Level { n: problem.n, input: Buffer::Input, tile, depth: depth(problem, order, tile) };
    let parts = level.blocks();
    let partials = Buffer::Scratch(1);
    let last = Level { n: ENTRIES * parts, input: partials, tile: u64::MAX, depth: 5 + 4 };
    let fill = 2 * u64::from(problem.chip.sms);
    let launch = Launch {
        entry: entry.into(),
        grid: parts.min(fill) as u32,
        args: vec![
            Arg::Address(Buffer::Input),
            Arg::Address(SUMS),
            Arg::U64(problem.n),
            Arg::U64(tile),
            Arg::U32(parts as u32),
            Arg::Address(Buffer::Result),
            Arg::Address(partials),
            Arg::Address(Buffer::Scratch(2)),
        ],
        stages: vec![level.stage(order, partials), last.stage(order, SUMS), TOTAL],
        ..launch(&level, order, SUMS)
    };
    let scratch =
        vec![Scratch::Partials(ENTRIES), Scratch::Partials(ENTRIES * parts), Scratch::Zeroed(4)];
    Plan { launches: vec![launch], scratch }
}

/// Additions in a row in a part of so many matrices: a thread's words, its lanes and what is no whole
/// word at both ends, its warp, and the warps of the block.
fn depth(problem: &Problem, order: Order, tile: u64) -> u32 {
    let lanes = 16 / problem.element.size();
    let each = match order {
        Order::Row => ENTRIES * tile,
        Order::Column => tile,
    };
    let words = additions((each / lanes).div_ceil(u64::from(WIDE)));
    words + lanes as u32 + 2 + 5 + 4
}

/// Where the sums of so many blocks go: the four sums, or partial ones.
fn next(plan: &mut Plan, blocks: u64) -> Buffer {
    if blocks == 1 {
        return SUMS;
    }
    plan.scratch.push(Scratch::Partials(ENTRIES * blocks));
    Buffer::Scratch(plan.scratch.len() - 1)
}

/// A launch without its name and arguments. More blocks than can be are refused with the plan.
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
