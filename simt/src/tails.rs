//! Finds the instructions that lanes reach after they have skipped a block barrier.
//!
//! On sm_70 and later, a barrier does not wait for threads that have exited, so an early return is
//! not an error. A thread that skips a barrier and exits later has the same effect on the barrier.
//! Unlike a thread that returns early, such a thread executes the *tail*, which is the instruction
//! at which the paths through the barrier and around it meet again, if they meet before the exit.

use rustc_hash::FxHashSet;

use crate::inst::{Inst, NOWHERE, Op};

/// The tails of a kernel's aligned barriers.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    /// For each instruction, the number of the tail that begins there, counted from 1; 0 if no tail
    /// begins there.
    pub(crate) at: Vec<u16>,
    /// Pairs of a barrier and a tail after it; the barrier is given by the index of its
    /// instruction.
    pub(crate) behind: Vec<(u32, u16)>,
    pub(crate) count: u16,
}

/// Limit on the number of instructions that the search visits. Branches that the search does not
/// reach have no tails.
const MOST_STEPS: usize = 1 << 20;

impl Tails {
    pub(crate) fn new(insts: &[Inst]) -> Tails {
        let is_barrier = |pc: u32| matches!(&insts[pc as usize].op, Op::Bar(bar) if bar.aligned);
        let mut tails = Tails { at: vec![0; insts.len()], ..Tails::default() };
        if !(0..insts.len() as u32).any(is_barrier) {
            return tails;
        }
        let mut steps = 0;
        for (pc, inst) in insts.iter().enumerate() {
            let (Op::Branch(target), Some(_)) = (&inst.op, inst.guard) else { continue };
            let join = inst.join;
            if join == NOWHERE || matches!(insts[join as usize].op, Op::Exit) {
                continue;
            }
            let (mut seen, mut work) = (FxHashSet::default(), vec![pc as u32 + 1, *target]);
            while let Some(at) = work.pop() {
                steps += 1;
                if at == join || steps > MOST_STEPS || !seen.insert(at) {
                    continue;
                }
                let inst = &insts[at as usize];
                let (jumps, falls) = match inst.op {
                    Op::Branch(target) => (Some(target), inst.guard.is_some()),
                    Op::Exit | Op::Trap => (None, inst.guard.is_some()),
                    _ => (None, true),
                };
                work.extend(jumps);
                work.extend(falls.then_some(at + 1));
            }
            let mut barriers: Vec<u32> = seen.into_iter().filter(|at| is_barrier(*at)).collect();
            barriers.sort_unstable();
            let tail = &mut tails.at[join as usize];
            if !barriers.is_empty() && *tail == 0 && tails.count < u16::MAX {
                tails.count += 1;
                *tail = tails.count;
            }
            tails
                .behind
                .extend(barriers.into_iter().map(|at| (at, *tail)).filter(|(_, t)| *t != 0));
        }
        tails
    }
}
