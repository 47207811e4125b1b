//! Lines of memory that `ld.global.nc` reads, and lines that are written.

use rustc_hash::FxHashMap;

use super::pair::Side;
use super::shadow::{LINE, Strength};
use crate::inst::{Inst, Op};

/// Lines of memory that `ld.global.nc` reads, and lines that are written. The map is empty if the
/// kernel has no such loads.
#[derive(Debug, Clone, Default)]
pub(super) struct Readonly {
    pub(super) lines: FxHashMap<u64, Vec<Touch>>,
}

/// Consecutive words in one line of memory that the lanes of a warp access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    /// Whether the words are written rather than read.
    pub(super) writes: bool,
    pub(super) words: u32,
    /// The address and lane of the first word, and the bytes per lane.
    pub(super) first: u64,
    pub(super) lane: u32,
    pub(super) bytes: u64,
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) pc: u32,
}

impl Touch {
    /// Returns the access of the lane that covers an address.
    pub(super) fn side(&self, address: u64) -> Side {
        let lane = self.lane + (address.saturating_sub(self.first) / self.bytes) as u32;
        let (block, warp, pc, writes) = (self.block, self.warp, self.pc, self.writes);
        Side { block, warp, lane: lane & 31, pc, strength: Strength::Weak, writes }
    }
}

impl Readonly {
    pub(super) fn reset(&mut self) {
        self.lines.clear();
    }

    /// Adds an access to a line. If a word is now both read and written, returns the read, the
    /// write, and the address of the word.
    pub(super) fn touch(&mut self, line: u64, new: Touch) -> Option<(Touch, Touch, u64)> {
        let all = self.lines.entry(line).or_default();
        let mut clash = None;
        for old in all.iter() {
            let both = old.words & new.words;
            if old.writes != new.writes && both != 0 && clash.is_none() {
                let address = (line * LINE as u64 + u64::from(both.trailing_zeros())) * 4;
                let (read, write) = if new.writes { (*old, new) } else { (new, *old) };
                clash = Some((read, write, address));
            }
        }
        if !all.iter().any(|old| old.writes == new.writes && new.words & !old.words == 0) {
            all.push(new);
        }
        clash
    }
}

/// Returns whether a kernel has `ld.global.nc` loads, so that its accesses must be checked.
pub(super) fn reads(insts: &[Inst]) -> bool {
    insts.iter().any(|inst| is_read(&inst.op))
}

pub(super) fn is_read(op: &Op) -> bool {
    matches!(op, Op::Load { memory, .. } if memory.constant)
}
