//! Compares one lane's access to one word with earlier accesses.

use std::cell::Cell;

use super::bounds::Bounds;
use super::clock::Cluster;
use super::pair::{Apart, Copied, Side};
use super::release::{Logs, Ref};
use super::reports::Reports;
use super::shadow::{self, Entry, Spill, Strength};
use crate::model::Space;
use crate::observe::bits::lanes;
use crate::observer::Access;

/// One access, and the state that determines which accesses it is ordered after.
pub(super) struct Accessor<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) logs: &'a Logs,
    pub(super) rank: usize,
    pub(super) warp: u32,
    pub(super) reports: &'a mut Reports,
    /// The access by the whole warp.
    pub(super) access: Option<&'a Access<'a>>,
    /// The bounds of a lane, which are determined when they are first needed.
    bounds: Cell<Option<(u32, Bounds)>>,
    /// An instruction of an earlier access, and whether it accesses as many bytes.
    wide: Cell<Option<(u32, bool)>>,
}

impl<'a> Accessor<'a> {
    pub(super) fn new(
        cluster: &'a Cluster,
        logs: &'a Logs,
        (rank, warp): (usize, u32),
        reports: &'a mut Reports,
        access: Option<&'a Access<'a>>,
    ) -> Accessor<'a> {
        let (bounds, wide) = (Cell::new(None), Cell::new(None));
        Accessor { cluster, logs, rank, warp, reports, access, bounds, wide }
    }
}

impl Accessor<'_> {
    #[inline]
    pub(super) fn knows(&self, lane: u32, e: &Entry) -> bool {
        self.warp_lane_knows(self.warp, lane, e)
    }

    #[inline]
    fn warp_lane_knows(&self, warp: u32, lane: u32, e: &Entry) -> bool {
        let (cluster, rank) = (self.cluster, self.rank);
        cluster.knows(rank, warp, lane, e)
            || !cluster.is_alone(rank, warp) && self.knows_far(warp, lane, e)
    }

    #[cold]
    fn knows_far(&self, warp: u32, lane: u32, e: &Entry) -> bool {
        let (cluster, rank) = (self.cluster, self.rank);
        let far = || cluster.knows_far(self.logs, rank, warp, lane, e);
        if warp != self.warp {
            return far();
        }
        let known = self.bounds.get().filter(|(of, _)| *of == lane);
        let (_, bounds) = known.unwrap_or_else(|| {
            let bounds = (lane, Bounds::of(cluster, self.logs, rank, warp, lane));
            self.bounds.set(Some(bounds));
            bounds
        });
        bounds.decide(&cluster.blocks[rank], e).unwrap_or_else(far)
    }

    /// Checks one lane's access to a word.
    #[inline]
    pub(super) fn word(
        &mut self,
        cell: &mut shadow::Cell,
        spill: &mut Spill,
        entry: Entry,
        writes: bool,
        target: Target,
    ) {
        if cell.more != 0 && entry.strength() == Strength::Weak {
            self.unseen(cell.observed(spill), &entry, writes, target);
        }
        let last = cell.write;
        // A volatile store may follow the load that saw the store, too.
        let follows = match entry.strength() {
            Strength::Weak => true,
            Strength::Volatile => writes,
            Strength::Strong | Strength::Async => false,
        };
        let polled = follows
            && self.saw(cell.seen(spill), &last, target.lane)
            && self.reports.is_polled(entry.pc());
        let mut raced = Vec::new();
        let this: &Self = self;
        let atomic = this.access.is_some_and(|access| access.kind.is_atomic());
        cell.access(
            entry,
            writes,
            atomic,
            spill,
            (|e| polled && *e == last || this.knows(target.lane, e), |e| this.operate(e, &entry)),
            |e, wrote| raced.push((*e, wrote)),
        );
        for (e, wrote) in raced {
            self.raced(&e, wrote, &entry, writes, target);
        }
    }

    /// Returns whether two accesses are operations on an `mbarrier`, which never race. Many threads
    /// may operate on one `mbarrier`.
    #[inline]
    fn operate(&self, e: &Entry, entry: &Entry) -> bool {
        self.access.is_none()
            && [e, entry].iter().all(|e| e.strength() == Strength::Strong && e.scope() >= 2)
            && (e.pc() == entry.pc() || self.is_as_wide(e.pc(), entry.pc()))
    }

    /// Returns whether two instructions access the same number of bytes. All comparisons of one
    /// access have the same second instruction.
    fn is_as_wide(&self, a: u32, b: u32) -> bool {
        let known = self.wide.get().filter(|(of, _)| *of == a);
        let (_, wide) = known.unwrap_or_else(|| (a, self.reports.is_as_wide(a, b)));
        self.wide.set(Some((a, wide)));
        wide
    }

    /// Returns whether a lane comes after one of these reads of the value that a write stored.
    #[inline]
    fn saw(&self, seen: &[Entry], write: &Entry, lane: u32) -> bool {
        seen.iter()
            .filter(|e| self.reports.is_as_wide(e.pc(), write.pc()))
            .any(|e| lanes(e.lanes).any(|other| self.knows(lane, &e.by(1 << other))))
    }

    /// Checks an access against atomics that a later atomic observed.
    #[cold]
    fn unseen(&mut self, observed: &[Entry], entry: &Entry, writes: bool, target: Target) {
        for e in observed {
            let races = e.bytes() & entry.bytes() != 0 && !self.knows(target.lane, e);
            if races && !self.reports.is_decided(entry.pc()) {
                self.raced(e, true, entry, writes, target);
            }
        }
    }

    /// Reports two accesses that the order of the launch leaves unordered.
    #[cold]
    pub(super) fn raced(
        &mut self,
        e: &Entry,
        wrote: bool,
        entry: &Entry,
        writes: bool,
        target: Target,
    ) {
        // A thread has used the values that it read before it exits.
        let ended = self.cluster.lanes_ended(self.rank, self.warp, e);
        if ended != 0 && !wrote {
            return;
        }
        let e = &if ended != 0 { e.by(ended) } else { *e };
        let own = self.cluster.blocks[self.rank].index;
        let strong = |e: &Entry| matches!(e.strength(), Strength::Volatile | Strength::Strong);
        // Within a block, any scope suffices. Within a cluster, cluster scope is needed; otherwise,
        // device scope is needed.
        let needed = match self.cluster.rank_of(e.block) {
            _ if e.block == own => 0,
            Some(_) => 1,
            None => 2,
        };
        let reach = e.scope().min(entry.scope()) >= needed;
        if self.reports.is_guess(&Side::of(e, wrote, 0), &Side::of(entry, writes, 0)) {
            return;
        }
        let apart = match strong(e) && strong(entry) {
            true if !reach => Apart::Scope,
            true if needed == 1 => Apart::Cluster,
            true => Apart::Unordered,
            false if ended != 0 => Apart::Ended,
            false => self.apart(e, entry, needed, target),
        };
        let apart = if wrote && writes && self.stores_the_same(e, entry, target) {
            Apart::Same
        } else {
            apart
        };
        let not = if e.block == own && e.warp() == self.warp { 1 << target.lane } else { 0 };
        let mut here = Side::of(entry, writes, 0);
        here.lane = target.lane;
        self.reports.race(Side::of(e, wrote, not), here, apart, target.space, target.address);
    }
}

