//! Remedies for accesses between which the code has a barrier other than `__syncthreads()`, half of a
//! barrier of the cluster, or a flag. These are the cause; no further barrier is missing.

use super::code::awaits;
use super::pair::{Cure, Pair};
use crate::inst::{MbarOp, Op, Src};
use crate::kernel::Kernel;

/// Something that could order two accesses.
#[derive(Debug, Clone, Copy)]
pub(super) enum Between {
    /// A barrier that counts some threads of the block.
    Counted,
    /// A wait for an `mbarrier`.
    Mbarrier,
    /// A poll of a flag.
    Flag,
    /// An arrival at the barrier of the cluster, whose wait is at this instruction after both.
    Arrival(u32),
    /// A wait at the barrier of the cluster, whose arrival is at this instruction before both.
    Wait(u32),
}

/// Returns the remedy if another barrier is between the two instructions.
pub(super) fn cure(pair: &Pair<'_>) -> Option<Cure> {
    let kernel = pair.kernel;
    let (first, last) = (pair.a.pc.min(pair.b.pc), pair.a.pc.max(pair.b.pc));
    let whole =
        |pc: u32| matches!(&kernel.insts[pc as usize].op, Op::Bar(bar) if bar.count.is_none());
    if (first..last).any(whole) {
        return None;
    }
    let all = (first + 1..last).rev();
    all.into_iter().find_map(|pc| Some(Cure::Between(pc, kind(kernel, pc)?)))
}

/// Returns the remedy for accesses of two blocks of a cluster if one half of a barrier of the cluster
/// is between the two instructions, and the other half is not.
pub(super) fn half(pair: &Pair<'_>) -> Option<Cure> {
    let insts = &pair.kernel.insts;
    let (first, last) = (pair.a.pc.min(pair.b.pc) as usize, pair.a.pc.max(pair.b.pc) as usize);
    let arrives = |pc: &usize| matches!(insts[*pc].op, Op::ClusterArrive { .. });
    let waits = |pc: &usize| matches!(insts[*pc].op, Op::ClusterWait);
    match ((first..last).find(arrives), (first..last).find(waits)) {
        (Some(arrival), None) => {
            let wait = (last..insts.len()).find(waits)?;
            Some(Cure::Between(arrival as u32, Between::Arrival(wait as u32)))
        }
        (None, Some(wait)) => {
            let arrival = (0..first).rev().find(arrives)?;
            Some(Cure::Between(wait as u32, Between::Wait(arrival as u32)))
        }
        _ => None,
    }
}

fn kind(kernel: &Kernel, pc: u32) -> Option<Between> {
    match &kernel.insts[pc as usize].op {
        Op::Bar(_) => Some(Between::Counted),
        Op::Mbar(mbar) if matches!(mbar.op, MbarOp::Test { .. }) => Some(Between::Mbarrier),
        Op::Load { .. } if awaits(kernel, pc) => Some(Between::Flag),
        _ => None,
    }
}

/// Returns the text of the remedy.
pub(super) fn text(pair: &Pair<'_>, pc: u32, between: Between) -> String {
    let Pair { kernel, a, b, done, .. } = pair;
    let place = kernel.place(pc);
    let sides = [a, b];
    match between {
        Between::Counted => {
            let count = match &kernel.insts[pc as usize].op {
                Op::Bar(bar) => match bar.count {
                    Some(Src::Imm(count)) => Some(count),
                    _ => None,
                },
                _ => None,
            };
            let ends = count.map_or("before both threads have arrived".to_owned(), |count| {
                format!("when {count} threads have arrived")
            });
            format!(
                "the barrier at {place} ends {ends}, and does not order these two; let both threads \
                 reach it and let it count all threads that do, or use `__syncthreads()`"
            )
        }
        Between::Mbarrier if sides.iter().any(|s| done.is_early(pc, s.warp)) => format!(
            "the wait at {place} tested the parity 1, and passed at once, because the phase before the \
             first one counts as complete and has this parity; if it waits for the first phase, test \
             the parity 0"
        ),
        Between::Mbarrier if sides.iter().any(|s| done.is_again(pc, s.warp, s.lane)) => format!(
            "the wait at {place} tested the parity of a phase that its thread had waited for before, \
             and passed at once; let the parity change with each phase"
        ),
        Between::Mbarrier => format!(
            "the wait for an mbarrier at {place} does not order them; let one thread arrive after its \
             access, and let the other wait for this phase before its own: check the count of the \
             initialization, the arrivals and the parity"
        ),
        Between::Arrival(wait) => format!(
            "the threads arrive at the barrier of the cluster at {place}, but wait only at {}, after \
             the access at {}; wait before this access",
            kernel.place(wait),
            kernel.place(a.pc.max(b.pc))
        ),
        Between::Wait(arrival) => format!(
            "the threads wait at the barrier of the cluster at {place}, but arrive already at {}, \
             before the access at {}; arrive after this access",
            kernel.place(arrival),
            kernel.place(a.pc.min(b.pc))
        ),
        Between::Flag => format!(
            "the load of a flag at {place} does not order them; put a `__threadfence_block()` between \
             the first access and the store to the flag, and one between the load and the second \
             access, or use `.release` and `.acquire`"
        ),
    }
}
