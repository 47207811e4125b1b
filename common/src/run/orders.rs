//! Checks a step in other orders of execution if its blocks communicate. A step that promises the
//! same bits also runs on other grids and GPUs.

use simt::{Arch, Schedule};

use super::extra::{Asked, Extra, LEAST, Ran};
use crate::{
    Element, Result,
    plan::{Holds, Plan},
    sum::{Mismatch, Run, Scalar},
};

/// The maximum total size of the elements, in bytes. At this size, every step has several chunks,
/// and their number is not a power of two, so adding the chunks in another order gives different
/// bits.
const MOST: usize = 65_560;

/// The distance between two addresses of the elements, in bytes. The addresses differ in many bits.
const OFFSET: u64 = 0x5554;

/// Returns the runs, each with an order of execution and a GPU. The number of runs is small, because
/// every verification of such a step performs all of them. In the random orders, there are as many
/// blocks as chunks, so any block may end last.
fn runs() -> impl Iterator<Item = (Schedule, Arch)> {
    let random = [1, 2].map(Schedule::Adversarial);
    [Schedule::Converged, Schedule::MinPc]
        .into_iter()
        .chain(random)
        .zip(Arch::ALL.into_iter().cycle())
        .zip([1, 3, 132, 132])
        .map(|((schedule, gpu), sms)| (schedule, gpu.with_sms(sms)))
}

/// Returns the runs for steps that do not promise identical bits. In the random orders, a block may
/// end before an earlier block. The last GPU has the least shared memory, so fewer blocks may be
/// resident than the plan assumes.
fn shuffled() -> impl Iterator<Item = (Schedule, Arch)> {
    let random = [2, 3].into_iter().map(|seed| (Schedule::Adversarial(seed), Arch::default()));
    let least = Arch::ALL.into_iter().min_by_key(|gpu| gpu.shared_per_sm);
    random.chain(least.map(|gpu| (Schedule::Converged, gpu.with_sms(1))))
}

/// Runs a step in other orders of execution, if its blocks communicate or if it promises the same
/// bits. Compares the sums with the exact sum and, if the step promises the same bits, with each
/// other. Returns a description of the fault, if there is one.
pub(super) fn wrong_in_other_orders<T: Scalar>(
    asked: Asked<'_, T>,
    plan: &Plan,
) -> Result<Option<Box<Mismatch>>> {
    let step = asked.step;
    // Sums of integers are exact in any order.
    let promises = step.fixed_order && T::ELEMENT != Element::I32;
    if asked.values.len() < LEAST || !(promises || plan.communicates()) {
        return Ok(None);
    }
    let n = asked.values.len().min(MOST / size_of::<T>());
    let mut values = asked.values[..n].to_vec();
    if !promises {
        return wrong_in_orders(asked, &values, shuffled().collect(), false);
    }
    cancel(&mut values);
    if let Some(wrong) = wrong_in_orders(asked, &values, runs().collect(), true)? {
        return Ok(Some(wrong));
    }
    scale(&mut values);
    let few = runs().take(1).chain([(Schedule::Adversarial(3), Arch::default())]);
    wrong_in_orders(asked, &values, few.collect(), true)
}

