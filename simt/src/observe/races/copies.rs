//! Asynchronous copies: those that their own thread waits for, and those of the copy engine, which
//! accesses memory through another proxy.
//!
//! A `cp.async` copy is unordered with all accesses until its thread has waited for it. After the
//! wait, the copy counts as a write of that thread. Writes of threads are visible to the engine
//! only after a `fence.proxy.async`.

use super::accessor::{Accessor, Target};
use super::pair::Side;
use super::shadow::{Entry, Shared, Strength};
use super::unwaited::One;
use super::{Kind, Races, Span};
use crate::model::{CopyGroup, Scope, Space};
use crate::observe::bits::lanes;
use crate::observer::{Access, At, Copy};

impl Entry {
    /// Returns the entry of a copy that a lane starts and an `mbarrier` with this log counts.
    pub(super) fn of_copy(self, lane: u32, log: u32) -> Entry {
        self.by((lane & 31) << 27 | log)
    }

    /// Returns the entry of a copy that a lane starts and must wait for.
    pub(super) fn of_own_copy(self, lane: u32) -> Entry {
        self.by(u32::MAX - (lane & 31))
    }

    /// Returns the log of the `mbarrier` that counts a copy; `None` if the lane must wait for it.
    pub(super) fn log(&self) -> Option<u32> {
        (self.lanes <= u32::MAX - 32).then_some(self.lanes & 0x07ff_ffff)
    }

    /// Returns the lane that starts a copy.
    pub(super) fn copier(&self) -> u32 {
        self.log().map_or(u32::MAX - self.lanes, |_| self.lanes >> 27)
    }
}

impl Races {
    /// Returns the entry for the write of a copy that its thread must wait for. Until the wait, no
    /// access is ordered with this write.
    pub(super) fn unwaited(&mut self, at: &At<'_>, copy: &Copy) -> Entry {
        let entry = self.entry(at, Strength::Async, Scope::Sys).of_own_copy(copy.lane);
        let place = self.place(&at.block);
        let warp = &mut self.clusters[place].blocks[at.block.rank as usize].warps[at.warp as usize];
        let unwaited = warp.copies.get_or_insert_default();
        let group = unwaited.groups[copy.lane as usize & 31];
        let bytes = u64::from(copy.bytes);
        unwaited.copies.push(One { lane: copy.lane, group, target: copy.target, bytes, entry });
        entry
    }

    /// Handles threads that commit copies to a group, or that wait for groups. After the wait, the
    /// copies are ordered like the thread's own writes.
    pub(super) fn waited(&mut self, at: &At<'_>, group: CopyGroup) {
        self.changes += 1;
        let place = self.place(&at.block);
        let rank = at.block.rank as usize;
        let warp = &mut self.clusters[place].blocks[rank].warps[at.warp as usize];
        let Some(unwaited) = &mut warp.copies else { return };
        if group == CopyGroup::Commit {
            lanes(at.mask).for_each(|lane| unwaited.groups[lane as usize] += 1);
            return;
        }
        let groups = unwaited.groups;
        let over: Vec<One> = unwaited
            .copies
            .extract_if(.., |one| {
                at.mask >> one.lane & 1 == 1
                    && group.ends(one.group, groups[one.lane as usize & 31])
            })
            .collect();
        let now = self.entry(at, Strength::Weak, Scope::Sys);
        for one in over {
            // If an mbarrier counts the copy, the copy is published from the arrival at the
            // mbarrier on.
            let mut own = now.by(1 << one.lane);
            if one.entry.log().is_some() {
                own.time = one.entry.time;
            }
            self.settle(at, &one, own);
        }
    }

    /// Handles an `mbarrier` that counts a lane's copies. A thread that finds the phase complete is
    /// ordered after the copies. The lane itself may also wait for the group of its copies.
    pub(super) fn counted(&mut self, at: &At<'_>, lane: u32, mbarrier: u64) {
        self.changes += 1;
        let log = self.logs.make(self.key(at, Space::Shared, mbarrier));
        let now = self.entry(at, Strength::Async, Scope::Sys).of_copy(lane, log);
        let place = self.place(&at.block);
        let warp = &mut self.clusters[place].blocks[at.block.rank as usize].warps[at.warp as usize];
        let Some(unwaited) = &mut warp.copies else { return };
        let open = |one: &One| one.lane == lane && one.entry.log().is_none();
        let counted: Vec<One> = unwaited.copies.extract_if(.., |one| open(one)).collect();
        unwaited
            .copies
            .retain(|old| old.lane != lane || counted.iter().all(|one| one.target != old.target));
        for mut one in counted {
            let entry = self.settle(at, &one, now);
            one.entry = entry;
            let block = &mut self.clusters[place].blocks[at.block.rank as usize];
            block.warps[at.warp as usize].copies.get_or_insert_default().copies.push(one);
        }
    }

    /// Replaces the entry of a copy's write. A report names the line of the copy, not the line of
    /// the wait. Returns the new entry.
    fn settle(&mut self, at: &At<'_>, one: &One, entry: Entry) -> Entry {
        let entry = entry.at(one.entry.pc());
        let (place, rank) = (self.place(&at.block), at.block.rank as usize);
        let Some(memory) = self.shared[place].get_mut(rank) else { return entry };
        let offset = u64::from(Access::peer(one.target).1);
        for word in offset / 4..(offset + one.bytes).div_ceil(4) {
            if let Some(cell) = memory.cells.get_mut(word as usize) {
                cell.settle(&one.entry, entry, &mut memory.spill);
            }
        }
        entry
    }

