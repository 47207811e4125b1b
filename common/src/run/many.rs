//! Runs a step with many partial sums if its blocks communicate. One warp reads a few partial sums
//! alone, so a fence that only this warp executes would look sufficient.

use super::extra::{ALL_RUNS, Asked, Extra};
use crate::{
    Result,
    device::interpreter,
    plan::{Block, Plan, Problem, Scratch},
    sum::{Mismatch, Scalar},
};

/// The lengths of a run. The first three are a little more than a power of two, because an 8-bit ticket
/// is wide enough for 256 blocks; the fourth is the longest that is checked for races. From the last
/// one on, plans with chunks have the most chunks.
const LENGTHS: [usize; 5] = {
    const MORE: usize = 1 << 12;
    [(1 << 17) + MORE, (1 << 18) + MORE, (1 << 19) + MORE, 1 << 20, (1 << 21) + MORE]
};

/// The number of multiprocessors. With this number, no grid is limited to a few blocks.
const MULTIPROCESSORS: u32 = 132;

/// Returns the number of a plan's partial sums.
fn sums(plan: &Plan) -> u64 {
    let counts = plan.scratch.iter().map(|kind| match kind {
        Scratch::Partials(count) | Scratch::Messages(count) => *count,
        Scratch::Zeroed(_) => 0,
    });
    counts.max().unwrap_or(0)
}

