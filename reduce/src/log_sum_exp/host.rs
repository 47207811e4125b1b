//! Log-sum-exps on the CPU.

use super::{
    device::NAME,
    functions::{exp_of, exp_of_float, log_of},
};
use crate::{
    Accumulator, Element, Result, Rows,
    fold::halve,
    statistics::{doubles, of_rows, threads},
};

/// The largest element, and the sum of exp(x - top) over the elements x.
#[derive(Clone, Copy)]
struct Part {
    top: f64,
    sum: f64,
}

/// Returns the log-sum-exp of each row. The results are bit-identical to those on the GPU.
///
/// # Errors
/// The elements are not floats, or one of the errors of
/// [`reduce_rows`](crate::host::reduce_rows) occurs.
pub fn log_sum_exp_rows<T: Element>(slice: &[T], rows: Rows) -> Result<Vec<T::Output>> {
    let value = |row: &[T]| T::Output::of_double(log_sum_exp(row)).canonical();
    of_rows(NAME, slice, rows, value)
}

fn log_sum_exp<T: Element>(row: &[T]) -> f64 {
    let values = doubles(row);
    if values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    // The difference between two elements is rounded to the type of the result.
    let exp: fn(f64, f64) -> f64 = match size_of::<T::Output>() {
        4 => |x, top| exp_of_float(x as f32 - top as f32).into(),
        _ => |x, top| exp_of(x - top),
    };
    let width = 16 / size_of::<T>();
    let threads = threads(row.len() as u64, size_of::<T>() as u64) as usize;
    let mut parts: Vec<Part> =
        (0..threads.div_ceil(32)).map(|warp| part(&values, width, [warp, threads], exp)).collect();
    let all = combined(&mut parts);
    if all.top.is_infinite() { all.top } else { all.top + log_of(all.sum) }
}

/// Returns the `Part` of a warp. Each thread reads four vectors at a time.
fn part(
    values: &[f64],
    width: usize,
    [warp, threads]: [usize; 2],
    exp: fn(f64, f64) -> f64,
) -> Part {
    let mut top = f64::NEG_INFINITY;
    let mut lanes = [0.0; 32];
    for batch in values.chunks(4 * threads * width) {
        // The elements of the warp in each of the four rounds.
        let rounds = || {
            batch.chunks(threads * width).map(|round| {
                let begin = (warp * 32 * width).min(round.len());
                &round[begin..round.len().min(begin + 32 * width)]
            })
        };
        let next = rounds().flatten().fold(top, |top, x| if *x > top { *x } else { top });
        let scale = if next > top { exp_of(top - next) } else { 1.0 };
        top = next;
        lanes.iter_mut().for_each(|lane| *lane *= scale);
        for (lane, vector) in rounds().flat_map(|round| (0..).zip(round.chunks(width))) {
            let mut powers = [0.0; 8];
            for (power, x) in powers.iter_mut().zip(vector) {
                *power = exp(*x, top);
            }
            lanes[lane] += halve(&mut powers[..width], |a, b| a + b);
        }
    }
    Part { top, sum: halve(&mut lanes, |a, b| a + b) }
}

/// Combines the parts of a row's warps.
fn combined(parts: &mut [Part]) -> Part {
    let top = parts.iter().fold(f64::NEG_INFINITY, |top, part| part.top.max(top));
    let mut sums: Vec<f64> = parts.iter().map(|part| part.sum * exp_of(part.top - top)).collect();
    Part { top, sum: halve(&mut sums, |a, b| a + b) }
}
