//! Tests that the interpreter's means and variances have the bits of the host's, and that the
//! host's are near those of a computation in two passes with compensated sums.

use crate::drawn::{self, Drawn, slice};
use crate::machine::{Bytes, Machine};
use half::{bf16, f16};
use samebits::{
    Accumulator, Operation, Rows, host,
    moments::{kernel, plan},
};
use simt::{Arg, Schedule};

/// Returns the bits of the means and of the variances.
fn play<T: Drawn + Bytes>(values: &[T], rows: Rows, less: u64, turn: usize) -> [Vec<u64>; 2] {
    let (schedule, shift, major) = match turn % 3 {
        0 => (Schedule::Converged, 0, 9),
        1 => (Schedule::MinPc, 1, 7),
        _ => (Schedule::Adversarial(turn as u64), 3, 9),
    };
    let mut machine = Machine::new(schedule, major);
    let (count, elements, pitch) = rows.numbers();
    let size = size_of::<T::Output>();
    let [grid, threads] = plan(rows, size_of::<T>() as u64);
    let input = machine.elements(values, shift);
    let [means, variances] = [0; 2].map(|_| machine.room(count * size as u64, 0xee));
    let args = vec![
        Arg::U64(input),
        Arg::U64(means),
        Arg::U64(variances),
        Arg::U64(count),
        Arg::U32(elements as u32),
        Arg::U64(pitch),
        Arg::U64(less),
        Arg::U32(threads),
    ];
    machine.run(kernel::<T>(), grid.min(3), 256, args);
    [means, variances].map(|at| machine.words(at, count as usize, size))
}

const ROWS: [(u64, u64); 10] = [
    (3, 1),
    (9, 2),
    (5, 31),
    (33, 33),
    (4, 128),
    (3, 511),
    (5, 700),
    (2, 1025),
    (2, 5001),
    (1, 20_003),
];

fn holds<T: Drawn + Bytes>(turn: usize) {
    for ((count, elements), i) in ROWS.into_iter().zip(turn..) {
        let rows = Rows::new(count, elements).pitch(elements + i as u64 % 3);
        let values = slice::<T>(rows.span().unwrap() as usize, Operation::Sum);
        let less = i as u64 % 2;
        let (means, variances) = host::moments_rows(&values, rows, less).unwrap();
        let bits =
            |values: &[T::Output]| -> Vec<u64> { values.iter().map(|v| v.to_bits64()).collect() };
        let found = play(&values, rows, less, i);
        assert_eq!(
            found,
            [bits(&means), bits(&variances)],
            "{rows:?} {}",
            std::any::type_name::<T>()
        );
    }
}

#[test]
fn moments_have_the_bits_of_the_host() {
    holds::<f32>(0);
    holds::<f64>(1);
    holds::<f16>(2);
    holds::<bf16>(3);
}

/// Checks rows whose mean is large compared with their variance. The variance would be lost if
/// squares were added in `f32`.
#[test]
fn variances_are_near_those_of_two_passes() {
    for n in [2, 33, 128, 1000, 5000, 32_768] {
        for offset in [0.0f32, 1.0, 1e4, -3e6] {
            let mut values = slice::<f32>(n, Operation::Sum);
            values.iter_mut().for_each(|value| *value += offset);
            let wide: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            let mean = compensated(wide.iter().copied()) / n as f64;
            let squares = wide.iter().map(|value| (value - mean) * (value - mean));
            let expected = compensated(squares) / (n - 1) as f64;
            let (means, variances) =
                host::moments_rows(&values, Rows::new(1, n as u64), 1).unwrap();
            assert!(
                (f64::from(means[0]) - mean).abs() <= mean.abs() * 2f64.powi(-24) + 1e-12,
                "{n} {offset}"
            );
            let error = (f64::from(variances[0]) - expected).abs();
            assert!(error <= expected * (2f64.powi(-24) + 1e-12), "{n} {offset}: {error}");
        }
    }
}

