//! A launch as a device receives it.

/// A launch with its arguments as numbers.
#[derive(Clone, Debug)]
pub struct Call {
    /// The entry point.
    pub entry: String,
    /// Blocks.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// The arguments.
    pub args: Vec<Word>,
}

/// An argument as the kernel receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Four bytes.
    U32(u32),
    /// Eight bytes; addresses too.
    U64(u64),
}
