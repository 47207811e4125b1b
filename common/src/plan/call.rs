//! A launch as a device receives it.

use super::launch::{Arg, Buffer, Launch};

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
    /// Whether it starts before the call in front of it has ended.
    pub early: bool,
    /// The arguments.
    pub args: Vec<Number>,
}

impl Call {
    /// A plan's launch, its buffers at these addresses.
    pub fn of(launch: &Launch, address: impl Fn(Buffer) -> u64) -> Call {
        let number = |arg: &Arg| match *arg {
            Arg::Address(buffer) => Number::U64(address(buffer)),
            Arg::U64(value) => Number::U64(value),
            Arg::U32(value) => Number::U32(value),
        };
        Call {
            entry: launch.entry.clone(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            shared: launch.shared,
            early: launch.early,
            args: launch.args.iter().map(number).collect(),
        }
    }

    /// The call, as the interpreter takes it.
    pub fn interpreted(&self) -> simt::Launch<'_> {
        let arg = |number: &Number| match *number {
            Number::U32(value) => simt::Arg::U32(value),
            Number::U64(value) => simt::Arg::U64(value),
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
pub enum Number {
    /// Four bytes.
    U32(u32),
    /// Eight bytes; addresses too.
    U64(u64),
}
