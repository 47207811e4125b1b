//! What a step does for one problem, as data: the launches, in order, with their arguments.
//!
//! A plan is made without a device, so it can be printed, tested and counted anywhere.

use numbers::Element;

use super::{chip::Chip, holds::Holds};
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
    /// Whether it starts before the launch in front of it has ended. Its kernel waits for that one
    /// (`griddepcontrol.wait`) before it reads what it wrote.
    pub early: bool,
    /// Elements that it adds.
    pub n: u64,
    /// Where they are.
    pub input: Buffer,
    /// The kernel's arguments, in order.
    pub args: Vec<Arg>,
    /// What it adds them to, stage by stage: the sums of each are the elements of the next.
    pub stages: Vec<Stage>,
}

/// One stage of a launch: elements that become fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Where its sums go.
    pub sums: Buffer,
    /// Which elements each of them holds.
    pub holds: Holds,
    /// Additions in a row from an element to a sum, at the most: what rounding can do.
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
    /// Partial sums, that many, each with flags: a box of 64 bits for every 32 bits of an element,
    /// which are its lower half. The flags, the upper half, are cleared once; a kernel leaves them so.
    Mail(u64),
    /// That many bytes of zeros, cleared once; a kernel that counts in them leaves zeros behind.
    Zeroed(u64),
}

impl Plan {
    /// Additions in a row from an element to the sum, over all launches.
    pub fn depth(&self) -> u32 {
        self.launches.iter().map(Launch::depth).sum()
    }

    /// Bytes of a scratch buffer.
    pub fn scratch_bytes(&self, index: usize, element: Element) -> u64 {
        match self.scratch[index] {
            Scratch::Partials(count) => count * element.size(),
            Scratch::Mail(count) => 2 * count * element.size(),
            Scratch::Zeroed(bytes) => bytes,
        }
    }

    /// Checks what the device cannot launch: more blocks than a grid or a cluster has, more threads
    /// or shared memory than a block can have.
    pub fn check(&self, chip: &Chip) -> Result<(), Error> {
        let most = i32::MAX as u32;
        let refused = |launch: &Launch| {
            let Launch { entry, grid, block, shared, n, .. } = launch;
            if *grid > most {
                Some(format!(
                    "{n} elements need more than the {most} blocks that a grid can have: take larger blocks or a smaller `--n`"
                ))
            } else if *shared > chip.shared_block {
                Some(format!(
                    "`{entry}` needs {shared} bytes of shared memory in a block, and this device gives a block {}: run the step before it, or another GPU",
                    chip.shared_block
                ))
            } else if *block > chip.threads {
                Some(format!(
                    "`{entry}` needs blocks of {block} threads, and a multiprocessor of this device holds {}: take smaller blocks",
                    chip.threads
                ))
            } else {
                None
            }
        };
        self.launches.iter().find_map(refused).map_or(Ok(()), |text| Err(Error::Usage(text)))?;
        let most = chip.cluster;
        match self.launches.iter().find(|launch| launch.cluster > most) {
            Some(Launch { entry, cluster, .. }) => {
                Err(Error::Clusters { entry: entry.clone(), needs: *cluster, most })
            }
            None => Ok(()),
        }
    }
}

/// Additions in a row, as a stage has them; those that would take days count as half a billion.
pub fn additions(count: u64) -> u32 {
    count.min(1 << 29) as u32
}

impl Launch {
    /// Where its last sums go.
    pub fn output(&self) -> Buffer {
        self.stages.last().map_or(self.input, |stage| stage.sums)
    }

    /// How many sums it leaves.
    pub fn sums(&self) -> u64 {
        self.stages.last().map_or(self.n, |stage| stage.holds.count())
    }

    /// Additions in a row from an element to the output, at the most.
    pub fn depth(&self) -> u32 {
        self.stages.iter().map(|stage| stage.depth).sum()
    }
}
