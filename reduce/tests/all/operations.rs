//! Compares the bits of the operations for special elements, wide results and counts on the
//! interpreter with those on the host.

use crate::drawn::{Drawn, operations, slice};
use crate::play::{Bytes, Way, play, play_read};
use half::{bf16, f16};
use samebits::{Accumulator, Operation, Truth, Wide, WideElement, host};
use simt::Schedule;

const PLAIN: Way = Way { major: 9, resident: 3, schedule: Schedule::Converged, shift: 0, epoch: 0 };

/// An awkward size for each shape, and the size of one element, in bytes.
const SHAPES: [usize; 6] = [8, 1_000, 10_008, 30_040, 70_024, 200_008];

fn bytes<T: Bytes + Copy>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.bytes()).collect()
}

/// Returns the setup with the given number; setups differ in alignment, schedule or target.
fn way(turn: usize) -> Way {
    match turn % 4 {
        0 => PLAIN,
        1 => Way { shift: 1, major: 7, ..PLAIN },
        2 => Way { schedule: Schedule::Adversarial(turn as u64), ..PLAIN },
        _ => Way { schedule: Schedule::MinPc, epoch: 9, ..PLAIN },
    }
}

/// Checks each operation for slices with infinities, NaNs, zeros, subnormals and numbers whose
/// squares overflow. Each shape has one pattern, which differs between operations.
fn special<T: Drawn + Bytes>(from: fn(f32) -> T) {
    let patterns: [&[f32]; 7] = [
        &[f32::INFINITY, 1.0],
        &[f32::INFINITY, f32::NEG_INFINITY, 2.0],
        &[f32::NAN, 3.0, -4.0],
        &[-0.0],
        &[-0.0, 0.0],
        &[1e-40, -3e-45, 1e-38],
        &[3e38, -2e38, 1e20],
    ];
    for (turn, operation) in operations::<T>().into_iter().enumerate() {
        for (at, size) in SHAPES.into_iter().enumerate() {
            let n = (size / size_of::<T>()).max(1);
            let pattern = patterns[(turn + at) % patterns.len()];
            // There are few special elements, so that they are combined with ordinary ones.
            let mut values = slice::<T>(n, Operation::Sum);
            for (i, special) in pattern.iter().enumerate() {
                values[(n / 2 + 7 * i) % n] = from(*special);
            }
            if (turn + at) % 5 == 0 {
                values.fill(from(pattern[0]));
            }
            let expected = host::reduce(&values, operation).to_bits64();
            let way = way(turn + at);
            let bits = play::<T>(&bytes(&values), n as u64, operation, way);
            assert_eq!(bits, expected, "{operation:?} of {n}, {pattern:?}, {way:?}");
        }
    }
}

#[test]
fn special_floats_have_the_bits_of_the_host() {
    special::<f32>(|x| x);
    special::<f64>(f64::from);
}

#[test]
fn special_halves_have_the_bits_of_the_host() {
    special::<f16>(f16::from_f32);
    special::<bf16>(bf16::from_f32);
}

fn wide<T: Drawn + Bytes + WideElement>() {
    for (turn, operation) in operations::<T>().into_iter().enumerate() {
        for (at, size) in SHAPES.into_iter().enumerate() {
            let n = (size / size_of::<T>()).max(1);
            let values = slice::<T>(n, operation);
            let expected = host::reduce_wide(&values, operation).to_bits64();
            let bits = play_read::<T, Wide>(&bytes(&values), n as u64, operation, way(turn + at));
            assert_eq!(bits, expected, "{operation:?} of {n}");
        }
    }
}

#[test]
fn wide_values_have_the_bits_of_the_host() {
    wide::<f32>();
    wide::<i32>();
    wide::<u32>();
}

