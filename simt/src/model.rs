//! The terms of the memory model: where an access ends, what it does, how it is ordered.

/// State spaces that an access may end in; generic addresses are resolved first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Global memory: addresses are those of the host.
    Global,
    /// Shared memory. An address is the offset in the own block's memory; one in another block
    /// of the cluster has [`Access::peer`](crate::observer::Access::peer) in its upper bits.
    Shared,
    /// A thread's own memory: addresses are offsets in it.
    Local,
    /// Constant memory.
    Const,
    /// Kernel parameters: offsets.
    Param,
}

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes at once, and yields the old value.
    Atomic,
    /// Reads and writes at once: `red`, or an atomic without a use of its result.
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

    /// Whether it is one indivisible read and write.
    pub fn is_atomic(self) -> bool {
        matches!(self, AccessKind::Atomic | AccessKind::Reduction)
    }
}

/// Memory order of an access or fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// No order: two such accesses to one place race.
    Weak,
    /// `.volatile`: strong, as relaxed at system scope.
    Volatile,
    /// Strong, without order.
    Relaxed,
    /// `.acquire`.
    Acquire,
    /// `.release`.
    Release,
    /// Both.
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

/// What threads do with their asynchronous copies (`cp.async`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopyGroup {
    /// They put those since the last group into one.
    Commit,
    /// They wait for all groups but the last so many.
    Wait(u32),
    /// They wait for all, in groups or not.
    WaitAll,
}

impl CopyGroup {
    /// Whether a copy of a group, the first of which is 0, is over, where a thread has made so many.
    pub(crate) fn ends(self, group: u32, made: u32) -> bool {
        match self {
            CopyGroup::Commit => false,
            CopyGroup::Wait(left) => group.saturating_add(left) < made,
            CopyGroup::WaitAll => true,
        }
    }
}
