//! Accesses to the shared memory of other blocks of a cluster. The other block must have started
//! before the access, and must not end before it.
//!
//! Both rules concern the order of execution, in which relaxed barriers count too. The start of a
//! block is an event that all its threads are ordered after. A block ends when its last thread
//! exits, so it outlives an access that at least one of its threads is ordered after.

use super::Races;
use super::clock::Cluster;
use super::pair::Side;
use super::peers::Reach;
use super::shadow::{Entry, Strength};
use crate::model::Scope;
use crate::observe::bits::lanes;
use crate::observe::finding::Fault;
use crate::observer::{Access, At, Block};

impl Races {
    /// Checks and records an access of a lane to shared memory, if the memory belongs to another
    /// block.
    pub(super) fn reaches(
        &mut self,
        at: &At<'_>,
        lane: u32,
        address: u64,
        entry: Entry,
        writes: bool,
    ) {
        let (Some(rank), offset) = Access::peer(address) else { return };
        let (place, own, rank) = (self.place(&at.block), at.block.rank as usize, rank as usize);
        let Races { clusters, logs, reports, .. } = self;
        let size = clusters[place].blocks.len();
        if rank == own || rank >= size {
            return;
        }
        let mut peers =
            clusters[place].blocks[own].warps[at.warp as usize].peers.take().unwrap_or_default();
        let cluster = &clusters[place];
        let owner = &cluster.blocks[rank];
        let side = Side { lane, ..Side::of(&entry, writes, 0) };
        peers.started.resize(size, 0);
        if peers.started[rank] >> lane & 1 == 0 {
            match cluster.follows(logs, own, at.warp, lane, &cluster.start(rank)) {
                true => peers.started[rank] |= 1 << lane,
                false => reports.absent(Fault::NotStarted, side, owner.index, offset),
            }
        }
        match owner.live {
            true => peers.record(Reach { rank, offset, writes, entry }),
            false => reports.absent(Fault::Ended, side, owner.index, offset),
        }
        clusters[place].blocks[own].warps[at.warp as usize].peers = Some(peers);
    }

    /// Checks that a block outlives the accesses of other blocks to its shared memory, when the block
    /// ends.
    pub(super) fn outlives(&mut self, block: &Block) {
        let place = self.place(block);
        let rank = block.rank as usize;
        let Races { clusters, logs, reports, .. } = self;
        let all = clusters[place].blocks.iter_mut().flat_map(|other| &mut other.warps);
        let peers = all.filter_map(|warp| warp.peers.as_mut());
        let reached: Vec<Reach> =
            peers.flat_map(|peers| peers.last.extract_if(.., |reach| reach.rank == rank)).collect();
        let cluster = &clusters[place];
        let mut told = Vec::new();
        for Reach { offset, writes, entry, .. } in reached {
            let follows = |e: &Entry| {
                threads(cluster, rank).any(|(w, lane)| cluster.follows(logs, rank, w, lane, e))
            };
            if told.contains(&entry.pc()) || follows(&entry) {
                continue;
            }
            // Different threads may be ordered after the accesses of different lanes.
            let one = |lane: u32| entry.by(1 << lane);
            let early = match entry.strength() {
                Strength::Async => Some(entry),
                _ => lanes(entry.lanes).map(one).find(|e| !follows(e)),
            };
            if let Some(early) = early {
                told.push(entry.pc());
                let side = Side::of(&early, writes, 0);
                reports.absent(Fault::Ended, side, block.index as u32, offset);
            }
        }
    }

    /// Records a read of the copy engine in its own block, which must outlive the copy too.
    pub(super) fn sends(&mut self, at: &At<'_>, address: u64, entry: Entry) {
        let (place, rank) = (self.place(&at.block), at.block.rank as usize);
        let offset = Access::peer(address).1;
        let warp = &mut self.clusters[place].blocks[rank].warps[at.warp as usize];
        let peers = warp.peers.get_or_insert_default();
        peers.record(Reach { rank, offset, writes: false, entry });
    }
}

/// Returns the warps and lanes of a block.
fn threads(cluster: &Cluster, rank: usize) -> impl Iterator<Item = (u32, u32)> {
    let warps = cluster.blocks[rank].warps.iter().enumerate();
    warps.flat_map(|(w, warp)| lanes(warp.lanes).map(move |lane| (w as u32, lane)))
}

impl Cluster {
    /// Returns the start of a block as an access by the block.
    fn start(&self, rank: usize) -> Entry {
        let block = &self.blocks[rank];
        Entry::new(block.index, block.start, 0, 0, Strength::Weak, Scope::Cta as u32).by(1)
    }
}
