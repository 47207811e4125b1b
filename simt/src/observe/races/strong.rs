//! Strong writes to a word, and the atomics that later atomics observed.
//!
//! An atomic reads the value that the previous atomic left in memory, so an access after the later
//! atomic also comes after the earlier atomic, *in this run*. In another order of execution, the
//! access may come before the earlier atomic. Only an access that depends on the result of an
//! atomic, such as the reset of a ticket counter by the block that took the last ticket, comes
//! after that atomic in every run; `tickets` finds such accesses.

use super::shadow::{Cell, Entry, KEPT, Spill, Strength};

/// Maximum number of observed atomics that are recorded for a word. The atomics come from at least
/// two blocks, so that every block finds at least one atomic of another block.
const OBSERVED: usize = 4;

/// Returns whether an access is strong.
pub(super) fn is_strong(e: &Entry) -> bool {
    matches!(e.strength(), Strength::Strong | Strength::Volatile)
}

impl Cell {
    /// Records a strong read of the value that a strong write by another thread stored. If their
    /// scopes include each other, an access after the read also comes after the write (PTX's
    /// causality order: observation, then program order).
    #[cold]
    pub(super) fn see(&mut self, entry: Entry, spill: &mut Spill) {
        let reaches = self.write.block == entry.block || self.write.scope().min(entry.scope()) >= 2;
        if !reaches || self.write.bytes() != entry.bytes() {
            return;
        }
        let seen = &mut spill.list(&mut self.more).seen;
        if let Some(e) = seen.iter_mut().find(|e| e.same_but_lanes(&entry)) {
            e.lanes |= entry.lanes;
        } else if seen.len() < KEPT {
            seen.push(entry);
        }
    }

    /// Returns the strong reads of the value that the last write stored.
    pub(super) fn seen<'a>(&mut self, spill: &'a mut Spill) -> &'a [Entry] {
        if self.more == 0 { &[] } else { &spill.list(&mut self.more).seen }
    }

    /// Records a strong write. Unordered strong accesses are not reported, so a strong access does
    /// not replace the earlier accesses on record. Weak accesses are kept so that later strong
    /// accesses are compared with them, and unordered accesses are kept so that later weak accesses
    /// are compared with them. However, an atomic observes the previous atomic, and replaces it,
    /// because an access after the new atomic comes after everything that this atomic observed
    /// (PTX's causality order: observation, then program order).
    #[cold]
    pub(super) fn write_strong(
        &mut self,
        entry: Entry,
        observes: bool,
        spill: &mut Spill,
        mut known: impl FnMut(&Entry) -> bool,
    ) {
        let weak = |e: &Entry| matches!(e.strength(), Strength::Weak | Strength::Async);
        let old = std::mem::replace(&mut self.write, entry);
        let reaches = old.block == entry.block || old.scope().min(entry.scope()) >= 2;
        let saw = observes && old.strength() == Strength::Strong && reaches;
        let keep = weak(&old) || !(saw || known(&old));
        if !keep && !saw && self.more == 0 {
            return;
        }
        let list = spill.list(&mut self.more);
        if saw {
            observe(&mut list.observed, old, &mut known);
        }
        if weak(&old) {
            // The last weak write replaces the earlier weak writes.
            list.writes.retain(|e| e.bytes() & !old.bytes() != 0 || !weak(e));
        }
        list.writes.retain(|e| weak(e) || !known(e));
        if keep && (weak(&old) || list.writes.len() < KEPT) {
            list.writes.push(old);
        }
        if list.is_empty() {
            spill.drop_list(&mut self.more);
        }
    }
}

/// Records an atomic that a later atomic has observed, and drops the observed atomics that the
/// later one is ordered after.
fn observe(list: &mut Vec<Entry>, old: Entry, mut known: impl FnMut(&Entry) -> bool) {
    if let Some(e) = list.iter_mut().find(|e| e.same_but_lanes(&old)) {
        e.lanes |= old.lanes;
        return;
    }
    if list.len() >= OBSERVED {
        list.retain(|e| !known(e));
    }
    if list.len() < OBSERVED {
        list.push(old);
    } else if list.iter().all(|e| e.block != old.block) {
        let twin = (1..list.len()).find(|&i| list[..i].iter().any(|e| e.block == list[i].block));
        if let Some(twin) = twin {
            list[twin] = old;
        }
    }
}
