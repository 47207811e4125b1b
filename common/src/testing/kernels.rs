//! Tests that every kernel runs, and that the verdict detects an element that a kernel loses.

use std::collections::BTreeSet;

use super::{gpu::interpreter, sums::blocks};
use crate::{
    Element, Step,
    device::{Device, Settings},
    plan::{Arg, Block, Plan},
    ptx,
    run::Job,
    sum::{Input, Scalar, Workload},
};

/// Input sizes: the smallest gives a few partial sums, and the largest gives several chunks of a
/// long row. The largest size is the largest for which a study has an entry point.
const SIZES: [u64; 10] =
    [601, 1031, 3001, 5003, 20_011, 40_009, 100_003, 200_003, 400_009, 600_011];

/// Launches each entry point of the steps and their variants once, with one element too few, and
/// checks that the verdict reports a wrong sum.
///
/// # Panics
/// Panics if a sum is verified, or if no plan launches an entry point.
pub fn every_kernel<'s>(steps: impl IntoIterator<Item = &'s Step>) {
    tried(steps, &[Element::F32], false);
}

/// Like [`every_kernel`], but with all types, block sizes and launches of every plan.
pub fn every_kernel_sweep<'s>(steps: impl IntoIterator<Item = &'s Step>) {
    tried(steps, &Element::ALL, true);
}

fn tried<'s>(steps: impl IntoIterator<Item = &'s Step>, elements: &[Element], all: bool) {
    let device = interpreter(&Settings { checks: Some(Vec::new()), ..Settings::default() });
    let steps = steps.into_iter().flat_map(|step| [step].into_iter().chain(step.variants));
    let (mut known, mut lost) = (BTreeSet::new(), BTreeSet::new());
    for step in steps {
        for &element in elements {
            let text = step.kernel.ptx(element);
            let entries = text.lines().filter_map(|line| line.strip_prefix(".visible .entry "));
            let name = |entry: &str| (step.kernel.path, element.to_string(), entry.to_owned());
            known.extend(entries.map(|entry| name(entry.trim_end_matches('('))));
            for (block, n) in blocks(step).flat_map(|block| SIZES.map(|n| (block, n))) {
                let plan = (step.plan)(&device.problem(n, block, element));
                for (index, launch) in plan.launches.iter().enumerate() {
                    let fresh = !lost.contains(&name(&launch.entry));
                    if launch.stages.is_empty() {
                        // The launch adds nothing; for example, its kernel clears the sum.
                        lost.insert(name(&launch.entry));
                    } else if launch.n > 1 && (all || fresh) {
                        let lose = match element {
                            Element::F32 => lose::<f32>,
                            Element::I32 => lose::<i32>,
                            Element::F64 => lose::<f64>,
                        };
                        lose(step, &device, (n, block), &plan, index);
                        lost.insert(name(&launch.entry));
                    }
                }
            }
        }
    }
    let missing: Vec<_> = known.symmetric_difference(&lost).collect();
    assert!(missing.is_empty(), "no plan launches {missing:?}");
}

/// Verifies a plan in which one launch has one element too few.
fn lose<T: Scalar>(
    step: &Step,
    device: &Device,
    (n, block): (u64, Block),
    plan: &Plan,
    index: usize,
) {
    let launch = &plan.launches[index];
    let (entry, threads) = (&launch.entry, block.threads());
    let what = format!(
        "{} on {n} {}, launch {index} of {entry}, blocks of {threads}",
        step.name,
        T::ELEMENT
    );
    let workload = Workload::<T>::new(device, Input::Signed, n, 1).expect("an input");
    let text = ptx::of(&step.kernel, T::ELEMENT, None).expect("the committed PTX");
    let problem = device.problem(n, block, T::ELEMENT);
    let mut job = Job::load(device, step, &text, problem).expect(&what);
    let args = &mut job.plan_mut().launches[index].args;
    let length = args.iter_mut().find(|arg| **arg == Arg::U64(launch.n));
    *length.unwrap_or_else(|| panic!("{what}: no length")) = Arg::U64(launch.n - 1);
    let checked = job.verify(&workload).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(checked.wrong.is_some(), "{what} lost an element, but was verified");
}
