//! Remedies for a plain access to a word that other threads change by atomics, such as a counter.

use super::code::{polls, polls_weakly};
use super::pair::{Cure, Pair, Side};
use super::shadow::Strength;
use crate::inst::{AtomOp, Op};

/// Returns the remedy for a plain write or read of a word that another thread changes by an atomic.
/// If this access were atomic too, it could still come at the wrong time.
pub(super) fn cure(pair: &Pair<'_>) -> Option<Cure> {
    let Pair { kernel, a, b, .. } = pair;
    let (plain, atomic) = match (a.strength, b.strength) {
        (Strength::Weak, Strength::Strong) => (a, b),
        (Strength::Strong, Strength::Weak) => (b, a),
        _ => return None,
    };
    let changes = |side: &Side| match &kernel.insts[side.pc as usize].op {
        Op::Atomic(atom) => {
            !matches!(atom.op, AtomOp::Exch | AtomOp::Cas | AtomOp::And | AtomOp::Or)
        }
        _ => false,
    };
    if !changes(atomic) || polls(kernel, atomic.pc) || polls_weakly(kernel, plain.pc) {
        return None;
    }
    let early = plain.pc < atomic.pc;
    match (a.block == b.block, plain.writes) {
        // The value may be a guess, which tells whether the atomic is necessary.
        (_, false) if early => None,
        (true, writes) => Some(match pair.missing() {
            Cure::Is(_) if writes && early => Cure::Is(STARTED),
            Cure::Is(_) if writes => Cure::Is(RESET),
            Cure::Is(_) => Cure::Is(TOTAL),
            back => back,
        }),
        (false, true) if early => Some(Cure::Is(BY_HOST)),
        (false, true) => None,
        (false, false) => Some(Cure::Is(LATER)),
    }
}

const STARTED: &str = "a `__syncthreads()` is missing between them; an atomic write would not \
                       suffice, because it could still come after the other thread's atomic and \
                       overwrite its result";

const RESET: &str = "a `__syncthreads()` is missing between them; an atomic write would not suffice, \
                     because it could still come before the other thread's atomic";

const TOTAL: &str = "a `__syncthreads()` is missing between them; an atomic read would not suffice, \
                     because it could still come before the other thread's atomic";

const BY_HOST: &str = "nothing orders the write before the atomics of other blocks, and an atomic \
                       write could still overwrite their results; let the host or an earlier \
                       launch set the value";

const LATER: &str = "nothing orders the read after the atomics of other blocks, and an atomic read \
                     could still come before them; let the block that takes the last ticket read \
                     the value, or a later launch";
