//! Compares the host's results with naive computations in higher precision that know nothing of
//! trees, for every type and operation, and those of rows, columns, ragged rows and lists with those
//! of slices.

use crate::drawn::{Drawn, operations, slice};
use half::{bf16, f16};
use samebits::{
    Accumulator, Columns, Element, Itself, Operation, Read, Rows, Truth, Wide, WideElement, host,
};

const AWKWARD: [usize; 9] = [1, 2, 3, 31, 33, 257, 1025, 5_000, 40_013];

/// Returns the value of a float that has these bits.
fn float(bits: u64, size: usize) -> f64 {
    if size == 4 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
}

/// Returns a sum in about twice the precision of `f64` (Neumaier, 1974). Infinities and NaNs are
/// added as IEEE 754 defines it.
fn compensated(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for value in values {
        let next = sum + value;
        let (large, small) = if sum.abs() < value.abs() { (value, sum) } else { (sum, value) };
        lost += (large - next) + small;
        sum = next;
    }
    if sum.is_finite() { sum + lost } else { sum }
}

/// Returns the result of an operation in a type with the given largest number, and the number to
/// which its rounding errors are relative.
fn naive(values: &[f64], operation: Operation, largest: f64) -> (f64, f64) {
    let sum = |of: fn(f64) -> f64| compensated(values.iter().map(|value| of(*value)));
    let numbers = || values.iter().copied().filter(|value| !value.is_nan());
    // Of two equal numbers, the one with the smaller sign is the smaller one.
    let most = |a: f64, b: f64| if a.total_cmp(&b).is_lt() { b } else { a };
    let least = |a: f64, b: f64| if a.total_cmp(&b).is_lt() { a } else { b };
    let n = values.len() as f64;
    // Squares are rounded to the type of the result, and may overflow.
    let square = |x: &f64| if x * x > largest { f64::INFINITY } else { x * x };
    let squares = compensated(values.iter().map(square));
    let (plain, magnitudes) = (sum(|x| x), sum(f64::abs));
    match operation {
        Operation::Sum => (plain, magnitudes),
        Operation::Mean => (plain / n, magnitudes / n),
        Operation::SumOfSquares => (squares, squares),
        Operation::Norm => (squares.sqrt(), squares.sqrt()),
        Operation::SumOfMagnitudes => (magnitudes, magnitudes),
        Operation::Min => (numbers().reduce(least).unwrap_or(f64::NAN), 0.0),
        Operation::Max => (numbers().reduce(most).unwrap_or(f64::NAN), 0.0),
        Operation::LargestMagnitude => {
            (numbers().map(f64::abs).reduce(most).unwrap_or(f64::NAN), 0.0)
        }
        other => panic!("{other:?} has no naive computation"),
    }
}

/// Checks a result of `size` bytes. No path through the tree of at most 40,013 elements has more
/// than 64 additions.
fn check(bits: u64, size: usize, values: &[f64], operation: Operation, what: &str) {
    let largest = if size == 4 { f32::MAX.into() } else { f64::MAX };
    let (expected, scale) = naive(values, operation, largest);
    let (unit, nan, expected) = match size {
        4 => (2f64.powi(-24), 0x7fff_ffff, f64::from(expected as f32)),
        _ => (2f64.powi(-53), u64::MAX >> 1, expected),
    };
    let found = float(bits, size);
    if expected.is_nan() {
        assert_eq!(bits, nan, "{operation:?} of {what}: {found}, not NaN");
    } else if expected.is_infinite() || scale == 0.0 {
        // The results are exact, and so is the sign of zero.
        assert_eq!(found.to_bits(), expected.to_bits(), "{operation:?} of {what}: {found}");
    } else {
        let error = (found - expected).abs();
        assert!(error <= 64.0 * unit * scale, "{operation:?} of {what}: {found}, not {expected}");
    }
}

/// Checks slices in which a few elements are special, and slices that consist of them.
fn special<T: Drawn<Output: Accumulator> + std::fmt::Debug>(of: fn(f32) -> T, to: fn(T) -> f64) {
    let (infinite, nan) = (f32::INFINITY, f32::NAN);
    let patterns: [&[f32]; 10] = [
        &[],
        &[infinite],
        &[-infinite],
        &[infinite, -infinite],
        &[nan],
        &[-nan, infinite],
        &[-0.0, 0.0],
        &[0.0, -0.0],
        &[3e38],
        &[-3e38, 1.0],
    ];
    for (n, turn) in AWKWARD.into_iter().zip(0..) {
        for pattern in patterns {
            let places = [n / 2, 0, n - 1];
            for at in places.into_iter().take(if n < 2_000 { 3 } else { 1 }) {
                let mut values = slice::<T>(n, Operation::Sum);
                for (i, special) in pattern.iter().enumerate() {
                    values[(at + i * 7) % n] = of(*special);
                }
                if turn % 3 == 0 && !pattern.is_empty() {
                    // A sum of many large elements may overflow on the way to a finite one.
                    let only = pattern.iter().filter(|x| x.abs() < 1e38 || !x.is_finite());
                    let only: Vec<T> = only.map(|x| of(*x)).collect();
                    values = only.iter().cycle().copied().take(n).collect();
                }
                if values.is_empty() {
                    continue;
                }
                let wide: Vec<f64> = values.iter().map(|value| to(*value)).collect();
                let what = format!("{n} {} with {pattern:?} at {at}", std::any::type_name::<T>());
                for operation in operations::<T>() {
                    let bits = host::reduce(&values, operation).to_bits64();
                    check(bits, size_of::<T::Output>(), &wide, operation, &what);
                }
            }
        }
    }
}

