//! Tests that the interpreter's dot products have the bits of the host's, and that the host's agree
//! with other operations and are near a naive computation in double precision.

use crate::drawn::{Drawn, slice};
use crate::machine::{Bytes, Machine};
use half::{bf16, f16};
use samebits::{Accumulator, Element, Itself, Operation, Read, Shape, Wide, dot, host, raw, shape};
use simt::{Arg, Schedule};

/// Returns the bits of the dot product.
fn play<T: Element + Bytes + Read<W>, W>([a, b]: [&[T]; 2], turn: usize) -> u64 {
    let (schedule, shifts, major) = match turn % 4 {
        0 => (Schedule::Converged, [0, 0], 9),
        1 => (Schedule::MinPc, [1, 0], 7),
        2 => (Schedule::Adversarial(turn as u64), [0, 3], 9),
        _ => (Schedule::Converged, [1, 1], 9),
    };
    let mut machine = Machine::new(schedule, major);
    let shape = shape::pick(a.len() as u64, size_of::<T>() as u64).unwrap();
    let (kernel, _) = dot::kernel_of::<T, W>(shape);
    let inputs = [(a, shifts[0]), (b, shifts[1])].map(|(x, shift)| machine.elements(x, shift));
    let output = machine.room(16, 0xee);
    let size = size_of::<<T as Read<W>>::Value>();
    let bytes = 16 + 2 * u64::from(shape.values()) * size as u64;
    let state = machine.room(bytes, 0);
    let args = vec![
        Arg::U64(inputs[0]),
        Arg::U64(inputs[1]),
        Arg::U64(output),
        Arg::U64(a.len() as u64),
        Arg::U32(shape.vectors()),
        Arg::U32(shape.chunks()),
        Arg::U64(state),
        Arg::U32(0),
    ];
    machine.run(kernel, shape.chunks().min(3), shape.threads(), args);
    machine.is_zero(state, bytes);
    machine.words(output, 1, size)[0]
}

/// Numbers of elements for each shape.
const LENGTHS: [usize; 12] = [0, 1, 31, 33, 257, 513, 1025, 4_200, 10_001, 30_001, 60_013, 100_003];

fn dots<T: Drawn + Bytes>() {
    for (n, turn) in LENGTHS.into_iter().zip(0..) {
        let n = n * 4 / size_of::<T>();
        let both = slice::<T>(2 * n, Operation::Sum);
        let (a, b) = both.split_at(n);
        let expected = host::dot(a, b).unwrap().to_bits64();
        assert_eq!(play::<T, Itself>([a, b], turn), expected, "{n} {}", std::any::type_name::<T>());
        if T::FLOAT {
            let squares = host::reduce(a, Operation::SumOfSquares).to_bits64();
            assert_eq!(host::dot(a, a).unwrap().to_bits64(), squares, "{n}");
        }
    }
}

#[test]
fn every_type_has_the_bits_of_the_host() {
    dots::<f32>();
    dots::<f64>();
    dots::<f16>();
    dots::<bf16>();
    dots::<i32>();
    dots::<u64>();
}

#[test]
fn wide_products_have_the_bits_of_the_host() {
    for (n, turn) in LENGTHS.into_iter().zip(0..) {
        let both = slice::<f32>(2 * n, Operation::Sum);
        let (a, b) = both.split_at(n);
        let found = play::<f32, Wide>([a, b], turn);
        assert_eq!(found, host::dot_wide(a, b).unwrap().to_bits64(), "{n}");
        let near: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        assert!((f64::from_bits(found) - near).abs() <= 1e-12 * n as f64, "{n}");
        let size: f64 = a.iter().zip(b).map(|(a, b)| (f64::from(*a) * f64::from(*b)).abs()).sum();
        let narrow = f64::from(host::dot(a, b).unwrap());
        assert!((narrow - near).abs() <= 65.0 * 2f64.powi(-24) * size, "{n}: {narrow}, not {near}");
    }
    let [a, b] = [slice::<i32>(5_000, Operation::Sum), slice::<i32>(5_000, Operation::Max)];
    let expected =
        a.iter().zip(&b).fold(0i64, |sum, (a, b)| sum.wrapping_add(i64::from(*a) * i64::from(*b)));
    assert_eq!(host::dot_wide(&a, &b).unwrap(), expected);
    assert_eq!(play::<i32, Wide>([&a, &b], 1), expected as u64);
}

