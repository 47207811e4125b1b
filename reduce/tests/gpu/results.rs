//! Tests that results are bit-identical to those of `samebits::host` for every type, operation and
//! shape, and for lengths of more than 32 bits.

use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use samebits::{Accumulator, Element, Operation, Reducer};

use crate::{
    Gpu,
    drawn::{Drawn, on_the_host, operations, slice},
    gpu,
};

/// The length of the longest random slice.
const LONGEST: usize = (1 << 24) + 13;

/// Returns a hundred random lengths, whose logarithms are uniformly distributed, and the lengths at
/// which shapes change.
fn lengths(size: usize) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_122);
    let drawn = (0..100).map(|_| 2f64.powf(rng.random_range(0.0..24.0)) as usize);
    let edges = [0, 16, 48, 192, 1536, 2560, 8192].into_iter().flat_map(|kib: usize| {
        [-1i64, 0, 1].map(|by| ((kib << 10) / size).saturating_add_signed(by as isize))
    });
    drawn.chain(edges).chain([1_400_000, 1_572_941, LONGEST]).map(|n| n.min(LONGEST)).collect()
}

fn same_bits<T: Drawn + DeviceRepr>(gpu: &Gpu)
where
    T::Output: DeviceRepr,
{
    let reducer = Reducer::<T>::new(&gpu.stream).unwrap();
    for operation in operations::<T>() {
        let values = slice::<T>(LONGEST + 3, operation);
        let device = gpu.stream.clone_htod(&values).unwrap();
        let mut result = gpu.stream.clone_htod(&[T::Output::ZERO]).unwrap();
        for n in lengths(size_of::<T>()) {
            // The alignment of the slice must not change any bit of the result.
            for begin in [0, n % 4] {
                let expected = on_the_host(&values[begin..begin + n], operation);
                let view = device.slice(begin..begin + n);
                let what =
                    || format!("{operation:?} of {n} {} from {begin}", std::any::type_name::<T>());
                let waited = reducer.reduce(operation, &view);
                assert_eq!(waited.unwrap().to_bits64(), expected, "{}", what());
                reducer.reduce_into(operation, &view, &mut result).unwrap();
                let left = gpu.stream.clone_dtoh(&result).unwrap()[0];
                assert_eq!(left.to_bits64(), expected, "{}, left on the device", what());
            }
        }
    }
}

macro_rules! types {
    ($($test:ident $type:ty;)+) => {$(
        #[test]
        fn $test() {
            if let Some(gpu) = gpu() {
                same_bits::<$type>(&gpu);
            }
        }
    )+};
}
types! {
    f32s f32; f64s f64; i32s i32; u32s u32; i64s i64; u64s u64; f16s f16; bf16s bf16;
    i8s i8; u8s u8; i16s i16; u16s u16; bools bool;
}

/// Checks that every NaN result has the same bits, although arithmetic on the device may or may not
/// keep a NaN's payload.
#[test]
fn every_nan_is_the_same() {
    let Some(gpu) = gpu() else { return };
    for n in [1, 5000, 20_000, 100_000, 1_400_003] {
        let singles = gpu.stream.clone_htod(&vec![f32::from_bits(0xffc0_1234); n]).unwrap();
        let doubles =
            gpu.stream.clone_htod(&vec![f64::from_bits(0xfff8_0000_1234_5678); n]).unwrap();
        let halves = gpu.stream.clone_htod(&vec![f16::from_bits(0xfe01); n]).unwrap();
        let of = &gpu.stream;
        type Reduce<T> = fn(
            &std::sync::Arc<cudarc::driver::CudaStream>,
            &cudarc::driver::CudaSlice<T>,
        ) -> samebits::Result<<T as Element>::Output>;
        let single: [Reduce<f32>; 3] = [samebits::sum, samebits::min, samebits::max];
        let double: [Reduce<f64>; 3] = [samebits::sum, samebits::min, samebits::max];
        let half: [Reduce<f16>; 3] = [samebits::sum, samebits::min, samebits::max];
        for i in 0..3 {
            assert_eq!(single[i](of, &singles).unwrap().to_bits(), 0x7fff_ffff, "{n}");
            assert_eq!(double[i](of, &doubles).unwrap().to_bits(), 0x7fff_ffff_ffff_ffff, "{n}");
            assert_eq!(half[i](of, &halves).unwrap().to_bits(), 0x7fff_ffff, "{n}");
        }
    }
}

/// Checks that thousands of computations of the same sum have the same bits, although blocks may
/// run in a different order each time.
#[test]
fn repeated_sums_are_the_same() {
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>(LONGEST, Operation::Sum);
    let device = gpu.stream.clone_htod(&values).unwrap();
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    for n in [100, 10_000, 30_000, 120_000, 1_400_000, LONGEST] {
        let expected = on_the_host(&values[..n], Operation::Sum);
        for time in 0..2000 {
            let sum = reducer.sum(&device.slice(..n)).unwrap();
            assert_eq!(sum.to_bits64(), expected, "{n}, time {time}");
        }
    }
}

/// Tests lengths of more than 31 and 32 bits. The elements are zeros, except for a few at indices
/// where an index could overflow.
fn long<T: Element + DeviceRepr + ValidAsZeroBits>(gpu: &Gpu, value: impl Fn(u32) -> T) {
    for n in [(1usize << 31) - 1, (1 << 31) + 1, (1 << 32) + 13, 2 << 31, 3 << 31] {
        let bytes = n * size_of::<T>();
        let (free, _) = gpu.context.mem_get_info().unwrap();
        if free < bytes + (1 << 30) {
            eprintln!(
                "skipped {n} of {}: {bytes} bytes, but only {free} are free",
                std::any::type_name::<T>()
            );
            continue;
        }
        let mut device = gpu.stream.alloc_zeros::<T>(n).unwrap();
        let mut host = vec![value(0); n];
        let places = (0..n).step_by((1 << 27) - 5).chain([n - 1, n - 2, n / 2]);
        let powers = [31, 32].map(|power| 1usize << power).into_iter();
        let places = places.chain(powers.flat_map(|at| [at - 1, at])).filter(|at| *at < n);
        for (place, i) in places.zip(1..) {
            host[place] = value(i);
            let mut there = device.slice_mut(place..place + 1);
            gpu.stream.memcpy_htod(&[value(i)], &mut there).unwrap();
        }
        let reducer = Reducer::<T>::new(&gpu.stream).unwrap();
        let what = std::any::type_name::<T>();
        let sum = reducer.sum(&device).unwrap().to_bits64();
        assert_eq!(sum, on_the_host(&host, Operation::Sum), "sum of {n} {what}");
        let min = reducer.min(&device).unwrap().to_bits64();
        assert_eq!(min, on_the_host(&host, Operation::Min), "min of {n} {what}");
        let max = reducer.max(&device).unwrap().to_bits64();
        assert_eq!(max, on_the_host(&host, Operation::Max), "max of {n} {what}");
    }
}

#[test]
fn beyond_32_bits() {
    let Some(gpu) = gpu() else { return };
    let sign = |i: u32| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    long::<f16>(&gpu, |i| f16::from_f32(i as f32 * sign(i)));
    long::<bf16>(&gpu, |i| bf16::from_f32(i as f32 * sign(i)));
    long::<i32>(&gpu, |i| (i as i32).wrapping_mul(0x1234_5677));
}
