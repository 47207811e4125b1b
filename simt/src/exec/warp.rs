//! A warp: its registers, and which of its lanes are where.

use crate::alu::fast::{Doubles, Words};
use crate::inst::{Dst, Src};

/// No convergence barrier.
pub(super) const NONE: u32 = u32::MAX;
/// All lanes.
pub(super) const FULL: u32 = u32::MAX;

/// Why lanes do not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// They do.
    Ready,
    /// At a `.sync` at their program counter, for the other members.
    Sync { members: u32 },
    /// At a block barrier.
    Bar { id: u8 },
    /// At a cluster barrier.
    Cluster,
    /// At an `mbarrier`, for the end of a phase.
    Mbarrier { addr: u32, phase: u64 },
}

/// What becomes of the lanes.
pub(super) enum Flow {
    /// They go on.
    Next,
    /// All jump.
    Jump(u32),
    /// These jump, the others fall through.
    Part(u32),
    /// These exit, the others go on.
    Exit(u32),
    /// These wait, the others go on.
    Wait(u32, State),
    /// Nothing was done: these lanes are to be run on their own first.
    Only(u32),
}

/// Lanes that share a program counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    pub(super) pc: u32,
    pub(super) mask: u32,
    /// The convergence barrier that they are to meet at.
    pub(super) conv: u32,
    pub(super) state: State,
}

/// A convergence barrier: lanes that parted meet again at `pc`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conv {
    /// Where they parted.
    pub(super) from: u32,
    pub(super) pc: u32,
    pub(super) parent: u32,
    pub(super) members: u32,
    pub(super) arrived: u32,
}

/// Registers: planes of 32 lanes.
#[derive(Debug, Default)]
pub(super) struct Regs {
    pub(super) w: Vec<Words>,
    pub(super) d: Vec<Doubles>,
    pub(super) p: Vec<u32>,
}

impl Regs {
    pub(super) fn reset(&mut self, [w, d, p]: [usize; 3]) {
        self.w.clear();
        self.w.resize(w, [0; 32]);
        self.d.clear();
        self.d.resize(d, [0; 32]);
        self.p.clear();
        self.p.resize(p, 0);
    }

    /// Lanes for which a predicate holds.
    #[inline]
    pub(super) fn pred(&self, src: Src) -> u32 {
        match src {
            Src::P(r) => self.p[r as usize],
            Src::NotP(r) => !self.p[r as usize],
            Src::Imm(v) => v as u32,
            _ => 0,
        }
    }

    pub(super) fn put_pred(&mut self, dst: Dst, mask: u32, value: u32) {
        if let Dst::P(r) = dst {
            let p = &mut self.p[r as usize];
            *p = *p & !mask | value & mask;
        }
    }

    /// Writes one lane.
    #[inline]
    pub(super) fn put(&mut self, dst: Dst, lane: usize, value: u64) {
        match dst {
            Dst::W(r) => self.w[r as usize][lane] = value as u32,
            Dst::D(r) => self.d[r as usize][lane] = value,
            Dst::P(_) => self.put_pred(dst, 1 << lane, 0u32.wrapping_sub(value as u32 & 1)),
            Dst::Sink => {}
        }
    }

    #[inline]
    pub(super) fn put_words(&mut self, dst: Dst, mask: u32, value: &Words) {
        if let Dst::W(r) = dst {
            let plane = &mut self.w[r as usize];
            if mask == FULL {
                *plane = *value;
            } else {
                each(mask, |i| plane[i] = value[i]);
            }
        }
    }

    #[inline]
    pub(super) fn put_doubles(&mut self, dst: Dst, mask: u32, value: &Doubles) {
        if let Dst::D(r) = dst {
            let plane = &mut self.d[r as usize];
            if mask == FULL {
                *plane = *value;
            } else {
                each(mask, |i| plane[i] = value[i]);
            }
        }
    }
}

