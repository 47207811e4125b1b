//! Finds the instructions that run only if an atomic returned a certain value.
//!
//! The block that takes the last ticket may reset the counter with an ordinary store: the value of
//! its ticket shows that all other blocks have taken theirs. A store that runs for every ticket
//! value may come before the other blocks' atomics.

use rustc_hash::FxHashSet;

use crate::flow::{Reg, read, written};
use crate::inst::{AtomOp, Inst, Op, Window};
use crate::model::Order;

/// The indices of the elements of the arrays.
const ANY: usize = 0;
const SWAP: usize = 1;
const LOAD: usize = 2;

/// The state of the analysis. The state only grows, and the analysis ends when nothing changes.
///
/// In each array, the second element describes the results of compare-and-swaps, the first describes
/// those of all other atomics, and the third describes those of strong loads.
struct Tickets<'a> {
    insts: &'a [Inst],
    /// The registers whose values are computed from such a result.
    regs: [FxHashSet<Reg>; 3],
    /// Whether shared or local memory may hold such a value.
    memory: [bool; 3],
    /// For each instruction, whether a branch on such a value decides whether it runs.
    decided: [Vec<bool>; 3],
    /// The branches whose instructions are in `decided`, each with its index and the element of the
    /// array.
    followed: FxHashSet<(usize, usize)>,
}

/// For each instruction, whether it runs only if an atomic, or a strong load, returned a certain
/// value.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) by_atomic: Vec<bool>,
    pub(crate) by_load: Vec<bool>,
}

/// Analyses a kernel.
pub(crate) fn decided(insts: &[Inst]) -> Decided {
    let mut tickets = Tickets {
        insts,
        regs: Default::default(),
        memory: [false; 3],
        decided: [(); 3].map(|()| vec![false; insts.len()]),
        followed: FxHashSet::default(),
    };
    while (0..insts.len()).fold(false, |changed, pc| tickets.visit(pc) | changed) {}
    let [any, swap, by_load] = tickets.decided;
    let by_atomic = any.into_iter().zip(swap).map(|(any, swap)| any || swap).collect();
    Decided { by_atomic, by_load }
}

impl Tickets<'_> {
    /// Applies one instruction. Returns whether the state has changed.
    fn visit(&mut self, pc: usize) -> bool {
        let inst = &self.insts[pc];
        let guard = inst.guard.map(|(p, _)| u32::from(p) << 2 | 2);
        let mut changed = false;
        for kind in 0..3 {
            let by = guard.is_some_and(|reg| self.regs[kind].contains(&reg));
            if by && matches!(inst.op, Op::Branch(_) | Op::Exit) {
                changed |= self.decide(pc, kind);
            } else if by {
                changed |= !std::mem::replace(&mut self.decided[kind][pc], true);
            }
            let (mut depends, mut dsts) = (self.decided[kind][pc], Vec::new());
            inst.op.registers(
                &mut |src, _| {
                    depends |= read(src).is_some_and(|reg| self.regs[kind].contains(&reg))
                },
                &mut |dst| dsts.extend(written(dst)),
            );
            match &inst.op {
                Op::Atomic(atom) => {
                    depends |= kind == if atom.op == AtomOp::Cas { SWAP } else { ANY };
                }
                Op::Load { memory, .. } if kind == LOAD && memory.order != Order::Weak => {
                    depends = true;
                }
                Op::Load { memory, .. } => depends |= self.memory[kind] && is_own(memory.window),
                Op::Store { memory, .. } if depends && is_own(memory.window) => {
                    changed |= !std::mem::replace(&mut self.memory[kind], true);
                }
                _ => {}
            }
            for reg in dsts.into_iter().filter(|_| depends) {
                changed |= self.regs[kind].insert(reg);
            }
        }
        changed
    }

    /// Marks the instructions that depend on a branch on an atomic's result: the instructions
    /// between the branch and the point where its lanes reconverge. After a loop that waits for a
    /// result, all following instructions are marked, because only that result ends the loop. A
    /// loop that repeats a failed compare-and-swap does not wait for a result of other threads.
    fn decide(&mut self, branch: usize, kind: usize) -> bool {
        if !self.followed.insert((branch, kind)) {
            return false;
        }
        let mut reached = controlled(self.insts, branch);
        if kind != SWAP && reached[branch] {
            reached = reach(self.insts, branch, |_| false);
        }
        for (decided, reached) in self.decided[kind].iter_mut().zip(reached) {
            *decided |= reached;
        }
        true
    }
}

/// Returns the instructions whose execution a branch decides: those that may run after it, and before
/// its lanes reconverge.
pub(crate) fn controlled(insts: &[Inst], branch: usize) -> Vec<bool> {
    let inst = &insts[branch];
    let meet = if inst.op == Op::Exit { usize::MAX } else { inst.join as usize };
    reach(insts, branch, |pc| pc == meet)
}

/// Returns the instructions that may run after this one and before any at which `ends` holds.
pub(crate) fn reach(insts: &[Inst], start: usize, ends: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut reached = vec![false; insts.len()];
    let mut open = next(insts, start);
    while let Some(pc) = open.pop() {
        if pc < reached.len() && !ends(pc) && !std::mem::replace(&mut reached[pc], true) {
            open.extend(next(insts, pc));
        }
    }
    reached
}

/// Returns the instructions that may run directly after this one.
fn next(insts: &[Inst], pc: usize) -> Vec<usize> {
    let inst = &insts[pc];
    let after = inst.guard.is_some().then_some(pc + 1);
    match inst.op {
        Op::Branch(target) => after.into_iter().chain([target as usize]).collect(),
        Op::Exit | Op::Trap => after.into_iter().collect(),
        _ => vec![pc + 1],
    }
}

/// Returns whether memory belongs to one block or one thread; a result may be passed through such
/// memory.
fn is_own(window: Window) -> bool {
    !matches!(window, Window::Global | Window::Const | Window::Param)
}
