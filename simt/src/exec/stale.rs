//! Loads that return an older value, and the fences, acquires and barriers that forbid it. `changes`
//! has the rules.

use std::sync::{MutexGuard, PoisonError};

use super::changes::{Changes, View};
use super::locate::{Group, Place};
use super::team::Team;
use super::warp::each;
use crate::alu::sext;
use crate::inst::{Dst, Memory};
use crate::model::{Order, Scope, acquires};
use crate::observer::{At, Observer, Space};

impl Team<'_> {
    /// Returns the accesses that the team shares with the others.
    fn changes(&self) -> MutexGuard<'_, Changes> {
        // Blocks that communicate run on one thread, so the lock is always free.
        self.env.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of the team in the launch.
    fn number(&self) -> u64 {
        self.blocks.first().map_or(0, |block| block.id.cluster)
    }

    /// Prepares the view of a team that starts.
    pub(super) fn begin_view(&mut self) {
        if self.env.stale {
            let mut lanes = std::mem::take(&mut self.view.lanes);
            lanes.clear();
            lanes.resize(self.warps.len(), [0; 32]);
            self.view = View { lanes, ..View::default() };
        }
    }

    /// Shows lanes what a fence, an acquire or a barrier of this scope shows them.
    pub(super) fn sees(&mut self, w: usize, lanes: u32, scope: Scope) {
        if !self.env.stale {
            return;
        }
        if scope >= Scope::Gpu {
            let changes = self.changes();
            let all = changes.unknown || self.view.overtaken;
            let shown = if all { changes.now } else { self.view.observed };
            drop(changes);
            self.view.latest = shown.max(self.view.latest);
        }
        let View { lanes: times, latest, .. } = &mut self.view;
        each(lanes, |lane| times[w][lane] = *latest);
    }

    /// Records that a write replaces an old value by a new one. A weak write is a data race with
    /// each load that may miss it, so no load misses it here.
    pub(super) fn writes(&mut self, address: u64, width: u32, order: Order, values: [u64; 2]) {
        let overtakes = match order {
            Order::Weak => {
                self.changes().settle(address, width);
                false
            }
            _ => self.changes().write(self.number(), address, width, values),
        };
        self.view.overtaken |= overtakes;
    }

    /// Records an atomic, which reads the newest value.
    pub(super) fn updates(&mut self, address: u64, width: u32, values: [u64; 2]) {
        let (_, observed) = self.changes().read(self.number(), u64::MAX, address, width);
        self.view.observed = observed.max(self.view.observed);
        self.writes(address, width, Order::Relaxed, values);
    }

    /// Records that a copy writes to global memory.
    pub(super) fn settle_all(&self) {
        if self.env.stale {
            self.changes().settle_all();
        }
    }

    /// Performs a strong load in global memory, which may miss the last change of a word.
    pub(super) fn load_strong<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        memory: &Memory,
        dsts: &[Dst],
        (group, place): (&Group, &Place<'_>),
        obs: &mut O,
    ) {
        let (width, signed) = (memory.ty.bytes(), memory.ty.is_signed());
        let newest = acquires(memory.order);
        each(group.mask, |lane| {
            let sees = if newest { u64::MAX } else { self.view.lanes[w][lane] };
            let mut address = group.addrs[lane];
            for dst in dsts {
                let new = self.get(w, place, lane, address, width);
                let (old, observed) = self.changes().read(self.number(), sees, address, width);
                self.view.observed = observed.max(self.view.observed);
                if old.is_some() {
                    let near = self.near(Space::Global, address);
                    let name = self.places().name(Space::Global, address, width, near);
                    obs.older(at, &name);
                }
                let value = old.unwrap_or(new);
                let value = if signed { sext(value, 8 * width) as u64 } else { value };
                self.warps[w].regs.put(*dst, lane, value);
                address += u64::from(width);
            }
        });
    }
}
