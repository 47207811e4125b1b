//! Finds accesses to what the previous launch wrote, in a launch that may start before it has ended.
//!
//! A kernel with a `griddepcontrol` instruction is meant to start early. Until a thread has executed
//! `griddepcontrol.wait`, or is ordered after a thread that has, the writes of the previous launch may
//! still be missing. CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::bits::for_words;
use super::finding::{Fault, Finding};
use super::found::Key;
use super::scene::Scene;
use crate::inst::Op;
use crate::kernel::Kernel;
use crate::model::Space;
use crate::observer::{At, Complete};

/// The writes of the previous launch, and the warps that have waited for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Earlier {
    /// For each 64-byte line, a mask of the bytes that the previous launch wrote. It is empty if the
    /// running launch does not start early.
    wrote: Arc<FxHashMap<u64, u64>>,
    /// A mask of the lanes that have waited, or have met one that has, by block and warp.
    waited: FxHashMap<(u64, u32), u32>,
}

impl Earlier {
    /// Keeps the writes of a launch that has ended.
    pub(super) fn end(&mut self, wrote: FxHashMap<u64, u64>) {
        self.wrote = Arc::new(wrote);
    }

    /// Begins a launch. The writes count only if the launch may start early.
    pub(super) fn begin(&mut self, kernel: &Kernel) {
        let is_early = |op: &Op| matches!(op, Op::LaunchDependents | Op::LaunchWait);
        if !kernel.insts.iter().any(|inst| is_early(&inst.op)) {
            self.wrote = Arc::default();
        }
        self.waited.clear();
    }

    pub(super) fn fork(&self) -> Earlier {
        Earlier { wrote: self.wrote.clone(), waited: FxHashMap::default() }
    }

    pub(super) fn wait(&mut self, at: &At<'_>) {
        *self.waited.entry((at.block.index, at.warp)).or_default() |= at.mask;
    }

    fn waited(&self, block: u64, warp: u32) -> u32 {
        self.waited.get(&(block, warp)).copied().unwrap_or(0)
    }

    /// Passes on at a barrier that one of its threads has waited.
    pub(super) fn meet(&mut self, complete: &Complete<'_>) {
        let block = complete.block.index;
        if self.wrote.is_empty()
            || !(0..)
                .zip(complete.lanes)
                .any(|(warp, &lanes)| self.waited(block, warp) & lanes != 0)
        {
            return;
        }
        for (warp, lanes) in (0..).zip(complete.lanes) {
            *self.waited.entry((block, warp)).or_default() |= lanes;
        }
    }

    /// Returns the first byte of a lane's access that the previous launch may still write.
    pub(super) fn touched(&self, at: &At<'_>, lane: u32, address: u64, bytes: u64) -> Option<u64> {
        if self.wrote.is_empty() || self.waited(at.block.index, at.warp) >> lane & 1 == 1 {
            return None;
        }
        let mut first = None;
        for_words(address, bytes, |line, mask| {
            let found = mask & self.wrote.get(&line).copied().unwrap_or(0);
            if found != 0 && first.is_none() {
                first = Some(line * 64 + u64::from(found.trailing_zeros()));
            }
        });
        first
    }
}

/// Returns the key of the finding for an access.
pub(super) fn key(at: &At<'_>) -> Key {
    Key::new(Fault::DataRace, Some(Space::Global), at.pc)
}

/// Describes an access that does not wait for the previous launch.
pub(super) fn finding(scene: &Scene, at: &At<'_>, lane: u32, address: u64, reads: bool) -> Finding {
    let (place, _) = scene.element(Space::Global, address, at.pc);
    let what = if reads { "read" } else { "write" };
    let site = scene.site(at.block.index, at.linear(lane), at.pc, what);
    let waits = |op: &Op| matches!(op, Op::LaunchWait);
    let cure = match scene.kernel.insts.iter().any(|inst| waits(&inst.op)) {
        true => {
            "let each thread execute `griddepcontrol.wait` before this access, or put a \
                 `__syncthreads()` between the wait of one thread and this access"
        }
        false => "let each thread execute `griddepcontrol.wait` before this access",
    };
    Finding {
        detail: format!(
            "{} of {} {what}s {place} at {}, which the previous launch writes, and that launch may \
             not have ended",
            crate::place::thread(site.thread),
            crate::place::block(site.block),
            site.at
        ),
        space: Some(Space::Global),
        address,
        place,
        cure: cure.into(),
        ..scene.finding(Fault::DataRace, vec![site])
    }
}
