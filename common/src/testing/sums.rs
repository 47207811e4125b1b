//! Right on every awkward size, in every type and block size.

use super::{
    gpu::{gpu, interpreter},
    gpus::gpus,
};
use crate::{
    Element, Result, Step,
    device::{Device, Settings},
    plan::{Block, Buffer, Chip, Holds, Launch, Problem, Scratch},
    ptx,
    run::{self, Job, Samples},
    sum::{Input, Scalar, Workload},
};

/// Sizes at which kernels are wrong: nothing, one, and both sides of a warp, a block and a tile.
pub const AWKWARD: [u64; 16] =
    [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1023, 1025, (1 << 16) + 13, (1 << 20) + 13];

/// The largest size that the interpreter is given in a test.
const INTERPRETED: u64 = 1 << 17;

/// Sizes for the orders of execution that take longer: less than a warp, a block, many of them.
const SCHEDULED: [u64; 3] = [31, 1025, (1 << 14) + 13];

/// Holds a step's plans against its PTX, and its sums against the exact ones: on the
/// interpreter, in four orders and as several GPUs, and on the GPU if there is one. Its variants too.
pub fn check(step: &Step) {
    plans(step);
    let interpreted: Vec<u64> = AWKWARD.into_iter().filter(|&n| n < INTERPRETED).collect();
    sums(step, &interpreter(&Settings::default()), &interpreted);
    let adversarial = [1, 2].map(simt::Schedule::Adversarial);
    for schedule in adversarial.into_iter().chain([simt::Schedule::MinPc]) {
        let settings = Settings { schedule, ..Settings::default() };
        sums(step, &interpreter(&settings), &SCHEDULED);
    }
    gpus(step);
    if let Some(device) = gpu(step) {
        sums(step, &device, &AWKWARD);
    }
    step.variants.iter().for_each(check);
}

/// The block sizes that a step takes.
pub(super) fn blocks(step: &Step) -> impl Iterator<Item = Block> {
    Block::ALL.into_iter().filter(|&block| step.takes(block).is_ok())
}

/// Every launch that a plan names exists in the PTX, with as many parameters as arguments, and
/// the launches hand their partial sums on without a gap.
fn plans(step: &Step) {
    assert!(blocks(step).count() > 0, "{} takes a block size", step.name);
    for element in Element::ALL {
        let text = ptx::of(&step.kernel, element, None).expect("the committed PTX").text;
        for block in blocks(step) {
            for n in AWKWARD.into_iter().chain([1 << 28, (1 << 32) + 13]) {
                let plan = (step.plan)(&Problem { n, block, element, chip: Chip::H200 });
                plan.check(&Chip::H200).unwrap();
                let mut left = n;
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
                        launch.n, left,
                        "{}: a launch adds what the one before it left",
                        step.name
                    );
                    for stage in &launch.stages {
                        holds_all(step, &stage.holds, left);
                        left = stage.holds.count();
                    }
                }
                assert_eq!(
                    (left, plan.launches.last().map(Launch::output)),
                    (1, Some(Buffer::Result))
                );
            }
        }
    }
}

/// The sums of a stage hold all of its elements, and none of them has nothing to do.
fn holds_all(step: &Step, holds: &Holds, n: u64) {
    let held = |index| holds.ranges(n, index).map(|range| range.end - range.start).sum::<u64>();
    let (name, count) = (step.name, holds.count());
    // The last matrix may lack entries, so that its part has a sum of nothing; no part may be empty.
    let last = match *holds {
        Holds::Matrices { tile, count, .. } => {
            (count - 1).saturating_mul(tile) < n.div_ceil(Holds::ENTRIES)
        }
        _ => held(count - 1) > 0,
    };
    assert!(n == 0 || (held(0) > 0 && last), "{name}: {holds:?} of {n}");
    if n <= 1 << 21 {
        assert_eq!((0..count).map(held).sum::<u64>(), n, "{name}: {holds:?} of {n}");
    }
}

fn sums(step: &Step, device: &Device, sizes: &[u64]) {
    for &n in sizes {
        of_type::<f32>(step, device, n).unwrap_or_else(|error| panic!("{error}"));
        of_type::<i32>(step, device, n).unwrap_or_else(|error| panic!("{error}"));
        of_type::<f64>(step, device, n).unwrap_or_else(|error| panic!("{error}"));
    }
}

fn of_type<T: Scalar>(step: &Step, device: &Device, n: u64) -> Result<()> {
    let text = ptx::of(&step.kernel, T::ELEMENT, None)?;
    let last = Input::OneHot(n.saturating_sub(1));
    // The last element alone; and a slice that begins between two words of 16 bytes.
    let inputs = [(Input::Signed, 0), (Input::Signed, 1), (last, 0), (last, 3)];
    for (input, offset) in inputs.into_iter().take(if n > 0 { 4 } else { 2 }) {
        let workload = Workload::<T>::shifted(device, input, n, 7, offset)?;
        if step.reads(workload.warm()).is_err() {
            assert!(offset > 0, "{} does not read memory from its beginning", step.name);
            continue;
        }
        let mut last = None;
        for block in blocks(step) {
            let plan = (step.plan)(&device.problem(n, block, T::ELEMENT));
            // A step may ask for a block size of its own.
            if last.replace(plan.clone()) == Some(plan) {
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
            // What a run leaves behind is what the next one finds.
            let kept = |kind: &Scratch| !matches!(kind, Scratch::Partials(_));
            if outcome.plan.scratch.iter().any(kept) {
                let job = Job::load(device, step, &text, device.problem(n, block, T::ELEMENT))?;
                job.verify(&workload)?.right()?;
                assert!(job.left_as_found()?, "{} leaves something behind", step.name);
            }
        }
    }
    Ok(())
}
