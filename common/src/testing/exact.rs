//! Tests that a step's sum is the exact sum, rounded once.

use std::rc::Rc;

use numbers::mixed;

use super::gpu::{gpu, interpreter};
use crate::{
    Result, Step,
    device::{Device, Program, Settings},
    plan::Problem,
    ptx,
    run::Job,
    sum::{Scalar, Workload},
};

/// Elements and their exact sum, rounded once.
type Case<T> = (Vec<T>, T);

/// Checks the sums of known elements in single and double precision, bit for bit, for a step and
/// its variants, in the interpreter and on the GPU if there is one.
pub fn rounded_once(step: &Step) {
    let devices = [Some(interpreter(&Settings::default())), gpu(step)];
    for device in devices.iter().flatten() {
        for step in step.variants.iter().chain([step]) {
            let singles = singles().map(|(values, sum)| (sum.to_bits().into(), values));
            same(device, step, singles, |sum: f32| sum.to_bits().into());
            let doubles = doubles().map(|(values, sum)| (sum.to_bits(), values));
            same(device, step, doubles, f64::to_bits);
        }
    }
}

fn same<T: Scalar>(
    device: &Device,
    step: &Step,
    cases: impl Iterator<Item = (u64, Vec<T>)>,
    bits: impl Fn(T) -> u64,
) {
    let text = ptx::of(&step.kernel, T::ELEMENT, None).expect("the committed PTX");
    let program = Rc::new(device.load(&text).unwrap_or_else(|error| panic!("{error}")));
    for (expected, values) in cases {
        let sum = sum(device, step, &program, &values).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(bits(sum), expected, "{}: {values:?} gave {sum:?}", step.name);
    }
}

fn sum<T: Scalar>(device: &Device, step: &Step, program: &Rc<Program>, values: &[T]) -> Result<T> {
    let (n, block, chip) = (values.len() as u64, step.block(None), device.facts().chip);
    let job =
        Job::with_program(device, step, program, Problem { n, block, element: T::ELEMENT, chip })?;
    job.verify_once(&Workload::of_values(device, values.to_vec())?)?;
    let mut sum = [T::ZERO];
    job.fetch(bytemuck::cast_slice_mut(&mut sum))?;
    Ok(sum[0])
}

/// Returns test cases: single powers of two, ties, cancellation, and sums of random multiples of
/// powers of two.
fn singles() -> impl Iterator<Item = Case<f32>> {
    let powers = (-149..=127).step_by(3).map(|e| vec![-(2f64.powi(e) as f32)]);
    let powers = powers.map(|values| (values.clone(), values[0]));
    let ties = [
        (vec![-16_777_216.0, -3.0], -16_777_220.0),
        (vec![-16_777_216.0, -1.0, -2f32.powi(-60)], -16_777_218.0),
        (vec![1e30, 1.0, -1e30], 1.0),
        (vec![1e30, -1e30, -1.0, 0.0], -1.0),
    ];
    let random = (0..100).map(|case| {
        let (values, sum) = random(case, 24);
        // All values have at most 24 bits.
        (values.into_iter().map(|value| value as f32).collect(), sum as f32 * 2f32.powi(-60))
    });
    powers.chain(ties).chain(random)
}

/// Like [`singles`], in double precision.
fn doubles() -> impl Iterator<Item = Case<f64>> {
    let powers = (-1022..=1023).step_by(31).map(|e| vec![-(2f64.powi(e))]);
    let powers = powers.map(|values| (values.clone(), values[0]));
    let tie = 2f64.powi(53);
    let ties = [
        (vec![-tie, -3.0], -tie - 4.0),
        (vec![-tie, -1.0, -2f64.powi(-60)], -tie - 2.0),
        (vec![1e300, 1.0, -1e300], 1.0),
    ];
    let random = (100..140).map(|case| {
        let (values, sum) = random(case, 53);
        (values, sum as f64 * 2f64.powi(-60))
    });
    powers.chain(ties).chain(random)
}

/// Draws values whose significands have at most `bits` bits, and returns them with their exact sum
/// in units of 2^-60. The conversion of this sum to a float rounds once, to nearest, ties to even.
fn random(case: u64, bits: u32) -> (Vec<f64>, i128) {
    let terms = terms(case, bits);
    let sum = terms.iter().map(|(whole, power)| i128::from(*whole) << power).sum();
    let value = |&(whole, power): &(i64, u32)| whole as f64 * 2f64.powi(power as i32 - 60);
    (terms.iter().map(value).collect(), sum)
}

/// Draws up to eight pairs of an integer and a power of two. The integers have at most `bits` bits,
/// and have both signs or are all negative.
fn terms(case: u64, bits: u32) -> Vec<(i64, u32)> {
    let draw = |place: u64| mixed(case * 100 + place);
    let count = 1 + draw(0) % 8;
    let term = |k: u64| {
        let whole = (draw(3 * k + 1) >> (64 - bits)) as i64;
        let negative = case.is_multiple_of(2) || draw(3 * k + 2).is_multiple_of(2);
        (if negative { -whole } else { whole }, (draw(3 * k + 3) % 60) as u32)
    };
    (0..count).map(term).collect()
}
