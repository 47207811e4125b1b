//! Sums, minima and maxima on all cores of the CPU. They use the same tree as the GPU, so the
//! results are bit-identical.
//!
//! ```
//! let ones = vec![1.0f32; 1 << 20];
//! assert_eq!(samebits::host::sum(&ones), 1048576.0);
//! assert_eq!(samebits::host::min(&[2.0, f32::NAN, 1.0]), 1.0);
//! ```

use rayon::prelude::*;

use crate::{Accumulator, Element, Operation, Shape, shape};
pub use crate::{
    exact::host::{exact_dot, exact_norm, exact_sum, exact_sum_of_squares, exact_sum_rows},
    rows::host::sum_rows,
};

/// Returns the sum of a slice, which is bit-identical to the sum on the GPU. The sum of an empty
/// slice is 0.
pub fn sum<T: Element>(slice: &[T]) -> T::Output {
    all(slice, Operation::Sum, T::Output::plus)
}

/// Returns the smallest element, ignoring NaNs, or NaN if all elements are NaN. For an empty slice,
/// returns the largest value of the type.
pub fn min<T: Element>(slice: &[T]) -> T::Output {
    all(slice, Operation::Min, T::Output::least)
}

/// Returns the largest element, ignoring NaNs, or NaN if all elements are NaN. For an empty slice,
/// returns the smallest value of the type.
pub fn max<T: Element>(slice: &[T]) -> T::Output {
    all(slice, Operation::Max, T::Output::most)
}

/// A function that combines two values.
pub(crate) trait Join<A>: Fn(A, A) -> A + Copy + Sync {}
impl<A, F: Fn(A, A) -> A + Copy + Sync> Join<A> for F {}

fn all<T: Element>(slice: &[T], operation: Operation, join: impl Join<T::Output>) -> T::Output {
    if slice.is_empty() {
        return T::Output::empty(operation);
    }
    let none = T::Output::none(operation);
    let shape = shape::pick(slice.len() as u64, size_of::<T>() as u64)
        .expect("a slice in memory is shorter than the longest one");
    let width = 16 / size_of::<T>();
    let chunk = shape.vectors() as usize * width;
    let threads = shape.threads() as usize;
    let chunks = slice.par_chunks(chunk).map(|chunk| warps(chunk, threads, none, join));
    match shape {
        Shape::Block { .. } => few(&warps(slice, threads, none, join), none, join),
        Shape::Spread { .. } => collect(&chunks.flatten_iter().collect::<Vec<_>>(), 32, none, join),
        Shape::Chunks { chunks: count, .. } => {
            let values: Vec<_> = chunks.map(|warps| few(&warps, none, join)).collect();
            collect(&values, if count <= 128 { 32 } else { threads }, none, join)
        }
    }
    .canonical()
}

/// Returns the value of each warp in a chunk. Thread t adds vectors t, t + threads, …, with a
/// separate sum for each element of a vector. Each round adds `threads` vectors to the sums of all
/// threads.
pub(crate) fn warps<T: Element>(
    chunk: &[T],
    threads: usize,
    none: T::Output,
    join: impl Join<T::Output>,
) -> Vec<T::Output> {
    let width = 16 / size_of::<T>();
    let mut sums = vec![none; threads * width];
    for round in chunk.chunks(sums.len()) {
        T::widened(round, |before, values| {
            for (sum, value) in sums[before..].iter_mut().zip(values) {
                *sum = join(*sum, *value);
            }
        });
    }
    let mut values: Vec<_> = sums.chunks_mut(width).map(|sums| halve(sums, join)).collect();
    values.chunks_mut(32).map(|warp| halve(warp, join)).collect()
}

/// Combines the upper half of the values with the lower half, until one value is left.
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

/// Combines the values of a block's warps in the order of a thread that reads 16 bytes at a time.
pub(crate) fn few<A: Copy>(values: &[A], none: A, join: impl Join<A>) -> A {
    let mut sums = vec![none; 16 / size_of::<A>()];
    for some in values.chunks(sums.len()) {
        for (sum, value) in sums.iter_mut().zip(some) {
            *sum = join(*sum, *value);
        }
    }
    halve(&mut sums, join)
}

/// Combines the values that blocks have published, in the order in which a warp or a block does so.
pub(crate) fn collect<A: Copy>(values: &[A], threads: usize, none: A, join: impl Join<A>) -> A {
    let mut sums = vec![none; threads];
    for round in values.chunks(threads) {
        for (sum, value) in sums.iter_mut().zip(round) {
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
    fn an_empty_slice_has_a_result() {
        assert_eq!(sum::<f32>(&[]), 0.0);
        assert_eq!((min::<f32>(&[]), max::<f64>(&[])), (f32::INFINITY, f64::NEG_INFINITY));
        assert_eq!((min::<i32>(&[]), max::<u64>(&[])), (i32::MAX, 0));
    }

    #[test]
    fn a_slice_of_nans_gives_the_canonical_nan() {
        for n in [1, 5, 5000, 100_000] {
            let none = vec![-f32::NAN; n];
            assert_eq!(min(&none).to_bits(), 0x7fff_ffff);
            assert_eq!(max(&none).to_bits(), 0x7fff_ffff);
            assert_eq!(sum(&none).to_bits(), 0x7fff_ffff);
        }
    }

    #[test]
    fn integers_wrap_and_shapes_cover_all_elements() {
        for n in [1, 31, 4097, 70_001, 140_000, 300_001, 1_400_003] {
            let values: Vec<i32> =
                (0..n).map(|i: i32| i.wrapping_mul(0x9E37_79B9u32 as i32)).collect();
            assert_eq!(sum(&values), values.iter().fold(0, |a: i32, b| a.wrapping_add(*b)), "{n}");
            assert_eq!(Some(min(&values)), values.iter().copied().min(), "{n}");
            assert_eq!(Some(max(&values)), values.iter().copied().max(), "{n}");
        }
    }
}
