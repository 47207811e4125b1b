//! A launch as a device receives it.

use super::launch::{Arg, Buffer, Launch};
use crate::device::Address;

/// A launch with its arguments as a device takes them.
#[derive(Clone, Debug)]
pub struct Call<'m> {
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
    pub args: Vec<Value<'m>>,
}

impl<'m> Call<'m> {
    /// A plan's launch, its buffers at these addresses.
    pub fn of(launch: &Launch, address: impl Fn(Buffer) -> Address<'m>) -> Call<'m> {
        let value = |arg: &Arg| match *arg {
            Arg::Address(buffer) => Value::Address(address(buffer)),
            Arg::U64(value) => Value::U64(value),
            Arg::U32(value) => Value::U32(value),
        };
        Call {
            entry: launch.entry.clone(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            shared: launch.shared,
            early: launch.early,
            args: launch.args.iter().map(value).collect(),
        }
    }
}

/// An argument as the kernel receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'m> {
    /// Four bytes.
    U32(u32),
    /// Eight bytes.
    U64(u64),
    /// A place in memory, in eight bytes.
    Address(Address<'m>),
}
