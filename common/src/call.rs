//! A launch as a device receives it.

use crate::plan::{Arg, Buffer, Launch};

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

impl Call {
    /// A plan's launch, its buffers at these addresses.
    pub fn of(launch: &Launch, address: impl Fn(Buffer) -> u64) -> Call {
        let word = |arg: &Arg| match *arg {
            Arg::Address(buffer) => Word::U64(address(buffer)),
            Arg::U64(value) => Word::U64(value),
            Arg::U32(value) => Word::U32(value),
        };
        Call {
            entry: launch.entry.clone(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            shared: launch.shared,
            args: launch.args.iter().map(word).collect(),
        }
    }

    /// The call, as the interpreter takes it.
    pub fn interpreted(&self) -> simt::Launch<'_> {
        let arg = |word: &Word| match *word {
            Word::U32(value) => simt::Arg::U32(value),
            Word::U64(value) => simt::Arg::U64(value),
        };
        simt::Launch {
            entry: &self.entry,
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            cluster: [self.cluster, 1, 1],
            shared: self.shared,
            args: self.args.iter().map(arg).collect(),
        }
    }
}

/// An argument as the kernel receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Four bytes.
    U32(u32),
    /// Eight bytes; addresses too.
    U64(u64),
}