/// Checks the other types against two passes. The elements of a row have the same large mean, whose
/// square the variance must not lose.
#[test]
fn other_types_are_near_two_passes() {
    fn check<T: Drawn>(to: fn(T) -> f64, of: fn(f64) -> T, offsets: &[f64], unit: f64) {
        for n in [1, 2, 3, 33, 1_000, 5_001] {
            for offset in offsets {
                let values: Vec<T> =
                    slice::<T>(n, Operation::Sum).iter().map(|x| of(to(*x) + offset)).collect();
                let wide: Vec<f64> = values.iter().map(|value| to(*value)).collect();
                let first = wide[0];
                let mean = compensated(wide.iter().map(|x| x - first)) / n as f64;
                let squares = compensated(wide.iter().map(|x| (x - first - mean).powi(2)));
                for less in [0, 1] {
                    let (means, variances) =
                        host::moments_rows(&values, Rows::new(1, n as u64), less).unwrap();
                    let (found, exact) = (means[0].to_double(), first + mean);
                    let what = format!("{n} {} + {offset}", std::any::type_name::<T>());
                    assert!((found - exact).abs() <= exact.abs() * unit + 1e-13, "mean of {what}");
                    let (found, exact) =
                        (variances[0].to_double(), squares / (n as f64 - less as f64));
                    // The bound of the module's documentation, in which a thread adds at most 64 elements.
                    let away =
                        if squares > 0.0 { 1.0 + mean * mean / (squares / n as f64) } else { 1.0 };
                    let bound = exact * (unit + 84.0 * 2f64.powi(-53) * away);
                    assert!(
                        (less == n as u64 && found.is_nan()) || (found - exact).abs() <= bound,
                        "variance of {what}: {found}, not {exact}"
                    );
                }
            }
        }
    }
    let float = 2f64.powi(-24);
    check::<f64>(|x| x, |x| x, &[0.0, 1.0, -1e6], 2f64.powi(-53));
    check::<f16>(f64::from, f16::from_f64, &[0.0, 100.0], float);
    check::<bf16>(f64::from, bf16::from_f64, &[0.0, -30.0], float);
    check::<f32>(f64::from, |x| x as f32, &[0.0, 1e3], float);
}

/// Checks long and short rows with infinities and NaNs, beside rows without them.
#[test]
fn special_elements_leave_other_rows_alone() {
    fn check<T: Drawn + Bytes>(of: fn(f32) -> T) {
        for (n, turn) in [3usize, 33, 300, 5_001].into_iter().zip(0..) {
            let values = drawn::mixed::<T>(&[n; 10], of);
            let rows = Rows::new(10, n as u64);
            let (means, variances) = host::moments_rows(&values, rows, 1).unwrap();
            for (row, (mean, variance)) in means.iter().zip(&variances).enumerate() {
                let (mean, variance) = (mean.to_double(), variance.to_double());
                let what = format!("row {row} of {n}: {mean}, {variance}");
                match row {
                    // These rows have an infinity, a NaN, both infinities, a NaN, and only -0.
                    1 => assert!(mean == f64::INFINITY && variance.is_nan(), "{what}"),
                    3 | 5 | 7 => assert!(mean.is_nan() && variance.is_nan(), "{what}"),
                    9 => assert!(mean == 0.0 && variance == 0.0, "{what}"),
                    _ => assert!(mean.abs() < 0.5 && variance > 0.0 && variance < 0.5, "{what}"),
                }
            }
            let bits = |values: &[T::Output]| -> Vec<u64> {
                values.iter().map(|v| v.to_bits64()).collect()
            };
            assert_eq!(play(&values, rows, 1, turn), [bits(&means), bits(&variances)], "{n}");
        }
    }
    check::<f32>(|x| x);
    check::<f64>(f64::from);
    check::<f16>(f16::from_f32);
    check::<bf16>(bf16::from_f32);
}

fn compensated(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for value in values {
        let next = sum + value;
        let (large, small) = if sum.abs() < value.abs() { (value, sum) } else { (sum, value) };
        lost += (large - next) + small;
        sum = next;
    }
    sum + lost
}

#[test]
fn special_rows_have_special_moments() {
    let rows = Rows::new(4, 3);
    let (infinite, nan) = (f32::INFINITY, f32::NAN);
    let values = [infinite, 1.0, 2.0, 1.0, infinite, 2.0, 1.0, 2.0, nan, 5.0, 5.0, 5.0];
    let (means, variances) = host::moments_rows(&values, rows, 1).unwrap();
    assert_eq!(means[..2], [infinite; 2]);
    assert!(means[2].is_nan() && variances[..3].iter().all(|variance| variance.is_nan()));
    assert_eq!((means[3], variances[3]), (5.0, 0.0));
    for turn in 0..3 {
        let bits = |values: &[f32]| -> Vec<u64> { values.iter().map(|v| v.to_bits64()).collect() };
        assert_eq!(play(&values, rows, 1, turn), [bits(&means), bits(&variances)]);
        let (means, variances) = host::moments_rows(&values, rows, 3).unwrap();
        assert!(variances.iter().all(|variance| variance.to_bits() == 0x7fff_ffff));
        assert_eq!(play(&values, rows, 3, turn), [bits(&means), bits(&variances)]);
    }
    let (_, variances) = host::moments_rows(&[1e200f64, -1e200], Rows::new(1, 2), 0).unwrap();
    assert!(!variances[0].is_finite());
    assert!(
        host::moments_rows(&[1i32], Rows::new(1, 1), 0)
            .unwrap_err()
            .to_string()
            .contains("only for floats")
    );
}
