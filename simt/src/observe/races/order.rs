//! Operations that order accesses: strong accesses, barriers, fences and `mbarrier` phases.

use std::sync::Arc;

use super::clock::add_for;
use super::release::{Ref, Release};
use super::shadow::Strength;
use super::{Kind, Races, Span};
use crate::model::{AccessKind, Order, Scope, Space};
use crate::observe::bits::lanes;
use crate::observer::{Access, Arrive, At, Block, Complete, Level, Mbarrier, MbarrierOp};

impl Races {
    /// Applies the release and acquire of a strong access.
    #[cold]
    pub(super) fn strong(&mut self, at: &At<'_>, access: &Access<'_>) {
        let place = self.place(&at.block);
        let (rank, warp) = (at.block.rank as usize, at.warp);
        let acquires = matches!(access.order, Order::Acquire | Order::AcqRel | Order::SeqCst);
        let releases = matches!(access.order, Order::Release | Order::AcqRel | Order::SeqCst);
        // The read of a reduction does not form an acquire pattern. PTX ISA, "Release and Acquire
        // Patterns".
        let reads = access.kind.reads() && (acquires || access.kind != AccessKind::Reduction);
        let scope = access.scope as u8;
        let mut fresh: Option<Arc<Release>> = None;
        if access.space == Space::Global {
            self.reports.done.ran(at.pc, warp, access.mask);
        }
        for lane in lanes(access.mask) {
            let key = self.key(at, access.space, access.addrs[lane as usize]);
            if reads && let Some(log) = self.logs.get(key) {
                let r = Ref { log, length: self.logs.length(log), scope };
                self.take(place, rank, warp, 1 << lane, r, acquires);
            }
            if access.wrote >> lane & 1 == 1 {
                if !access.kind.reads() {
                    self.logs.overwrite(key, (at.block.index as u32, warp), lane);
                }
                if releases {
                    let cluster = &mut self.clusters[place];
                    let last = fresh.take().filter(|_| !acquires);
                    let release = last.unwrap_or_else(|| {
                        Arc::new(cluster.release(rank, warp, access.mask, Some(scope)))
                    });
                    let log = self.logs.make(key);
                    self.logs.push(log, 1 << lane, release.clone());
                    fresh = Some(release);
                } else if self.is_fenced(place, rank, warp, lane) {
                    let log = self.logs.make(key);
                    self.push_fences(place, rank, warp, 1 << lane, log);
                }
            }
        }
    }

    pub(super) fn take(
        &mut self,
        place: usize,
        rank: usize,
        warp: u32,
        lanes: u32,
        r: Ref,
        acquires: bool,
    ) {
        let warp = &mut self.clusters[place].blocks[rank].warps[warp as usize];
        add_for(if acquires { &mut warp.refs } else { &mut warp.pending }, lanes, r);
    }

    /// Returns whether a store to global memory is the first one after a fence. Such a store counts
    /// as a flag, which other blocks are meant to poll.
    pub(super) fn publishes(&mut self, at: &At<'_>, access: &Access<'_>) -> bool {
        if access.space != Space::Global || access.wrote == 0 {
            return false;
        }
        let place = self.place(&at.block);
        let block = &mut self.clusters[place].blocks[at.block.rank as usize];
        let fresh = &mut block.warps[at.warp as usize].fresh;
        let publishes = access.wrote & !*fresh == 0;
        *fresh &= !access.wrote;
        publishes
    }

    /// Returns whether a lane has executed a fence whose release a later operation may publish.
    fn is_fenced(&self, place: usize, rank: usize, warp: u32, lane: u32) -> bool {
        let clock = &self.clusters[place].blocks[rank].warps[warp as usize];
        clock.fenced.iter().any(|(m, _)| m >> lane & 1 == 1)
            || clock.inits.iter().any(|(init, fenced)| *fenced && init.lanes >> lane & 1 == 1)
    }

