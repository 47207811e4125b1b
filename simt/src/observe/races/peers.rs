//! The accesses of a warp to the shared memory of other blocks of its cluster.

use super::shadow::{Entry, Strength};

/// The accesses of a warp to other blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Peers {
    /// For each rank, the lanes that are ordered after the start of that block.
    pub(super) started: Vec<u32>,
    /// The last accesses of each lane to each block, and those of the copies that each `mbarrier`
    /// counts.
    pub(super) last: Vec<Reach>,
}

/// An access to the shared memory of another block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// The rank of the other block.
    pub(super) rank: usize,
    pub(super) offset: u32,
    pub(super) writes: bool,
    pub(super) entry: Entry,
}

impl Peers {
    /// Records an access, and drops the earlier accesses of the same lanes to the same block, because
    /// a thread that is ordered after the new access is also ordered after these.
    pub(super) fn record(&mut self, new: Reach) {
        let copies = |e: &Entry| e.strength() == Strength::Async;
        self.last.retain_mut(|old| {
            if old.rank != new.rank || copies(&old.entry) != copies(&new.entry) {
                return true;
            }
            if copies(&new.entry) {
                return old.entry.lanes != new.entry.lanes;
            }
            old.entry.lanes &= !new.entry.lanes;
            old.entry.lanes != 0
        });
        match self.last.iter_mut().find(|old| {
            old.rank == new.rank && !copies(&new.entry) && old.entry.same_but_lanes(&new.entry)
        }) {
            Some(old) => old.entry.lanes |= new.entry.lanes,
            None => self.last.push(new),
        }
    }
}