#[test]
fn special_elements_have_the_documented_results() {
    special::<f32>(|x| x, f64::from);
    special::<f64>(f64::from, |x| x);
    special::<f16>(f16::from_f32, f64::from);
    special::<bf16>(bf16::from_f32, f64::from);
}

/// Checks results in `f64` of `f32` elements, whose squares neither overflow nor become 0.
#[test]
fn wide_results_are_those_of_doubles() {
    for n in AWKWARD {
        for scale in [1.0, 3e38, 1e-30, 1e-44] {
            let values: Vec<f32> =
                slice::<f32>(n, Operation::Sum).iter().map(|x| x * scale).collect();
            let wide: Vec<f64> = values.iter().copied().map(f64::from).collect();
            for operation in operations::<f32>() {
                let bits = host::reduce_wide(&values, operation).to_bits64();
                check(bits, 8, &wide, operation, &format!("{n} f32 times {scale}"));
            }
        }
    }
}

/// Checks the limits in ORDER.md: squares of `f32` overflow above 1.8 · 10^19 and become 0 below
/// 1.1 · 10^-19 (and lose bits, which the second norm shows).
#[test]
fn norms_overflow_and_underflow_where_the_page_says() {
    for n in [1, 3, 33, 5_000] {
        let norm = |x: f32| host::reduce(&vec![x; n], Operation::Norm);
        let expected = |x: f32| f64::from(x) * (n as f64).sqrt();
        let large = 1.84e19 / (n as f32).sqrt();
        assert!((f64::from(norm(large)) / expected(large) - 1.0).abs() < 1e-5, "{n}");
        assert_eq!(norm(1.85e19), f32::INFINITY, "{n}");
        assert_eq!(norm(2.6e-23).to_bits(), 0, "{n}");
        assert!(f64::from(norm(1.1e-19)) > 0.0, "{n}");
        let small = 1.1e-19;
        assert!((f64::from(norm(small)) / expected(small) - 1.0).abs() < 1e-5, "{n}");
        for x in [1.85e19, f32::MAX, 2.6e-23, f32::from_bits(1)] {
            let wide = host::reduce_wide(&vec![x; n], Operation::Norm);
            assert!((wide / expected(x) - 1.0).abs() < 1e-12, "{n} times {x}: {wide}");
        }
    }
}

/// Checks integers against sums in 128 bits, which are then reduced modulo the size of the result.
fn integers<T: Drawn>(to: fn(T) -> i128, extremes: [T; 2]) {
    let mask = u128::MAX >> (128 - 8 * size_of::<T::Output>());
    for n in AWKWARD {
        // The sums of many largest or smallest elements wrap, if those of the type can.
        for values in [slice::<T>(n, Operation::Sum), vec![extremes[0]; n], vec![extremes[1]; n]] {
            let all = values.iter().map(|value| to(*value));
            for operation in operations::<T>() {
                let expected = match operation {
                    Operation::Sum => all.clone().sum::<i128>(),
                    Operation::Min => all.clone().min().unwrap(),
                    _ => all.clone().max().unwrap(),
                };
                let found = host::reduce(&values, operation).to_bits64();
                let name = std::any::type_name::<T>();
                assert_eq!(found, (expected as u128 & mask) as u64, "{operation:?} of {n} {name}");
            }
            let count = all.clone().filter(|value| *value != 0).count();
            assert_eq!(host::count(&values), count as u64);
            assert_eq!((host::any(&values), host::every(&values)), (count > 0, count == n));
        }
    }
}

#[test]
fn integers_have_the_values_of_128_bits() {
    integers::<i8>(i128::from, [i8::MIN, i8::MAX]);
    integers::<u8>(i128::from, [u8::MIN, u8::MAX]);
    integers::<i16>(i128::from, [i16::MIN, i16::MAX]);
    integers::<u16>(i128::from, [u16::MIN, u16::MAX]);
    integers::<i32>(i128::from, [i32::MIN, i32::MAX]);
    integers::<u32>(i128::from, [u32::MIN, u32::MAX]);
    integers::<i64>(i128::from, [i64::MIN, i64::MAX]);
    integers::<u64>(i128::from, [u64::MIN, u64::MAX]);
    integers::<bool>(i128::from, [false, true]);
}