    /// Handles lanes that arrive at a barrier and continue. The barrier releases the accesses that
    /// these lanes are ordered after.
    pub(super) fn arrived(&mut self, at: &At<'_>, arrive: &Arrive) {
        self.changes += 1;
        if arrive.level == Level::Warp {
            self.reports.done.met(at.pc, arrive.members);
        }
        if !arrive.arrive_only {
            return;
        }
        let place = self.place(&at.block);
        let (rank, warp) = (at.block.rank as usize, at.warp as usize);
        let cluster = &mut self.clusters[place];
        match arrive.level {
            Level::Warp => {}
            Level::Cluster => self.cluster_arrived(at, arrive),
            Level::Block => {
                let release = Arc::new(cluster.release(rank, at.warp, arrive.mask, Some(3)));
                let block = &mut cluster.blocks[rank];
                let warps = block.warps.len();
                let ahead = match block.ahead.iter_mut().position(|(id, _)| *id == arrive.id) {
                    Some(i) => &mut block.ahead[i].1,
                    None => {
                        block.ahead.push((arrive.id, vec![0; warps]));
                        &mut block.ahead.last_mut().expect("it was just pushed").1
                    }
                };
                ahead[warp] |= arrive.mask;
                let log = self.logs.make(barrier_key(&at.block, arrive.id));
                self.logs.push(log, arrive.mask, release);
            }
        }
    }

    /// Handles the completion of a barrier. All participants are now ordered after the accesses
    /// that any of them was ordered after.
    pub(super) fn completed(&mut self, complete: &Complete<'_>) {
        self.changes += 1;
        let place = self.place(&complete.block);
        let rank = complete.block.rank as usize;
        let cluster = &mut self.clusters[place];
        match complete.level {
            Level::Cluster => self.cluster_completed(complete),
            Level::Warp => {
                if let Some(warp) = complete.lanes.iter().position(|&m| m != 0) {
                    cluster.warp_barrier(rank, warp, complete.lanes[warp]);
                }
            }
            Level::Block => {
                let block = &mut cluster.blocks[rank];
                let ahead = block
                    .ahead
                    .iter()
                    .position(|(id, _)| *id == complete.id)
                    .map(|i| block.ahead.swap_remove(i).1);
                let whole = ahead.is_none()
                    && block
                        .warps
                        .iter()
                        .zip(complete.lanes)
                        .all(|(w, &m)| (m | w.exited) & w.lanes == w.lanes);
                if whole {
                    cluster.block_barrier(rank, complete.lanes);
                    return;
                }
                // If only some threads take part, the order is kept in a log.
                let log = self.logs.make(barrier_key(&complete.block, complete.id));
                let waiting: Vec<u32> = complete
                    .lanes
                    .iter()
                    .enumerate()
                    .map(|(w, &m)| m & !ahead.as_ref().map_or(0, |a| a[w]))
                    .collect();
                for (w, &mask) in waiting.iter().enumerate().filter(|&(_, &m)| m != 0) {
                    let release = Arc::new(cluster.release(rank, w as u32, mask, Some(3)));
                    self.logs.push(log, mask, release);
                }
                let r = Ref { log, length: self.logs.length(log), scope: 3 };
                for (w, &mask) in waiting.iter().enumerate().filter(|&(_, &m)| m != 0) {
                    self.take(place, rank, w as u32, mask, r, true);
                }
            }
        }
    }

    /// Handles a fence. A later release includes all accesses before the fence.
    pub(super) fn fenced_off(&mut self, at: &At<'_>, order: Order, scope: Scope) {
        self.changes += 1;
        self.reports.done.ran(at.pc, at.warp, at.mask);
        let place = self.place(&at.block);
        let (rank, warp) = (at.block.rank as usize, at.warp as usize);
        let cluster = &mut self.clusters[place];
        if order != Order::Release {
            cluster.acquire_pending(rank, warp, at.mask, scope as u8);
        }
        if order != Order::Acquire {
            let release = Arc::new(cluster.release(rank, at.warp, at.mask, Some(scope as u8)));
            let clock = &mut cluster.blocks[rank].warps[warp];
            clock.fresh |= at.mask;
            let fenced = &mut clock.fenced;
            // A narrower fence does not replace a wider one.
            let over = |old: &Release| old.scope <= release.scope;
            fenced.iter_mut().filter(|(_, r)| over(r)).for_each(|(m, _)| *m &= !at.mask);
            fenced.retain(|(m, _)| *m != 0);
            fenced.push((at.mask, release));
        }
    }

    /// Handles `fence.mbarrier_init`. A later release includes the threads' initializations of
    /// `mbarrier`s, but no other accesses.
    pub(super) fn inits_fenced(&mut self, at: &At<'_>) {
        self.changes += 1;
        self.init_fenced(at);
        let place = self.place(&at.block);
        let block = &mut self.clusters[place].blocks[at.block.rank as usize];
        let inits = &mut block.warps[at.warp as usize].inits;
        inits.iter_mut().for_each(|(init, fenced)| *fenced |= init.lanes & at.mask != 0);
    }

