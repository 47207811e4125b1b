//! Tests that the interpreter's log-sum-exps have the bits of the host's, and that the host's are
//! near those of a computation with twice the precision.

use crate::machine::{Bytes, Machine};
use crate::precise::{self, Pair};
use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use samebits::{
    Accumulator, Element, Rows, host,
    log_sum_exp::{kernel, plan},
};
use simt::{Arg, Schedule};

/// An element type, and the nearest element to a double.
trait Float: Element<Output: Into<f64>> + Bytes + Into<f64> {
    const LARGEST: Self;
    fn of(value: f64) -> Self;
}

macro_rules! floats {
    ($($type:ty, $of:expr;)+) => {$(
        impl Float for $type {
            const LARGEST: Self = <$type>::MAX;
            fn of(value: f64) -> Self {
                $of(value)
            }
        }
    )+};
}
floats! { f32, |v| v as f32; f64, |v| v; f16, f16::from_f64; bf16, bf16::from_f64; }

/// The sizes of rows: around those of warps, vectors, blocks and batches.
const SIZES: [u64; 15] =
    [1, 2, 3, 31, 32, 33, 63, 65, 255, 257, 1_023, 1_025, 2_049, 4_097, 20_003];

/// Draws a row of `n` elements of one of several kinds.
fn row<T: Float>(n: usize, kind: usize) -> Vec<T> {
    let mut rng = ChaCha8Rng::seed_from_u64((n * 100 + kind) as u64);
    let largest: f64 = T::LARGEST.into();
    let below = -(n as f64).ln();
    let mut draw = |i: usize| {
        let part = rng.random::<f64>();
        match kind {
            0 => part - 0.5,
            1 => (part - 0.5) * 60.0,
            2 => (part - 0.5) * 2000.0,
            3 => (part - 0.5) * largest * 2.0,
            4 => part * 1e-30,
            // The result is near zero.
            5 => below + (part - 0.5) * 1e-3,
            // The maximum grows with each batch.
            6 => i as f64 * 1e-3 + part * 1e-3,
            // One element is as heavy as all others together.
            7 => {
                if i == n / 2 {
                    -below
                } else {
                    part * 1e-2
                }
            }
            _ => {
                if part < 0.5 {
                    largest
                } else {
                    -largest
                }
            }
        }
    };
    (0..n).map(|i| T::of(draw(i))).collect()
}
const KINDS: usize = 9;

fn bits<A: Accumulator>(values: &[A]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits64()).collect()
}

/// Returns the bits of the interpreter's results.
fn play<T: Float>(values: &[T], rows: Rows, turn: usize) -> Vec<u64> {
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
    let output = machine.room(count * size as u64, 0xee);
    let args = vec![
        Arg::U64(input),
        Arg::U64(output),
        Arg::U64(count),
        Arg::U32(elements as u32),
        Arg::U64(pitch),
        Arg::U32(threads),
    ];
    machine.run(kernel::<T>(), grid.min(3), 256, args);
    machine.words(output, count as usize, size)
}

/// Checks rows of every size and kind, with other pitches, alignments and schedules in each turn.
fn holds<T: Float>(from: usize) {
    for (turn, elements) in (from..).zip(SIZES) {
        let pitch = elements + turn as u64 % 3;
        let count = if elements < 300 { KINDS } else { 2 };
        let values: Vec<T> =
            (0..count).flat_map(|i| row::<T>(pitch as usize, (i + turn) % KINDS)).collect();
        let rows = Rows::new(count as u64, elements).pitch(pitch);
        let expected = host::log_sum_exp_rows(&values, rows).unwrap();
        assert_eq!(play(&values, rows, turn), bits(&expected), "{rows:?}");
    }
}

/// Checks rows of 0 and -x. The result is about exp(-x), so it shows each bit of the exponential
/// function.
#[test]
fn exponentials_have_the_bits_of_the_host() {
    fn check<T: Float>(least: f64, most: f64) {
        let count = 3000;
        let x = |i: u32| least + (most - least) * f64::from(i) / f64::from(count);
        let values: Vec<T> = (0..count).flat_map(|i| [T::of(0.0), T::of(-x(i))]).collect();
        let rows = Rows::new(count.into(), 2);
        let expected = host::log_sum_exp_rows(&values, rows).unwrap();
        assert_eq!(play(&values, rows, 0), bits(&expected));
    }
    check::<f32>(7.0, 19.0);
    check::<f64>(0.0, 37.0);
    check::<bf16>(0.0, 19.0);
}