/// Checks dot products against sums of exact products: of floats in about twice the precision, and
/// of integers modulo the size of the result.
#[test]
fn every_type_is_near_a_naive_computation() {
    fn floats<T: Drawn>(to: fn(T) -> f64, unit: f64) {
        for n in LENGTHS {
            let both = slice::<T>(2 * n, Operation::Sum);
            let pairs: Vec<[f64; 2]> = (0..n).map(|i| [to(both[i]), to(both[n + i])]).collect();
            let (mut sum, mut lost, mut size) = (0.0f64, 0.0, 0.0);
            for [a, b] in pairs {
                let product = a * b;
                let next = sum + product;
                let from = next - sum;
                // The rounding errors of the product and of the addition are exact.
                lost += a.mul_add(b, -product) + ((sum - (next - from)) + (product - from));
                sum = next;
                size += product.abs();
            }
            let found = host::dot(&both[..n], &both[n..]).unwrap().to_double();
            let error = (found - sum - lost).abs();
            assert!(error <= 65.0 * unit * size, "{n} {}: {error}", std::any::type_name::<T>());
        }
    }
    floats::<f32>(f64::from, 2f64.powi(-24));
    floats::<f16>(f64::from, 2f64.powi(-24));
    floats::<bf16>(f64::from, 2f64.powi(-24));
    floats::<f64>(|x| x, 2f64.powi(-53));
    fn integers<T: Drawn>(to: fn(T) -> i128) {
        for n in LENGTHS {
            let both = slice::<T>(2 * n, Operation::Sum);
            let products = (0..n).map(|i| to(both[i]).wrapping_mul(to(both[n + i])));
            let sum = products.fold(0i128, i128::wrapping_add) as u128;
            let sum = sum & (u128::MAX >> (128 - 8 * size_of::<T::Output>()));
            let found = host::dot(&both[..n], &both[n..]).unwrap().to_bits64();
            assert_eq!(found, sum as u64, "{n} {}", std::any::type_name::<T>());
        }
    }
    integers::<i32>(i128::from);
    integers::<u32>(i128::from);
    integers::<i64>(i128::from);
    integers::<u64>(i128::from);
}

#[test]
fn special_products_are_those_of_ieee() {
    fn check<T: Drawn + Bytes>(of: fn(f32) -> T) {
        let of_result = |value: f64| T::Output::of_double(value).canonical().to_bits64();
        let [infinite, nan] = [f64::INFINITY, f64::NAN].map(of_result);
        for turn in 0..4 {
            let holds = |a: &[T], b: &[T], expected: u64| {
                assert_eq!(host::dot(a, b).unwrap().to_bits64(), expected, "{turn}");
                assert_eq!(play::<T, Itself>([a, b], turn), expected, "{turn}");
            };
            let (mut a, mut b) = (vec![of(1.0); 2_000], vec![of(2.0); 2_000]);
            holds(&a, &b, of_result(4_000.0));
            a[1_500] = of(f32::INFINITY);
            holds(&a, &b, infinite);
            b[1_500] = of(-0.0);
            holds(&a, &b, nan);
            b[1_500] = of(1.0);
            a[1] = of(f32::NEG_INFINITY);
            holds(&a, &b, nan);
            a[1] = of(0.0);
            b[1_999] = of(-f32::NAN);
            holds(&a, &b, nan);
            holds(&[of(-0.0)], &[of(1.0)], 0);
        }
    }
    check::<f32>(|x| x);
    check::<f64>(f64::from);
    check::<f16>(f16::from_f32);
    check::<bf16>(bf16::from_f32);
    assert_eq!(host::dot(&[1e30f32; 40], &[-1e30; 40]).unwrap(), f32::NEG_INFINITY);
}

#[test]
fn bad_slices_are_errors() {
    let error = host::dot(&[1.0f32], &[]).unwrap_err().to_string();
    assert!(error.contains("1 elements, but the second has 0"), "{error}");
    let error = host::dot(&[1i8], &[1]).unwrap_err().to_string();
    assert!(error.contains("the elements are i8: convert"), "{error}");
    assert_eq!(raw::host_dot::<f32, Wide>(&[], &[]).unwrap(), 0.0);
    assert_eq!(shape::pick(0, 4), Some(Shape::Block { threads: 32 }));
}