    /// Appends the releases of the lanes' fences to a log, at an operation that releases nothing
    /// itself.
    pub(super) fn push_fences(
        &mut self,
        place: usize,
        rank: usize,
        warp: u32,
        lanes: u32,
        log: u32,
    ) {
        let Races { clusters, logs, .. } = self;
        let clock = &clusters[place].blocks[rank].warps[warp as usize];
        for (mask, release) in clock.fenced.iter().filter(|(mask, _)| mask & lanes != 0) {
            logs.push_fenced(log, mask & lanes, release.clone());
        }
        for (init, _) in clock.inits.iter().filter(|(e, fenced)| *fenced && e.lanes & lanes != 0) {
            logs.push_init(log, *init);
        }
    }

    /// Handles an operation on an `mbarrier`. The barrier is an object in memory, and the end of
    /// each phase releases the accesses before it.
    pub(super) fn on_mbarrier(&mut self, at: &At<'_>, m: &Mbarrier) {
        // A test that fails orders nothing, and the test that succeeds is compared with earlier
        // accesses. Checking a polling loop therefore takes no more work than checking a single
        // load.
        if m.op == MbarrierOp::TestFails {
            return;
        }
        self.changes += 1;
        let place = self.place(&at.block);
        let (rank, warp) = (at.block.rank as usize, at.warp);
        let key = self.key(at, Space::Shared, m.addr);
        // The object is in memory, and must be initialized before other threads use it.
        let (strength, kind) = match m.op {
            MbarrierOp::Init(_) | MbarrierOp::Invalidate => (Strength::Weak, Kind::WRITE),
            MbarrierOp::TestFails | MbarrierOp::TestPasses => (Strength::Strong, Kind::READ),
            _ => (Strength::Strong, Kind::WRITE),
        };
        if !matches!(m.op, MbarrierOp::CompleteTx(_)) {
            let entry = self.entry(at, strength, Scope::Sys);
            for lane in lanes(m.mask) {
                if self.clustered {
                    self.reaches(at, lane, m.addr, entry.by(1 << lane), kind.writes);
                }
                let span = Span { lane, space: Space::Shared, address: m.addr, bytes: 8 };
                self.span(at, span, entry.by(1 << lane), kind, None);
            }
        }
        match m.op {
            MbarrierOp::Init(_) => {
                if self.engine {
                    self.init_unfenced(at, m.addr, m.mask);
                }
                let init = self.entry(at, strength, Scope::Sys);
                let clock = &mut self.clusters[place].blocks[rank].warps[warp as usize];
                clock.inits.extend(lanes(m.mask).map(|lane| (init.by(1 << lane), false)));
                let log = self.logs.renew(key);
                self.reports.done.renew(log);
            }
            MbarrierOp::Arrive(_) => {
                let releases = matches!(m.order, Order::Release | Order::AcqRel | Order::SeqCst);
                let log = self.logs.make(key);
                if !releases {
                    self.push_fences(place, rank, warp, m.mask, log);
                }
                let scope = releases.then_some(m.scope as u8);
                let release = self.clusters[place].release(rank, warp, m.mask, scope);
                self.logs.push(log, m.mask, Arc::new(release));
            }
            MbarrierOp::ExpectTx(bytes) => {
                let log = self.logs.make(key);
                self.logs.expect(log, bytes.into());
            }
            MbarrierOp::TestPasses => {
                let log = self.logs.make(key);
                if m.phase == u64::MAX {
                    self.logs.pass_early(log, at.pc);
                    self.reports.done.passed(at.pc, warp);
                } else {
                    let here = (at.pc, self.clusters[place].now);
                    self.reports.done.waited((log, m.phase), warp, m.mask, here);
                }
                if let Some(length) = self.logs.phase(log, m.phase) {
                    let acquires =
                        matches!(m.order, Order::Acquire | Order::AcqRel | Order::SeqCst);
                    self.take(
                        place,
                        rank,
                        warp,
                        m.mask,
                        Ref { log, length, scope: m.scope as u8 },
                        acquires,
                    );
                }
            }
            _ => {}
        }
        if m.completes {
            let log = self.logs.make(key);
            let cluster = &mut self.clusters[place];
            self.logs.complete(log, m.phase, cluster.now);
            self.logs.fill(log, &cluster.blocks[rank]);
            cluster.now += 1;
        }
    }
}

/// Returns the key of the log of a barrier that only some threads of a block use. The key is larger
/// than all shared addresses.
fn barrier_key(block: &Block, id: u32) -> (u64, u64) {
    (block.index + 1, 1 << 40 | u64::from(id))
}
