//! Tests that the verdict detects a single lost or duplicated element at a random index.
//!
//! Each step is tried a few times, on small inputs. The following commands make a thousand tries
//! over all steps, in the interpreter or, with larger inputs, on a GPU:
//!
//! ```text
//! DROP_TRIES=77 DROP_MOST=2^22 cargo test -p steps fault
//! DROP_TRIES=77 DROP_MOST=2^32 dist/test/steps.all fault
//! ```

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

use super::{
    gpu::{gpu, interpreter},
    sums::blocks,
};
use crate::{
    Element, Step,
    device::{Device, Settings},
    plan::{Block, Size},
    ptx,
    run::Job,
    sum::{Input, Scalar, Slip, Workload},
};

/// The default number of tries per step.
const TRIES: u64 = 6;

/// The number of elements in the interpreter's largest input; larger inputs would take hours.
const INTERPRETED: u64 = 1 << 22;

/// The largest input that is quick to draw, in elements.
const QUICK: u64 = 1 << 24;
/// Only one in this many tries may use a larger input, because drawing such an input takes seconds.
const SLOW: u64 = 30;

/// Tests the verdict on a step that has faults at random indices.
///
/// # Panics
/// Panics if a sum with a fault was verified, or if the inputs need a GPU and there is none.
pub fn faults(step: &Step) {
    let asked =
        |name: &str| std::env::var(name).ok().map(|text| text.parse::<Size>().expect(name).0);
    let (tries, most) =
        (asked("DROP_TRIES").unwrap_or(TRIES), asked("DROP_MOST").unwrap_or(1 << 15));
    hold(step, tries, most);
    for variant in step.variants {
        hold(variant, tries.min(2), most);
    }
}

fn hold(step: &Step, tries: u64, most: u64) {
    if most <= INTERPRETED {
        let quiet = interpreter(&Settings { checks: Some(Vec::new()), ..Settings::default() });
        many(step, &quiet, tries, most);
    }
    match gpu(step) {
        Some(device) => many(step, &device, tries, most),
        None => assert!(most <= INTERPRETED, "DROP_MOST above 2^22 needs a GPU"),
    }
}

fn many(step: &Step, device: &Device, tries: u64, most: u64) {
    let blocks: Vec<Block> = blocks(step).collect();
    // Each step gets different faults.
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    rng.set_stream(
        step.name.bytes().fold(0, |hash, byte| 31 * (hash % (1 << 56)) + u64::from(byte)),
    );
    let mut largest = 0;
    for number in 0..tries {
        let most = if number.is_multiple_of(SLOW) { most } else { most.min(QUICK) };
        // All orders of magnitude of the size are equally likely.
        let power = rng.random_range(0.0..=(most as f64).log2());
        let n = (power.exp2() as u64).clamp(1, most);
        largest = n.max(largest);
        let input = match rng.random_range(0..4) {
            0 => Input::Uniform,
            1 => Input::Ones,
            2 => Input::Signed,
            _ => Input::OneHot(rng.random_range(0..n)),
        };
        let slip = Slip { at: rng.random_range(0..n), twice: rng.random() };
        let block = blocks[rng.random_range(0..blocks.len())];
        match Element::ALL[rng.random_range(0..3)] {
            Element::F32 => one::<f32>(step, device, n, block, input, slip),
            Element::I32 => one::<i32>(step, device, n, block, input, slip),
            Element::F64 => one::<f64>(step, device, n, block, input, slip),
        }
    }
    let (name, on) = (step.name, &device.facts().name);
    eprintln!("{name}: {tries} faults caught on {on}, in up to {largest} elements");
}

fn one<T: Scalar>(step: &Step, device: &Device, n: u64, block: Block, input: Input, slip: Slip) {
    let (name, element, threads) = (step.name, T::ELEMENT, block.threads());
    let what = format!("{name} on {n} {element}, {input}, in blocks of {threads}, {slip:?}");
    let workload = Workload::<T>::new(device, input, n, slip.at).expect("an input");
    let text = ptx::of(&step.kernel, element, None).expect("the committed PTX");
    let problem = device.problem(n, block, element);
    let job = Job::load(device, step, &text, problem).expect("a kernel");
    let verify = || job.verify(&workload).unwrap_or_else(|error| panic!("{what}: {error}")).wrong;
    assert_eq!(verify(), None, "{what}: without the fault");
    workload.inject(device, slip).expect("a fault");
    let wrong = verify().unwrap_or_else(|| panic!("{what} is verified"));
    // The partial sum that the message names must hold the element.
    if let Some(first) = wrong.first.filter(|first| first.launch == 1) {
        assert!((first.first..=first.last).contains(&slip.at), "{what}: {wrong}");
    }
}
