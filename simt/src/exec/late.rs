//! Reductions and stores that take effect late. If no instruction reads the result of a relaxed
//! atomic in global memory, its block cannot observe when it takes effect, and other blocks may see
//! it after later atomics of its block. The same holds for a relaxed or volatile store. Under an
//! adversarial schedule, such an operation takes effect at a random time, but at the latest when its
//! block ends, or when a thread of the block executes a fence or a release or accesses the same
//! memory.

use super::locate::Group;
use super::team::{Late, Team};
use super::warp::each;
use crate::inst::{Atom, AtomOp, Memory, Ty};
use crate::model::Order;
use crate::observer::Space;

/// Limit on the number of late reductions of a team.
const MOST: usize = 64;

impl Team<'_> {
    /// Returns whether an atomic takes effect late.
    pub(super) fn is_late(&self, atom: &Atom, space: Space) -> bool {
        self.delays()
            && space == Space::Global
            && atom.unread
            && atom.op != AtomOp::Cas
            && atom.memory.order == Order::Relaxed
    }

    /// Returns whether a store takes effect late.
    pub(super) fn is_late_store(&self, memory: &Memory, space: Space) -> bool {
        self.delays()
            && space == Space::Global
            && matches!(memory.order, Order::Relaxed | Order::Volatile)
    }

    /// Delays a reduction. If there are too many, performs the first one.
    pub(super) fn put_off(&mut self, late: Late) {
        if self.late.len() == MOST {
            let first = self.late.remove(0);
            self.happens(&first);
        }
        self.late.push(late);
    }

    /// Performs the late reductions that must precede an access to the same memory. Reductions of
    /// the same kind may be performed in any order, unless each replaces the value or wraps it.
    #[cold]
    pub(super) fn catch_up(&mut self, group: &Group, bytes: u32, kind: Option<(AtomOp, Ty)>) {
        if group.space != Space::Global {
            return;
        }
        let overlaps = |late: &mut Late| {
            let (from, to) = (late.address, late.address + u64::from(late.ty.bytes()));
            let mut any = false;
            each(group.mask, |lane| {
                let address = group.addrs[lane];
                any |= address < to && from < address + u64::from(bytes);
            });
            any && (kind != Some((late.op, late.ty))
                || matches!(late.op, AtomOp::Exch | AtomOp::Inc | AtomOp::Dec))
        };
        let due: Vec<Late> = self.late.extract_if(.., |late| overlaps(late)).collect();
        due.iter().for_each(|late| self.happens(late));
    }

    /// Performs all late reductions.
    pub(super) fn catch_up_all(&mut self) {
        for late in std::mem::take(&mut self.late) {
            self.happens(&late);
        }
    }

    /// Performs a random late reduction, mostly the last one, which may tell other blocks that the
    /// earlier ones have happened.
    pub(super) fn one_happens(&mut self) {
        let last = self.late.len() - 1;
        let which = if self.rng.next() & 1 == 0 { last } else { self.rng.below(last + 1) };
        let late = self.late.swap_remove(which);
        self.happens(&late);
    }

    fn happens(&mut self, late: &Late) {
        let width = late.ty.bytes();
        // The address was checked before, and no memory is freed while a kernel runs.
        if let Some((_, slot)) = self.env.global.find(late.address, width.into()) {
            let old = slot.get(late.address - slot.base, width);
            let new = super::atomic::update(late.op, late.ty, late.ftz, old, late.value, 0);
            slot.put(late.address - slot.base, width, new);
            if self.env.stale {
                self.writes(late.address, width, Order::Relaxed, [old, new]);
            }
            if old != new {
                self.moves();
            }
        }
    }
}
