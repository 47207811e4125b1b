//! The launches of a step for one problem, as data, in order and with their arguments.
//!
//! A plan is made without a device, so it can be printed, tested and counted anywhere.

use numbers::Element;

use super::{chip::Chip, holds::Holds};
use crate::Error;

/// The launches of one sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The launches, in order.
    pub launches: Vec<Launch>,
    /// The buffers between them.
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
    /// Blocks of a cluster; 1 without clusters.
    pub cluster: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// Whether it may start before the previous launch has ended. The kernel waits
    /// (`griddepcontrol.wait`) before it reads the results of that launch.
    pub early: bool,
    /// The number of elements that it adds.
    pub n: u64,
    /// The buffer that holds them.
    pub input: Buffer,
    /// The kernel's arguments, in order.
    pub args: Vec<Arg>,
    /// The stages of its sum: the sums of each stage are the elements of the next.
    pub stages: Vec<Stage>,
}

/// A stage of a launch, which reduces elements to fewer sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The buffer for its sums.
    pub sums: Buffer,
    /// The elements that each sum holds.
    pub holds: Holds,
    /// The maximum number of additions in a row from an element to a sum, for the rounding bound.
    pub depth: u32,
}

/// A buffer in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// The elements.
    Input,
    /// `Plan::scratch` with that index.
    Scratch(usize),
    /// The sum: one element.
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
    /// That many partial sums; overwritten with poison before every verified run.
    Partials(u64),
    /// That many partial sums with flags. Each 32 bits of an element have a slot of 64 bits: the
    /// value is its lower half and the flag its upper half. Flags are cleared once, and each kernel
    /// clears those that it sets.
    Messages(u64),
    /// That many bytes of zeros, cleared once. A kernel that counts in them resets them to zero.
    Zeroed(u64),
}

impl Plan {
    /// The maximum number of additions in a row from an element to the sum, over all launches.
    pub fn depth(&self) -> u32 {
        self.launches.iter().map(Launch::depth).sum()
    }

    /// The size of a scratch buffer in bytes.
    pub fn scratch_bytes(&self, index: usize, element: Element) -> u64 {
        match self.scratch[index] {
            Scratch::Partials(count) => count * element.size(),
            Scratch::Messages(count) => 2 * count * element.size(),
            Scratch::Zeroed(bytes) => bytes,
        }
    }

    /// Checks the plan against the device's limits: blocks of a grid and of a cluster, threads and
    /// shared memory of a block.
    pub fn check(&self, chip: &Chip) -> Result<(), Error> {
        let most = i32::MAX as u32;
        let refused = |launch: &Launch| {
            let Launch { entry, grid, block, shared, n, .. } = launch;
            if *grid > most {
                Some(format!(
                    "{n} elements need more than the {most} blocks that a grid can have: use larger blocks or a smaller `--n`"
                ))
            } else if *shared > chip.shared_block {
                Some(format!(
                    "`{entry}` needs {shared} bytes of shared memory in a block, but a block of this device has at most {}: run the previous step, or use another GPU",
                    chip.shared_block
                ))
            } else if *block > chip.threads {
                Some(format!(
                    "`{entry}` needs blocks of {block} threads, but a multiprocessor of this device holds {}: use smaller blocks",
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

/// Converts a number of additions in a row; saturates at 2^29.
pub fn additions(count: u64) -> u32 {
    count.min(1 << 29) as u32
}

impl Launch {
    /// The buffer of its last sums.
    pub fn output(&self) -> Buffer {
        self.stages.last().map_or(self.input, |stage| stage.sums)
    }

    /// The number of its last sums.
    pub fn sums(&self) -> u64 {
        self.stages.last().map_or(self.n, |stage| stage.holds.count())
    }

    /// The maximum number of additions in a row from an element to the output.
    pub fn depth(&self) -> u32 {
        self.stages.iter().map(|stage| stage.depth).sum()
    }
}
