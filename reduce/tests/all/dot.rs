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

#[test]
fn special_products_are_those_of_ieee() {
    for turn in 0..4 {
        let mut a = vec![1.0f32; 2_000];
        let b = vec![1e38f32; 2_000];
        a[1_500] = f32::INFINITY;
        assert_eq!(play::<f32, Itself>([&a, &b], turn), 0x7f80_0000);
        a[7] = -0.0;
        a[1] = f32::NEG_INFINITY;
        assert_eq!(play::<f32, Itself>([&a, &b], turn), 0x7fff_ffff);
        assert_eq!(host::dot(&a, &b).unwrap().to_bits(), 0x7fff_ffff);
    }
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
