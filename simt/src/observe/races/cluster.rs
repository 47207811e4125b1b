//! The barrier of a cluster. Its order is kept in a log, like that of an `mbarrier`.

use std::sync::Arc;

use super::Races;
use super::release::Ref;
use crate::observer::{Arrive, At, Complete};

/// The scope of the barrier.
const CLUSTER: u8 = 1;

impl Races {
    /// Returns the log of the barrier of a cluster.
    fn barrier(&mut self, place: usize) -> u32 {
        let Races { clusters, logs, .. } = self;
        *clusters[place].barrier.get_or_insert_with(|| logs.create())
    }

    /// Appends a release to the log of the barrier. A relaxed arrival releases only what fences
    /// before it have released, but it orders execution.
    fn released(&mut self, place: usize, rank: usize, warp: u32, mask: u32, relaxed: bool) {
        let log = self.barrier(place);
        if relaxed {
            self.push_fences(place, rank, warp, mask, log);
        }
        let scope = (!relaxed).then_some(CLUSTER);
        let release = self.clusters[place].release(rank, warp, mask, scope);
        self.logs.push(log, mask, Arc::new(release));
    }

    pub(super) fn cluster_arrived(&mut self, at: &At<'_>, arrive: &Arrive) {
        let (place, rank) = (self.place(&at.block), at.block.rank as usize);
        self.released(place, rank, at.warp, arrive.mask, arrive.relaxed);
        self.clusters[place].blocks[rank].warps[at.warp as usize].arrived |= arrive.mask;
    }

    /// Handles lanes that exit. The barrier does not wait for them, so the exit of a lane that has
    /// not arrived counts as an arrival.
    pub(super) fn left(&mut self, at: &At<'_>, mask: u32) {
        if self.clustered {
            let (place, rank) = (self.place(&at.block), at.block.rank as usize);
            let arrived = self.clusters[place].blocks[rank].warps[at.warp as usize].arrived;
            if mask & !arrived != 0 {
                self.released(place, rank, at.warp, mask & !arrived, false);
            }
        }
    }

    /// Handles lanes of a warp that reach the wait of the barrier.
    pub(super) fn cluster_waits(&mut self, at: &At<'_>) {
        self.changes += 1;
        let (place, rank) = (self.place(&at.block), at.block.rank as usize);
        let cluster = &mut self.clusters[place];
        let warp = &mut cluster.blocks[rank].warps[at.warp as usize];
        warp.waiting |= at.mask & warp.arrived;
        let over = at.mask & warp.owing;
        warp.owing &= !over;
        if let Some(log) = cluster.barrier.filter(|_| over != 0) {
            let r = Ref { log, length: cluster.completed, scope: CLUSTER };
            self.take(place, rank, at.warp, over, r, true);
        }
    }

    /// Handles the completion of the barrier in one block of the cluster. The first block is the
    /// first to complete.
    pub(super) fn cluster_completed(&mut self, complete: &Complete<'_>) {
        let (place, rank) = (self.place(&complete.block), complete.block.rank as usize);
        let log = self.barrier(place);
        let cluster = &mut self.clusters[place];
        if rank == 0 {
            cluster.completed = self.logs.length(log);
        }
        let r = Ref { log, length: cluster.completed, scope: CLUSTER };
        for w in 0..cluster.blocks[rank].warps.len() {
            let warp = &mut self.clusters[place].blocks[rank].warps[w];
            let (arrived, waiting) = (warp.arrived, warp.waiting);
            let left = arrived & warp.exited;
            warp.owing |= arrived & !waiting & !left;
            (warp.arrived, warp.waiting) = (0, 0);
            if waiting != 0 {
                self.take(place, rank, w as u32, waiting, r, true);
            }
            // Lanes that arrived and exited count as arrived at the next barrier too.
            if left != 0 {
                self.released(place, rank, w as u32, left, false);
            }
        }
    }
}