impl Accessor<'_> {
    /// Returns why two accesses are unordered, at least one of which is not strong.
    fn apart(&self, e: &Entry, entry: &Entry, needed: u32, target: Target) -> Apart {
        let copies = [e, entry].map(|e| e.strength() == Strength::Async);
        // One example of each pair of instructions is sufficient.
        if self.reports.lists(e.pc(), entry.pc(), target.space) {
            return Apart::Unordered;
        }
        match copies {
            [true, _] => return Apart::Copy(self.copied(target.lane, e)),
            [false, true] => return Apart::Copy(self.overwritten(e, entry)),
            [false, false] => {}
        }
        if needed == 0 && self.has_read(target.lane, e) {
            return Apart::Read;
        }
        // A lane of the access's own warp is ordered after its own accesses.
        let another = needed > 0 || e.warp() != self.warp;
        if another && let Some(lane) = self.knowing_lane(self.warp, e) {
            return Apart::Lane(lane);
        }
        let follows = || self.cluster.follows(self.logs, self.rank, self.warp, target.lane, e);
        match needed {
            1.. if self.warp_knows(e) => Apart::Warp,
            0 | 1 if follows() => Apart::Relaxed,
            0 => Apart::Unordered,
            1 => Apart::Cluster,
            _ => Apart::Blocks { released: self.logs.release(e) },
        }
    }

    /// Returns a lane of a warp in this block that is ordered after an access.
    fn knowing_lane(&self, warp: u32, e: &Entry) -> Option<u32> {
        let live = self.cluster.blocks[self.rank].warps[warp as usize].lanes;
        lanes(live).find(|&lane| self.warp_lane_knows(warp, lane, e))
    }

    /// Returns whether a warp in this block is ordered after an access.
    fn warp_knows(&self, e: &Entry) -> bool {
        let warps = self.cluster.blocks[self.rank].warps.len() as u32;
        (0..warps).any(|warp| self.knowing_lane(warp, e).is_some())
    }

    /// Returns whether a lane of this warp has read a release of an access, and has not acquired it.
    fn has_read(&self, lane: u32, e: &Entry) -> bool {
        let block = &self.cluster.blocks[self.rank];
        let pending = block.warps[self.warp as usize].pending.iter();
        let own = pending.filter(|(lanes, _)| lanes >> lane & 1 == 1).map(|&(_, r)| r);
        self.logs.know(Some(block.index), own, e, 0)
    }

    /// Returns whether both accesses are stores of the same value by one instruction of one warp.
    /// The lanes of the warp may store together or one after another; in the second case, memory
    /// holds the value of the earlier store.
    fn stores_the_same(&self, e: &Entry, entry: &Entry, target: Target) -> bool {
        let one = (e.block, e.warp(), e.pc()) == (entry.block, entry.warp(), entry.pc());
        let Some(access) = self.access.filter(|_| one) else { return false };
        let address = access.addrs[target.lane as usize];
        let together = e.time == entry.time
            && lanes(e.lanes).all(|lane| {
                lane < target.lane
                    && access.mask >> lane & 1 == 1
                    && access.addrs[lane as usize] == address
            });
        match together {
            true => lanes(e.lanes).all(|lane| access.same.holds(target.lane, Some(lane))),
            false => access.same.holds(target.lane, None),
        }
    }
}

