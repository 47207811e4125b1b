//! Tests a step on awkward sizes, in every type and block size.

use super::{
    gpu::{gpu, interpreter},
    gpus::{GPUS, gpus},
};
use crate::{
    Element, Result, Step,
    device::{Device, Settings},
    plan::{Block, Buffer, Chip, Holds, Launch, Plan, Problem, Scratch},
    ptx,
    run::{self, Job, Samples},
    sum::{Input, Scalar, Workload},
};

/// Sizes at which kernels often fail: zero, one, and both sides of a warp, a block and a tile.
pub const AWKWARD: [u64; 16] =
    [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1023, 1025, (1 << 16) + 13, (1 << 20) + 13];

/// The largest size that a test in the interpreter adds.
const INTERPRETED: u64 = 1 << 17;

/// The largest size for which the checks are quick.
const LONG: u64 = 1 << 13;

/// Sizes for slower orders of execution: less than a warp, a few blocks, and many blocks.
const FEW: [u64; 3] = [31, 1025, (1 << 14) + 13];

/// An input, and the number of elements that are left out before it. The input consists of signed
/// random values, or of zeros with a single 1 at the end, and is aligned or unaligned.
type Slice = (fn(u64) -> Input, u64);
const SIGNED: fn(u64) -> Input = |_| Input::Signed;
const LAST: fn(u64) -> Input = |n| Input::OneHot(n.saturating_sub(1));
const SLICES: [Slice; 4] = [(SIGNED, 0), (SIGNED, 1), (LAST, 0), (LAST, 3)];

/// Checks a step's plans against its PTX, and verifies its sums: at awkward sizes in all types and
/// two orders of execution, with its smallest and largest blocks, on another simulated GPU, and on
/// the real GPU if there is one. The step's variants are tested at a few sizes.
pub fn check(step: &Step) {
    plans(step);
    let interpreted: Vec<u64> = AWKWARD.into_iter().filter(|&n| n < INTERPRETED).collect();
    sums(step, &interpreter(&Settings::default()), &interpreted, Extent::Ends);
    sums(step, &in_order(simt::Schedule::Adversarial(1)), &FEW, Extent::Ends);
    gpus(step, &GPUS[..2]);
    on_the_gpu(step);
    for variant in step.variants {
        plans(variant);
        for schedule in [simt::Schedule::Converged, simt::Schedule::Adversarial(1)] {
            sums(variant, &in_order(schedule), &FEW[..2], Extent::Ends);
        }
        on_the_gpu(variant);
    }
}

/// Like [`check`], but with all block sizes, four orders of execution and six GPUs; variants are
/// tested like steps.
pub fn sweep(step: &Step) {
    let interpreted: Vec<u64> = AWKWARD.into_iter().filter(|&n| n < INTERPRETED).collect();
    sums(step, &interpreter(&Settings::default()), &interpreted, Extent::All);
    let adversarial = [1, 2].map(simt::Schedule::Adversarial);
    for schedule in adversarial.into_iter().chain([simt::Schedule::MinPc]) {
        sums(step, &in_order(schedule), &FEW, Extent::All);
    }
    gpus(step, &GPUS);
    step.variants.iter().for_each(sweep);
}

fn in_order(schedule: simt::Schedule) -> Device {
    interpreter(&Settings { schedule, ..Settings::default() })
}

fn on_the_gpu(step: &Step) {
    if let Some(device) = gpu(step) {
        sums(step, &device, &AWKWARD, Extent::All);
    }
}

/// The block sizes and alignments that are tried at each size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Tests the smallest blocks with two of the inputs, and the largest blocks with the other two;
    /// for `i32` and `f64`, each of the two block sizes has only one input. For sizes above
    /// [`LONG`], tests one block size with one input; for `f32`, tests both block sizes, each with
    /// one input.
    Ends,
    /// Tests all block sizes with all inputs.
    All,
}

impl Extent {
    fn cases(self, step: &Step, element: Element, n: u64) -> Vec<(Block, Slice)> {
        let blocks: Vec<Block> = blocks(step).collect();
        match (self, &blocks[..]) {
            (Extent::Ends, [first, .., last]) => {
                let [a, b, c, d] = SLICES;
                if n > LONG {
                    return match element {
                        Element::I32 => vec![(*first, d)],
                        Element::F64 => vec![(*last, b)],
                        _ => vec![(*first, d), (*last, b)],
                    };
                }
                match element {
                    Element::I32 => vec![(*first, a), (*last, c)],
                    Element::F64 => vec![(*first, d), (*last, b)],
                    _ => vec![(*first, a), (*first, d), (*last, b), (*last, c)],
                }
            }
            (Extent::Ends, [only]) if n > LONG => vec![(*only, SLICES[1]), (*only, SLICES[3])],
            _ => {
                let slices = |block: &Block| SLICES.map(|slice| (*block, slice));
                blocks.iter().flat_map(slices).collect()
            }
        }
    }
}

