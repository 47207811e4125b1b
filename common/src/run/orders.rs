//! Holds a step to its promise of the same bits: in other orders of execution, on other grids and GPUs.

use simt::{Arch, Schedule};

use super::job::Job;
use crate::{
    Element, Result, Step,
    device::{Choice, Device, Ptx, Settings},
    plan::{Block, Chip, Problem},
    sum::{Mismatch, Run, Scalar, Workload},
};

/// Elements that are added, at most: several chunks of any step.
const MOST: usize = 20_011;

/// Elements that are added, at least: fewer are one chunk of every step.
const LEAST: usize = 2048;

/// The runs: the order of execution, the GPU, and its multiprocessors. They are few, because every
/// verification of such a step makes them.
fn runs() -> impl Iterator<Item = (Schedule, Arch, u32)> {
    let orders = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(1)];
    orders
        .into_iter()
        .zip(Arch::ALL.into_iter().cycle())
        .zip([132, 3, 1])
        .map(|((s, a), n)| (s, a, n))
}

/// Compares the bits of sums of the same elements. Returns what differs, if anything does.
pub(super) fn other_bits<T: Scalar>(
    step: &Step,
    ptx: &Ptx,
    values: &[T],
    block: Block,
) -> Result<Option<Box<Mismatch>>> {
    // Sums of integers are exact in any order.
    if T::ELEMENT == Element::I32 || values.len() < LEAST {
        return Ok(None);
    }
    let values = &values[..values.len().min(MOST)];
    let n = values.len() as u64;
    let mut first: Option<(String, Vec<u8>)> = None;
    for (schedule, gpu, sms) in runs() {
        let settings = Settings { schedule, gpu, ..Settings::default() };
        let device = Device::open(Choice::Simt, &settings)?;
        let chip = Chip { sms, ..device.facts().chip };
        let problem = Problem { n, block, element: T::ELEMENT, chip };
        // A GPU without what the kernel needs has no say.
        let Ok(job) = Job::load(&device, step, ptx, problem) else { continue };
        let workload = Workload::of_values(&device, values.to_vec())?;
        let checked = job.verify_once(&workload)?;
        if checked.wrong.is_some() {
            return Ok(checked.wrong);
        }
        let mut bits = vec![0; size_of::<T>()];
        job.fetch(&mut bits)?;
        let sum = checked.verdict.sum;
        let here =
            format!("{sum} in the order {schedule} on {sms} multiprocessors of a {}", gpu.gpu);
        match &first {
            Some((there, other)) if *other != bits => {
                let verdict = checked.verdict;
                let mut wrong = Mismatch::of(step, &problem, Run::Messages, verdict, None);
                wrong.leftover = Some(format!(
                    "it promises the same bits for the same elements, but the sum of the first {n} is {there}, and {here}: let the length alone decide which elements are added in which order"
                ));
                return Ok(Some(Box::new(wrong)));
            }
            Some(_) => {}
            None => first = Some((here, bits)),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Arg, Buffer, Holds, Plan, Stage},
        run::{Samples, played, run},
        sum::Input,
    };

    /// The first thread adds all elements, from the last to the first, or on a grid of one block from the first to the last.
    const TURNING: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n)
{
    .reg .pred %p;
    .reg .f32 %sum, %x;
    .reg .u32 %lane, %block, %grid;
    .reg .u64 %in, %out, %n, %step;
    mov.u32 %lane, %tid.x;
    mov.u32 %block, %ctaid.x;
    or.b32 %lane, %lane, %block;
    setp.ne.u32 %p, %lane, 0;
    @%p ret;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    ld.param.u64 %n, [n];
    mov.f32 %sum, 0f00000000;
    mov.u64 %step, 4;
    mov.u32 %grid, %nctaid.x;
    setp.eq.u32 %p, %grid, 1;
    @%p bra again;
    mad.lo.u64 %in, %n, 4, %in;
    sub.u64 %in, %in, 4;
    mov.u64 %step, -4;
again:
    setp.eq.u64 %p, %n, 0;
    @%p bra done;
    ld.global.f32 %x, [%in];
    add.f32 %sum, %sum, %x;
    add.u64 %in, %in, %step;
    sub.u64 %n, %n, 1;
    bra again;
done:
    st.global.f32 [%out], %sum;
    ret;
}
";

    const fn turning(fixed_order: bool) -> Step {
        let step = played::step("turning", |problem| {
            let args = vec![
                Arg::Address(Buffer::Input),
                Arg::Address(Buffer::Result),
                Arg::U64(problem.n),
            ];
            let depth = problem.n as u32;
            let stages = vec![Stage { sums: Buffer::Result, holds: Holds::ALL, depth }];
            let launch = played::launch(problem, problem.chip.sms, args, stages);
            Plan { launches: vec![launch], scratch: Vec::new() }
        });
        Step { fixed_order, ..step }
    }

    static PROMISES: Step = turning(true);
    static FREE: Step = turning(false);

    #[test]
    fn bits_that_depend_on_the_grid_break_a_promise() {
        let wrong = |step: &Step, text: &str| {
            let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
            let workload = Workload::<f32>::new(&device, Input::Uniform, 3000, 1).unwrap();
            let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
            let outcome = run(step, &played::ptx(text), &device, &workload, block, samples);
            outcome.unwrap().wrong.map(|wrong| wrong.to_string())
        };
        let said = wrong(&PROMISES, TURNING).expect("its bits depend on the grid");
        assert!(
            said.contains("turning is wrong, though its sums are right: it promises the same bits"),
            "{said}"
        );
        assert!(
            said.contains("on 132 multiprocessors of a") && said.contains("on 1 multiprocessors"),
            "{said}"
        );
        assert_eq!(wrong(&FREE, TURNING), None);
        assert_eq!(wrong(&PROMISES, &TURNING.replace("%grid, 1;", "%grid, 0;")), None);
    }
}
