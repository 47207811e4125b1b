//! Means and variances on the CPU.

use super::device::NAME;
use crate::{
    Accumulator, Element, Result, Rows,
    fold::halve,
    statistics::{doubles, of_rows, threads},
};

/// The sums of differences and of their squares.
#[derive(Clone, Copy, Default)]
struct Moments {
    sum: f64,
    squares: f64,
}

fn join(a: Moments, b: Moments) -> Moments {
    Moments { sum: a.sum + b.sum, squares: a.squares + b.squares }
}

/// Returns the mean and the variance of each row. The variance is the sum of the squared
/// differences from the mean, divided by n - `less`; it is NaN if n is at most `less`. The results
/// are bit-identical to those on the GPU.
///
/// # Errors
/// The elements are not floats, or one of the errors of
/// [`reduce_rows`](crate::host::reduce_rows) occurs.
#[expect(clippy::type_complexity, reason = "a vector for each result")]
pub fn moments_rows<T: Element>(
    slice: &[T],
    rows: Rows,
    less: u64,
) -> Result<(Vec<T::Output>, Vec<T::Output>)> {
    let value = |value: f64| T::Output::of_double(value).canonical();
    let found = of_rows(NAME, slice, rows, |row| moments(row, less).map(value))?;
    Ok(found.into_iter().map(|[mean, variance]| (mean, variance)).unzip())
}

fn moments<T: Element>(row: &[T], less: u64) -> [f64; 2] {
    let (width, n) = (16 / size_of::<T>(), row.len());
    let threads = threads(n as u64, size_of::<T>() as u64) as usize;
    let values = doubles(row);
    let first = match values[0] {
        first if first.is_finite() => first,
        _ => 0.0,
    };
    let mut sums = vec![Moments::default(); threads * width];
    for round in values.chunks(sums.len()) {
        for (sum, value) in sums.iter_mut().zip(round) {
            let difference = value - first;
            sum.sum += difference;
            sum.squares = difference.mul_add(difference, sum.squares);
        }
    }
    let mut lanes: Vec<Moments> = sums.chunks_mut(width).map(|sums| halve(sums, join)).collect();
    let warps: Vec<Moments> = lanes.chunks_mut(32).map(|lanes| halve(lanes, join)).collect();
    let all = warps.into_iter().reduce(join).unwrap_or_default();
    let part = all.sum / n as f64;
    let rest = all.squares - all.sum * part;
    let rest = if rest < 0.0 { 0.0 } else { rest };
    let variance = if less < n as u64 { rest / (n as u64 - less) as f64 } else { f64::NAN };
    [first + part, variance]
}
