//! Random elements of every type, including special values.

use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use samebits::{Accumulator, Element, Operation};

/// An element type that can be drawn at random.
pub(crate) trait Drawn: Element {
    /// Draws an element for an operation.
    fn draw(rng: &mut ChaCha8Rng, operation: Operation) -> Self;
}

/// Returns a slice of `n` elements, which are the same in every call.
pub(crate) fn slice<T: Drawn>(n: usize, operation: Operation) -> Vec<T> {
    let mut rng = ChaCha8Rng::seed_from_u64(n as u64 + 1000 * operation as u64);
    (0..n).map(|_| T::draw(&mut rng, operation)).collect()
}

/// Returns the operations that are defined for a type.
#[allow(dead_code, reason = "not every test uses all operations")]
pub(crate) fn operations<T: Element>() -> Vec<Operation> {
    let defined = |operation: &Operation| T::FLOAT || !operation.needs_floats();
    Operation::ALL.iter().copied().filter(defined).collect()
}

/// Returns the bits of the result on the host.
#[allow(dead_code, reason = "not every test compares results of this kind")]
pub(crate) fn on_the_host<T: Element>(slice: &[T], operation: Operation) -> u64 {
    samebits::host::reduce(slice, operation).to_bits64()
}

/// Returns elements in which every second run of the given length has special elements: infinities,
/// NaNs, or only zeros of one sign. The runs between them have ordinary elements.
#[allow(dead_code, reason = "not every test has neighbours")]
pub(crate) fn mixed<T: Drawn>(lengths: &[usize], of: fn(f32) -> T) -> Vec<T> {
    let (infinite, nan) = (f32::INFINITY, f32::NAN);
    let patterns: [&[f32]; 5] =
        [&[infinite], &[nan], &[-infinite, infinite], &[-nan, 2.0], &[-0.0]];
    let mut values = slice::<T>(lengths.iter().sum(), Operation::Sum);
    let mut begin = 0;
    for (run, n) in lengths.iter().enumerate() {
        let (row, pattern) = (&mut values[begin..begin + n], patterns[run / 2 % 5]);
        begin += n;
        if run % 2 == 0 || *n == 0 {
            continue;
        }
        if pattern == [-0.0] {
            row.fill(of(-0.0));
        }
        // The first and the last element have neighbours in other rows.
        for (i, at) in [0, n / 2, n - 1].into_iter().enumerate() {
            row[at] = of(pattern[i % pattern.len()]);
        }
    }
    values
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl Drawn for $type {
            fn draw(rng: &mut ChaCha8Rng, _: Operation) -> $type {
                rng.random()
            }
        }
    )+};
}
integers! { i8 u8 i16 u16 i32 u32 i64 u64 bool }

macro_rules! floats {
    ($($type:ty, $from:expr;)+) => {$(
        impl Drawn for $type {
            // For minima and maxima, many elements are NaN, and there are zeros of both signs.
            fn draw(rng: &mut ChaCha8Rng, operation: Operation) -> $type {
                let from: fn(f32) -> $type = $from;
                let value = from(rng.random::<f32>() - 0.5);
                let numbers = matches!(
                    operation,
                    Operation::Min | Operation::Max | Operation::LargestMagnitude
                );
                match (operation, rng.random_range(0..8)) {
                    (_, 0) => value,
                    _ if !numbers => value,
                    (Operation::Min, 1) => from(0.0),
                    (Operation::Min, 2) => from(rng.random::<f32>()),
                    (_, 1) => from(-0.0),
                    (_, 2) => from(-rng.random::<f32>()),
                    (_, 3) => from(-f32::NAN),
                    _ => from(f32::NAN),
                }
            }
        }
    )+};
}
floats! {
    f32, |v| v;
    f64, f64::from;
    f16, f16::from_f32;
    bf16, bf16::from_f32;
}
