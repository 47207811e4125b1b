//! Tests that exact sums have the same bits as on the host, in any order, at any address and in a
//! graph.

use cudarc::driver::DeviceRepr;
use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use samebits::{Accumulator, ExactElement, Operation, Reducer, Rows, host};

use crate::{
    Gpu,
    drawn::{Drawn, slice},
    gpu,
    graphs::capture,
};

fn same_bits<T: Drawn + ExactElement + DeviceRepr>(gpu: &Gpu, special: impl Fn(u64) -> T)
where
    T::Output: DeviceRepr,
{
    let rng = &mut ChaCha8Rng::seed_from_u64(34);
    let reducer = Reducer::<T>::new(&gpu.stream).unwrap();
    let mut result = gpu.stream.clone_htod(&[T::Output::ZERO]).unwrap();
    let drawn = (0..40).map(|_| 2f64.powf(rng.random_range(0.0..22.0)) as usize);
    let lengths: Vec<usize> = drawn.chain([0, 1, 2, 3, 2047, 2049, (1 << 24) + 13]).collect();
    for (k, n) in lengths.into_iter().enumerate() {
        let mut values = slice::<T>(n + 3, Operation::Sum);
        if k % 2 == 1 {
            // The elements have random bits, with every exponent; a few are NaN or infinite.
            values.iter_mut().for_each(|value| *value = special(rng.random()));
        }
        for begin in [0, n % 4] {
            values.shuffle(rng);
            let device = gpu.stream.clone_htod(&values).unwrap();
            let expected = host::exact_sum(&values[begin..begin + n]).to_bits64();
            let view = device.slice(begin..begin + n);
            let what = format!("{n} {} from {begin}", std::any::type_name::<T>());
            let found = reducer.exact_sum(&view).unwrap().to_bits64();
            assert_eq!(found, expected, "{what}: {found:#x} instead of {expected:#x}");
            let mut parts = reducer.exact_accumulator(&view.slice(n / 3..n)).unwrap();
            parts.merge(&reducer.exact_accumulator(&view.slice(0..n / 3)).unwrap()).unwrap();
            assert_eq!(parts.round().to_bits64(), expected, "{what}, in two accumulators");
            reducer.exact_sum_into(&view, &mut result).unwrap();
            let left = gpu.stream.clone_dtoh(&result).unwrap()[0].to_bits64();
            assert_eq!(left, expected, "{what}, left on the device");
        }
    }
}

/// Returns the bits with the highest bit of the exponent cleared, so that the value is finite. In
/// one of 2^20 cases, returns the bits unchanged.
fn finite(bits: u64, width: u32) -> u64 {
    let bits = bits >> (64 - width);
    if bits % (1 << 20) == 7 { bits } else { bits & !(1 << (width - 2)) }
}

fn dots<T: Drawn + ExactElement + DeviceRepr>(gpu: &Gpu)
where
    T::Output: DeviceRepr,
{
    let reducer = Reducer::<T>::new(&gpu.stream).unwrap();
    let mut result = gpu.stream.clone_htod(&[T::Output::ZERO]).unwrap();
    for n in [0, 1, 5, 4099, 100_003, (1 << 22) + 1] {
        let values = slice::<T>(n + 3, Operation::Sum);
        let device = gpu.stream.clone_htod(&values).unwrap();
        for begin in 0..3 {
            let [a, b] = [0, begin].map(|begin| begin..begin + n);
            let expected = host::exact_dot(&values[a.clone()], &values[b.clone()]);
            let expected = expected.unwrap().to_bits64();
            let (a, b) = (device.slice(a), device.slice(b));
            assert_eq!(reducer.exact_dot(&a, &b).unwrap().to_bits64(), expected, "{n}, {begin}");
            reducer.exact_dot_into(&a, &b, &mut result).unwrap();
            let left = gpu.stream.clone_dtoh(&result).unwrap()[0];
            assert_eq!(left.to_bits64(), expected, "{n}, {begin}, left on the device");
        }
        let found = reducer.exact_norm(&device.slice(0..n)).unwrap();
        assert_eq!(found.to_bits64(), host::exact_norm(&values[..n]).to_bits64(), "norm of {n}");
    }
}

#[test]
fn exact_dot_products_have_the_bits_of_the_host() {
    let Some(gpu) = gpu() else { return };
    dots::<f32>(&gpu);
    dots::<f64>(&gpu);
    dots::<f16>(&gpu);
    dots::<bf16>(&gpu);
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    let error = reducer.exact_dot(&device_of(&gpu, 3), &device_of(&gpu, 4)).unwrap_err();
    assert!(
        error.to_string().contains("the first has 3 elements, but the second has 4"),
        "{error}"
    );
}

#[test]
fn exact_sums_of_rows_and_norms_have_the_bits_of_the_host() {
    let Some(gpu) = gpu() else { return };
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    let span = (3 << 20) + 100;
    let values = slice::<f32>(span, Operation::Sum);
    let device = gpu.stream.clone_htod(&values).unwrap();
    // The rows need one block for each row, one launch for each row, or one launch for the only
    // row.
    for (count, elements, pitch) in [
        (1000, 100, 103),
        (70_000, 7, 7),
        (3, 1 << 20, (1 << 20) + 3),
        (1, span as u64 - 1, 1 << 30),
    ] {
        let rows = Rows::new(count, elements).pitch(pitch);
        let mut sums = gpu.stream.alloc_zeros::<f32>(count as usize).unwrap();
        let view = device.slice(1..span);
        reducer.exact_sum_rows_into(&view, rows, &mut sums).unwrap();
        let found = gpu.stream.clone_dtoh(&sums).unwrap();
        let expected = host::exact_sum_rows(&values[1..], rows).unwrap();
        for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found.to_bits(), expected.to_bits(), "row {row} of {rows:?}");
        }
    }
    for n in [0, 1, 77, 1 << 20] {
        let found = reducer.exact_norm(&device.slice(0..n)).unwrap();
        assert_eq!(found.to_bits(), host::exact_norm(&values[..n]).to_bits(), "norm of {n}");
    }
}

#[test]
fn an_exact_sum_in_a_graph_has_the_bits_of_the_host() {
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>((1 << 20) + 5, Operation::Sum);
    let device = gpu.stream.clone_htod(&values).unwrap();
    let mut result = gpu.stream.clone_htod(&[0.0f32]).unwrap();
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    let graph = capture(&gpu.stream, || reducer.exact_sum_into(&device, &mut result).unwrap());
    drop(reducer);
    for _ in 0..3 {
        graph.launch().unwrap();
        let left = gpu.stream.clone_dtoh(&result).unwrap()[0];
        assert_eq!(left.to_bits(), host::exact_sum(&values).to_bits());
    }
}

fn device_of(gpu: &Gpu, n: usize) -> cudarc::driver::CudaSlice<f32> {
    gpu.stream.clone_htod(&vec![1.0; n]).unwrap()
}

#[test]
fn exact_sums_have_the_bits_of_the_host() {
    let Some(gpu) = gpu() else { return };
    same_bits::<f32>(&gpu, |bits| f32::from_bits(finite(bits, 32) as u32));
    same_bits::<f64>(&gpu, |bits| f64::from_bits(finite(bits, 64)));
    same_bits::<f16>(&gpu, |bits| f16::from_bits(finite(bits, 16) as u16));
    same_bits::<bf16>(&gpu, |bits| bf16::from_bits(finite(bits, 16) as u16));
}
