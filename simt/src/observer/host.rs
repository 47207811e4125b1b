//! The operations of the host that observers receive.

use crate::model::Buffer;

/// An operation of the host on global memory between launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEvent {
    /// An allocation of uninitialized memory.
    Alloc {
        /// Number of the allocation.
        alloc: u32,
        /// Address of the first byte.
        base: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// A free of an allocation.
    Free {
        /// Number of the allocation.
        alloc: u32,
        /// Address of the first byte.
        base: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// A copy to the device, or a fill.
    Write {
        /// Address of the first byte.
        base: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// A request to make memory uninitialized again.
    Forget {
        /// Address of the first byte.
        base: u64,
        /// Number of bytes.
        bytes: u64,
        /// The allocation that contains the address.
        of: Buffer,
    },
    /// A copy from the device.
    Read {
        /// Address of the first byte.
        base: u64,
        /// Number of bytes.
        bytes: u64,
    },
}
