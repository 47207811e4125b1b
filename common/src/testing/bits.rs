//! The same bits in every run and on every device.

use std::{collections::BTreeMap, ops::RangeInclusive, rc::Rc};

use super::{
    gpu::{gpu, interpreter},
    sums::blocks,
};
use crate::{
    Element, Step,
    device::{Check, Device, Settings},
    plan::{Chip, Problem},
    ptx,
    run::{Checked, Job},
    sum::{Input, Workload},
};

/// Sizes at which a step has one chunk, a few, and one that is not whole.
const SIZES: [u64; 4] = [1000, (1 << 14) + 1, 3 << 13, 77_777];

/// Holds a step's sums against each other: the same bits in every run, for every block size, grid,
/// number of multiprocessors, order of execution, and wherever the slice begins.
pub fn same_bits(step: &Step) {
    let mut patterns = Patterns::new();
    let schedules = (0..4).map(simt::Schedule::Adversarial).chain([simt::Schedule::MinPc]);
    for schedule in schedules.chain([simt::Schedule::Converged]) {
        let device = interpreter(&Settings { schedule, ..Settings::default() });
        let most = if schedule == simt::Schedule::Converged { 20 } else { 1 };
        bits(step, &device, &SIZES, 1..=most, &mut patterns);
    }
    if let Some(device) = gpu(step) {
        // The interpreter's bits at the largest size too: the GPU has them, or is wrong.
        let most = (1 << 24) + 13;
        patterns.insert(most, interpreted(step, most));
        // Ten thousand runs: 5 block sizes, 2 offsets, and as many grids at 5 sizes.
        bits(step, &device, &[&SIZES[..], &[most]].concat(), 1..=200, &mut patterns);
    }
}

/// As [`same_bits`], of one size on the multiprocessors of an H200, with every check: for what has
/// to be long before it goes wrong, as a ring that is filled again.
pub fn same_bits_at(step: &Step, n: u64) {
    for schedule in [simt::Schedule::Converged, simt::Schedule::Adversarial(0)] {
        let device = interpreter(&Settings {
            schedule,
            checks: Some(Check::ALL.to_vec()),
            ..Settings::default()
        });
        bits(step, &device, &[n], 132..=132, &mut Patterns::new());
    }
}

/// The interpreter's sum of the elements that [`bits`] adds: once, without a check, in blocks of the
/// first size.
fn interpreted(step: &Step, n: u64) -> f64 {
    let device = interpreter(&Settings::default());
    let text = ptx::of(&step.kernel, Element::F32, None).expect("the committed PTX");
    let program = Rc::new(device.load(&text).unwrap_or_else(|error| panic!("{error}")));
    let workload = Workload::<f32>::shifted(&device, Input::Signed, n, 7, 0).unwrap();
    let problem = Problem {
        n,
        block: blocks(step).next().expect("a block size"),
        element: Element::F32,
        chip: device.facts().chip,
    };
    let job = Job::with(&device, step, &program, problem).unwrap();
    job.verify(&workload)
        .and_then(Checked::right)
        .unwrap_or_else(|error| panic!("{error}"))
        .sum
        .as_f64()
}

/// The first sum that was seen of each size.
type Patterns = BTreeMap<u64, f64>;

/// The bits of a sum on so many multiprocessors, for each size, block size and offset: one pattern a
/// size, whichever device saw it first.
fn bits(
    step: &Step,
    device: &Device,
    sizes: &[u64],
    grids: RangeInclusive<u32>,
    patterns: &mut Patterns,
) {
    let text = ptx::of(&step.kernel, Element::F32, None).expect("the committed PTX");
    let program = Rc::new(device.load(&text).unwrap_or_else(|error| panic!("{error}")));
    for &n in sizes {
        for offset in [0, 1] {
            let workload = Workload::<f32>::shifted(device, Input::Signed, n, 7, offset).unwrap();
            if step.reads(workload.warm()).is_err() {
                continue;
            }
            let (mut last, mut same) = (None, 0);
            for block in blocks(step) {
                for sms in grids.clone() {
                    let chip = Chip { sms, ..device.facts().chip };
                    let problem = Problem { n, block, element: Element::F32, chip };
                    let plan = (step.plan)(&problem);
                    // A step may ask for a shape of its own: it need not run that often.
                    same = if last.as_ref() == Some(&plan) { same + 1 } else { 0 };
                    if same >= grids.clone().count() {
                        continue;
                    }
                    last = Some(plan.clone());
                    let job = Job::with(device, step, &program, problem).unwrap();
                    // On few multiprocessors a block has many parts.
                    let watched = match device {
                        Device::Simt(simt) if sms <= 2 || sizes.len() == 1 => Some(simt),
                        _ => None,
                    };
                    if let Some(simt) = watched {
                        simt.watch(n);
                    }
                    let sum = job.verify(&workload).and_then(Checked::right);
                    // What a run leaves behind is what the next one finds.
                    job.launch(&job.calls(workload.warm()).unwrap()).unwrap();
                    job.verify_last(&workload).and_then(Checked::right).unwrap();
                    assert!(job.left_as_found().unwrap(), "{} leaves something behind", step.name);
                    if let Some(finding) = watched.and_then(|s| s.observed().findings.pop()) {
                        panic!("{} on {n}, {sms} multiprocessors: {finding}", step.name);
                    }
                    let sum = sum.unwrap_or_else(|error| panic!("{error}")).sum.as_f64();
                    let expected = *patterns.entry(n).or_insert(sum);
                    assert_eq!(
                        sum.to_bits(),
                        expected.to_bits(),
                        "{}: {n} elements, {offset} left out, blocks of {}, {sms} multiprocessors: {sum}, was {expected}",
                        step.name,
                        block.threads()
                    );
                }
            }
        }
    }
}
