//! Tests that the interpreter's means and variances have the bits of the host's, and that the
//! host's are near those of a computation in two passes with compensated sums.

use crate::drawn::{Drawn, slice};
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
    ];
    machine.run(kernel::<T>(threads), grid.min(3), 256, args);
    [means, variances].map(|at| machine.words(at, count as usize, size))
}

const ROWS: [(u64, u64); 9] =
    [(3, 1), (9, 2), (5, 31), (33, 33), (4, 128), (3, 511), (2, 1025), (2, 5001), (1, 20_003)];

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
    assert!(
        host::moments_rows(&[1i32], Rows::new(1, 1), 0)
            .unwrap_err()
            .to_string()
            .contains("only for floats")
    );
}
