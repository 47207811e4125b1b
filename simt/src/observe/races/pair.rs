//! Two unordered accesses, and the reason why they are unordered.

use super::between::Between;
use super::done::Done;
use super::shadow::{Entry, Strength};
use crate::kernel::Kernel;
use crate::model::Space;

/// Two unordered accesses, and what is known about the launch.
pub(super) struct Pair<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) a: Side,
    pub(super) b: Side,
    pub(super) apart: Apart,
    pub(super) space: Space,
    pub(super) done: &'a Done,
}

/// One access of a pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) pc: u32,
    pub(super) strength: Strength,
    pub(super) writes: bool,
}

impl Side {
    pub(super) fn of(e: &Entry, writes: bool, not: u32) -> Side {
        let lanes = match e.strength() {
            Strength::Async => 1 << e.copier(),
            _ => e.lanes,
        };
        let others = if lanes & !not != 0 { lanes & !not } else { lanes };
        let lane = others.trailing_zeros() & 31;
        Side { block: e.block, warp: e.warp(), lane, pc: e.pc(), strength: e.strength(), writes }
    }

    pub(super) fn what(&self) -> &'static str {
        match (self.strength, self.writes) {
            (Strength::Weak, true) => "write",
            (Strength::Weak, false) => "read",
            (Strength::Volatile, true) => "volatile write",
            (Strength::Volatile, false) => "volatile read",
            (Strength::Strong, true) => "atomic write",
            (Strength::Strong, false) => "atomic read",
            (Strength::Async, true) => "asynchronous copy",
            (Strength::Async, false) => "asynchronous read",
        }
    }
}

/// The reason why two accesses are unordered. The remedy depends on the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Apart {
    /// Nothing orders the two accesses.
    Unordered,
    /// The thread has read a flag that another thread of the block released after the access, and
    /// has not acquired it.
    Read,
    /// The first thread ended before the barrier between the two accesses.
    Ended,
    /// Nothing orders the two accesses, which come from two blocks of the same cluster.
    Cluster,
    /// This other lane of the warp is ordered after the access, which another block performed.
    Lane(u32),
    /// Another warp of the block is ordered after the access, which another block performed.
    Warp,
    /// The second access runs after the first, but the barrier between them orders no memory
    /// accesses, or only those of one block.
    Relaxed,
    /// Nothing orders the two accesses, which come from two blocks of the grid. `released` is set
    /// if a thread has released the earlier access.
    Blocks { released: bool },
    /// One of the accesses is an asynchronous copy.
    Copy(Copied),
    /// Nothing orders the accesses, and no order is needed, because one instruction of a warp
    /// stores the same value.
    Same,
    /// The accesses are atomic, but the scope of one does not include the other.
    Scope,
}

/// The reason why a thread is not ordered after a copy or, for the last two, before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copied {
    /// The thread has not waited.
    Unwaited,
    /// No `mbarrier` counts the copy, and its own thread has not waited for its group.
    Group,
    /// Only another thread of the block has waited.
    Elsewhere,
    /// The `mbarrier` expects fewer bytes than the copies write.
    Fewer,
    /// The wait is relaxed.
    Relaxed,
    /// The scope of the wait excludes the block that sends.
    Narrow,
    /// The wait at this instruction passed before the first phase of its `mbarrier` ended.
    Early(u32),
    /// The thread has waited only for an earlier phase of the `mbarrier` at this offset: the number
    /// of this phase, and that of the copy's phase. `again` is the instruction of a second wait for
    /// the earlier phase, which returned at once.
    Earlier { mbarrier: u32, waited: u32, phase: u32, again: Option<u32> },
    /// The thread's wait at this instruction returned at once, because the thread had already waited
    /// for this phase of the `mbarrier` at this offset.
    Again { pc: u32, mbarrier: u32, phase: u32 },
    /// The copy may be the first one to this memory.
    First,
    /// The copy belongs to a later phase of its `mbarrier`.
    Refill,
}

/// A remedy, whose text may have to be composed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cure {
    Is(&'static str),
    /// The remedy for an access that is not ordered with an asynchronous copy.
    Copy,
    /// The remedy for accesses of two blocks.
    Blocks,
    /// The remedy for volatile accesses to a word, whose flag is another word.
    Volatile,
    /// The remedy for a missing block barrier between two instructions, of which the second one is at
    /// an earlier line.
    Back(u32, u32),
    /// The remedy for a lane that the mask of a warp barrier omits: the barrier, its mask, and the
    /// other lane.
    Mask(u32, u32, u32),
    /// The remedy for a barrier other than `__syncthreads()`, or for a flag, between two
    /// instructions.
    Between(u32, Between),
}
