//! Exact sums on all cores of the CPU.

use std::ops::Range;

use super::{ExactAccumulator, ExactElement};
use crate::{
    Rows,
    error::{Result, same_length},
    threads::{each_row, in_parts},
};

/// The minimum number of elements that one task adds, chosen so that bins are emptied rarely.
const RUN: usize = 1 << 16;

/// Returns the exact sum of a slice, rounded once to nearest, ties to even.
pub fn exact_sum<T: ExactElement>(slice: &[T]) -> T::Output {
    merged(slice.len(), |sum, run| sum.add(&slice[run])).round()
}

/// Returns the exact sum of the products of corresponding elements in two slices, rounded once.
///
/// # Errors
/// The slices have different lengths.
pub fn exact_dot<T: ExactElement>(a: &[T], b: &[T]) -> Result<T::Output> {
    same_length(a.len(), b.len())?;
    Ok(dot(a, b).round())
}

/// Returns the exact sum of the squares of a slice's elements, rounded once.
pub fn exact_sum_of_squares<T: ExactElement>(slice: &[T]) -> T::Output {
    dot(slice, slice).round()
}

/// Returns the square root of the exact sum of the squares of a slice's elements, rounded once to
/// nearest, ties to even.
pub fn exact_norm<T: ExactElement>(slice: &[T]) -> T::Output {
    dot(slice, slice).round_sqrt()
}

/// Returns the exact sum of each row of a slice, rounded once.
///
/// # Errors
/// The same errors as for [`sum_rows`](crate::host::sum_rows).
pub fn exact_sum_rows<T: ExactElement>(slice: &[T], rows: Rows) -> Result<Vec<T::Output>> {
    each_row(slice, rows, 1, exact_sum)
}

/// Returns the dot product of two slices of the same length.
fn dot<T: ExactElement>(a: &[T], b: &[T]) -> ExactAccumulator<T::Output> {
    merged(a.len(), |sum, run| sum.add_pairs(&a[run.clone()], &b[run]))
}

/// Returns an accumulator that holds `n` elements. Each call of `add` adds the elements of a range.
fn merged<A: super::ExactFloat>(
    n: usize,
    add: impl Fn(&mut ExactAccumulator<A>, Range<usize>) + Sync,
) -> ExactAccumulator<A> {
    let sums = in_parts(n, RUN, &|run| {
        let mut sum = ExactAccumulator::new();
        add(&mut sum, run);
        sum
    });
    let join = |mut a: ExactAccumulator<A>, b| {
        a.join(&b);
        a
    };
    sums.into_iter().reduce(join).unwrap_or_default()
}
