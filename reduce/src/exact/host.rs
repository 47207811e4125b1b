//! Exact sums on all cores of the CPU.

use rayon::prelude::*;

use super::{ExactAccumulator, ExactElement};
use crate::{
    Rows,
    error::{Result, same_length},
};

/// The number of elements that one task adds, which is large enough that bins are emptied rarely.
const RUN: usize = 1 << 16;

/// Returns the exact sum of a slice, rounded once: to nearest, ties to even.
pub fn exact_sum<T: ExactElement>(slice: &[T]) -> T::Output {
    merged(slice.par_chunks(RUN), |sum, run| sum.add(run)).round()
}

/// Returns the exact sum of the products of corresponding elements in two slices, rounded once.
///
/// # Errors
/// One slice is longer than the other.
pub fn exact_dot<T: ExactElement>(a: &[T], b: &[T]) -> Result<T::Output> {
    same_length(a.len(), b.len())?;
    Ok(dot(a, b).round())
}

/// Returns the exact sum of the squares of a slice's elements, rounded once.
pub fn exact_sum_of_squares<T: ExactElement>(slice: &[T]) -> T::Output {
    dot(slice, slice).round()
}

/// Returns the square root of the exact sum of the squares of a slice's elements, rounded once: to
/// nearest, ties to even.
pub fn exact_norm<T: ExactElement>(slice: &[T]) -> T::Output {
    dot(slice, slice).round_sqrt()
}

/// Returns the exact sum of each row of a slice, rounded once.
///
/// # Errors
/// The same errors as for [`sum_rows`](crate::host::sum_rows).
pub fn exact_sum_rows<T: ExactElement>(slice: &[T], rows: Rows) -> Result<Vec<T::Output>> {
    rows.check(slice.len() as u64, u64::MAX)?;
    let (count, elements, pitch) = rows.numbers();
    let row = |row: usize| exact_sum(&slice[row * pitch as usize..][..elements as usize]);
    Ok((0..count as usize).into_par_iter().map(row).collect())
}

/// Returns the dot product of two slices of the same length.
fn dot<T: ExactElement>(a: &[T], b: &[T]) -> ExactAccumulator<T::Output> {
    let runs = a.par_chunks(RUN).zip(b.par_chunks(RUN));
    merged(runs, |sum, (a, b)| sum.add_pairs(a, b))
}

/// Returns an accumulator that holds the elements of all runs.
fn merged<A: super::ExactFloat, R>(
    runs: impl IndexedParallelIterator<Item = R>,
    add: impl Fn(&mut ExactAccumulator<A>, R) + Sync + Send,
) -> ExactAccumulator<A> {
    let new = ExactAccumulator::new;
    let sums = runs.fold(new, |mut sum, run| {
        add(&mut sum, run);
        sum
    });
    sums.reduce(new, |mut a, b| {
        a.join(&b);
        a
    })
}
