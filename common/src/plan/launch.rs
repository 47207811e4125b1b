//! The launches that a step makes for one problem, as a list in launch order.
//!
//! A plan is made without a device, so it can be printed, tested and counted anywhere.

use numbers::Element;

use super::{chip::Chip, holds::Holds};
use crate::Error;

/// The launches that compute one sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The launches, in order.
    pub launches: Vec<Launch>,
    /// The buffers that pass data between launches.
    pub scratch: Vec<Scratch>,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The name of the kernel's entry point in the PTX.
    pub entry: String,
    /// The number of blocks in the grid.
    pub grid: u32,
    /// The number of threads in a block.
    pub block: u32,
    /// The number of blocks in a cluster; 1 without clusters.
    pub cluster: u32,
    /// The dynamic shared memory for a block, in bytes.
    pub shared: u32,
    /// Whether the launch may start before the previous launch has ended. The kernel waits
    /// (`griddepcontrol.wait`) before it reads the results of the previous launch.
    pub early: bool,
    /// The number of elements that the launch adds.
    pub n: u64,
    /// The buffer that holds the elements.
    pub input: Buffer,
    /// The kernel's arguments, in order.
    pub args: Vec<Arg>,
    /// The stages of the sum. The sums from each stage are the elements of the next.
    pub stages: Vec<Stage>,
}

/// A stage of a launch, which reduces elements to fewer sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The buffer for the stage's sums.
    pub sums: Buffer,
    /// The elements that each sum holds.
    pub holds: Holds,
    /// The maximum number of additions that round on the path from an element to a sum, which
    /// determines the rounding bound. If it is 0, the sum must be the exact sum, rounded once.
    pub depth: u32,
}

/// A buffer in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// The input's elements.
    Input,
    /// The buffer in `Plan::scratch` with this index.
    Scratch(usize),
    /// The result, which is one element.
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

/// A buffer that passes data between launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scratch {
    /// A buffer for this many partial sums; it is overwritten with poison before every verified
    /// run.
    Partials(u64),
    /// A buffer for this many partial sums with flags. Each 32-bit word of an element has a 64-bit
    /// slot, whose lower half is the value and whose upper half is the flag. The flags are cleared
    /// once, and each kernel clears the flags that it sets.
    Messages(u64),
    /// A buffer of this many bytes, which is cleared once. A kernel that uses the buffer, for
    /// counters or sums, resets it to zero.
    Zeroed(u64),
}

impl Plan {
    /// Returns the maximum number of additions on the path from an element to the sum, over all
    /// launches.
    pub fn depth(&self) -> u32 {
        self.launches.iter().map(Launch::depth).sum()
    }

    /// Returns whether blocks communicate, through counters or messages.
    pub fn communicates(&self) -> bool {
        self.scratch.iter().any(|kind| matches!(kind, Scratch::Zeroed(_) | Scratch::Messages(_)))
    }

    /// Returns whether a buffer has slots for messages.
    pub fn has_messages(&self, buffer: Buffer) -> bool {
        matches!(buffer, Buffer::Scratch(index) if matches!(self.scratch[index], Scratch::Messages(_)))
    }

    /// Returns the size of a scratch buffer, in bytes.
    pub fn scratch_bytes(&self, index: usize, element: Element) -> u64 {
        match self.scratch[index] {
            Scratch::Partials(count) => count * element.size(),
            Scratch::Messages(count) => 2 * count * element.size(),
            Scratch::Zeroed(bytes) => bytes,
        }
    }

    /// Checks the plan against the device's limits on the blocks in a grid and in a cluster, and on
    /// the threads and the shared memory of a block.
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
                    "`{entry}` needs {shared} bytes of shared memory for a block, but a block on this device has at most {}: run the previous step, or use another GPU",
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

/// Converts a number of consecutive additions to 32 bits. The result saturates at 2^29.
pub fn additions(count: u64) -> u32 {
    count.min(1 << 29) as u32
}

impl Launch {
    /// Returns the buffer for the last stage's sums.
    pub fn output(&self) -> Buffer {
        self.stages.last().map_or(self.input, |stage| stage.sums)
    }

    /// Returns the number of sums that the last stage computes.
    pub fn sums(&self) -> u64 {
        self.stages.last().map_or(self.n, |stage| stage.holds.count())
    }

    /// Returns the maximum number of additions on the path from an element to the output.
    pub fn depth(&self) -> u32 {
        self.stages.iter().map(|stage| stage.depth).sum()
    }
}