/// Calls for each lane of a mask.
#[inline(always)]
pub(super) fn each(mut mask: u32, mut f: impl FnMut(usize)) {
    while mask != 0 {
        f(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

/// A warp of a block.
#[derive(Debug, Default)]
pub(super) struct Warp {
    /// Which block of the team.
    pub(super) block: usize,
    /// Which warp of the block.
    pub(super) index: u32,
    /// Lanes that have not exited.
    pub(super) live: u32,
    /// Lanes that exited while others of the warp went on.
    pub(super) strayed: u32,
    pub(super) splits: Vec<Split>,
    pub(super) convs: Vec<Conv>,
    free: Vec<u32>,
    /// Turns that ended with nothing but spinning.
    pub(super) spun: u32,
    pub(super) regs: Regs,
    /// Local memory, lane after lane.
    pub(super) local: Vec<u8>,
}

impl Warp {
    pub(super) fn reset(
        &mut self,
        block: usize,
        index: u32,
        live: u32,
        planes: [usize; 3],
        local: usize,
    ) {
        (self.block, self.index, self.live) = (block, index, live);
        (self.spun, self.strayed) = (0, 0);
        self.splits.clear();
        self.convs.clear();
        self.free.clear();
        self.splits.push(Split { pc: 0, mask: live, conv: NONE, state: State::Ready });
        self.regs.reset(planes);
        self.local.clear();
        self.local.resize(32 * local, crate::global::POISON);
    }

    pub(super) fn is_runnable(&self) -> bool {
        self.splits.iter().any(|s| s.state == State::Ready)
    }

    pub(super) fn new_conv(&mut self, conv: Conv) -> u32 {
        match self.free.pop() {
            Some(i) => {
                self.convs[i as usize] = conv;
                i
            }
            None => {
                self.convs.push(conv);
                self.convs.len() as u32 - 1
            }
        }
    }

    /// Opens a barrier where all that are left have arrived. Its lanes go on as a split.
    pub(super) fn open_if_complete(&mut self, i: u32) -> Option<Split> {
        let conv = self.convs[i as usize];
        if conv.members != conv.arrived {
            return None;
        }
        self.free.push(i);
        (conv.arrived != 0).then_some(Split {
            pc: conv.pc,
            mask: conv.arrived,
            conv: conv.parent,
            state: State::Ready,
        })
    }

    /// Lanes exit: nobody waits for them any more.
    pub(super) fn leave(&mut self, mask: u32, mut conv: u32) {
        self.live &= !mask;
        while conv != NONE {
            let next = self.convs[conv as usize].parent;
            self.convs[conv as usize].members &= !mask;
            if let Some(split) = self.open_if_complete(conv) {
                self.splits.push(split);
            }
            conv = next;
        }
    }

    /// Nothing is ready, but lanes wait at convergence barriers for others that are held up in a
    /// `.sync`: they are let through, for they may be what the `.sync` waits for.
    pub(super) fn release(&mut self) -> bool {
        let waiting = |c: &Conv| c.arrived != 0 && c.members & c.arrived != 0;
        let innermost = (0..self.convs.len())
            .rev()
            .find(|i| !self.free.contains(&(*i as u32)) && waiting(&self.convs[*i]));
        let Some(i) = innermost else { return false };
        let conv = &mut self.convs[i];
        let split =
            Split { pc: conv.pc, mask: conv.arrived, conv: conv.parent, state: State::Ready };
        conv.members &= !conv.arrived;
        conv.arrived = 0;
        // The lanes that stay belong to the parent too, and reach it on their own.
        self.splits.push(split);
        true
    }

    /// Joins ready splits at one place.
    pub(super) fn merge(&mut self) {
        let mut i = 0;
        while i < self.splits.len() {
            let a = self.splits[i];
            if a.state == State::Ready {
                let mut j = i + 1;
                while j < self.splits.len() {
                    let b = self.splits[j];
                    if b.state == State::Ready && b.pc == a.pc && b.conv == a.conv {
                        self.splits[i].mask |= b.mask;
                        self.splits.swap_remove(j);
                    } else {
                        j += 1;
                    }
                }
            }
            i += 1;
        }
    }
}
