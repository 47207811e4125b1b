//! Remedies for accesses that the polling of a word in global memory separates: the word itself, and
//! the words whose flag it is.

use super::code::{memory, polls, polls_weakly};
use super::pair::{Cure, Pair, Side};
use super::shadow::Strength;
use crate::model::Space;

/// Returns the remedy for two accesses to global memory if a thread polls a word between them. It is
/// the same for two blocks and for two threads of one block, because a thread also polls the words
/// that its own block stores.
pub(super) fn cure(pair: &Pair<'_>) -> Option<Cure> {
    let Pair { kernel, a, b, space, .. } = pair;
    let (first, last) = (a.pc.min(b.pc), a.pc.max(b.pc));
    if *space != Space::Global {
        return None;
    }
    let polled = |side: &Side| side.strength == Strength::Weak && polls_weakly(kernel, side.pc);
    if [a, b].into_iter().any(polled) {
        let plain = [a, b].iter().all(|side| side.strength == Strength::Weak);
        return Some(Cure::Is(if plain { POLLED } else { POLLED_WEAKLY }));
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

/// The remedy for a volatile word that carries a value. A polled flag is not reported.
pub(super) const VOLATILE: &str = "`volatile` is not for communication between threads; store and load this word with an atomic \
     or with `.relaxed` (`st.relaxed` and `ld.relaxed`, or `cuda::atomic_ref`)";

const POLLED_WEAKLY: &str = "the load polls this word but is plain (weak); let it be relaxed \
                             (`ld.relaxed` or `cuda::atomic_ref`) or an atomic, and if the word is \
                             the flag of another word, put a `__threadfence()` after the loop";

const POLLED: &str = "a thread polls this word, so no access to it may be plain; make each \
                      atomic (for example `atomicExch`) or relaxed (`st.relaxed` or \
                      `cuda::atomic_ref`)";

pub(super) const ONE_PLAIN: &str = "one of the accesses is plain; if it resets a counter, move \
                         it to the block that takes the last ticket; if it initializes, to the \
                         host; otherwise make it atomic (for example `atomicExch`) or relaxed \
                         (`st.relaxed` or `cuda::atomic_ref`)";