/// Runs a step with more partial sums than one warp reads with one vector per thread, and with as many
/// as possible, if its blocks communicate and the requested run has fewer.
/// Returns a description of the fault, if there is one.
pub(super) fn wrong_with_many_sums<T: Scalar>(
    asked: Asked<'_, T>,
    plan: &Plan,
) -> Result<Option<Box<Mismatch>>> {
    if asked.values.len() < ALL_RUNS || !plan.communicates() {
        return Ok(None);
    }
    let (gpu, few) = (asked.settings.gpu.with_sms(MULTIPROCESSORS), sums(plan));
    // Small blocks make many partial sums of few elements.
    for block in Block::ALL.into_iter().filter(|block| asked.step.check_block(*block).is_ok()) {
        let plan = |n: usize| {
            let chip = interpreter::chip(&gpu);
            (asked.step.plan)(&Problem { n: n as u64, block, element: T::ELEMENT, chip })
        };
        let counts = LENGTHS.map(|n| sums(&plan(n)));
        let least = 33 * (16 / size_of::<T>() as u64);
        let most = counts.into_iter().max().unwrap_or(0);
        // The first length is checked for races, and the second one is too long for that.
        let shortest = |least| counts.iter().position(|&count| count >= least && count > few);
        let chosen = [shortest(least), shortest(most)];
        let mut ran = false;
        let mut lengths: Vec<usize> = chosen.into_iter().flatten().map(|at| LENGTHS[at]).collect();
        lengths.dedup();
        for n in lengths {
            let repeats = n > asked.values.len();
            let elements = repeats.then(|| "the requested elements were repeated".to_owned());
            let extra = Extra { gpu, block, elements, ..Extra::of(asked, n) };
            let values = asked.values.iter().copied().cycle().take(n).collect();
            // A kernel may lack the entry point for this block size.
            let Some(outcome) = extra.run(asked, values)? else { break };
            if outcome.wrong.is_some() {
                return Ok(outcome.wrong);
            }
            ran = true;
        }
        if ran {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Element, Step,
        device::{Choice, Device, Settings},
        plan::{Arg, Buffer, Holds, Stage},
        run::played,
    };

    /// Each block adds a chunk of 4096 elements. The block that takes the last ticket adds the sums
    /// of the chunks, in all its threads.
    const LAST: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry reduce(
    .param .u64 in, .param .u64 out, .param .u64 n, .param .u64 partials, .param .u64 tickets)
{
    .reg .pred %first, %p;
    .reg .u32 %sum, %x, %tid, %block, %most, %i;
    .reg .u64 %in, %out, %partials, %tickets, %own;
    .shared .u32 total, ticket;
    mov.u32 %tid, %tid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %most, %nctaid.x;
    setp.eq.u32 %first, %tid, 0;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    ld.param.u64 %partials, [partials];
    ld.param.u64 %tickets, [tickets];
    @%first st.shared.u32 [total], 0;
    bar.sync 0;
    mul.lo.u32 %i, %block, 4096;
    add.u32 %i, %i, %tid;
    mad.wide.u32 %in, %i, 4, %in;
    mov.u32 %i, 64;
    mov.u32 %sum, 0;
chunk:
    ld.global.u32 %x, [%in];
    add.u32 %sum, %sum, %x;
    add.u64 %in, %in, 256;
    sub.u32 %i, %i, 1;
    setp.ne.u32 %p, %i, 0;
    @%p bra chunk;
    red.shared.add.u32 [total], %sum;
    bar.sync 0;
    @!%first bra met;
    ld.shared.u32 %sum, [total];
    mad.wide.u32 %own, %block, 4, %partials;
    st.global.u32 [%own], %sum;
    membar.gl;
    sub.u32 %x, %most, 1;
    atom.global.inc.u32 %x, [%tickets], %x;
    st.shared.u32 [ticket], %x;
    st.shared.u32 [total], 0;
met:
    bar.sync 0;
    ld.shared.u32 %x, [ticket];
    add.u32 %x, %x, 1;
    setp.ne.u32 %p, %x, %most;
    @%p ret;
    setp.ge.u32 %p, %tid, THREADS;
    @%p bra late;
    membar.gl;
late:
    mov.u32 %sum, 0;
    mov.u32 %i, %tid;
partial:
    setp.ge.u32 %p, %i, %most;
    @%p bra added;
    mad.wide.u32 %own, %i, 4, %partials;
    ld.global.u32 %x, [%own];
    add.u32 %sum, %sum, %x;
    add.u32 %i, %i, 64;
    bra partial;
added:
    red.shared.add.u32 [total], %sum;
    bar.sync 0;
    @!%first ret;
    ld.shared.u32 %sum, [total];
    st.global.u32 [%out], %sum;
    ret;
}
";

    static CHUNKS: Step = played::step("chunks", |problem| {
        let count = problem.n / 4096;
        let partials = Stage {
            sums: Buffer::Scratch(0),
            holds: Holds::Chunks { each: 4096, count },
            depth: 4096,
        };
        let total = Stage { sums: Buffer::Result, holds: Holds::ALL, depth: count as u32 };
        let mut args = vec![Arg::Address(Buffer::Input), Arg::Address(Buffer::Result)];
        args.push(Arg::U64(problem.n));
        args.extend([0, 1].map(|index| Arg::Address(Buffer::Scratch(index))));
        let launch = played::launch(problem, count as u32, args, vec![partials, total]);
        Plan { launches: vec![launch], scratch: vec![Scratch::Partials(count), Scratch::Zeroed(4)] }
    });

    /// Runs the kernel in which the first `threads` threads of the last block execute a fence after
    /// the barrier. Returns its error; `None` if the kernel is right.
    fn wrong(threads: u32) -> Option<String> {
        let ptx = &played::ptx(LAST.replace("THREADS", &threads.to_string()));
        let (values, block, settings) =
            (&[1i32; ALL_RUNS][..], Block::ALL[0], &Settings::default());
        let device = Device::open(Choice::Simt, settings).unwrap();
        let problem = device.problem(ALL_RUNS as u64, block, Element::I32);
        let asked = Asked { step: &CHUNKS, ptx, values, block, settings, other_type: false };
        let requested = Extra::of(asked, ALL_RUNS).run(asked, values.to_vec()).unwrap().unwrap();
        assert_eq!(requested.wrong.map(|wrong| wrong.to_string()), None);
        let wrong = wrong_with_many_sums(asked, &(CHUNKS.plan)(&problem)).unwrap();
        wrong.map(|wrong| wrong.to_string())
    }

    /// In the requested run, the first warp reads all partial sums.
    #[test]
    fn a_fence_of_one_warp_does_not_cover_the_reads_of_another_warp() {
        assert_eq!(wrong(64), None);
        let said = wrong(32).expect("the second warp executes no fence");
        assert!(said.contains("in an extra run on 1048576 elements"), "{said}");
        assert!(said.contains("put a `__syncthreads()` between the two"), "{said}");
        assert!(said.contains("`--n 1048576` gives a similar run on other elements"), "{said}");
    }
}
