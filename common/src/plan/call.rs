//! Launches with resolved arguments, ready for a device.

use super::launch::{Arg, Buffer, Launch};
use crate::device::Address;

/// A launch with resolved arguments.
#[derive(Clone, Debug, Default)]
pub struct Call<'m> {
    /// The name of the entry point.
    pub entry: String,
    /// The number of blocks in the grid.
    pub grid: u32,
    /// The number of threads in a block.
    pub block: u32,
    /// The number of blocks in a cluster; 1 without clusters.
    pub cluster: u32,
    /// The dynamic shared memory for a block, in bytes.
    pub shared: u32,
    /// Whether the launch may start before the previous call has ended.
    pub early: bool,
    /// The elements that the launch adds, which the kernel must not change.
    pub input: Option<Address<'m>>,
    /// The arguments of the kernel, in order.
    pub args: Vec<Value<'m>>,
}

impl<'m> Call<'m> {
    /// Resolves the buffers in a plan's launch to addresses.
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
            input: Some(address(launch.input)),
            args: launch.args.iter().map(value).collect(),
        }
    }
}

/// A kernel argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'m> {
    /// A 32-bit number.
    U32(u32),
    /// A 64-bit number.
    U64(u64),
    /// An address, which takes eight bytes.
    Address(Address<'m>),
}
