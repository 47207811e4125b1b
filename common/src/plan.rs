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
