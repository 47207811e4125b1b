//! The happens-before order, as times on one clock per cluster.
//!
//! The clock of a cluster advances at every synchronization in the cluster. A thread is *ordered
//! after* an access of another thread if that access happens before the thread's next access; in
//! the code, the thread `knows` the access. The order is stored as the time by which the access was
//! complete. A barrier gives the same time to many threads, so a block has one time for all its
//! threads, and a warp has one time for all its lanes. Only the order that partial masks, atomics
//! and other blocks create is stored per lane.

use std::sync::Arc;

use super::exits::Exits;
use super::peers::Peers;
use super::polls::Polls;
use super::release::{Logs, Ref, Release};
use super::shadow::{Entry, Strength};
use super::unwaited::Unwaited;

/// The clock of a cluster, and the times up to which each of its blocks is ordered.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) now: u32,
    pub(super) blocks: Vec<BlockClock>,
    /// The log of the cluster barrier, if a thread has used it, and the length of the log when the
    /// barrier last completed.
    pub(super) barrier: Option<u32>,
    pub(super) completed: u32,
}

/// Describes which accesses the threads of a block are ordered after.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockClock {
    /// Linear index of the block.
    pub(super) index: u32,
    pub(super) live: bool,
    /// The time at which the block started.
    pub(super) start: u32,
    /// The time of the last barrier of the whole block. All threads of the block are ordered after
    /// all of its earlier accesses, except those of threads that exited before the barrier.
    pub(super) base: u32,
    pub(super) exits: Exits,
    pub(super) warps: Vec<WarpClock>,
    /// Releases that all threads of the block have acquired.
    pub(super) refs: Vec<Ref>,
    /// Releases that the threads have read but not acquired, because no fence has followed.
    pub(super) pending: Vec<Ref>,
    /// Lanes that arrived at a barrier without waiting (`bar.arrive`), by barrier and warp.
    pub(super) ahead: Vec<(u32, Vec<u32>)>,
}

/// Describes which accesses the lanes of a warp are ordered after.
#[derive(Debug, Clone, Default)]
pub(super) struct WarpClock {
    /// The time of the last barrier of the whole warp.
    pub(super) base: u32,
    /// The time up to which each lane is ordered after every other lane, if the warp has executed
    /// barriers with partial masks.
    pub(super) rows: Option<Box<[[u32; 32]; 32]>>,
    /// The lanes of the warp, and those that have exited.
    pub(super) lanes: u32,
    pub(super) exited: u32,
    /// Releases that were acquired, releases that were read but not acquired, and releases made by
    /// a fence, each with a mask of lanes.
    pub(super) refs: Vec<(u32, Ref)>,
    pub(super) pending: Vec<(u32, Ref)>,
    pub(super) fenced: Vec<(u32, Arc<Release>)>,
    /// Initializations of `mbarrier`s, and whether `fence.mbarrier_init` has released them.
    pub(super) inits: Vec<(Entry, bool)>,
    /// Lanes that have not stored to global memory since their last releasing fence.
    pub(super) fresh: u32,
    /// Lanes that have arrived at the cluster barrier, those of them that wait, and lanes that have
    /// not waited for the last completed barrier.
    pub(super) arrived: u32,
    pub(super) waiting: u32,
    pub(super) owing: u32,
    /// Asynchronous copies that threads of the warp have not waited for, if there are any.
    pub(super) copies: Option<Box<Unwaited>>,
    /// Accesses to other blocks of the cluster, if there are any.
    pub(super) peers: Option<Box<Peers>>,
    pub(super) polls: Polls,
}

impl Cluster {
    pub(super) fn new() -> Cluster {
        Cluster { now: 1, blocks: Vec::new(), barrier: None, completed: 0 }
    }

    /// Starts a block at a rank of the cluster.
    pub(super) fn begin(&mut self, rank: usize, index: u32, threads: u32) {
        if self.blocks.len() <= rank {
            self.blocks.resize_with(rank + 1, BlockClock::default);
        }
        self.now += 1;
        let block = &mut self.blocks[rank];
        let mut warps = std::mem::take(&mut block.warps);
        warps.resize_with(threads.div_ceil(32) as usize, WarpClock::default);
        for (w, warp) in warps.iter_mut().enumerate() {
            let left = threads - w as u32 * 32;
            let lanes = if left >= 32 { u32::MAX } else { (1 << left) - 1 };
            *warp = WarpClock { lanes, ..WarpClock::default() };
        }
        // All threads of the block are ordered after its start.
        let start = self.now - 1;
        let defaults = BlockClock::default();
        *block = BlockClock { index, live: true, start, base: start, warps, ..defaults };
    }