/// Checks wide sums of the integers whose narrow sums wrap.
#[test]
fn wide_integers_do_not_wrap() {
    fn holds<T: Drawn + WideElement>(to: fn(T) -> i128, extremes: [T; 2]) {
        for n in AWKWARD {
            for values in
                [slice::<T>(n, Operation::Max), vec![extremes[0]; n], vec![extremes[1]; n]]
            {
                let expected: i128 = values.iter().map(|value| to(*value)).sum();
                let found = host::reduce_wide(&values, Operation::Sum).to_bits64();
                assert_eq!(found, expected as u64, "{n} {}", std::any::type_name::<T>());
            }
        }
    }
    holds::<i32>(i128::from, [i32::MIN, i32::MAX]);
    holds::<u32>(i128::from, [u32::MIN, u32::MAX]);
}

/// Returns the bits of the result of a slice, which may be empty.
fn of_slice<T: Element + Read<W>, W>(slice: &[T], operation: Operation) -> u64 {
    host::reduce_read::<T, W>(slice, operation).unwrap().to_bits64()
}

fn bits<A: Accumulator>(values: Vec<A>) -> Vec<u64> {
    values.into_iter().map(|value| value.to_bits64()).collect()
}

/// Checks that a row, a column, a ragged row and a slice of a list have the bits of a slice with the
/// same elements.
fn forms<T: Drawn + Read<W>, W>(wanted: impl Fn(Operation) -> bool) {
    for operation in operations::<T>().into_iter().filter(|operation| wanted(*operation)) {
        let name = format!("{operation:?} of {}", std::any::type_name::<T>());
        for (count, elements, more) in [(1, 1, 0), (5, 1, 2), (3, 33, 0), (70, 5, 1), (2, 1_025, 3)]
        {
            let pitch = elements + more;
            let values = slice::<T>(count * pitch, operation);
            let rows = Rows::new(count as u64, elements as u64).pitch(pitch as u64);
            let found = bits(host::read_rows::<T, W>(&values, operation, rows).unwrap());
            let row = |row: usize| &values[row * pitch..][..elements];
            let expected: Vec<u64> =
                (0..count).map(|i| of_slice::<T, W>(row(i), operation)).collect();
            assert_eq!(found, expected, "{name}, {rows:?}");

            // The same matrix has a row for each element of its columns.
            let columns = Columns::new(count as u64, elements as u64).pitch(pitch as u64);
            let found = bits(host::read_columns::<T, W>(&values, operation, columns).unwrap());
            let column = |column: usize| -> Vec<T> { (0..count).map(|i| row(i)[column]).collect() };
            let expected: Vec<u64> =
                (0..elements).map(|i| of_slice::<T, W>(&column(i), operation)).collect();
            assert_eq!(found, expected, "{name}, {columns:?}");
        }
        // The rows begin after the first element, and the first, the last and others are empty.
        let offsets = [3u64, 3, 4, 37, 37, 37, 5_000, 5_001, 5_001];
        let values = slice::<T>(5_003, operation);
        let found = bits(host::read_ragged::<T, W>(&values, operation, &offsets).unwrap());
        let parts: Vec<&[T]> =
            offsets.windows(2).map(|ends| &values[ends[0] as usize..ends[1] as usize]).collect();
        let expected: Vec<u64> =
            parts.iter().map(|part| of_slice::<T, W>(part, operation)).collect();
        assert_eq!(found, expected, "{name}, ragged");
        let (each, _) = host::read_list::<T, W>(&parts, operation).unwrap();
        assert_eq!(bits(each), expected, "{name}, a list");
    }
}

#[test]
fn every_form_has_the_bits_of_slices() {
    macro_rules! all {
        ($($type:ty)+) => {$(
            forms::<$type, Itself>(|_| true);
            forms::<$type, Truth>(|o| matches!(o, Operation::Sum | Operation::Min | Operation::Max));
        )+};
    }
    all!(f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool);
    forms::<f32, Wide>(|_| true);
    forms::<i32, Wide>(|_| true);
    forms::<u32, Wide>(|_| true);
}

/// Checks the result of a whole list against the naive computation over all of its elements.
#[test]
fn the_result_of_a_list_is_that_of_all_elements() {
    fn holds<T: Drawn>(to: fn(T) -> f64) {
        for lengths in [&[0, 1, 33, 0, 5_000][..], &[7; 129], &[0, 0, 1]] {
            let slices: Vec<Vec<T>> =
                lengths.iter().map(|n| slice::<T>(*n, Operation::Sum)).collect();
            let slices: Vec<&[T]> = slices.iter().map(|slice| &slice[..]).collect();
            let wide: Vec<f64> = slices.concat().into_iter().map(to).collect();
            for operation in operations::<T>() {
                let (_, all) = host::reduce_list(&slices, operation).unwrap();
                let what = format!("{lengths:?} {}", std::any::type_name::<T>());
                check(all.to_bits64(), size_of::<T::Output>(), &wide, operation, &what);
            }
        }
    }
    holds::<f32>(f64::from);
    holds::<f64>(|x| x);
    holds::<f16>(f64::from);
    holds::<bf16>(f64::from);
}
