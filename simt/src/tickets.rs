//! Finds the instructions that run only after a decision about the result of an atomic.
//!
//! The last block to take a ticket may reset it by an ordinary store, because the result shows that all others have theirs. An
//! access that runs whatever the atomic returned has no such proof.

use rustc_hash::FxHashSet;

use crate::flow::{Reg, read, written};
use crate::inst::{AtomOp, Inst, Op, Window};

/// The facts so far; they only grow.
struct Tickets<'a> {
    insts: &'a [Inst],
    /// Registers that depend on an atomic's result, and those that depend on a compare-and-swap's.
    regs: [FxHashSet<Reg>; 2],
    /// The same for shared and local memory.
    memory: [bool; 2],
    /// The same for instructions that run after a decision, and the branches that were followed.
    decided: [Vec<bool>; 2],
    followed: FxHashSet<(usize, usize)>,
}

/// For each instruction: whether it runs only after a decision about an atomic's result.
pub(crate) fn decided(insts: &[Inst]) -> Vec<bool> {
    let mut tickets = Tickets {
        insts,
        regs: [FxHashSet::default(), FxHashSet::default()],
        memory: [false; 2],
        decided: [vec![false; insts.len()], vec![false; insts.len()]],
        followed: FxHashSet::default(),
    };
    while (0..insts.len()).fold(false, |changed, pc| tickets.visit(pc) | changed) {}
    let [any, swap] = tickets.decided;
    any.into_iter().zip(swap).map(|(any, swap)| any || swap).collect()
}

impl Tickets<'_> {
    /// Applies one instruction; returns whether anything is new.
    fn visit(&mut self, pc: usize) -> bool {
        let inst = &self.insts[pc];
        let guard = inst.guard.map(|(p, _)| u32::from(p) << 2 | 2);
        let mut changed = false;
        for kind in 0..2 {
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
                Op::Atomic(atom) => depends |= (kind == 1) == (atom.op == AtomOp::Cas),
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

    /// A branch depends on an atomic's result: so does all that runs before its lanes meet again. A loop that waits for a
    /// result is left only with that result, so all that follows depends on it too; one that repeats a failed
    /// compare-and-swap shows nothing about other threads.
    fn decide(&mut self, branch: usize, kind: usize) -> bool {
        if !self.followed.insert((branch, kind)) {
            return false;
        }
        let inst = &self.insts[branch];
        let meet = if inst.op == Op::Exit { usize::MAX } else { inst.join as usize };
        let mut reached = self.reach(branch, meet);
        if kind == 0 && reached[branch] {
            reached = self.reach(branch, usize::MAX);
        }
        for (decided, reached) in self.decided[kind].iter_mut().zip(reached) {
            *decided |= reached;
        }
        true
    }

    /// The instructions that may run after a branch and before `end`.
    fn reach(&self, branch: usize, end: usize) -> Vec<bool> {
        let mut reached = vec![false; self.insts.len()];
        let mut open = self.next(branch);
        while let Some(pc) = open.pop() {
            if pc != end && pc < reached.len() && !std::mem::replace(&mut reached[pc], true) {
                open.extend(self.next(pc));
            }
        }
        reached
    }

    fn next(&self, pc: usize) -> Vec<usize> {
        let inst = &self.insts[pc];
        let after = inst.guard.is_some().then_some(pc + 1);
        match inst.op {
            Op::Branch(target) => after.into_iter().chain([target as usize]).collect(),
            Op::Exit | Op::Trap => after.into_iter().collect(),
            _ => vec![pc + 1],
        }
    }
}

/// Memory of a block or a thread, through which a result is passed on.
fn is_own(window: Window) -> bool {
    !matches!(window, Window::Global | Window::Const | Window::Param)
}
