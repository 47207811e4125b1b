//! Tests that sums of rows are bit-identical to those on the host, even in first calls and in
//! graphs, and that invalid calls return errors.

use cudarc::driver::sys::{CUgraphInstantiate_flags as Flags, CUstreamCaptureMode as Mode};
use half::{bf16, f16};
use samebits::{Accumulator, Element, Error, Operation, Reducer, Rows, host};

use crate::{
    Gpu,
    drawn::{Drawn, slice},
    gpu,
};

/// Pairs of a number of rows and a row length, for every shape.
const SHAPES: [(u64, u64); 18] = [
    (1, 100_003),
    (100_000, 1),
    (33_333, 3),
    (20_000, 8),
    (5000, 33),
    (900, 300),
    (3000, 513),
    (40, 4096),
    (30, 5001),
    (9, 12_288),
    (1500, 12_291),
    (300, 20_001),
    (2, 49_153),
    (3, 65_536),
    (400, 65_537),
    (2, 700_001),
    (20, 400_001),
    (5, 2_000_000),
];

fn holds<T>(gpu: &Gpu)
where
    T: Drawn + cudarc::driver::DeviceRepr,
    <T as Element>::Output: cudarc::driver::DeviceRepr + cudarc::driver::ValidAsZeroBits,
{
    let stream = &gpu.stream;
    let reducer = Reducer::<T>::new(stream).unwrap();
    for (count, elements) in SHAPES {
        for (rows, shift) in [
            (Rows::new(count, elements), 0),
            (Rows::new(count, elements), 1),
            (Rows::new(count, elements).pitch(elements + 5), 3),
        ] {
            let (_, _, pitch) = rows.numbers();
            let values =
                slice::<T>((shift + (count - 1) * pitch + elements) as usize, Operation::Sum);
            let device = stream.clone_htod(&values).unwrap();
            let mut sums = stream.alloc_zeros::<T::Output>(count as usize).unwrap();
            let view = device.slice(shift as usize..);
            reducer.sum_rows_into(&view, rows, &mut sums).unwrap();
            let expected = host::sum_rows(&values[shift as usize..], rows).unwrap();
            for (row, (got, right)) in
                stream.clone_dtoh(&sums).unwrap().into_iter().zip(expected).enumerate()
            {
                assert_eq!(
                    got.to_bits64(),
                    right.to_bits64(),
                    "row {row} of {rows:?}, {shift} after a vector"
                );
            }
        }
    }
}

macro_rules! types {
    ($($test:ident $type:ty;)+) => {$(
        #[test]
        fn $test() {
            let Some(gpu) = gpu() else { return };
            holds::<$type>(&gpu);
        }
    )+};
}
types! {
    f32s f32; f64s f64; i32s i32; u32s u32; i64s i64; u64s u64; f16s f16; bf16s bf16;
}

#[test]
fn captured_work_runs_repeatedly() {
    let Some(gpu) = gpu() else { return };
    let stream = &gpu.stream;
    for (count, elements) in [(500, 33), (3, 65_536), (2, 700_001)] {
        let rows = Rows::new(count, elements);
        let values = slice::<f32>((count * elements) as usize, Operation::Sum);
        let device = stream.clone_htod(&values).unwrap();
        let mut sums = stream.alloc_zeros::<f32>(count as usize).unwrap();
        let reducer = Reducer::<f32>::new(stream).unwrap();
        stream.synchronize().unwrap();
        stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
        reducer.sum_rows_into(&device, rows, &mut sums).unwrap();
        let flags = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).unwrap().unwrap();
        drop(reducer);
        let expected = host::sum_rows(&values, rows).unwrap();
        for _ in 0..20 {
            graph.launch().unwrap();
            assert_eq!(stream.clone_dtoh(&sums).unwrap(), expected);
        }
    }
}

#[test]
fn bad_rows_are_errors() {
    let Some(gpu) = gpu() else { return };
    let device = gpu.stream.alloc_zeros::<f32>(100).unwrap();
    let mut sums = gpu.stream.alloc_zeros::<f32>(9).unwrap();
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    let mut said = |rows: Rows| reducer.sum_rows_into(&device, rows, &mut sums).unwrap_err();
    assert!(matches!(said(Rows::new(0, 10)), Error::NoRows { .. }));
    assert!(matches!(said(Rows::new(10, 0)), Error::NoRows { .. }));
    assert!(matches!(said(Rows::new(9, 12)), Error::ShortSlice { .. }));
    assert!(matches!(said(Rows::new(9, 10).pitch(9)), Error::Pitch { .. }));
    assert!(matches!(said(Rows::new(10, 10)), Error::NoRoomForRows { room: 9, rows: 10 }));
    assert!(matches!(said(Rows::new(1 << 40, 1 << 32)), Error::ShortSlice { .. }));
}
