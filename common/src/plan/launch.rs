//! What a step does for one problem, as data: the launches, in order, with their arguments.
//!
//! A plan is made without a device, so it can be printed, tested and counted anywhere.

use super::element::Element;
use crate::Error;

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

impl Plan {
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