    pub(super) fn rank_of(&self, block: u32) -> Option<usize> {
        // A block that has ended keeps its rank until another block replaces it.
        self.blocks.iter().position(|b| b.index == block)
    }

    /// Returns whether a lane is ordered after all lanes of an entry through program order and
    /// through barriers of its warp and block.
    #[inline]
    pub(super) fn knows(&self, rank: usize, warp: u32, lane: u32, e: &Entry) -> bool {
        let block = &self.blocks[rank];
        if e.block != block.index || e.strength() == Strength::Async {
            return false;
        }
        let clock = &block.warps[warp as usize];
        (e.time <= block.base && block.exits.by_block(e) == e.lanes)
            || e.warp() == warp
                && (e.lanes == 1 << lane
                    || e.time <= clock.base && block.exits.by_warp(e) == e.lanes
                    || (clock.rows.is_some() || e.time <= block.base.max(clock.base))
                        && self.lanes_known(rank, warp, lane, e) & e.lanes == e.lanes)
    }

    /// Returns whether no lane of a warp has acquired a release.
    #[inline]
    pub(super) fn is_alone(&self, rank: usize, warp: u32) -> bool {
        let block = &self.blocks[rank];
        block.refs.is_empty() && block.warps[warp as usize].refs.is_empty()
    }

    /// Returns whether a lane is ordered after all lanes of an entry through the releases that it
    /// has acquired.
    #[cold]
    pub(super) fn knows_far(
        &self,
        logs: &Logs,
        rank: usize,
        warp: u32,
        lane: u32,
        e: &Entry,
    ) -> bool {
        let block = &self.blocks[rank];
        let own = &block.warps[warp as usize].refs;
        let own = own.iter().filter(|(m, _)| m >> lane & 1 == 1).map(|&(_, r)| r);
        let known = self.lanes_known(rank, warp, lane, e);
        logs.know(Some(block.index), own.chain(block.refs.iter().copied()), e, known)
    }

    /// Returns whether a lane runs after all lanes of an entry, even if it may not see their
    /// accesses: relaxed barriers count too, and scopes do not matter.
    #[cold]
    pub(super) fn follows(
        &self,
        logs: &Logs,
        rank: usize,
        warp: u32,
        lane: u32,
        e: &Entry,
    ) -> bool {
        let block = &self.blocks[rank];
        let WarpClock { refs, pending, .. } = &block.warps[warp as usize];
        let own = refs.iter().chain(pending).filter(|(m, _)| m >> lane & 1 == 1);
        let all = own.map(|(_, r)| r).chain(&block.refs).chain(&block.pending).copied();
        let known = self.lanes_known(rank, warp, lane, e);
        self.knows(rank, warp, lane, e) || logs.know(None, all, e, known)
    }

    /// Returns the lanes of an entry that a lane is ordered after through program order and through
    /// barriers of its warp and block.
    pub(super) fn lanes_known(&self, rank: usize, warp: u32, lane: u32, e: &Entry) -> u32 {
        let block = &self.blocks[rank];
        if e.strength() == Strength::Async || e.block != block.index {
            return 0;
        }
        let by_block = if e.time <= block.base { block.exits.by_block(e) } else { 0 };
        if e.warp() != warp {
            return by_block;
        }
        let clock = &block.warps[warp as usize];
        let by_warp = if e.time <= clock.base { block.exits.by_warp(e) } else { 0 };
        let row = clock.rows.iter().flat_map(|rows| rows[lane as usize].iter().enumerate());
        row.fold(1 << lane | by_block | by_warp, |known, (l, &time)| {
            known | u32::from(e.time <= time) << l
        })
    }

    /// Returns the lanes of an access that no barrier orders, only because they exited before it.
    pub(super) fn lanes_ended(&self, rank: usize, warp: u32, e: &Entry) -> u32 {
        let block = &self.blocks[rank];
        if e.strength() == Strength::Async || e.block != block.index {
            return 0;
        }
        let by_block = e.time <= block.base;
        let by_warp = e.warp() == warp && e.time <= block.warps[warp as usize].base;
        match (by_block, by_warp) {
            (_, true) => e.lanes & !block.exits.by_warp(e),
            (true, false) => e.lanes & !block.exits.by_block(e),
            (false, false) => 0,
        }
    }

    /// Applies the exit of lanes. No later barrier orders their accesses.
    pub(super) fn exit(&mut self, rank: usize, warp: u32, mask: u32) {
        let block = &mut self.blocks[rank];
        let clock = &mut block.warps[warp as usize];
        clock.exited |= mask;
        let times = (clock.base, block.base);
        block.exits.exit((warp, block.warps.len()), mask, times);
    }