impl Accessor<'_> {
    /// Returns why a lane of this warp is not ordered after a copy.
    pub(super) fn copied(&self, lane: u32, e: &Entry) -> Copied {
        let Some(log) = e.log() else { return Copied::Group };
        let block = &self.cluster.blocks[self.rank];
        let knows = |refs: &mut dyn Iterator<Item = Ref>| {
            let refs: Vec<Ref> = refs.collect();
            self.logs.know(Some(block.index), refs.into_iter(), e, 0)
        };
        let of_warps = |pending: bool| {
            block.warps.iter().flat_map(move |warp| {
                let list = if pending { &warp.pending } else { &warp.refs };
                list.iter().map(|&(_, r)| r)
            })
        };
        let own = block.warps[self.warp as usize].refs.iter();
        let own = own.filter(|(m, _)| m >> lane & 1 == 1).map(|&(_, r)| r);
        let own = own.chain(block.refs.iter().copied());
        let wide = |r: Ref| Ref { scope: 3, ..r };
        if self.logs.expects_fewer(log) {
            return Copied::Fewer;
        }
        if knows(&mut of_warps(false)) {
            return Copied::Elsewhere;
        }
        if knows(&mut own.clone().map(wide)) {
            return Copied::Narrow;
        }
        if knows(&mut of_warps(true).chain(block.pending.iter().copied()).map(wide)) {
            return Copied::Relaxed;
        }
        let seen = own.filter(|r| r.log == log).map(|r| self.logs.phases_by(r)).max();
        match (seen, self.logs.early(log), self.logs.offset(log)) {
            (Some(seen @ 1..), _, Some(mbarrier)) => {
                let phase = self.logs.phases_before(log, e.time);
                let again = self.reports.done.again(log, self.warp, lane);
                let again = again.filter(|again| again.phase == seen - 1).map(|again| again.pc);
                Copied::Earlier { mbarrier, waited: seen - 1, phase, again }
            }
            (_, Some(pc), _) => Copied::Early(pc),
            _ => Copied::Unwaited,
        }
    }

    /// Returns why a copy that begins now is not ordered after an access.
    pub(super) fn overwritten(&self, e: &Entry, copy: &Entry) -> Copied {
        let Some(log) = copy.log() else { return Copied::First };
        let own = e.block == copy.block && e.strength() != Strength::Async;
        let again = self.reports.done.again(log, e.warp(), e.lanes.trailing_zeros() & 31);
        let again = again.filter(|again| own && again.time <= e.time);
        if let (Some(again), Some(mbarrier)) = (again, self.logs.offset(log)) {
            return Copied::Again { pc: again.pc, mbarrier, phase: again.phase };
        }
        match (self.logs.phases_before(log, u32::MAX), self.logs.early(log)) {
            (0, Some(pc)) => Copied::Early(pc),
            (0, None) => Copied::First,
            _ => Copied::Refill,
        }
    }
}

/// The target of a lane's access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) lane: u32,
    pub(super) space: Space,
    pub(super) address: u64,
}