    /// Records writes of threads to shared memory in a kernel that uses the copy engine.
    #[cold]
    pub(super) fn write_unfenced(&mut self, at: &At<'_>, access: &Access<'_>) {
        let place = self.place(&at.block);
        let entry = self.entry(at, Strength::Weak, Scope::Cta);
        for lane in lanes(access.wrote) {
            let (peer, offset) = Access::peer(access.addrs[lane as usize]);
            if peer.is_some() {
                continue;
            }
            let (from, bytes) = (u64::from(offset), u64::from(access.bytes()));
            for word in from / 4..(from + bytes).div_ceil(4) {
                let key = (place, at.block.rank as usize, word);
                self.unfenced.writes.insert(key, entry.by(1 << lane));
            }
        }
    }

    /// Records the initialization of an `mbarrier` in a kernel that uses the copy engine.
    pub(super) fn init_unfenced(&mut self, at: &At<'_>, mbarrier: u64, mask: u32) {
        let place = self.place(&at.block);
        let entry = self.entry(at, Strength::Weak, Scope::Cta);
        let (_, offset) = Access::peer(mbarrier);
        let key = (place, at.block.rank as usize, u64::from(offset) / 4);
        self.unfenced.inits.insert(key, entry.by(mask));
    }

    /// Applies a fence that makes the initialization of an `mbarrier` visible to the engine.
    pub(super) fn init_fenced(&mut self, at: &At<'_>) {
        let place = self.place(&at.block);
        let rank = at.block.rank as usize;
        let Races { clusters, logs, reports, unfenced, .. } = self;
        let cluster = &clusters[place];
        let accessor = Accessor::new(cluster, logs, (rank, at.warp), reports, None);
        unfenced.inits.retain(|&(p, r, _), entry| {
            (p, r) != (place, rank) || !lanes(at.mask).any(|lane| accessor.knows(lane, entry))
        });
    }

    /// Checks that the engine sees the initialization of the `mbarrier` that counts a copy.
    fn signals(&mut self, at: &At<'_>, copy: &Copy) {
        let Some(mbarrier) = copy.mbarrier else { return };
        let place = self.place(&at.block);
        let (peer, offset) = Access::peer(mbarrier);
        let word = u64::from(offset) / 4;
        let rank = peer.unwrap_or(at.block.rank) as usize;
        if let Some(init) = self.unfenced.inits.remove(&(place, rank, word)) {
            let entry = self.entry(at, Strength::Weak, Scope::Sys).by(1 << copy.lane);
            let sides = [Side::of(&init, true, 0), Side::of(&entry, false, 0)];
            self.reports.uninitialized(sides, word * 4);
        }
    }

    /// Checks that the lane whose copy signals an `mbarrier` is ordered after the initialization of
    /// the `mbarrier`.
    pub(super) fn signalled(&mut self, at: &At<'_>, lane: u32, mbarrier: u64) {
        let place = self.place(&at.block);
        let rank = at.block.rank as usize;
        let (peer, offset) = Access::peer(mbarrier);
        let owner = peer.map_or(rank, |r| r as usize);
        let entry = self.entry(at, Strength::Strong, Scope::Sys).by(1 << lane);
        let Races { clusters, shared, logs, reports, .. } = self;
        let Some(Shared { cells, spill }) = shared[place].get(owner) else { return };
        let Some(cell) = cells.get(offset as usize / 4) else { return };
        let cluster = &clusters[place];
        let mut accessor = Accessor::new(cluster, logs, (rank, at.warp), reports, None);
        let target = Target { lane, space: Space::Shared, address: offset.into() };
        for init in cell.writers(spill).filter(|e| e.strength() == Strength::Weak) {
            if !accessor.knows(lane, init) {
                accessor.raced(init, true, &entry, true, target);
            }
        }
    }

    /// Applies a proxy fence. All writes that these threads are ordered after are now visible to
    /// the engine.
    #[cold]
    pub(super) fn proxy_fenced(&mut self, at: &At<'_>) {
        let place = self.place(&at.block);
        let rank = at.block.rank as usize;
        let Races { clusters, logs, reports, unfenced, .. } = self;
        let cluster = &clusters[place];
        let accessor = Accessor::new(cluster, logs, (rank, at.warp), reports, None);
        unfenced.writes.retain(|&(p, r, _), entry| {
            (p, r) != (place, rank) || !lanes(at.mask).any(|lane| accessor.knows(lane, entry))
        });
        self.init_fenced(at);
    }

    /// Checks a copy of the engine to or from shared memory.
    pub(super) fn engaged(&mut self, at: &At<'_>, copy: &Copy, span: Span, kind: Kind) {
        if !copy.bulk || span.space != Space::Shared {
            return;
        }
        self.signals(at, copy);
        let place = self.place(&at.block);
        let (peer, offset) = Access::peer(span.address);
        let rank = peer.unwrap_or(at.block.rank) as usize;
        let first = u64::from(offset);
        let entry = self.entry(at, Strength::Weak, Scope::Sys).by(1 << copy.lane);
        for word in first / 4..(first + span.bytes).div_ceil(4) {
            if let Some(wrote) = self.unfenced.writes.remove(&(place, rank, word)) {
                let sides = [Side::of(&wrote, true, 0), Side::of(&entry, kind.writes, 0)];
                self.reports.unfenced(sides, word * 4);
            }
        }
    }

    /// Discards the writes of a block's predecessor, which are complete when a new block starts.
    pub(super) fn forget_unfenced(&mut self, place: usize, rank: usize) {
        self.unfenced.writes.retain(|&(p, r, _), _| (p, r) != (place, rank));
        self.unfenced.inits.retain(|&(p, r, _), _| (p, r) != (place, rank));
    }
}
