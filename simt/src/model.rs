//! The terms of the memory model, such as the space, kind and order of an access.

/// The state space of an access. A generic address is first resolved to its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Global memory. The host uses the same addresses.
    Global,
    /// Shared memory. An address is an offset in the block's own memory. If the address is in
    /// another block of the cluster, its upper bits hold that block's rank plus 1;
    /// [`Access::peer`](crate::observer::Access::peer) splits such an address.
    Shared,
    /// A thread's local memory. Addresses are offsets in this memory.
    Local,
    /// Constant memory.
    Const,
    /// Kernel parameters. Addresses are offsets.
    Param,
}

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A read of memory.
    Load,
    /// A write to memory.
    Store,
    /// A read and a write in one operation, which returns the old value.
    Atomic,
    /// A read and a write in one operation that returns no value: `red`, or an atomic whose result
    /// is unused.
    Reduction,
}

impl AccessKind {
    /// Returns whether memory is read.
    pub fn reads(self) -> bool {
        self != AccessKind::Store
    }

    /// Returns whether memory is written.
    pub fn writes(self) -> bool {
        self != AccessKind::Load
    }

    /// Returns whether the access is an indivisible read and write.
    pub fn is_atomic(self) -> bool {
        matches!(self, AccessKind::Atomic | AccessKind::Reduction)
    }
}

/// Memory order of an access or fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// No order. Weak accesses to one address race if at least one of them is a write and no
    /// synchronization orders them.
    Weak,
    /// `.volatile`, which is strong, like `.relaxed` at system scope.
    Volatile,
    /// `.relaxed`, which is strong, but orders no other accesses.
    Relaxed,
    /// `.acquire`.
    Acquire,
    /// `.release`.
    Release,
    /// `.acq_rel`, which is both acquire and release.
    AcqRel,
    /// `fence.sc` or `membar`.
    SeqCst,
}

/// Scope of a strong access or fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The thread's block.
    Cta,
    /// The thread's cluster.
    Cluster,
    /// The whole device.
    Gpu,
    /// The whole system, including the host and other devices.
    Sys,
}

/// Returns whether an access or fence makes earlier accesses of its block visible to other blocks.
pub(crate) fn releases(order: Order, scope: Scope) -> bool {
    scope >= Scope::Gpu && matches!(order, Order::Release | Order::AcqRel | Order::SeqCst)
}

/// Returns whether an access makes what a release has made visible happen before later accesses.
pub(crate) fn acquires(order: Order) -> bool {
    matches!(order, Order::Acquire | Order::AcqRel | Order::SeqCst)
}

/// An allocation of global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Address of the first byte.
    pub base: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Operations on the asynchronous copies (`cp.async`) of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopyGroup {
    /// Puts the copies since the last group into a new group.
    Commit,
    /// Waits for all groups except the given number of most recent ones.
    Wait(u32),
    /// Waits for all copies, whether or not they are in a group.
    WaitAll,
}

impl CopyGroup {
    /// Returns whether this operation waits for a copy in `group`, if the thread has committed
    /// `made` groups; groups are numbered from 0.
    pub(crate) fn ends(self, group: u32, made: u32) -> bool {
        match self {
            CopyGroup::Commit => false,
            CopyGroup::Wait(left) => group.saturating_add(left) < made,
            CopyGroup::WaitAll => true,
        }
    }
}