    /// Applies a barrier of all threads of a block that have not exited: these lanes of each warp.
    pub(super) fn block_barrier(&mut self, rank: usize, lanes: &[u32]) {
        let block = &mut self.blocks[rank];
        block.base = self.now;
        self.now += 1;
        for (w, mask) in lanes.iter().enumerate().filter(|(_, mask)| **mask != 0) {
            block.exits.warp_barrier(w, *mask, block.warps[w].rows.as_deref());
            block.exits.block_barrier(w);
        }
        for warp in &mut block.warps {
            for (_, r) in warp.refs.drain(..) {
                add(&mut block.refs, r);
            }
            for (_, r) in warp.pending.drain(..) {
                add(&mut block.pending, r);
            }
        }
    }

    /// Applies a barrier of the lanes in a mask.
    pub(super) fn warp_barrier(&mut self, rank: usize, warp: usize, mask: u32) {
        let BlockClock { warps, exits, .. } = &mut self.blocks[rank];
        let clock = &mut warps[warp];
        for list in [&mut clock.refs, &mut clock.pending] {
            for (lanes, _) in list.iter_mut() {
                if *lanes & mask != 0 {
                    *lanes |= mask;
                }
            }
        }
        if (mask | clock.exited) & clock.lanes == clock.lanes {
            clock.base = self.now;
            exits.warp_barrier(warp, mask, clock.rows.as_deref());
        } else {
            let rows = clock.rows.get_or_insert_with(|| Box::new([[0; 32]; 32]));
            let mut joined = [0; 32];
            for l in 0..32 {
                if mask >> l & 1 == 1 {
                    for k in 0..32 {
                        joined[k] = joined[k].max(rows[l][k]);
                    }
                }
            }
            for (l, time) in joined.iter_mut().enumerate() {
                if mask >> l & 1 == 1 {
                    *time = self.now;
                }
            }
            for (l, row) in rows.iter_mut().enumerate() {
                if mask >> l & 1 == 1 {
                    *row = joined;
                }
            }
        }
        self.now += 1;
    }

    /// Returns the accesses that lanes of a warp are ordered after now, as a release.
    pub(super) fn release(
        &mut self,
        rank: usize,
        warp: u32,
        mask: u32,
        scope: Option<u8>,
    ) -> Release {
        let block = &self.blocks[rank];
        let clock = &block.warps[warp as usize];
        let mut refs: Vec<(u32, Ref)> =
            clock.refs.iter().filter(|(m, _)| m & mask != 0).copied().collect();
        refs.extend(block.refs.iter().map(|&r| (u32::MAX, r)));
        let release = Release {
            block: block.index,
            warp,
            time: self.now,
            base: block.base,
            warp_base: clock.base,
            rows: clock.rows.clone(),
            exits: block.exits.clone(),
            refs,
            scope,
        };
        self.now += 1;
        release
    }

    /// Applies a fence, which acquires the releases that the lanes have read.
    pub(super) fn acquire_pending(&mut self, rank: usize, warp: usize, mask: u32, scope: u8) {
        let BlockClock { warps, pending, .. } = &mut self.blocks[rank];
        let clock = &mut warps[warp];
        let narrow = |r: Ref| Ref { scope: r.scope.min(scope), ..r };
        let taken: Vec<(u32, Ref)> = clock
            .pending
            .iter()
            .filter(|(m, _)| m & mask != 0)
            .map(|&(m, r)| (m & mask, narrow(r)))
            .chain(pending.iter().map(|&r| (mask, narrow(r))))
            .collect();
        for (m, r) in taken {
            add_for(&mut clock.refs, m, r);
        }
    }
}

/// Adds an acquired release. For each log and scope, only the longest prefix is kept.
pub(super) fn add(refs: &mut Vec<Ref>, new: Ref) {
    match refs.iter_mut().find(|r| r.log == new.log && r.scope == new.scope) {
        Some(r) => r.length = r.length.max(new.length),
        None => refs.push(new),
    }
}

/// Adds a release that some lanes have acquired. For each lane, log and scope, only the longest prefix
/// is kept.
pub(super) fn add_for(refs: &mut Vec<(u32, Ref)>, mut lanes: u32, new: Ref) {
    let mut same = None;
    for (i, (m, r)) in refs.iter_mut().enumerate() {
        if r.log != new.log || r.scope != new.scope {
            continue;
        }
        if r.length < new.length {
            *m &= !lanes;
        } else {
            lanes &= !*m;
            same = same.or((r.length == new.length).then_some(i));
        }
    }
    match same {
        Some(i) => refs[i].0 |= lanes,
        None if lanes != 0 => refs.push((lanes, new)),
        None => {}
    }
    refs.retain(|(m, _)| *m != 0);
}
