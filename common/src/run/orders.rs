//! Checks a step in other orders of execution if its blocks communicate. A step that promises the
//! same bits also runs on other grids and GPUs.

use simt::{Arch, Schedule};

use super::job::Job;
use crate::{
    Element, Result, Step,
    device::{Choice, Device, Ptx, Settings},
    plan::{Block, Chip, Plan, Problem, Scratch},
    sum::{Mismatch, Run, Scalar, Workload},
};

/// The maximum total size of the elements, in bytes. At this size, every step has several chunks,
/// and their number is not a power of two, so adding the chunks in another order gives different
/// bits.
const MOST: usize = 65_560;

/// The minimum number of elements; with fewer elements, every step has only one chunk.
const LEAST: usize = 2048;

/// Returns the runs, each with an order of execution, a GPU, and a number of multiprocessors. The
/// number of runs is small, because every verification of such a step performs all of them. In the
/// random order, there are as many blocks as chunks, so any block may end last.
fn runs() -> impl Iterator<Item = (Schedule, Arch, u32)> {
    let orders = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(1)];
    orders
        .into_iter()
        .zip(Arch::ALL.into_iter().cycle())
        .zip([1, 3, 132])
        .map(|((s, a), n)| (s, a, n))
}

/// Returns the runs for steps that do not promise identical bits. In these orders, a block may end
/// before an earlier block.
fn shuffled() -> impl Iterator<Item = (Schedule, Arch, u32)> {
    let arch = Arch::default();
    [2, 3].into_iter().map(move |seed| (Schedule::Adversarial(seed), arch, arch.sms))
}

/// Runs a step in other orders of execution, if its blocks communicate or if it promises the same
/// bits. Compares the sums with the exact sum and, if the step promises the same bits, with each
/// other. Returns a description of the fault, if there is one.
pub(super) fn wrong_in_other_orders<T: Scalar>(
    step: &Step,
    ptx: &Ptx,
    values: &[T],
    block: Block,
    plan: &Plan,
) -> Result<Option<Box<Mismatch>>> {
    let communicates =
        plan.scratch.iter().any(|kind| matches!(kind, Scratch::Zeroed(_) | Scratch::Messages(_)));
    // Sums of integers are exact in any order.
    let promises = step.fixed_order && T::ELEMENT != Element::I32;
    if values.len() < LEAST || !(promises || communicates) {
        return Ok(None);
    }
    let mut values = values[..values.len().min(MOST / size_of::<T>())].to_vec();
    let (n, mut of) = (values.len() as u64, "");
    let mut first: Option<(String, Vec<u8>)> = None;
    let all: Vec<_> = if promises { runs().collect() } else { shuffled().collect() };
    if promises {
        cancel(&mut values);
        of = ", half of them replaced by negatives of the others,";
    }
    for (schedule, gpu, sms) in all {
        let settings = Settings { schedule, gpu, ..Settings::default() };
        let device = Device::open(Choice::Simt, &settings)?;
        let chip = Chip { sms, ..device.facts().chip };
        let problem = Problem { n, block, element: T::ELEMENT, chip };
        // Skip a GPU that does not meet the kernel's requirements.
        let Ok(job) = Job::load(&device, step, ptx, problem) else { continue };
        let workload = Workload::of_values(&device, values.clone())?;
        let checked = job.verify_once(&workload)?;
        if let Some(mut wrong) = checked.wrong {
            wrong.leftover = Some(format!(
                "blocks and threads ran in the order {schedule}: let no block use a value before a flag or ticket shows that it is complete, and put a `__threadfence()` before that flag or ticket (repeat this run with `--schedule {schedule} --gpu {}:{sms} --n {n}`)",
                gpu.name
            ));
            return Ok(Some(wrong));
        }
        if !promises {
            continue;
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
                    "it promises the same bits for the same elements, but the sum of the first {n}{of} is {there}, and {here}: make the order of additions depend on the length alone"
                ));
                return Ok(Some(Box::new(wrong)));
            }
            Some(_) => {}
            None => first = Some((here, bits)),
        }
    }
    Ok(None)
}

