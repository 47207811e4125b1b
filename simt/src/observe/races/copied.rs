//! The remedies for accesses that are not ordered with an asynchronous copy.

use super::code::has;
use super::pair::{Apart, Copied, Pair};
use super::shadow::Strength;
use crate::inst::{MbarOp, Op};

/// Returns the remedy for an access that is not ordered with a copy. `place` names the `mbarrier` at
/// an offset.
pub(super) fn cure(pair: &Pair<'_>, place: impl Fn(u32) -> String) -> String {
    let Pair { kernel, a, b, apart, .. } = pair;
    let one_block = a.block == b.block;
    let barrier = if one_block { "a `__syncthreads()`" } else { "a `cluster.sync()`" };
    let Apart::Copy(copied) = *apart else { return UNWAITED.into() };
    let (first, second) = (a.strength == Strength::Async, b.strength == Strength::Async);
    match copied {
        _ if first && second => "nothing orders the two copies; wait for the first one, and \
                                 synchronize the block at a barrier before the second one"
            .into(),
        _ if !first && a.writes => format!(
            "the copy overwrites memory that another thread may not have written yet; put {barrier} \
             before the copy"
        ),
        Copied::Refill => format!(
            "the copy overwrites memory that another thread may not have read yet; put {barrier} \
             before the copy"
        ),
        Copied::First => format!(
            "{} the copy; let each thread that reads it wait for it or, if this read is of what the \
             memory held before, put {barrier} before the copy",
            if has(kernel, waits) { "no wait before the read covers" } else { "no wait covers" }
        ),
        Copied::Unwaited if one_block && has(kernel, waits) => {
            "this thread has not waited for the copy; let each thread that reads it wait for its \
             mbarrier until the wait returns true, or put a `__syncthreads()` between the wait of \
             one thread and this access, and let the mbarrier expect all of its bytes"
                .into()
        }
        Copied::Unwaited if one_block => UNWAITED.into(),
        Copied::Unwaited => {
            "another block sends it, and no wait covers it; let the mbarrier expect the bytes of \
             everything that is sent, and put the wait before this access"
                .into()
        }
        Copied::Group => "no wait covers the copy; wait for its group in the thread that copies \
                          (`cp.async.wait_group` or `cp.async.wait_all`), then synchronize the \
                          block at a barrier"
            .into(),
        Copied::Elsewhere => format!(
            "only another thread of the block has waited for the copy; let each thread wait, or \
             put a `{}` between the wait and this access",
            if kernel.maxntid.is_some_and(|n| n.iter().product::<u32>() <= 32) {
                "__syncwarp()"
            } else {
                "__syncthreads()"
            }
        ),
        Copied::Fewer => "no wait covers the copy, because its mbarrier expects fewer bytes than \
                          the copies write; let it expect all of their bytes"
            .into(),
        Copied::Relaxed => "the wait for the copy is relaxed (`.relaxed`), so it does not acquire \
                            what was copied; let it acquire (`.acquire`, or `.acquire.cluster` \
                            if another block sends the copy)"
            .into(),
        Copied::Narrow => "another block sends it, and the default `.acquire.cta` covers only the \
                           thread's own block; wait for its mbarrier with `.acquire.cluster`, and \
                           synchronize the block at a barrier if only some threads wait"
            .into(),
        Copied::Early(pc) => format!(
            "the wait at {} tests the parity 1, and passes at once, because the phase before the \
             first one counts as complete and has this parity; test the parity 0, which the first \
             phase has",
            kernel.place(pc)
        ),
        Copied::Earlier { mbarrier, waited, phase, again } => {
            let (before, after) = (waited % 2, phase % 2);
            let refill = "if the copy refills memory that this thread still reads, put a \
                          `__syncthreads()` between the read and the copy";
            let at = again.map_or(String::new(), |pc| format!(" (as at {})", kernel.place(pc)));
            let wait = format!(
                "a wait for the parity {before}{at} returns at once, because phase {waited} has \
                 completed; let the wait before this access test the parity {after} or, {refill}"
            );
            format!(
                "this thread has waited only for phase {waited} of {}, which has the parity \
                 {before}, and the copy belongs to phase {phase}; {}",
                place(mbarrier),
                if before == after { refill } else { &wait }
            )
        }
        Copied::Again { pc, mbarrier, phase } => format!(
            "before the read, the wait at {} tested the parity {} again, and returned at once, \
             because phase {phase} of {} has completed; if the read is of this copy, test the \
             parity {}, and otherwise put {barrier} between the read and the copy",
            kernel.place(pc),
            phase % 2,
            place(mbarrier),
            (phase + 1) % 2
        ),
    }
}

fn waits(op: &Op) -> bool {
    matches!(op, Op::Mbar(mbar) if matches!(mbar.op, MbarOp::Test { .. }))
}

const UNWAITED: &str = "no wait covers the copy; let its mbarrier expect all of its bytes, and let \
                        each thread that reads them wait for that mbarrier";