/// Runs a step in these orders, on these GPUs. Returns a description of the fault, if there is one.
fn wrong_in_orders<T: Scalar>(
    asked: Asked<'_, T>,
    values: &[T],
    all: Vec<(Schedule, Arch)>,
    promises: bool,
) -> Result<Option<Box<Mismatch>>> {
    let (step, n) = (asked.step, values.len());
    let negatives = "half of the elements were the negatives of the others".to_owned();
    let like = Extra { elements: promises.then_some(negatives), ..Extra::of(asked, n) };
    let mut first: Option<(String, Ran<T>)> = None;
    for (index, (schedule, gpu)) in all.into_iter().enumerate() {
        // In every other run, the elements have another address.
        let bytes = if promises && index % 2 == 1 { OFFSET } else { 0 };
        let offset =
            bytes.next_multiple_of(step.aligned.max(T::ELEMENT.size())) / T::ELEMENT.size();
        let extra = Extra { schedule, gpu, offset, ..like.clone() };
        // Skip a GPU that does not meet the kernel's requirements.
        let Some(ran) = extra.run(asked, values.to_vec())? else { continue };
        if let Some(wrong) = ran.wrong {
            return Ok(Some(wrong));
        }
        if !promises {
            continue;
        }
        let sms = match gpu.sms {
            1 => "1 multiprocessor".to_owned(),
            sms => format!("{sms} multiprocessors"),
        };
        let place = if offset > 0 { ", at another address" } else { "" };
        let here = format!("in the order {schedule} with {sms} ({}{place})", gpu.gpu);
        let Some((there, other)) = &first else {
            first = Some((here, ran));
            continue;
        };
        if let Some((which, a, b)) = other_bits(&other.sums, &ran.sums) {
            let mut wrong = Mismatch::of(step, &ran.problem, Run::Messages, ran.verdict, None);
            wrong.leftover = Some(format!(
                "it promises the same bits for the same elements, but {which} of the first {n}, half of them replaced by negatives of the others, is {} {there}, and {} {here}: make the order of additions depend on the length alone",
                a.value(),
                b.value()
            ));
            return Ok(Some(Box::new(wrong)));
        }
    }
    Ok(None)
}