/// Makes elements cancel: the second half consists of negatives of the first half, except for a few
/// elements, and the signs of some sections of both halves are changed. The partial sums are then
/// much larger than the sum, so another order of additions almost always gives other bits.
fn cancel<T: Scalar>(values: &mut [T]) {
    let n = values.len();
    let negated = |mut value: T| {
        // The sign of a float is the highest bit of its last byte.
        if let Some(byte) = bytemuck::bytes_of_mut(&mut value).last_mut() {
            *byte ^= 0x80;
        }
        value
    };
    let half = n.div_ceil(2);
    for i in 0..(n / 2).saturating_sub(16) {
        values[half + i] = negated(values[i]);
    }
    for (_, value) in values.iter_mut().enumerate().filter(|(i, _)| i % half * 7 / half % 2 == 1) {
        *value = negated(*value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Arg, Buffer, Holds, Plan, Stage},
        run::{Samples, played, run},
        sum::Input,
    };

    /// The first thread adds all elements, from the last to the first, or from the first to the
    /// last if the grid has one block.
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
            said.contains(
                "turning is wrong, although its sums are right: it promises the same bits"
            ),
            "{said}"
        );
        assert!(
            said.contains("on 1 multiprocessors of a") && said.contains("on 3 multiprocessors"),
            "{said}"
        );
        assert_eq!(wrong(&FREE, TURNING), None);
        assert_eq!(wrong(&PROMISES, &TURNING.replace("%grid, 1;", "%grid, 0;")), None);
    }

    /// Like `TURNING`, but the block that takes the last ticket adds the elements, from the first to
    /// the last if it is the grid's last block.
    fn last_ticket() -> String {
        let ticket = "sub.u32 %grid, %grid, 1;\nld.param.u64 %t, [tickets];\n\
                      atom.acq_rel.gpu.global.inc.u32 %lane, [%t], %grid;\n\
                      setp.ne.u32 %p, %lane, %grid;\n@%p ret;\nsetp.eq.u32 %p, %block, %grid;";
        TURNING
            .replace(".param .u64 n)", ".param .u64 n, .param .u64 tickets)")
            .replace(".reg .u64 %in", ".reg .u64 %t, %in")
            .replace("or.b32 %lane, %lane, %block;", "")
            .replace("setp.eq.u32 %p, %grid, 1;", ticket)
    }

    static TICKETS: Step = {
        let step = played::step("tickets", |problem| {
            let mut plan = (FREE.plan)(problem);
            plan.launches[0].grid = plan.launches[0].grid.min(6);
            plan.launches[0].args.push(Arg::Address(Buffer::Scratch(0)));
            plan.scratch.push(Scratch::Zeroed(4));
            plan
        });
        Step { fixed_order: true, ..step }
    };

    /// The bits depend only on whether the grid's last block takes the last ticket, which it always
    /// does unless blocks run in a random order.
    #[test]
    fn any_block_may_take_the_last_ticket() {
        let wrong = |text: &str| {
            let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
            let workload = Workload::<f32>::new(&device, Input::Uniform, 5000, 1).unwrap();
            let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
            let outcome = run(&TICKETS, &played::ptx(text), &device, &workload, block, samples);
            outcome.unwrap().wrong.map(|wrong| wrong.to_string())
        };
        let said = wrong(&last_ticket()).expect("the bits depend on the last ticket");
        assert!(said.contains("it promises the same bits"), "{said}");
        assert!(said.contains("in the order adversarial:"), "{said}");
        let same = last_ticket().replace("%p, %block, %grid;", "%p, %grid, %grid;");
        assert_eq!(wrong(&same), None);
    }

    /// The elements keep their magnitudes, and the sum is small.
    #[test]
    fn elements_cancel() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let values = Workload::<f64>::new(&device, Input::Uniform, 8195, 1).unwrap().values;
        let mut cancelling = values.clone();
        cancel(&mut cancelling);
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        assert!(sum(&cancelling).abs() < 40.0 && sum(&values) > 4000.0);
        assert!(cancelling.iter().map(|x| x.abs()).sum::<f64>() > 4000.0);
    }

    /// Each of eight blocks adds an eighth of the elements. The last block adds the eight sums
    /// without waiting for them.
    const HASTY: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n, .param .u64 partials)
{
    .reg .pred %p;
    .reg .u32 %sum, %x, %lane, %block;
    .reg .u64 %in, %out, %n, %partials, %own;
    mov.u32 %lane, %tid.x;
    mov.u32 %block, %ctaid.x;
    setp.ne.u32 %p, %lane, 0;
    @%p ret;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    ld.param.u64 %n, [n];
    ld.param.u64 %partials, [partials];
    shr.u64 %n, %n, 3;
    cvt.u64.u32 %own, %block;
    mul.lo.u64 %own, %own, %n;
    mad.lo.u64 %in, %own, 4, %in;
    mov.u32 %sum, 0;
again:
    ld.global.u32 %x, [%in];
    add.u32 %sum, %sum, %x;
    add.u64 %in, %in, 4;
    sub.u64 %n, %n, 1;
    setp.ne.u64 %p, %n, 0;
    @%p bra again;
    mad.wide.u32 %own, %block, 4, %partials;
    st.global.u32 [%own], %sum;
    membar.gl;
    setp.ne.u32 %p, %block, 7;
    @%p ret;
    mov.u32 %sum, 0;
    mov.u64 %n, 8;
total:
    ld.global.u32 %x, [%partials];
    add.u32 %sum, %sum, %x;
    add.u64 %partials, %partials, 4;
    sub.u64 %n, %n, 1;
    setp.ne.u64 %p, %n, 0;
    @%p bra total;
    st.global.u32 [%out], %sum;
    ret;
}
";

    const fn hasty(plan: fn(&Problem) -> Plan) -> Step {
        played::step("hasty", plan)
    }

    fn eighths(problem: &Problem, scratch: Vec<Scratch>) -> Plan {
        let partials = Buffer::Scratch(0);
        let args = vec![
            Arg::Address(Buffer::Input),
            Arg::Address(Buffer::Result),
            Arg::U64(problem.n),
            Arg::Address(partials),
        ];
        let eighth = Holds::Chunks { each: problem.n / 8, count: 8 };
        let stages = vec![
            Stage { sums: partials, holds: eighth, depth: 1 },
            Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 1 },
        ];
        let launch = played::launch(problem, 8, args, stages);
        Plan { launches: vec![launch], scratch }
    }

    static TALKS: Step =
        hasty(|problem| eighths(problem, vec![Scratch::Partials(8), Scratch::Zeroed(4)]));
    static SILENT: Step = hasty(|problem| eighths(problem, vec![Scratch::Partials(8)]));

    /// In the usual order, the last block runs last, so its sum is correct. A step whose plan has
    /// no tickets or messages does not run in other orders.
    #[test]
    fn a_block_that_does_not_wait_is_wrong_in_another_order() {
        let wrong = |step: &Step| {
            let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
            let workload = Workload::<i32>::new(&device, Input::Ones, 4096, 1).unwrap();
            let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
            let outcome = run(step, &played::ptx(HASTY), &device, &workload, block, samples);
            outcome.unwrap().wrong.map(|wrong| wrong.to_string())
        };
        let said = wrong(&TALKS).expect("the last block may run first");
        assert!(said.contains("ran in the order adversarial:"), "{said}");
        assert!(said.contains("`--schedule adversarial:"), "{said}");
        assert_eq!(wrong(&SILENT), None);
    }
}
