//! Right on every awkward size, in every type and block size.

use super::gpu::{gpu, interpreter};
use crate::{
    Element, Result, Step,
    device::{Device, Settings},
    plan::{Block, Buffer, Problem},
    ptx,
    run::{self, Samples},
    sum::{Input, Scalar, Workload},
};

/// Sizes at which kernels are wrong: nothing, one, and both sides of a warp, a block and a tile.
pub const AWKWARD: [u64; 16] =
    [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1023, 1025, (1 << 16) + 13, (1 << 20) + 13];

/// The largest size that the interpreter is given in a test.
const INTERPRETED: u64 = 1 << 17;

/// Holds a step's plans against its PTX, and its sums against the exact ones: on the
/// interpreter, and on the GPU if there is one.
pub fn check(step: &Step) {
    plans(step);
    sums(step, &interpreter(&Settings::default()));
    if let Some(device) = gpu(step) {
        sums(step, &device);
    }
}

/// Every launch that a plan names exists in the PTX, with as many parameters as arguments, and
/// the launches hand their partial sums on without a gap.
fn plans(step: &Step) {
    for element in Element::ALL {
        let text = ptx::of(&step.kernel, element, None).expect("the committed PTX").text;
        for block in Block::ALL {
            for n in AWKWARD.into_iter().chain([1 << 28, (1 << 32) + 13]) {
                let plan = (step.plan)(&Problem { n, block, element, sms: 132 });
                plan.check().unwrap();
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
                    if let Some(tile) = launch.tile {
                        assert!(
                            u64::from(launch.grid) * tile >= left,
                            "{}: {} blocks of {tile} miss some of {left}",
                            step.name,
                            launch.grid
                        );
                        assert!(
                            u64::from(launch.grid - 1) * tile <= left,
                            "{}: a block has nothing to do",
                            step.name
                        );
                    }
                    left = u64::from(launch.grid);
                }
                assert_eq!(plan.launches.last().map(|launch| launch.output), Some(Buffer::Result));
            }
        }
    }
}

fn sums(step: &Step, device: &Device) {
    let sizes =
        AWKWARD.into_iter().filter(|&n| matches!(device, Device::Cuda(_)) || n < INTERPRETED);
    for n in sizes {
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
        let mut last = None;
        for block in Block::ALL {
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
        }
    }
    Ok(())
}
