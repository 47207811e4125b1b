//! A warp, with its registers and the program counters of its lanes.

use crate::alu::fast::{Doubles, Words};
use crate::flow::{Reg, read};
use crate::inst::{Dst, NOWHERE, Src};
use rustc_hash::FxHashMap;

/// The index that stands for no convergence barrier, or for no instruction.
pub(super) const NONE: u32 = u32::MAX;
/// The mask of all lanes.
pub(super) const FULL: u32 = u32::MAX;

/// The state of lanes, which are ready or wait for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The lanes can run.
    Ready,
    /// The lanes wait at a `.sync` for the other members.
    Sync { members: u32 },
    /// The lanes wait at a block barrier.
    Bar { id: u8 },
    /// The lanes wait at a cluster barrier.
    Cluster,
    /// The lanes wait at an `mbarrier` for the end of a phase.
    Mbarrier { addr: u32, phase: u64 },
}

/// The effect of an instruction on the control flow of its lanes.
pub(super) enum Flow {
    /// All lanes continue.
    Next,
    /// All lanes jump to this instruction.
    Jump(u32),
    /// These lanes jump, and the others fall through.
    Part(u32),
    /// These lanes exit, and the others continue.
    Exit(u32),
    /// These lanes wait, and the others continue.
    Wait(u32, State),
    /// The instruction was not executed. These lanes must first execute the instruction on their
    /// own.
    Only(u32),
}

/// Lanes that share a program counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    pub(super) pc: u32,
    pub(super) mask: u32,
    /// The convergence barrier at which the lanes will reconverge.
    pub(super) conv: u32,
    pub(super) state: State,
}

/// A convergence barrier, at which lanes that diverged reconverge at the instruction `pc`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conv {
    /// The instruction at which the lanes diverged.
    pub(super) from: u32,
    pub(super) pc: u32,
    pub(super) parent: u32,
    pub(super) members: u32,
    pub(super) arrived: u32,
}

/// Registers, in planes of 32 lanes.
#[derive(Debug, Default)]
pub(super) struct Regs {
    pub(super) w: Vec<Words>,
    pub(super) d: Vec<Doubles>,
    pub(super) p: Vec<u32>,
    /// Registers that are uninitialized in at least one lane.
    pub(super) unset: FxHashMap<Reg, Box<Unset>>,
}

impl Regs {
    pub(super) fn reset(&mut self, [w, d, p]: [usize; 3]) {
        self.w.clear();
        self.w.resize(w, [0; 32]);
        self.d.clear();
        self.d.resize(d, [0; 32]);
        self.p.clear();
        self.p.resize(p, 0);
        self.unset.clear();
    }

    /// Returns the lanes for which a predicate holds.
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

    /// Writes the value of a register in one lane.
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

/// Calls the function for each lane of a mask.
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
    /// The block, as an index into the team.
    pub(super) block: usize,
    /// The warp's index in its block.
    pub(super) index: u32,
    /// Lanes that have not exited.
    pub(super) live: u32,
    /// Lanes that exited while others of the warp continued.
    pub(super) strayed: u32,
    /// The number of times that each lane has reached each [tail](crate::tails::Tails).
    pub(super) passed: FxHashMap<u16, [u32; 32]>,
    pub(super) splits: Vec<Split>,
    pub(super) convs: Vec<Conv>,
    free: Vec<u32>,
    /// Number of instructions in consecutive time slices in which the warp only spun.
    pub(super) spun: u32,
    pub(super) regs: Regs,
    /// Local memory, lane by lane.
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
        self.passed.clear();
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

