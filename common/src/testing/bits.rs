//! The same bits in every run and on every device.

use std::rc::Rc;

use super::gpu::{gpu, interpreter};
use crate::{
    Element, Step,
    device::{Device, Settings},
    plan::{Block, Problem},
    ptx,
    run::{Checked, Job},
    sum::{Input, Workload},
};

/// Sizes at which a step has one chunk, a few, and one that is not whole.
const SIZES: [u64; 4] = [1000, (1 << 14) + 1, 3 << 13, 77_777];

/// Holds a step's sums against each other: the same bits in every run, for every block size, grid,
/// number of multiprocessors, order of execution, and wherever the slice begins.
pub fn same_bits(step: &Step) {
    let schedules = (0..4).map(simt::Schedule::Adversarial).chain([simt::Schedule::MinPc]);
    for schedule in schedules.chain([simt::Schedule::Converged]) {
        let device = interpreter(&Settings { schedule, ..Settings::default() });
        bits(step, &device, &SIZES, if schedule == simt::Schedule::Converged { 20 } else { 1 });
    }
    if let Some(device) = gpu(step) {
        // Ten thousand runs: 5 block sizes, 2 offsets, and as many grids at 5 sizes.
        bits(step, &device, &[&SIZES[..], &[(1 << 24) + 13]].concat(), 200);
    }
}

/// The bits of a sum on `grids` grids for each size, block size and offset: one pattern a size.
fn bits(step: &Step, device: &Device, sizes: &[u64], grids: u32) {
    let text = ptx::of(&step.kernel, Element::F32, None).expect("the committed PTX");
    let program = Rc::new(device.load(&text).unwrap_or_else(|error| panic!("{error}")));
    for &n in sizes {
        let mut first = None;
        for offset in [0, 1] {
            let workload = Workload::<f32>::shifted(device, Input::Signed, n, 7, offset).unwrap();
            let (mut last, mut same) = (None, 0);
            for block in Block::ALL {
                for sms in 1..=grids {
                    let problem = Problem { n, block, element: Element::F32, sms };
                    let plan = (step.plan)(&problem);
                    // A step may ask for a shape of its own: it need not run that often.
                    same = if last.as_ref() == Some(&plan) { same + 1 } else { 0 };
                    if same >= grids {
                        continue;
                    }
                    last = Some(plan.clone());
                    let job = Job::with(device, step, &program, problem).unwrap();
                    let sum = job.verify(&workload).and_then(Checked::right);
                    let sum = sum.unwrap_or_else(|error| panic!("{error}")).sum.as_f64();
                    let expected = *first.get_or_insert(sum);
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