/// Returns the first sum that has other bits in two runs, and its values. Without a difference in
/// the total, partial sums can differ by bits that this total does not show. Two plans may have
/// different partial sums, which are not compared.
fn other_bits<T: Scalar>(
    one: &[(Holds, Vec<T>)],
    other: &[(Holds, Vec<T>)],
) -> Option<(String, T, T)> {
    let differ = |(a, b): &(&T, &T)| bytemuck::bytes_of(*a) != bytemuck::bytes_of(*b);
    let stages = one.iter().zip(other).rev().filter(|(a, b)| a.0 == b.0);
    stages.into_iter().find_map(|((holds, a), (_, b))| {
        let (index, (a, b)) = a.iter().zip(b).enumerate().find(|(_, pair)| differ(pair))?;
        let which = match *holds {
            Holds::ALL => "the sum".to_owned(),
            _ => format!("partial sum {index}"),
        };
        Some((which, *a, *b))
    })
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

/// Multiplies seven sections of both halves by different powers of two, so that fewer of the additions
/// are exact.
fn scale<T: Scalar>(values: &mut [T]) {
    let half = values.len().div_ceil(2);
    for (i, value) in values.iter_mut().enumerate() {
        for _ in 0..i % half * 7 / half * 3 % 7 {
            *value = value.plus(*value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Step,
        device::{Choice, Device, Settings},
        plan::{Arg, Block, Buffer, Plan, Problem, Scratch, Stage},
        run::{Samples, played, run},
        sum::{Input, Workload},
    };

    const fn turning(fixed_order: bool) -> Step {
        let step =
            played::step("turning", |problem| played::first_thread(problem, problem.chip.sms));
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
        let said = wrong(&PROMISES, played::TURNING).expect("its bits depend on the grid");
        assert!(
            said.contains(
                "turning is wrong, although its sums are right: it promises the same bits"
            ),
            "{said}"
        );
        assert!(
            said.contains("with 1 multiprocessor (") && said.contains("with 3 multiprocessors ("),
            "{said}"
        );
        assert_eq!(wrong(&FREE, played::TURNING), None);
        assert_eq!(wrong(&PROMISES, &played::TURNING.replace("%grid, 1;", "%grid, 0;")), None);
    }

    /// Like `TURNING`, but the block that takes the last ticket adds the elements, from the first to
    /// the last if it is the grid's last block.
    fn last_ticket() -> String {
        let ticket = "sub.u32 %grid, %grid, 1;\nld.param.u64 %t, [tickets];\n\
                      atom.acq_rel.gpu.global.inc.u32 %lane, [%t], %grid;\n\
                      setp.ne.u32 %p, %lane, %grid;\n@%p ret;\nsetp.eq.u32 %p, %block, %grid;";
        played::TURNING
            .replace("sm_60", "sm_70")
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

    /// Like `STRIDED`, but on GPUs with more than one multiprocessor, each block adds its elements
    /// from the last to the first. The total does not depend on the partial sums.
    fn strided_by_sms() -> String {
        let start = "cvt.u64.u32 %i, %block;\nmov.u64 %step, 2;\nmov.u32 %lane, %nsmid;\n\
                     setp.eq.u32 %p, %lane, 1;\n@%p bra again;\nadd.u64 %i, %i, %n;\n\
                     sub.u64 %i, %i, 2;\nmov.u64 %step, -2;";
        played::STRIDED
            .replace(".reg .u64 %in", ".reg .u64 %step, %in")
            .replace("cvt.u64.u32 %i, %block;", start)
            .replace("add.u64 %i, %i, 2;", "add.u64 %i, %i, %step;")
    }

    static STRIDED: Step = {
        let step = played::step("strided", |problem| {
            let buffers = [Buffer::Input, Buffer::Result, Buffer::Scratch(0)];
            let mut args = buffers.map(Arg::Address).to_vec();
            args.insert(2, Arg::U64(problem.n));
            let holds = Holds::Strides { tile: 1, count: 2, width: 1 };
            let depth = problem.n as u32;
            let stages = vec![
                Stage { sums: Buffer::Scratch(0), holds, depth },
                Stage { sums: Buffer::Result, holds: Holds::ALL, depth },
            ];
            let launches = vec![played::launch(problem, 2, args, stages)];
            Plan { launches, scratch: vec![Scratch::Partials(2)] }
        });
        Step { fixed_order: true, ..step }
    };

    #[test]
    fn bits_of_partial_sums_are_compared() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let values = &Workload::<f32>::new(&device, Input::Uniform, 4096, 1).unwrap().values;
        let wrong = |text: String| {
            let settings = &Settings { checks: Some(Vec::new()), ..Settings::default() };
            let block = Block::new(64).unwrap();
            let plan = (STRIDED.plan)(&device.problem(4096, block, Element::F32));
            let asked = Asked {
                step: &STRIDED,
                ptx: &played::ptx(text),
                values,
                block,
                settings,
                other_type: false,
            };
            wrong_in_other_orders(asked, &plan).unwrap().map(|wrong| wrong.to_string())
        };
        let said = wrong(strided_by_sms()).expect("the bits depend on the GPU");
        assert!(said.contains("partial sum 0 of the first 4096"), "{said}");
        assert_eq!(wrong(strided_by_sms().replace("%lane, 1;", "%lane, %lane;")), None);
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
        scale(&mut cancelling);
        assert!(sum(&cancelling).abs() < 640.0);
        assert!(cancelling.iter().map(|x| x.abs()).sum::<f64>() > 60_000.0);
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
            let ptx = &played::ptx(HASTY);
            let settings = &Settings { checks: Some(Vec::new()), ..Settings::default() };
            let (values, block) = (&[1i32; 4096][..], Block::new(64).unwrap());
            let device = Device::open(Choice::Simt, settings).unwrap();
            let plan = (step.plan)(&device.problem(4096, block, Element::I32));
            let asked = Asked { step, ptx, values, block, settings, other_type: false };
            wrong_in_other_orders(asked, &plan).unwrap().map(|wrong| wrong.to_string())
        };
        let said = wrong(&TALKS).expect("the last block may run first");
        assert!(said.contains("ran in the order adversarial:"), "{said}");
        assert!(said.contains("`--n 4096 --schedule adversarial:"), "{said}");
        assert!(said.contains("let no block use a value before"), "{said}");
        assert_eq!(wrong(&SILENT), None);
    }
}
