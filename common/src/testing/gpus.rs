//! On other GPUs than an H200: older, smaller, of one multiprocessor.

use super::gpu::interpreter;
use crate::{
    Element, Error, Step,
    device::Settings,
    ptx,
    run::{self, Samples},
    sum::{Input, Workload},
};

/// GPUs that are played: with fewer threads and less shared memory, without clusters or with smaller
/// ones, of many multiprocessors and of one.
const GPUS: [&str; 6] = ["sm_70:80", "sm_86:28", "sm_120:170", "sm_70:1", "sm_90:1", "sm_120:1"];

/// Sizes of nothing, of a few blocks, and of many.
const SIZES: [u64; 3] = [0, 1025, (1 << 16) + 13];

/// Holds a step's sums against the exact ones on GPUs of other sizes: verified without a finding, or
/// refused because of what the GPU is.
pub(super) fn gpus(step: &Step) {
    let text = ptx::of(&step.kernel, Element::F32, None).expect("the committed PTX");
    let mut refused = 0;
    for name in GPUS {
        let gpu = name.parse().expect("a GPU that can be played");
        let device = interpreter(&Settings { gpu, ..Settings::default() });
        for n in SIZES {
            let workload = Workload::<f32>::new(&device, Input::Signed, n, 7).unwrap();
            let samples = Samples { count: 0, warm: true };
            match run::run(step, &text, &device, &workload, step.block(None), samples) {
                Ok(outcome) => {
                    let seen = outcome.observed.iter().find_map(|seen| seen.findings.first());
                    assert!(
                        outcome.wrong.is_none(),
                        "{} on {name}: {:?}",
                        step.name,
                        outcome.wrong
                    );
                    assert!(seen.is_none(), "{} on {name}: {seen:?}", step.name);
                }
                Err(Error::OldGpu { .. } | Error::Clusters { .. }) => refused += 1,
                Err(error) => panic!("{} on {name}: {error}", step.name),
            }
        }
    }
    // What needs the youngest architectures runs on half of these.
    assert!(refused <= SIZES.len() * GPUS.len() / 2, "{}: {refused} refused", step.name);
}