    /// Creates a convergence barrier for lanes that diverge at the instruction `from` and
    /// reconverge at `pc`. Returns its index.
    pub(super) fn new_conv(&mut self, members: u32, [from, pc]: [u32; 2], parent: u32) -> u32 {
        let conv = Conv { from, pc, parent, members, arrived: 0 };
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

    /// Divides a split at a branch that the lanes `taken` take. The two sides reconverge at `join`.
    /// Returns the side that runs first.
    pub(super) fn part(&mut self, split: Split, taken: u32, target: u32, join: u32) -> Split {
        let Split { pc, mask, mut conv, state } = split;
        let known = conv != NONE && self.convs[conv as usize].pc == join;
        if join != NOWHERE && !known {
            conv = self.new_conv(mask, [pc, join], conv);
        }
        let taken = Split { pc: target, mask: taken, conv, state };
        let falls = Split { pc: pc + 1, mask: mask & !taken.mask, conv, state };
        // A side that is already at the reconvergence point has arrived.
        if taken.pc == join {
            self.convs[conv as usize].arrived |= taken.mask;
            falls
        } else if falls.pc == join {
            self.convs[conv as usize].arrived |= falls.mask;
            taken
        } else {
            self.splits.push(taken);
            falls
        }
    }

    /// Completes a convergence barrier if all its remaining lanes have arrived. The lanes continue
    /// as one split.
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

    /// Removes lanes that exit, so that convergence barriers no longer wait for them.
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

    /// Releases lanes that wait at a convergence barrier for lanes that a `.sync` blocks, because
    /// the `.sync` may wait for the released lanes. Returns whether there were any such lanes.
    pub(super) fn release(&mut self) -> bool {
        self.release_at(|_| true)
    }

    /// Like [`release`](Warp::release), but only for lanes that wait at instructions for which
    /// `here` holds.
    pub(super) fn release_at(&mut self, here: impl Fn(u32) -> bool) -> bool {
        let waiting = |c: &Conv| c.arrived != 0 && c.members & c.arrived != 0 && here(c.pc);
        let innermost = (0..self.convs.len())
            .rev()
            .find(|i| !self.free.contains(&(*i as u32)) && waiting(&self.convs[*i]));
        let Some(i) = innermost else { return false };
        let conv = &mut self.convs[i];
        let split =
            Split { pc: conv.pc, mask: conv.arrived, conv: conv.parent, state: State::Ready };
        conv.members &= !conv.arrived;
        conv.arrived = 0;
        // The lanes that stay also belong to the parent barrier, and reach it on their own.
        self.splits.push(split);
        true
    }

    /// Merges ready splits that have the same program counter.
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

/// The uninitialized bytes of a register, and whether they were loaded. Uninitialized bytes that
/// were loaded may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unset {
    pub(super) bytes: [u8; 32],
    pub(super) loaded: bool,
    /// For each lane, the instruction that first used the variable, or the shuffle from a lane that
    /// does not take part; [`NONE`] for the variable itself.
    pub(super) from: [u32; 32],
}

impl Unset {
    pub(super) const NONE: Unset = Unset { bytes: [0; 32], loaded: true, from: [NONE; 32] };

    /// Returns the lanes in which at least one of these bytes is uninitialized.
    pub(super) fn lanes(&self, bytes: u8) -> u32 {
        (0..32).fold(0, |all, i| all | u32::from(self.bytes[i] & bytes != 0) << i)
    }

    pub(super) fn of(lanes: u32, bytes: u8) -> Unset {
        let mut out = Unset { loaded: false, ..Unset::NONE };
        each(lanes, |i| out.bytes[i] = bytes);
        out
    }
}

impl Regs {
    pub(super) fn unset(&self, src: Src, active: u32) -> Unset {
        let mut out =
            read(src).and_then(|reg| self.unset.get(&reg)).map_or(Unset::NONE, |unset| **unset);
        each(!active, |i| out.bytes[i] = 0);
        out
    }

    /// Marks the bytes of `new` as uninitialized in the lanes `active` of a register, and all other
    /// bytes of these lanes as initialized.
    pub(super) fn set_unset(&mut self, reg: Reg, active: u32, new: &Unset) {
        if new.bytes == [0; 32] {
            let Some(old) = self.unset.get_mut(&reg) else { return };
            each(active, |i| old.bytes[i] = 0);
            if old.bytes == [0; 32] {
                self.unset.remove(&reg);
            }
            return;
        }
        let old = self.unset.entry(reg).or_insert_with(|| Box::new(Unset::NONE));
        each(active, |i| (old.bytes[i], old.from[i]) = (new.bytes[i], new.from[i]));
        old.loaded &= new.loaded;
    }
}