/// Returns the block sizes that the step supports.
pub(super) fn blocks(step: &Step) -> impl Iterator<Item = Block> {
    Block::ALL.into_iter().filter(|&block| step.check_block(block).is_ok())
}

/// Tests that the PTX has the entry point for every launch in a plan, with as many parameters as
/// there are arguments, and that each launch adds all partial sums of the previous one.
fn plans(step: &Step) {
    assert!(blocks(step).count() > 0, "{} takes a block size", step.name);
    for element in Element::ALL {
        let text = ptx::of(&step.kernel, element, None).expect("the committed PTX").text;
        let most = if element == Element::F32 { 1 << 21 } else { INTERPRETED };
        for block in blocks(step) {
            for n in AWKWARD.into_iter().chain([1 << 28, (1 << 32) + 13]) {
                let plan = (step.plan)(&Problem { n, block, element, chip: Chip::H200 });
                plan.check(&Chip::H200).unwrap();
                let mut remaining = n;
                for launch in &plan.launches {
                    let entry = format!(".visible .entry {}(", launch.entry);
                    let parameters = text
                        .split_once(&entry)
                        .unwrap_or_else(|| panic!("no {entry} in the PTX of {}", step.name))
                        .1;
                    let parameters = parameters.split_once(')').expect("a parameter list").0;
                    assert_eq!(
                        parameters.matches(".param").count(),
                        launch.args.len(),
                        "{}",
                        launch.entry
                    );
                    assert_eq!(
                        launch.n, remaining,
                        "{}: a launch must add all sums of the previous launch",
                        step.name
                    );
                    for stage in &launch.stages {
                        holds_all(step, &stage.holds, remaining, most);
                        remaining = stage.holds.count();
                    }
                }
                assert_eq!(
                    (remaining, plan.launches.last().map(Launch::output)),
                    (1, Some(Buffer::Result))
                );
            }
        }
    }
}

/// Tests that no sum of a stage is empty and that the sums hold all elements, if there are at most
/// `most` elements.
fn holds_all(step: &Step, holds: &Holds, n: u64, most: u64) {
    let held = |index| holds.ranges(n, index).map(|range| range.end - range.start).sum::<u64>();
    let (name, count) = (step.name, holds.count());
    // The last matrix may be incomplete, so a sum in its part may have no element, but no part may
    // be empty.
    let last = match *holds {
        Holds::Matrices { tile, count, .. } => {
            (count - 1).saturating_mul(tile) < n.div_ceil(Holds::ENTRIES)
        }
        _ => held(count - 1) > 0,
    };
    assert!(n == 0 || (held(0) > 0 && last), "{name}: {holds:?} of {n}");
    if n <= most {
        assert_eq!((0..count).map(held).sum::<u64>(), n, "{name}: {holds:?} of {n}");
    }
}

fn sums(step: &Step, device: &Device, sizes: &[u64], extent: Extent) {
    // The device keeps only the last module that it loaded.
    let all = |of_type: fn(&Step, &Device, u64, Extent) -> Result<()>| {
        for &n in sizes {
            of_type(step, device, n, extent).unwrap_or_else(|error| panic!("{error}"));
        }
    };
    all(of_type::<f32>);
    all(of_type::<i32>);
    all(of_type::<f64>);
}

fn of_type<T: Scalar>(step: &Step, device: &Device, n: u64, extent: Extent) -> Result<()> {
    let text = ptx::of(&step.kernel, T::ELEMENT, None)?;
    let mut tried: Vec<(Plan, u64, Input)> = Vec::new();
    for (block, (input, offset)) in extent.cases(step, T::ELEMENT, n) {
        let (plan, input) = ((step.plan)(&device.problem(n, block, T::ELEMENT)), input(n));
        // A step may have a fixed block size, and an empty input has no last element.
        if (n == 0 && input != Input::Signed) || tried.contains(&(plan.clone(), offset, input)) {
            continue;
        }
        tried.push((plan, offset, input));
        let workload = Workload::<T>::shifted(device, input, n, 7, offset)?;
        if step.check_alignment(workload.warm()).is_err() {
            assert!(offset > 0, "{} refuses an address at the beginning of its memory", step.name);
            continue;
        }
        let samples = Samples { count: 1, warm: true };
        let outcome = run::run(step, &text, device, &workload, block, samples)?;
        if let Some(wrong) = outcome.wrong {
            panic!("{input}, {offset} elements left out: {wrong}");
        }
        if let Some(finding) = outcome.observed.iter().find_map(|seen| seen.findings.first()) {
            panic!("{} on {n} {}: {finding}", step.name, T::ELEMENT);
        }
        // The next run starts with the state that this run leaves.
        let kept = |kind: &Scratch| !matches!(kind, Scratch::Partials(_));
        if outcome.plan.scratch.iter().any(kept) {
            let job = Job::load(device, step, &text, device.problem(n, block, T::ELEMENT))?;
            job.verify(&workload)?.into_verified()?;
            assert!(job.state_is_reset()?, "{} leaves state behind", step.name);
        }
    }
    Ok(())
}