/// Checks counts of elements that are not zero, in slices with many, few or no zeros.
fn truths<T: Drawn + Bytes>(zeros: [T; 2], other: T) {
    for (turn, size) in SHAPES.into_iter().enumerate() {
        let n = (size / size_of::<T>()).max(1);
        // The interpretation of a long slice is slow, so it has only half of the patterns.
        let step = 1 + turn / 2;
        let kinds = [1, 2, n, usize::MAX].into_iter().enumerate();
        for (kind, every) in kinds.skip(turn % 2 * (step - 1)).step_by(step) {
            let zero = |i: usize| (i + 1).is_multiple_of(every);
            let values: Vec<T> =
                (0..n).map(|i| if zero(i) { zeros[i % 2] } else { other }).collect();
            let count = (0..n).filter(|i| !zero(*i)).count() as u64;
            assert_eq!(host::count(&values), count);
            assert_eq!(host::any(&values), count > 0);
            assert_eq!(host::every(&values), count == n as u64);
            let operation = [Operation::Sum, Operation::Max, Operation::Min][(kind + turn) % 3];
            let expected = match operation {
                Operation::Sum => count,
                Operation::Max => u64::from(count > 0),
                _ => u64::from(count == n as u64),
            };
            let way = way(turn + kind);
            let bits = play_read::<T, Truth>(&bytes(&values), n as u64, operation, way);
            assert_eq!(bits, expected, "{operation:?} of {n} {}", std::any::type_name::<T>());
        }
    }
}

#[test]
fn elements_that_are_not_zero_are_counted() {
    truths::<f32>([0.0, -0.0], f32::NAN);
    truths::<f64>([-0.0, 0.0], 5e-324);
    truths::<f16>([f16::NEG_ZERO, f16::ZERO], f16::from_bits(1));
    truths::<bf16>([bf16::NEG_ZERO, bf16::ZERO], bf16::NAN);
    truths::<i32>([0; 2], i32::MIN);
    truths::<u64>([0; 2], 1 << 63);
    truths::<i16>([0; 2], -1);
    truths::<u8>([0; 2], 128);
    truths::<bool>([false; 2], true);
}

#[test]
fn empty_slices_have_the_documented_results() {
    let of = |operation| host::reduce::<f32>(&[], operation);
    assert_eq!(of(Operation::Min), f32::INFINITY);
    assert_eq!(of(Operation::Max), f32::NEG_INFINITY);
    assert!(of(Operation::Mean).is_nan());
    for operation in [Operation::Norm, Operation::SumOfMagnitudes, Operation::LargestMagnitude] {
        assert_eq!(of(operation).to_bits(), 0);
    }
    assert_eq!((host::min::<i8>(&[]), host::max::<u16>(&[]), host::sum::<bool>(&[])), (127, 0, 0));
    assert_eq!((host::any::<u8>(&[]), host::every::<u8>(&[])), (false, true));
    fn check<T: Drawn>() {
        for operation in operations::<T>() {
            for major in [7, 9] {
                let way = Way { major, ..PLAIN };
                let expected = host::reduce::<T>(&[], operation).to_bits64();
                assert_eq!(play::<T>(&[], 0, operation, way), expected, "{operation:?}");
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<bf16>();
    check::<i8>();
    check::<u16>();
}

/// Checks that squares which overflow in `f32` do not overflow in `f64`.
#[test]
fn wide_squares_do_not_overflow() {
    let values = [3e30f32, 4e30];
    assert_eq!(host::reduce(&values, Operation::Norm), f32::INFINITY);
    let exact = f64::from(values[0]).hypot(f64::from(values[1]));
    assert_eq!(host::reduce_wide(&values, Operation::Norm), exact);
    assert_eq!(host::reduce_wide(&[i32::MAX; 3], Operation::Sum), 3 * i64::from(i32::MAX));
}

#[test]
fn small_integers_do_not_wrap() {
    let n = 70_000;
    assert_eq!(host::sum(&vec![i8::MIN; n]), -128 * n as i64);
    assert_eq!(host::sum(&vec![u16::MAX; n]), 65_535 * n as i64);
    let bits = play::<i8>(&vec![0x80; n], n as u64, Operation::Sum, PLAIN);
    assert_eq!(bits as i64, -128 * n as i64);
    let bits = play::<u16>(&vec![0xff; 2 * n], n as u64, Operation::Sum, PLAIN);
    assert_eq!(bits as i64, 65_535 * n as i64);
}

#[test]
fn an_operation_for_floats_refuses_integers() {
    let rows = samebits::Rows::new(1, 2);
    let error = host::reduce_rows(&[1, 2], Operation::Norm, rows).unwrap_err().to_string();
    assert!(error.contains("norm is only for floats, but the elements are i32"), "{error}");
}
