//! Remedies for accesses that the polling of a word in global memory separates: the word itself, and
//! the words whose flag it is.

use super::blocks::{is_global, memory};
use super::cures::{Cure, ONE_PLAIN};
use super::pair::Pair;
use super::shadow::Strength;
use crate::flow::{read, written};
use crate::inst::Op;
use crate::kernel::Kernel;
use crate::model::{Order, Space};

/// Returns the remedy for two accesses to global memory if a thread polls a word between them. It is
/// the same for two blocks and for two threads of one block, because a thread also polls the words
/// that its own block stores.
pub(super) fn cure(pair: &Pair<'_>) -> Option<Cure> {
    let Pair { kernel, a, b, space, .. } = pair;
    let (first, last) = (a.pc.min(b.pc), a.pc.max(b.pc));
    if *space != Space::Global {
        return None;
    }
    let poll = (first..=last).rev().find(|&pc| polls(kernel, pc))?;
    let volatile = [a, b].map(|side| side.strength == Strength::Volatile);
    let weak = [a, b].map(|side| side.strength == Strength::Weak);
    let address = |pc: u32| memory(&kernel.insts[pc as usize]).map(|memory| &memory.addr);
    let own = [a.pc, b.pc].contains(&poll) || address(poll) == address(last);
    match (own, volatile, weak) {
        (true, [true, true], _) => Some(Cure::Is(VOLATILE)),
        (true, _, [true, true]) => Some(Cure::Is(POLLED)),
        (true, ..) => Some(Cure::Is(ONE_PLAIN)),
        (false, [true, true], _) => Some(Cure::Volatile),
        (false, ..) => {
            (a.block == b.block && !pair.is_plain_beside_atomic()).then_some(Cure::Blocks)
        }
    }
}

/// Returns whether an instruction polls a word of global memory: it is in a small loop that does not
/// change its address, and that contains no other store, atomic or barrier.
pub(super) fn polls(kernel: &Kernel, pc: u32) -> bool {
    let inst = &kernel.insts[pc as usize];
    let strong = match &inst.op {
        Op::Load { memory, .. } => memory.order != Order::Weak,
        Op::Atomic(atom) => !atom.unread,
        _ => false,
    };
    let Some(memory) = memory(inst).filter(|memory| strong && is_global(memory)) else {
        return false;
    };
    let jump = (pc..)
        .zip(&kernel.insts[pc as usize..])
        .take(FAR)
        .find_map(|(at, inst)| matches!(inst.op, Op::Branch(start) if start <= pc).then_some(at));
    let Some((Op::Branch(start), jump)) = jump.map(|at| (&kernel.insts[at as usize].op, at)) else {
        return false;
    };
    (*start..jump).all(|at| {
        let op = &kernel.insts[at as usize].op;
        let mut moves = false;
        op.registers(&mut |_, _| {}, &mut |dst| {
            moves |= written(dst).is_some() && written(dst) == read(memory.addr.base);
        });
        let acts = matches!(op, Op::Store { .. } | Op::Atomic(_) | Op::Bar(_) | Op::Sync { .. });
        !moves && (at == pc || !acts)
    })
}

/// The largest distance, in instructions, between a polling access and the end of its loop.
const FAR: usize = 32;

/// The remedy for a word that threads poll or test.
pub(super) const VOLATILE: &str = "a volatile access is no synchronization; store and load this word with an atomic or with \
     `.relaxed` (`st.relaxed` and `ld.relaxed`, or `cuda::atomic_ref`), and if it is the flag of \
     another word, with `.release` and `.acquire`, or with a `__threadfence()` before the store and \
     after the load";

const POLLED: &str = "another thread polls this word, so no access to it may be plain; make each \
                      atomic (for example `atomicExch`) or relaxed (`st.relaxed` or \
                      `cuda::atomic_ref`)";
