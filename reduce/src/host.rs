//! The same sums, minima and maxima on the CPU, by all its cores: the same tree, so the same bits.
//!
//! ```
//! let ones = vec![1.0f32; 1 << 20];
//! assert_eq!(reduce::host::sum(&ones), 1048576.0);
//! assert_eq!(reduce::host::min(&[2.0, f32::NAN, 1.0]), 1.0);
//! ```

use rayon::prelude::*;

pub use crate::rows::host::sum_rows;
use crate::{Accumulator, Element, Operation, Shape, shape};

/// The sum of a slice, 0 of nothing, with the bits that the GPU's has.
pub fn sum<T: Element>(slice: &[T]) -> T::Output {
    all(slice, Operation::Sum, T::Output::plus)
}

/// The smallest element that is a number; NaN if none is, and of nothing the largest value.
pub fn min<T: Element>(slice: &[T]) -> T::Output {
    all(slice, Operation::Min, T::Output::least)
}

/// The largest element that is a number; NaN if none is, and of nothing the smallest value.
pub fn max<T: Element>(slice: &[T]) -> T::Output {
    all(slice, Operation::Max, T::Output::most)
}

/// What joins two values.
pub(crate) trait Join<A>: Fn(A, A) -> A + Copy + Sync {}
impl<A, F: Fn(A, A) -> A + Copy + Sync> Join<A> for F {}

fn all<T: Element>(slice: &[T], operation: Operation, join: impl Join<T::Output>) -> T::Output {
    if slice.is_empty() {
        return T::Output::empty(operation);
    }
    let none = T::Output::none(operation);
    let shape = shape::pick(slice.len() as u64, size_of::<T>() as u64)
        .expect("no computer's memory holds more than a part can have");
    let lanes = 16 / size_of::<T>();
    let part = shape.words() as usize * lanes;
    let threads = shape.threads() as usize;
    let parts = slice.par_chunks(part).map(|part| warps(part, threads, none, join));
    match shape {
        Shape::Block { .. } => few(&warps(slice, threads, none, join), none, join),
        Shape::Spread { .. } => collect(&parts.flatten_iter().collect::<Vec<_>>(), 32, none, join),
        Shape::Chunks { parts: count, .. } => {
            let values: Vec<_> = parts.map(|warps| few(&warps, none, join)).collect();
            collect(&values, if count <= 128 { 32 } else { threads }, none, join)
        }
    }
    .canonical()
}

/// A part, one value a warp: thread t has the words t, t + threads, …, and a sum for each lane of a
/// word, so that a row of words is added to a row of sums.
pub(crate) fn warps<T: Element>(
    part: &[T],
    threads: usize,
    none: T::Output,
    join: impl Join<T::Output>,
) -> Vec<T::Output> {
    let lanes = 16 / size_of::<T>();
    let mut sums = vec![none; threads * lanes];
    for row in part.chunks(sums.len()) {
        T::widened(row, |before, values| {
            for (sum, value) in sums[before..].iter_mut().zip(values) {
                *sum = join(*sum, *value);
            }
        });
    }
    let mut values: Vec<_> = sums.chunks_mut(lanes).map(|lanes| halve(lanes, join)).collect();
    values.chunks_mut(32).map(|warp| halve(warp, join)).collect()
}

/// The upper half is joined to the lower one, until there is one value.
fn halve<A: Copy>(values: &mut [A], join: impl Join<A>) -> A {
    let mut half = values.len() / 2;
    while half > 0 {
        for i in 0..half {
            values[i] = join(values[i], values[i + half]);
        }
        half /= 2;
    }
    values[0]
}

/// The warps of a block, by one thread, which reads 16 bytes at a time.
pub(crate) fn few<A: Copy>(values: &[A], none: A, join: impl Join<A>) -> A {
    let mut sums = vec![none; 16 / size_of::<A>()];
    for some in values.chunks(sums.len()) {
        for (sum, value) in sums.iter_mut().zip(some) {
            *sum = join(*sum, *value);
        }
    }
    halve(&mut sums, join)
}

/// Values that came by mail, by a warp or a block.
pub(crate) fn collect<A: Copy>(values: &[A], threads: usize, none: A, join: impl Join<A>) -> A {
    let mut sums = vec![none; threads];
    for row in values.chunks(threads) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum = join(*sum, *value);
        }
    }
    let warps: Vec<_> = sums.chunks_mut(32).map(|warp| halve(warp, join)).collect();
    if warps.len() == 1 { warps[0] } else { few(&warps, none, join) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_a_result_too() {
        assert_eq!(sum::<f32>(&[]), 0.0);
        assert_eq!((min::<f32>(&[]), max::<f64>(&[])), (f32::INFINITY, f64::NEG_INFINITY));
        assert_eq!((min::<i32>(&[]), max::<u64>(&[])), (i32::MAX, 0));
    }

    #[test]
    fn nothing_but_nan_is_nan_and_every_nan_is_the_same() {
        for n in [1, 5, 5000, 100_000] {
            let none = vec![-f32::NAN; n];
            assert_eq!(min(&none).to_bits(), 0x7fff_ffff);
            assert_eq!(max(&none).to_bits(), 0x7fff_ffff);
            assert_eq!(sum(&none).to_bits(), 0x7fff_ffff);
        }
    }

    #[test]
    fn integers_wrap_and_shapes_lose_nothing() {
        for n in [1, 31, 4097, 70_001, 140_000, 300_001, 1_400_003] {
            let values: Vec<i32> =
                (0..n).map(|i: i32| i.wrapping_mul(0x9E37_79B9u32 as i32)).collect();
            assert_eq!(sum(&values), values.iter().fold(0, |a: i32, b| a.wrapping_add(*b)), "{n}");
            assert_eq!(Some(min(&values)), values.iter().copied().min(), "{n}");
            assert_eq!(Some(max(&values)), values.iter().copied().max(), "{n}");
        }
    }
}
