//! Tests that reductions of rows, wide results and counts have the same bits on a device and the
//! host.

use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use half::bf16;
use samebits::{Accumulator, Operation, Reducer, Rows, WideElement, host};

use crate::{
    Gpu,
    drawn::{Drawn, operations, slice},
    gpu,
};

/// The numbers and lengths of rows of every shape: short rows, rows for a warp, rows for a block,
/// and rows of several chunks.
const ROWS: [(u64, u64); 8] = [
    (1000, 3),
    (999, 33),
    (64, 1000),
    (33, 5001),
    (17, 20_001),
    (5, 70_001),
    (3, 400_013),
    (2, 1_572_941),
];

fn rows<T: Drawn + DeviceRepr>(gpu: &Gpu)
where
    T::Output: DeviceRepr + ValidAsZeroBits,
{
    let reducer = Reducer::<T>::new(&gpu.stream).unwrap();
    for operation in operations::<T>() {
        for (count, elements) in ROWS {
            for pitch in [elements, elements.next_multiple_of(16)] {
                let rows = Rows::new(count, elements).pitch(pitch);
                let values = slice::<T>((count * pitch) as usize, operation);
                let device = gpu.stream.clone_htod(&values).unwrap();
                let mut results = gpu.stream.alloc_zeros(count as usize).unwrap();
                reducer.reduce_rows_into(operation, &device, rows, &mut results).unwrap();
                let found = gpu.stream.clone_dtoh(&results).unwrap();
                let expected = host::reduce_rows(&values, operation, rows).unwrap();
                for (row, (found, expected)) in found.into_iter().zip(expected).enumerate() {
                    let (found, expected) = (found.to_bits64(), expected.to_bits64());
                    assert_eq!(found, expected, "{operation:?}, row {row} of {rows:?}");
                }
            }
        }
    }
}

#[test]
fn rows_have_the_bits_of_the_host() {
    let Some(gpu) = gpu() else { return };
    rows::<f32>(&gpu);
    rows::<bf16>(&gpu);
    rows::<i64>(&gpu);
    rows::<u8>(&gpu);
}

fn wide<T: Drawn + DeviceRepr + WideElement>(gpu: &Gpu)
where
    T::Wider: DeviceRepr + ValidAsZeroBits,
{
    let reducer = Reducer::<T>::new(&gpu.stream).unwrap();
    for operation in operations::<T>() {
        for n in [0, 1, 1000, 10_001, 30_001, 120_000, 1_572_941] {
            let values = slice::<T>(n, operation);
            let device = gpu.stream.clone_htod(&values).unwrap();
            let mut result = gpu.stream.alloc_zeros(1).unwrap();
            let expected = host::reduce_wide(&values, operation).to_bits64();
            let waited = reducer.reduce_wide(operation, &device).unwrap();
            assert_eq!(waited.to_bits64(), expected, "{operation:?} of {n}");
            reducer.reduce_wide_into(operation, &device, &mut result).unwrap();
            let left = gpu.stream.clone_dtoh(&result).unwrap()[0];
            assert_eq!(left.to_bits64(), expected, "{operation:?} of {n}, left on the device");
        }
    }
}

#[test]
fn wide_results_have_the_bits_of_the_host() {
    let Some(gpu) = gpu() else { return };
    wide::<f32>(&gpu);
    wide::<i32>(&gpu);
    wide::<u32>(&gpu);
}

#[test]
fn counts_are_those_of_the_host() {
    let Some(gpu) = gpu() else { return };
    let reducer = Reducer::<u8>::new(&gpu.stream).unwrap();
    for n in [0, 1, 31, 5000, 70_003, 3_000_001] {
        let values: Vec<u8> = (0..n).map(|i| u8::from(i % 3 == 1)).collect();
        let device = gpu.stream.clone_htod(&values).unwrap();
        assert_eq!(reducer.count(&device).unwrap(), host::count(&values));
        assert_eq!(reducer.any(&device).unwrap(), host::any(&values));
        assert_eq!(reducer.every(&device).unwrap(), host::every(&values));
    }
}

#[test]
fn integers_have_no_norm() {
    let Some(gpu) = gpu() else { return };
    let slice = gpu.stream.clone_htod(&[1i32, 2]).unwrap();
    let error = samebits::reduce(&gpu.stream, Operation::Norm, &slice).unwrap_err().to_string();
    assert!(error.contains("norm is only for floats, but the elements are i32"), "{error}");
    let mut result = gpu.stream.alloc_zeros::<i64>(1).unwrap();
    let reducer = Reducer::<i32>::new(&gpu.stream).unwrap();
    let error = reducer.reduce_truth_into(Operation::Mean, &slice, &mut result).unwrap_err();
    assert!(error.to_string().contains("mean is not defined for truth values"), "{error}");
}