#[test]
fn floats_have_the_bits_of_the_host() {
    holds::<f32>(0);
}

#[test]
fn doubles_have_the_bits_of_the_host() {
    holds::<f64>(1);
}

#[test]
fn halves_have_the_bits_of_the_host() {
    holds::<f16>(2);
    holds::<bf16>(3);
}

/// Returns the error of the host's result, divided by the documented bound.
fn error<T: Float>(values: &[T]) -> f64 {
    let n = values.len();
    let found = host::log_sum_exp_rows(values, Rows::new(1, n as u64)).unwrap()[0].into();
    let wide: Vec<f64> = values.iter().map(|value| (*value).into()).collect();
    let exact = precise::log_sum_exp(&wide);
    let error = (Pair::of(found) - exact).double().abs();
    let log = (n as f64).ln();
    let threads = if size_of_val(values) <= 2048 { 32.0 } else { 256.0 };
    let k = (n as f64 / threads).ceil() + 16.0;
    let bound = match size_of::<T::Output>() {
        4 => 2f64.powi(-24) * (found.abs() + 1.1 * log + 2.0),
        _ => 2f64.powi(-53) * (found.abs() + 4.0 * log + k + 20.0),
    };
    error / bound
}

fn near<T: Float>() {
    let mut most = [0.0f64; KINDS];
    for n in SIZES {
        for (kind, most) in most.iter_mut().enumerate() {
            let error = error(&row::<T>(n as usize, kind));
            assert!(error <= 1.0, "{n} of kind {kind}: {error} of the bound");
            *most = most.max(error);
        }
    }
    println!("{}: {most:.2?} of the bound", std::any::type_name::<T>());
}

#[test]
fn errors_are_below_the_bound() {
    near::<f32>();
    near::<f64>();
    near::<f16>();
    near::<bf16>();
}

/// Checks NaN and infinities in every part of a row, and a row that would overflow.
fn special<T: Float>() {
    let [infinite, nan, zero] = [f64::INFINITY, f64::NAN, 0.0].map(T::of);
    let lowest = T::of(-f64::INFINITY);
    let canonical = T::Output::of_double(f64::NAN).canonical().to_bits64();
    for (turn, n) in [1usize, 2, 33, 300, 5_000].into_iter().enumerate() {
        for at in [0, n / 2, n - 1] {
            let with = |filler: T, special: &[T]| {
                let mut row = vec![filler; n];
                for (i, special) in special.iter().enumerate() {
                    row[(at + i) % n] = *special;
                }
                row
            };
            let rows = [
                (with(zero, &[nan]), f64::NAN),
                (with(lowest, &[T::of(-f64::NAN)]), f64::NAN),
                (with(infinite, &[nan]), f64::NAN),
                (with(zero, &[infinite]), infinite.into()),
                (with(lowest, &[infinite]), infinite.into()),
                (with(infinite, &[zero]), if n > 1 { f64::INFINITY } else { 0.0 }),
                (with(lowest, &[]), -f64::INFINITY),
                (with(lowest, &[T::LARGEST]), T::LARGEST.into()),
                (with(lowest, &[zero]), 0.0),
                (with(T::of(-1e30), &[zero]), 0.0),
            ];
            let values: Vec<T> = rows.iter().flat_map(|(row, _)| row).copied().collect();
            let layout = Rows::new(rows.len() as u64, n as u64);
            let found = host::log_sum_exp_rows(&values, layout).unwrap();
            for (i, (found, (_, expected))) in found.iter().zip(&rows).enumerate() {
                if expected.is_nan() {
                    assert_eq!(found.to_bits64(), canonical, "row {i} of {n} with {at}");
                } else {
                    assert_eq!((*found).into(), *expected, "row {i} of {n} with {at}");
                }
            }
            assert_eq!(play(&values, layout, turn + at), bits(&found), "{n} with {at}");
        }
    }
}

#[test]
fn special_rows_have_special_results() {
    special::<f32>();
    special::<f64>();
    special::<f16>();
    special::<bf16>();
    let all = host::log_sum_exp_rows(&[f32::MAX; 1000], Rows::new(1, 1000)).unwrap();
    assert_eq!(all, [f32::MAX]);
    let error = host::log_sum_exp_rows(&[1i32], Rows::new(1, 1)).unwrap_err().to_string();
    assert!(error.contains("the log-sum-exp is only for floats"), "{error}");
    let error = host::log_sum_exp_rows(&[1f32], Rows::new(1, 0)).unwrap_err().to_string();
    assert!(error.contains("1 rows of 0"), "{error}");
}
