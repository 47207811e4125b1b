//! Exact sums on all cores of the CPU.

use rayon::prelude::*;

use super::{ExactAccumulator, ExactElement};

/// Elements that one task adds: enough that its bins are emptied rarely.
const RUN: usize = 1 << 16;

/// The exact sum of a slice, rounded once: to nearest, ties to even.
pub fn exact_sum<T: ExactElement>(slice: &[T]) -> T::Output {
    merged(slice.par_chunks(RUN), |sum, run| sum.add(run)).round()
}

/// The exact sum of the products of two slices, element by element, rounded once.
///
/// # Panics
/// If one slice is longer than the other.
pub fn exact_dot<T: ExactElement>(a: &[T], b: &[T]) -> T::Output {
    assert_eq!(
        a.len(),
        b.len(),
        "a product needs an element of each slice: cut them to one length"
    );
    let runs = a.par_chunks(RUN).zip(b.par_chunks(RUN));
    merged(runs, |sum, (a, b)| sum.add_products(a, b)).round()
}

/// The exact sum of the squares of a slice, rounded once.
pub fn exact_sum_of_squares<T: ExactElement>(slice: &[T]) -> T::Output {
    exact_dot(slice, slice)
}

/// The exact sum of each row: `slice` has rows of `elements` elements, one after the other.
///
/// # Panics
/// If `elements` is 0, or the slice ends inside a row.
pub fn exact_sum_rows<T: ExactElement>(slice: &[T], elements: usize) -> Vec<T::Output> {
    assert!(
        elements > 0 && slice.len().is_multiple_of(elements),
        "{} elements are no rows of {elements}: pass whole rows",
        slice.len()
    );
    slice.par_chunks(elements).map(exact_sum).collect()
}

/// The sum of the accumulators of all runs.
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
        a.merge(&b);
        a
    })
}
