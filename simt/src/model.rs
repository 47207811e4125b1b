//! The terms of the memory model: the space, kind and order of an access.

/// State spaces of accesses; generic addresses are resolved first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Global memory: the host uses the same addresses.
    Global,
    /// Shared memory. An address is the offset in the block's own memory; for another block
    /// of the cluster, [`Access::peer`](crate::observer::Access::peer) is set in its upper bits.
    Shared,
    /// A thread's local memory: addresses are offsets in it.
    Local,
    /// Constant memory.
    Const,
    /// Kernel parameters: addresses are offsets.
    Param,
}

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes in one operation, and returns the old value.
    Atomic,
    /// Reads and writes in one operation: `red`, or an atomic whose result is unused.
    Reduction,
}

impl AccessKind {
    /// Whether memory is read.
    pub fn reads(self) -> bool {
        self != AccessKind::Store
    }

    /// Whether memory is written.
    pub fn writes(self) -> bool {
        self != AccessKind::Load
    }

    /// Whether it is an indivisible read and write.
    pub fn is_atomic(self) -> bool {
        matches!(self, AccessKind::Atomic | AccessKind::Reduction)
    }
}

/// Memory order of an access or fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// No order: two such accesses to one address race.
    Weak,
    /// `.volatile`: strong, like relaxed at system scope.
    Volatile,
    /// `.relaxed`: strong, without order.
    Relaxed,
    /// `.acquire`.
    Acquire,
    /// `.release`.
    Release,
    /// `.acq_rel`: acquire and release.
    AcqRel,
    /// `fence.sc`, `membar`.
    SeqCst,
}

/// Scope of a strong access or fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The block.
    Cta,
    /// The cluster.
    Cluster,
    /// The device.
    Gpu,
    /// The system.
    Sys,
}

/// An allocation of global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// First address.
    pub base: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Operations on the asynchronous copies (`cp.async`) of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopyGroup {
    /// Puts the copies since the last group into a new group.
    Commit,
    /// Waits for all groups but the last few.
    Wait(u32),
    /// Waits for all copies, in groups or not.
    WaitAll,
}

impl CopyGroup {
    /// Whether a copy of a group has completed, after a thread has made `made` groups; groups count from 0.
    pub(crate) fn ends(self, group: u32, made: u32) -> bool {
        match self {
            CopyGroup::Commit => false,
            CopyGroup::Wait(left) => group.saturating_add(left) < made,
            CopyGroup::WaitAll => true,
        }
    }
}
