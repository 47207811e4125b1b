//! What a step does for one problem, as data: the launches, in order, with their arguments.
//!
//! A plan is made without a device, so it can be printed, tested and counted anywhere.

use crate::{Element, Error};

/// What is to be summed, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Elements to add.
    pub n: u64,
    /// Threads of a block.
    pub block: Block,
    /// Their type.
    pub element: Element,
    /// Multiprocessors of the device, for steps that size their grid by it.
    pub sms: u32,
}

impl Problem {
    /// Threads of a block, as the factor in most formulas.
    pub fn threads(&self) -> u64 {
        u64::from(self.block.threads())
    }
}

/// A block size that the kernels take: a power of two from 64 to 1024 threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block(u32);

impl Block {
    /// All block sizes.
    pub const ALL: [Block; 5] = [Block(64), Block(128), Block(256), Block(512), Block(1024)];

    /// Checks a number of threads.
    pub fn new(threads: u32) -> Result<Block, Error> {
        Block::ALL.into_iter().find(|b| b.0 == threads).ok_or_else(|| {
            Error::Usage(format!(
                "a block of {threads} threads cannot run these kernels: they halve the block \
                 down to one thread, so it takes 64, 128, 256, 512 or 1024"
            ))
        })
    }

    /// Threads.
    pub fn threads(self) -> u32 {
        self.0
    }

    /// Rounds of halving from the block to one thread.
    pub fn rounds(self) -> u32 {
        self.0.ilog2()
    }
}

/// The launches of one sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In the order in which they run.
    pub launches: Vec<Launch>,
    /// Buffers between them.
    pub scratch: Vec<Scratch>,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's entry point in the PTX.
    pub entry: String,
    /// Blocks.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// Blocks of a cluster; 1 where there are none.
    pub cluster: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// Elements that it adds.
    pub n: u64,
    /// Where they are.
    pub input: Buffer,
    /// Where its partial sums go, one a block.
    pub output: Buffer,
    /// The kernel's arguments, in order.
    pub args: Vec<Arg>,
    /// Block b adds the elements from b × tile to (b + 1) × tile − 1, where it is that simple.
    pub tile: Option<u64>,
    /// Additions in a row from an element to the output, at the most: what rounding can do.
    pub depth: u32,
}

/// A place in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// The elements to be summed.
    Input,
    /// `Plan::scratch` of that index.
    Scratch(usize),
    /// One element: the sum.
    Result,
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// The address of a buffer.
    Address(Buffer),
    /// A 64-bit number.
    U64(u64),
    /// A 32-bit number.
    U32(u32),
}

/// A buffer between launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scratch {
    /// Partial sums, that many; poisoned before every verified run.
    Partials(u64),
    /// That many bytes of zeros, cleared once; a kernel that counts in them leaves zeros behind.
    Zeroed(u64),
}

/// One launch of the two-phase scheme: each block adds a tile to one partial sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The kernel's entry point.
    pub entry: String,
    /// Elements that a block adds.
    pub tile: u64,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u64,
    /// Additions in a row from an element to the partial sum.
    pub depth: u32,
}

impl Plan {
    /// Launches a kernel on the input, then on its own partial sums, until one is left.
    ///
    /// No element at all still takes one launch: it writes the sum, 0.
    pub fn until_one(problem: &Problem, phase: &Phase) -> Plan {
        let mut plan = Plan { launches: Vec::new(), scratch: Vec::new() };
        let (mut n, mut input) = (problem.n, Buffer::Input);
        loop {
            let blocks = n.div_ceil(phase.tile).max(1);
            let output = match blocks {
                1 => Buffer::Result,
                _ => {
                    plan.scratch.push(Scratch::Partials(blocks));
                    Buffer::Scratch(plan.scratch.len() - 1)
                }
            };
            plan.launches.push(Launch {
                entry: phase.entry.clone(),
                grid: u32::try_from(blocks).unwrap_or(u32::MAX),
                block: problem.block.threads(),
                cluster: 1,
                shared: phase.shared as u32,
                n,
                input,
                output,
                args: vec![Arg::Address(input), Arg::Address(output), Arg::U64(n)],
                tile: Some(phase.tile),
                depth: phase.depth,
            });
            if blocks == 1 {
                return plan;
            }
            (n, input) = (blocks, output);
        }
    }

    /// Additions in a row from an element to the sum, over all launches.
    pub fn depth(&self) -> u32 {
        self.launches.iter().map(|launch| launch.depth).sum()
    }

    /// Bytes of a scratch buffer.
    pub fn scratch_bytes(&self, index: usize, element: Element) -> u64 {
        match self.scratch[index] {
            Scratch::Partials(count) => count * element.size(),
            Scratch::Zeroed(bytes) => bytes,
        }
    }

    /// Checks what no device can launch: more blocks than a grid has.
    pub fn check(&self) -> Result<(), Error> {
        let most = i32::MAX as u32;
        match self.launches.iter().find(|launch| launch.grid > most) {
            None => Ok(()),
            Some(launch) => Err(Error::Usage(format!(
                "{} elements need more than the {most} blocks that a grid can have: take larger blocks or a smaller `--n`",
                launch.n
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(n: u64, tile: u64) -> Plan {
        let problem = Problem { n, block: Block::new(64).unwrap(), element: Element::F32, sms: 1 };
        Plan::until_one(&problem, &Phase { entry: "reduce".into(), tile, shared: 256, depth: 6 })
    }

    fn grids(plan: &Plan) -> Vec<u32> {
        plan.launches.iter().map(|launch| launch.grid).collect()
    }

    #[test]
    fn partial_sums_are_added_until_one_is_left() {
        assert_eq!(grids(&plan(0, 64)), [1]);
        assert_eq!(grids(&plan(1, 64)), [1]);
        assert_eq!(grids(&plan(64, 64)), [1]);
        assert_eq!(grids(&plan(65, 64)), [2, 1]);
        assert_eq!(grids(&plan(65, 128)), [1]);
        assert_eq!(grids(&plan(1 << 20, 64)), [16384, 256, 4, 1]);
        assert_eq!(plan(1 << 20, 64).depth(), 24);
        assert_eq!(plan((1 << 32) + 13, 64).launches[0].grid, (1 << 26) + 1);
    }

    #[test]
    fn buffers_hand_the_partial_sums_on() {
        let plan = plan(1 << 20, 64);
        assert_eq!(plan.scratch, [16384, 256, 4].map(Scratch::Partials));
        assert_eq!(plan.launches[0].input, Buffer::Input);
        for pair in plan.launches.windows(2) {
            assert_eq!(pair[1].input, pair[0].output);
            assert_eq!(pair[1].n, u64::from(pair[0].grid));
        }
        assert_eq!(plan.launches[3].output, Buffer::Result);
        assert_eq!(plan.scratch_bytes(0, Element::F64), 8 * 16384);
    }

    #[test]
    fn what_no_grid_holds_is_refused() {
        assert!(plan(1 << 36, 64).check().is_ok());
        let refused = plan(1 << 38, 64).check().unwrap_err().to_string();
        assert!(refused.contains("2147483647 blocks"), "{refused}");
    }

    #[test]
    fn only_powers_of_two_from_64_to_1024_are_blocks() {
        for threads in [64, 128, 256, 512, 1024] {
            let block = Block::new(threads).unwrap();
            assert_eq!(1 << block.rounds(), threads);
        }
        for threads in [0, 1, 32, 48, 63, 65, 96, 192, 2048, u32::MAX] {
            assert!(Block::new(threads).is_err(), "{threads}");
        }
    }
}
