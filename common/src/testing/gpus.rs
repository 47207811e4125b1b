//! Tests steps on GPUs that are older or smaller than an H200, or have only one multiprocessor.

use super::gpu::interpreter;
use crate::{
    Element, Error, Step,
    device::Settings,
    ptx,
    run::{self, Samples},
    sum::{Input, Workload},
};

/// The names of simulated GPUs. Compared with an H200, some have fewer threads, less shared memory,
/// smaller clusters or no clusters; some have many multiprocessors or only one.
pub(super) const GPUS: [&str; 6] =
    ["sm_86:28", "sm_90:1", "sm_70:80", "sm_120:170", "sm_70:1", "sm_120:1"];

/// Sizes with no elements, with a few blocks, and with many blocks.
const SIZES: [u64; 3] = [0, 1025, (1 << 16) + 13];

/// Verifies a step's sums on GPUs of other sizes. Each sum is correct and its run has no findings,
/// or the step is refused because of a limit of the GPU.
pub(super) fn gpus(step: &Step, names: &[&str]) {
    let text = ptx::of(&step.kernel, Element::F32, None).expect("the committed PTX");
    let mut refused = 0;
    for name in names {
        let gpu = name.parse().expect("a GPU that the interpreter can simulate");
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
    // A step for the newest architectures runs on half of these GPUs.
    assert!(refused <= SIZES.len() * names.len() / 2, "{}: {refused} refused", step.name);
}
