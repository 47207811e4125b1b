//! Records which threads executed fences and signals, because remedies describe what is wrong with
//! them.

use rustc_hash::{FxHashMap, FxHashSet};

/// The fences, signals and warp barriers that a launch has executed so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    /// The lanes that executed a fence, or an atomic or strong store in global memory, in any
    /// block, by instruction and warp.
    lanes: FxHashMap<(u32, u32), u32>,
    /// The instructions and masks of warp barriers.
    pub(super) masks: Vec<(u32, u32)>,
    /// The last phase of an `mbarrier` that a warp waited for, by log and warp.
    waits: FxHashMap<(u32, u32), Waits>,
    /// The instructions and warps of waits for an `mbarrier` that passed before its first phase ended.
    early: FxHashSet<(u32, u32)>,
}

/// The waits of a warp for one phase of an `mbarrier`.
#[derive(Debug, Clone, Copy)]
struct Waits {
    phase: u64,
    lanes: u32,
    /// A wait of lanes that had waited for the same phase before.
    again: Option<Again>,
}

/// A wait that returned at once, because its thread had waited for the same phase before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Again {
    pub(super) pc: u32,
    pub(super) phase: u32,
    pub(super) time: u32,
    lanes: u32,
}

impl Done {
    /// Records that lanes of a warp execute an instruction.
    pub(super) fn ran(&mut self, pc: u32, warp: u32, lanes: u32) {
        *self.lanes.entry((pc, warp)).or_default() |= lanes;
    }

    /// Records a warp barrier.
    pub(super) fn met(&mut self, pc: u32, mask: u32) {
        if !self.masks.contains(&(pc, mask)) {
            self.masks.push((pc, mask));
        }
    }

    /// Records that the wait of a warp's lanes for a phase of an `mbarrier` returns.
    pub(super) fn waited(
        &mut self,
        (log, phase): (u32, u64),
        warp: u32,
        lanes: u32,
        at: (u32, u32),
    ) {
        let new = Waits { phase, lanes, again: None };
        let waits = self.waits.entry((log, warp)).or_insert(Waits { lanes: 0, ..new });
        if waits.phase != phase {
            *waits = new;
            return;
        }
        let twice = waits.lanes & lanes;
        if twice != 0 {
            let (pc, time) = at;
            // The lanes of a warp may wait one after another.
            let same = waits.again.filter(|again| again.pc == pc && again.lanes & twice == 0);
            let (time, before) = same.map_or((time, 0), |again| (again.time, again.lanes));
            waits.again = Some(Again { pc, phase: phase as u32, time, lanes: before | twice });
        }
        waits.lanes |= lanes;
    }

    /// Records that a wait passes before the first phase of its `mbarrier` has ended.
    pub(super) fn passed(&mut self, pc: u32, warp: u32) {
        self.early.insert((pc, warp));
    }

    /// Returns whether a wait of a warp passed before the first phase of its `mbarrier` ended.
    pub(super) fn is_early(&self, pc: u32, warp: u32) -> bool {
        self.early.contains(&(pc, warp))
    }

    /// Returns whether the last wait of a thread was for a phase that it had waited for before.
    pub(super) fn is_again(&self, pc: u32, warp: u32, lane: u32) -> bool {
        let own = self.waits.iter().filter(|((_, by), _)| *by == warp);
        let again = own.filter_map(|(_, waits)| waits.again);
        again.into_iter().any(|again| again.pc == pc && again.lanes >> lane & 1 == 1)
    }

    /// Removes the waits for an `mbarrier` that is initialized.
    pub(super) fn renew(&mut self, log: u32) {
        self.waits.retain(|&(of, _), _| of != log);
    }

    /// Returns a thread's last wait for an `mbarrier`, if it had waited for the same phase before.
    pub(super) fn again(&self, log: u32, warp: u32, lane: u32) -> Option<Again> {
        let again = self.waits.get(&(log, warp))?.again;
        again.filter(|again| again.lanes >> lane & 1 == 1)
    }

    /// Returns whether a thread executed an instruction.
    pub(super) fn is_by(&self, pc: u32, warp: u32, lane: u32) -> bool {
        self.lanes.get(&(pc, warp)).is_some_and(|lanes| lanes >> lane & 1 == 1)
    }

    /// Returns whether any thread of a warp executed an instruction.
    pub(super) fn is_by_warp(&self, pc: u32, warp: u32) -> bool {
        self.lanes.contains_key(&(pc, warp))
    }

    /// Returns whether any thread executed an instruction.
    pub(super) fn is_by_any(&self, pc: u32) -> bool {
        self.lanes.keys().any(|(at, _)| *at == pc)
    }

    /// Returns whether some thread executed both instructions.
    pub(super) fn share(&self, one: u32, other: u32) -> bool {
        self.lanes.iter().filter(|((pc, _), _)| *pc == one).any(|((_, warp), lanes)| {
            self.lanes.get(&(other, *warp)).is_some_and(|o| o & lanes != 0)
        })
    }
}
