//! Reads that nothing keeps coherent: `ld.global.nc` of memory that the same launch writes.
//!
//! Such a load (`__ldg`, or what a compiler makes of `const` and `__restrict__`) is for memory that
//! nobody writes while the kernel runs. No barrier or fence makes up for that, so order is not
//! asked for here: that both happen in one launch is the fault.

use std::collections::HashMap;

use super::Races;
use super::reports::Side;
use super::shadow::{LINE, Strength};
use crate::inst::Op;
use crate::model::Space;
use crate::observe::memory::lanes;
use crate::observer::{Access, At};

/// Lines of memory that are read so, or written. Empty where a kernel has no such load.
#[derive(Debug, Clone, Default)]
pub(super) struct Readonly {
    lines: HashMap<u64, Vec<Touch>>,
}

/// Words of one line that lanes of a warp touch, one behind the other.
#[derive(Debug, Clone, Copy)]
struct Touch {
    /// Whether they are written; read, if not.
    writes: bool,
    words: u32,
    /// The address and lane of the first, and the bytes of a lane.
    first: u64,
    lane: u32,
    bytes: u64,
    block: u32,
    warp: u32,
    pc: u32,
}

impl Touch {
    /// Who touches an address.
    fn side(&self, address: u64) -> Side {
        let lane = self.lane + (address.saturating_sub(self.first) / self.bytes) as u32;
        let (block, warp, pc, writes) = (self.block, self.warp, self.pc, self.writes);
        Side { block, warp, lane: lane & 31, pc, strength: Strength::Weak, writes }
    }
}

impl Readonly {
    pub(super) fn reset(&mut self) {
        self.lines.clear();
    }

    /// Adds what touches a line; hands back a read and a write of one word, where there are both.
    fn touch(&mut self, line: u64, new: Touch) -> Option<(Touch, Touch, u64)> {
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

/// Whether a kernel has such loads, and so has to be watched.
pub(super) fn reads(insts: &[crate::inst::Inst]) -> bool {
    insts.iter().any(|inst| is_read(&inst.op))
}

fn is_read(op: &Op) -> bool {
    matches!(op, Op::Load { memory, .. } if memory.constant)
}

impl Races {
    /// Called for every access to global memory of a kernel that has such loads.
    #[cold]
    pub(super) fn watch_readonly(&mut self, at: &At<'_>, access: &Access<'_>) {
        let reads = at.kernel.insts.get(at.pc as usize).is_some_and(|inst| is_read(&inst.op));
        let mask = if reads { access.mask } else { access.wrote };
        let bytes = u64::from(access.bytes());
        let mut run: Option<(u64, Touch)> = None;
        for lane in lanes(mask) {
            let address = access.addrs[lane as usize];
            let mut at_word = address / 4;
            while at_word * 4 < address + bytes {
                let (line, bit) = (at_word / LINE as u64, 1 << (at_word % LINE as u64));
                match &mut run {
                    Some((same, touch))
                        if *same == line
                            && address == touch.first + u64::from(lane - touch.lane) * bytes =>
                    {
                        touch.words |= bit;
                    }
                    _ => {
                        let touch = Touch {
                            writes: !reads,
                            words: bit,
                            first: address,
                            lane,
                            bytes,
                            block: at.block.index as u32,
                            warp: at.warp,
                            pc: at.pc,
                        };
                        if let Some((line, touch)) = run.replace((line, touch)) {
                            self.touched(line, touch);
                        }
                    }
                }
                at_word += 1;
            }
        }
        if let Some((line, touch)) = run {
            self.touched(line, touch);
        }
    }

    fn touched(&mut self, line: u64, touch: Touch) {
        if let Some((read, write, address)) = self.readonly.touch(line, touch) {
            self.reports.stale(read.side(address), write.side(address), Space::Global, address);
        }
    }

    /// Takes in what other blocks did.
    pub(super) fn merge_readonly(&mut self, fork: Readonly) {
        let mut lines: Vec<_> = fork.lines.into_iter().collect();
        lines.sort_unstable_by_key(|(line, _)| *line);
        for (line, touches) in lines {
            for touch in touches {
                self.touched(line, touch);
            }
        }
    }
}
