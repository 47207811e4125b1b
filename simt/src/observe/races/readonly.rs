//! Non-coherent reads: `ld.global.nc` of memory that the same launch writes.
//!
//! Such a load comes from `__ldg`, or from a compiler's use of `const` and `__restrict__`. It is
//! valid only for memory that is not written while the kernel runs. No barrier or fence makes it
//! valid, so a read and a write in the same launch are a fault, whichever comes first.

use super::Races;
use super::shadow::LINE;
use super::touches::{Readonly, Touch, is_read};
use crate::model::Space;
use crate::observe::bits::lanes;
use crate::observer::{Access, At};

impl Races {
    /// Checks an access to global memory in a kernel that has such loads.
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

    /// Merges the accesses by other blocks.
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
