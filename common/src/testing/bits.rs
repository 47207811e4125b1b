//! Tests that a step's sum is bit-identical in every run and on every device.

use std::{collections::BTreeMap, rc::Rc};

use super::{
    gpu::{gpu, interpreter},
    sums::blocks,
};
use crate::{
    Element, Step,
    device::{Check, Device, Settings},
    plan::{Block, Chip, Problem},
    ptx,
    run::{Checked, Job},
    sum::{Input, Workload},
};

/// Sizes with one chunk, with a few chunks, and with an incomplete chunk.
const SIZES: [u64; 4] = [1000, (1 << 14) + 1, 3 << 13, 77_777];

/// Checks that a step's sums are bit-identical: in two orders of execution, with its smallest and
/// largest blocks, on three grids, at two alignments, and on the GPU if there is one.
pub fn same_bits(step: &Step) {
    let mut patterns = Patterns::new();
    let blocks: Vec<Block> = blocks(step).collect();
    let ends = [&blocks[..1], &blocks[1..][blocks.len().saturating_sub(2)..]].concat();
    orders(step, &ends, simt::Schedule::Converged, &[1, 20], &mut patterns);
    orders(step, &ends, simt::Schedule::Adversarial(0), &[3], &mut patterns);
    if let Some(device) = gpu(step) {
        // The GPU must reproduce the interpreter's bits at the largest size too.
        let most = (1 << 24) + 13;
        patterns.insert(most, interpreted(step, most));
        // There are ten thousand runs: 5 block sizes, 2 offsets and 200 grids, at 5 sizes.
        let grids: Vec<u32> = (1..=200).collect();
        bits(step, &device, &[&SIZES[..], &[most]].concat(), &blocks, &grids, &mut patterns);
    }
}

/// Like [`same_bits`] in the interpreter, but in six orders of execution, with all block sizes and
/// twenty grids, and with the step's variants.
pub fn same_bits_sweep(step: &Step) {
    let mut patterns = Patterns::new();
    let blocks: Vec<Block> = blocks(step).collect();
    for schedule in (0..4).map(simt::Schedule::Adversarial).chain([simt::Schedule::MinPc]) {
        orders(step, &blocks, schedule, &[1], &mut patterns);
    }
    let grids: Vec<u32> = (1..=20).collect();
    orders(step, &blocks, simt::Schedule::Converged, &grids, &mut patterns);
    for variant in step.variants.iter().filter(|variant| variant.fixed_order) {
        let block = variant.block(None);
        orders(variant, &[block], simt::Schedule::Converged, &[2], &mut Patterns::new());
    }
}

fn orders(
    step: &Step,
    blocks: &[Block],
    schedule: simt::Schedule,
    grids: &[u32],
    patterns: &mut Patterns,
) {
    let device = interpreter(&Settings { schedule, ..Settings::default() });
    bits(step, &device, &SIZES, blocks, grids, patterns);
}

/// Like [`same_bits`], but for one size on the multiprocessors of an H200, in one order and with
/// every check. This tests code that runs only for long inputs, such as the refilling of a ring.
pub fn same_bits_at(step: &Step, n: u64, schedule: simt::Schedule) {
    let checks = Some(Check::ALL.to_vec());
    let device = interpreter(&Settings { schedule, checks, ..Settings::default() });
    let blocks: Vec<Block> = blocks(step).collect();
    bits(step, &device, &[n], &blocks, &[132], &mut Patterns::new());
}

/// Returns the interpreter's sum of the elements that [`bits`] adds, from one run without checks,
/// with the step's first block size.
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
    let job = Job::with_program(&device, step, &program, problem).unwrap();
    job.verify(&workload)
        .and_then(Checked::into_verified)
        .unwrap_or_else(|error| panic!("{error}"))
        .sum
        .as_f64()
}

/// The first sum for each size.
type Patterns = BTreeMap<u64, f64>;

/// Collects the bits of sums on `sms` multiprocessors, for each size, block size and offset. All
/// sums for a size must have the same bits, on every device.
fn bits(
    step: &Step,
    device: &Device,
    sizes: &[u64],
    blocks: &[Block],
    grids: &[u32],
    patterns: &mut Patterns,
) {
    let text = ptx::of(&step.kernel, Element::F32, None).expect("the committed PTX");
    let program = Rc::new(device.load(&text).unwrap_or_else(|error| panic!("{error}")));
    for &n in sizes {
        for offset in [0, 1] {
            let workload = Workload::<f32>::shifted(device, Input::Signed, n, 7, offset).unwrap();
            if step.check_alignment(workload.warm()).is_err() {
                continue;
            }
            let (mut last, mut same) = (None, 0);
            for &block in blocks {
                for &sms in grids {
                    let chip = Chip { sms, ..device.facts().chip };
                    let problem = Problem { n, block, element: Element::F32, chip };
                    let plan = (step.plan)(&problem);
                    // A step whose plan does not depend on the number of multiprocessors needs
                    // fewer runs.
                    same = if last.as_ref() == Some(&plan) { same + 1 } else { 0 };
                    if same >= grids.len() {
                        continue;
                    }
                    last = Some(plan.clone());
                    let job = Job::with_program(device, step, &program, problem).unwrap();
                    // If there are few multiprocessors, a block has many chunks.
                    let watched = match device {
                        Device::Simt(simt) if sms <= 2 || sizes.len() == 1 => Some(simt),
                        _ => None,
                    };
                    if let Some(simt) = watched {
                        simt.watch(n);
                    }
                    let sum = job.verify(&workload).and_then(Checked::into_verified);
                    // The next run starts with the state that this run leaves.
                    job.launch(&job.calls(workload.warm()).unwrap()).unwrap();
                    job.verify_last(&workload).and_then(Checked::into_verified).unwrap();
                    assert!(job.state_is_reset().unwrap(), "{} leaves state behind", step.name);
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
