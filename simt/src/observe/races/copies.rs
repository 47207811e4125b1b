//! Asynchronous copies: those that a thread waits for by itself, and the copy engine's, which sees
//! memory by a way of its own.
//!
//! Until its thread has waited for it, a copy of `cp.async` is ordered with nobody's accesses; from
//! then on it is as if the thread had written there itself. What threads write, the engine sees only
//! behind a `fence.proxy.async`.

use super::accessor::Accessor;
use super::reports::Side;
use super::shadow::{Entry, Strength};
use super::unwaited::One;
use super::{Races, Span};
use crate::model::{CopyGroup, Scope, Space};
use crate::observe::memory::lanes;
use crate::observer::{Access, At, Copy};

impl Races {
    /// A copy that its thread has to wait for: what it writes, by nobody's order.
    pub(super) fn unwaited(&mut self, at: &At<'_>, copy: &Copy) -> Entry {
        // No mbarrier has such a number.
        let entry = self.entry(at, Strength::Async, Scope::Sys).by(u32::MAX - copy.lane);
        let place = self.place(&at.block);
        let warp = &mut self.clusters[place].blocks[at.block.rank as usize].warps[at.warp as usize];
        let unwaited = warp.copies.get_or_insert_default();
        let group = unwaited.groups[copy.lane as usize & 31];
        let bytes = u64::from(copy.bytes);
        unwaited.copies.push(One { lane: copy.lane, group, target: copy.target, bytes, entry });
        entry
    }

    /// Threads put copies into a group, or wait for some: those are theirs from now on.
    pub(super) fn waited(&mut self, at: &At<'_>, group: CopyGroup) {
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
        for one in over {
            let now = self.entry(at, Strength::Weak, Scope::Sys);
            // The line is that of the copy.
            let own = now.at(one.entry.pc()).by(1 << one.lane);
            let Some(memory) = self.shared[place].get_mut(rank) else { continue };
            let offset = u64::from(Access::peer(one.target).1);
            for word in offset / 4..(offset + one.bytes).div_ceil(4) {
                if let Some(cell) = memory.cells.get_mut(word as usize) {
                    cell.settle(&one.entry, own, &mut memory.spill);
                }
            }
        }
    }

    /// Threads write to shared memory of a kernel that uses the copy engine.
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
                self.unfenced.insert(key, entry.by(1 << lane));
            }
        }
    }

    /// A fence of some threads: what they know to be written, the engine sees.
    #[cold]
    pub(super) fn proxy_fenced(&mut self, at: &At<'_>) {
        let place = self.place(&at.block);
        let rank = at.block.rank as usize;
        let Races { clusters, logs, reports, unfenced, .. } = self;
        let cluster = &clusters[place];
        let accessor = Accessor { cluster, logs, rank, warp: at.warp, reports, access: None };
        unfenced.retain(|&(p, r, _), entry| {
            (p, r) != (place, rank) || !lanes(at.mask).any(|lane| accessor.knows(lane, entry))
        });
    }

    /// The engine copies to or from shared memory.
    pub(super) fn engaged(&mut self, at: &At<'_>, copy: &Copy, span: Span) {
        if !copy.bulk || span.space != Space::Shared || self.unfenced.is_empty() {
            return;
        }
        let place = self.place(&at.block);
        let (peer, offset) = Access::peer(span.address);
        let rank = peer.unwrap_or(at.block.rank) as usize;
        let first = u64::from(offset);
        let entry = self.entry(at, Strength::Weak, Scope::Sys).by(1 << copy.lane);
        for word in first / 4..(first + span.bytes).div_ceil(4) {
            if let Some(wrote) = self.unfenced.remove(&(place, rank, word)) {
                let sides = [Side::of(&wrote, true, 0), Side::of(&entry, false, 0)];
                self.reports.unfenced(sides, word * 4);
            }
        }
    }

    /// A block begins: what was written in its place before is over.
    pub(super) fn forget_unfenced(&mut self, place: usize, rank: usize) {
        self.unfenced.retain(|&(p, r, _), _| (p, r) != (place, rank));
    }
}
