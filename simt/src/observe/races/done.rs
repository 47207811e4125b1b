//! Records which threads executed fences and signals, because remedies describe what is wrong with
//! them.

use rustc_hash::FxHashMap;

/// The fences, signals and warp barriers that a launch has executed so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    /// The lanes that executed a fence, or an atomic or strong store in global memory, in any
    /// block, by instruction and warp.
    lanes: FxHashMap<(u32, u32), u32>,
    /// The instructions and masks of warp barriers.
    pub(super) masks: Vec<(u32, u32)>,
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

    /// Returns whether a thread executed an instruction.
    pub(super) fn is_by(&self, pc: u32, warp: u32, lane: u32) -> bool {
        self.lanes.get(&(pc, warp)).is_some_and(|lanes| lanes >> lane & 1 == 1)
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
