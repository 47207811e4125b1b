//! Tests that indices, extremes, dot products, columns, lists, ragged rows and statistics of rows
//! have the same bits on a device and the host, in calls that wait and in calls that do not, and in
//! graphs.
#![expect(unsafe_code, reason = "the raw interface takes addresses")]

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, ValidAsZeroBits};
use half::{bf16, f16};
use samebits::{Accumulator, Columns, Itself, Operation, Reducer, Rows, host, raw};

use crate::{
    Gpu,
    drawn::{Drawn, operations, slice},
    gpu,
    graphs::capture,
};

const LENGTHS: [usize; 9] = [1, 33, 1_025, 5_000, 10_001, 30_001, 120_000, 1_572_941, 9_000_001];

fn bits<A: Accumulator>(values: &[A]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits64()).collect()
}

fn selections<T: Drawn + DeviceRepr>(gpu: &Gpu)
where
    T::Output: DeviceRepr + ValidAsZeroBits,
{
    let reducer = Reducer::<T>::new(&gpu.stream).unwrap();
    for n in LENGTHS {
        for operation in [Operation::Min, Operation::Max] {
            let values = slice::<T>(n + 1, operation);
            let device = gpu.stream.clone_htod(&values).unwrap();
            for from in [0, 1] {
                let part = &values[from..n + from];
                let view = device.slice(from..n + from);
                let expected = host::find(part, operation).unwrap();
                let found = reducer.find(operation, &view).unwrap();
                assert_eq!(found.index, expected.index, "{operation:?} of {n} from {from}");
                assert_eq!(found.value.to_bits64(), expected.value.to_bits64());
                let (low, high) = reducer.min_max(&view).unwrap();
                let (least, most) = host::min_max(part);
                assert_eq!(bits(&[low, high]), bits(&[least, most]), "{n} from {from}");
            }
        }
    }
    for (count, elements) in [(1000, 3), (2500, 1000), (64, 5000), (3, 400_013)] {
        let rows = Rows::new(count, elements).pitch(elements + 1);
        let values = slice::<T>((count * (elements + 1)) as usize, Operation::Max);
        let device = gpu.stream.clone_htod(&values).unwrap();
        let [mut first, mut second] =
            [0; 2].map(|_| gpu.stream.alloc_zeros(count as usize).unwrap());
        let mut indices = gpu.stream.alloc_zeros(count as usize).unwrap();
        reducer.find_rows_into(Operation::Max, &device, rows, &mut first, &mut indices).unwrap();
        let expected = host::find_rows(&values, Operation::Max, rows).unwrap();
        let places: Vec<u64> = expected.iter().map(|found| found.index).collect();
        assert_eq!(gpu.stream.clone_dtoh(&indices).unwrap(), places, "{rows:?}");
        let maxima: Vec<T::Output> = expected.iter().map(|found| found.value).collect();
        assert_eq!(bits(&gpu.stream.clone_dtoh(&first).unwrap()), bits(&maxima), "{rows:?}");
        reducer.min_max_rows_into(&device, rows, &mut first, &mut second).unwrap();
        let both = host::min_max_rows(&values, rows).unwrap();
        let (minima, maxima): (Vec<_>, Vec<_>) = both.into_iter().unzip();
        assert_eq!(bits(&gpu.stream.clone_dtoh(&first).unwrap()), bits(&minima), "{rows:?}");
        assert_eq!(bits(&gpu.stream.clone_dtoh(&second).unwrap()), bits(&maxima), "{rows:?}");
    }
    let empty = gpu.stream.alloc_zeros::<u64>(0).unwrap();
    let error = Reducer::new(&gpu.stream).unwrap().find(Operation::Min, &empty).unwrap_err();
    assert!(error.to_string().contains("no elements"), "{error}");
}

#[test]
fn indices_and_extremes_are_those_of_the_host() {
    let Some(gpu) = gpu() else { return };
    selections::<f32>(&gpu);
    selections::<f64>(&gpu);
    selections::<bf16>(&gpu);
    selections::<u16>(&gpu);
    selections::<i8>(&gpu);
}

fn dots<T: Drawn + DeviceRepr>(gpu: &Gpu)
where
    T::Output: DeviceRepr + ValidAsZeroBits,
{
    let reducer = Reducer::<T>::new(&gpu.stream).unwrap();
    for n in LENGTHS {
        let values = slice::<T>(2 * n + 1, Operation::Sum);
        let device = gpu.stream.clone_htod(&values).unwrap();
        for from in [0, 1] {
            let (a, b) = (&values[..n], &values[n + from..2 * n + from]);
            let views = (device.slice(..n), device.slice(n + from..2 * n + from));
            let expected = host::dot(a, b).unwrap().to_bits64();
            let found = reducer.dot(&views.0, &views.1).unwrap();
            assert_eq!(found.to_bits64(), expected, "{n} from {from}");
            let mut result = gpu.stream.alloc_zeros(1).unwrap();
            reducer.dot_into(&views.0, &views.1, &mut result).unwrap();
            assert_eq!(bits(&gpu.stream.clone_dtoh(&result).unwrap()), [expected], "{n}");
        }
    }
}

#[test]
fn dot_products_are_those_of_the_host() {
    let Some(gpu) = gpu() else { return };
    dots::<f32>(&gpu);
    dots::<f64>(&gpu);
    dots::<bf16>(&gpu);
    dots::<u64>(&gpu);
    let (a, b) = (slice::<f32>(100_001, Operation::Sum), slice::<f32>(100_001, Operation::Max));
    let devices = (gpu.stream.clone_htod(&a).unwrap(), gpu.stream.clone_htod(&a).unwrap());
    let found = samebits::dot_wide(&gpu.stream, &devices.0, &devices.1).unwrap();
    assert_eq!(found.to_bits(), host::dot_wide(&a, &a).unwrap().to_bits());
    let shorter = gpu.stream.clone_htod(&b[1..]).unwrap();
    let error = samebits::dot(&gpu.stream, &devices.0, &shorter).unwrap_err().to_string();
    assert!(error.contains("100001 elements, but the second has 100000"), "{error}");
}

fn columns<T: Drawn + DeviceRepr>(gpu: &Gpu)
where
    T::Output: DeviceRepr + ValidAsZeroBits,
{
    let reducer = Reducer::<T>::new(&gpu.stream).unwrap();
    for (turn, operation) in operations::<T>().into_iter().enumerate() {
        let matrices = [
            Columns::new(1, 100),
            Columns::new(7, 5_000).pitch(5_003),
            Columns::new(1_000, 33),
            Columns::new(20_001, 130),
            Columns::new(400_000, 3),
            Columns::of_axis(&[3, 5_000, 40], 1).unwrap(),
            Columns::of_axis(&[10, 30_001, 2], 1).unwrap(),
            Columns::of_axis(&[50, 1_001], 1).unwrap(),
            Columns::new(0, 3),
        ];
        for layout in matrices.into_iter().skip(turn % 2).step_by(if turn == 0 { 1 } else { 2 }) {
            let values = slice::<T>(6_000_000, operation);
            let device = gpu.stream.clone_htod(&values).unwrap();
            let mut results = gpu.stream.alloc_zeros(layout.results() as usize).unwrap();
            reducer.reduce_columns_into(operation, &device, layout, &mut results).unwrap();
            let expected = host::reduce_columns(&values, operation, layout).unwrap();
            let found = gpu.stream.clone_dtoh(&results).unwrap();
            assert_eq!(bits(&found), bits(&expected), "{operation:?} of {layout:?}");
        }
    }
}

#[test]
fn columns_are_those_of_the_host() {
    let Some(gpu) = gpu() else { return };
    columns::<f32>(&gpu);
    columns::<bf16>(&gpu);
    columns::<u8>(&gpu);
    columns::<i64>(&gpu);
    let values = gpu.stream.alloc_zeros::<f32>(11).unwrap();
    let mut results = gpu.stream.alloc_zeros::<f32>(4).unwrap();
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    let layout = Columns::new(3, 4);
    let error = reducer.reduce_columns_into(Operation::Sum, &values, layout, &mut results);
    assert!(error.unwrap_err().to_string().contains("end at element 12"));
}

#[test]
fn lists_are_those_of_the_host() {
    let Some(gpu) = gpu() else { return };
    let lengths = [1, 0, 33, 513, 5_000, 30_001, 2, 120_000, 1_572_941, 9_000_001, 64];
    let values: Vec<Vec<f32>> = lengths.iter().map(|n| slice(*n, Operation::Sum)).collect();
    let devices: Vec<CudaSlice<f32>> =
        values.iter().map(|values| gpu.stream.clone_htod(values).unwrap()).collect();
    let (slices, devices): (Vec<&[f32]>, Vec<&CudaSlice<f32>>) =
        (values.iter().map(|values| &values[..]).collect(), devices.iter().collect());
    for operation in operations::<f32>() {
        let (each, all) = host::reduce_list(&slices, operation).unwrap();
        for _ in 0..2 {
            let found = samebits::reduce_list(&gpu.stream, operation, &devices).unwrap();
            assert_eq!((bits(&found.0), found.1.to_bits()), (bits(&each), all.to_bits()));
        }
    }
    let error = samebits::reduce_list::<f32>(&gpu.stream, Operation::Sum, &[]).unwrap_err();
    assert!(error.to_string().contains("no slices"), "{error}");

    // A graph reduces two hundred slices three times.
    let many: Vec<&[f32]> = (0..200).map(|i| slices[i % 8]).collect();
    let places: Vec<(u64, u64)> = (0..200)
        .map(|i| (devices[i % 8].device_ptr(&gpu.stream).0, lengths[i % 8] as u64))
        .collect();
    let (each, all) = host::reduce_list(&many, Operation::Norm).unwrap();
    let mut results = gpu.stream.alloc_zeros::<f32>(201).unwrap();
    // SAFETY: the stream, the slices and the results live until the graph has run.
    let stream = unsafe {
        raw::Stream::new(gpu.context.cu_ctx().cast(), gpu.stream.cu_stream().cast()).unwrap()
    };
    let list = raw::List::new::<f32>(stream, &places).unwrap();
    let output = results.device_ptr(&gpu.stream).0;
    // SAFETY: as above.
    let reduce = || unsafe {
        raw::reduce_list_into::<f32, Itself>(stream, Operation::Norm, &list, output, output + 800)
    };
    reduce().unwrap();
    let graph = capture(&gpu.stream, || reduce().unwrap());
    for _ in 0..3 {
        gpu.stream.memset_zeros(&mut results).unwrap();
        graph.launch().unwrap();
        let found = gpu.stream.clone_dtoh(&results).unwrap();
        assert_eq!(bits(&found[..200]), bits(&each));
        assert_eq!(found[200].to_bits(), all.to_bits());
    }
}

fn ragged<T: Drawn + DeviceRepr>(gpu: &Gpu, lengths: &[u64])
where
    T::Output: DeviceRepr + ValidAsZeroBits,
{
    let ends = lengths.iter().scan(0, |end, n| {
        *end += n;
        Some(*end)
    });
    let offsets: Vec<u64> = [0].into_iter().chain(ends).collect();
    for operation in operations::<T>() {
        let values = slice::<T>(offsets[lengths.len()] as usize, operation);
        let device = gpu.stream.clone_htod(&values).unwrap();
        let places = gpu.stream.clone_htod(&offsets).unwrap();
        let mut results = gpu.stream.alloc_zeros(lengths.len()).unwrap();
        let stream = &gpu.stream;
        let expected = bits(&host::reduce_ragged(&values, operation, &offsets).unwrap());
        for _ in 0..2 {
            samebits::reduce_ragged_into(stream, operation, &device, &places, &mut results)
                .unwrap();
            let found = bits(&gpu.stream.clone_dtoh(&results).unwrap());
            assert!(found == expected, "{operation:?} of {} rows", lengths.len());
        }
    }
}

#[test]
fn ragged_rows_are_those_of_the_host() {
    let Some(gpu) = gpu() else { return };
    let mixed = [3, 0, 1, 4, 5, 33, 0, 700, 513, 17, 2, 20_001, 5_000, 60_001, 3, 3, 3_000_000];
    let short: Vec<u64> = (0..100_000).map(|i| i * 7 % 11).collect();
    let giant: Vec<u64> = (0..10_000).map(|i| if i == 5_000 { 9_000_001 } else { 3 }).collect();
    ragged::<f32>(&gpu, &mixed);
    ragged::<bf16>(&gpu, &mixed);
    ragged::<f64>(&gpu, &short);
    ragged::<u8>(&gpu, &giant);
    ragged::<f32>(&gpu, &giant);
    let device = gpu.stream.clone_htod(&slice::<f32>(100, Operation::Sum)).unwrap();
    let mut results = gpu.stream.alloc_zeros::<f32>(4).unwrap();
    for (offsets, words) in [
        (vec![0, 5, 3, 3, 9], "row 1 has offsets 5 to 3"),
        (vec![0, 5, 6, 7, 101], "row 3 has offsets 7 to 101, but the slice has 100"),
        (vec![], "no offsets"),
        (vec![0; 6], "room for 4"),
    ] {
        let offsets = gpu.stream.clone_htod(&offsets).unwrap();
        let found = samebits::reduce_ragged_into(
            &gpu.stream,
            Operation::Sum,
            &device,
            &offsets,
            &mut results,
        );
        let error = found.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn forms_can_be_captured() {
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>(3_000_000, Operation::Max);
    let device = gpu.stream.clone_htod(&values).unwrap();
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    let mut value = gpu.stream.alloc_zeros::<f32>(1).unwrap();
    let mut index = gpu.stream.alloc_zeros::<u64>(1).unwrap();
    let mut sums = gpu.stream.alloc_zeros::<f32>(3).unwrap();
    let mut dot = gpu.stream.alloc_zeros::<f32>(1).unwrap();
    let mut log = gpu.stream.alloc_zeros::<f32>(1).unwrap();
    let (rows, columns) = (Rows::new(1, 3_000_000), Columns::new(1_000_000, 3));
    let mut all = |reducer: &Reducer<f32>| {
        reducer.find_rows_into(Operation::Max, &device, rows, &mut value, &mut index).unwrap();
        reducer.reduce_columns_into(Operation::Max, &device, columns, &mut sums).unwrap();
        reducer.dot_into(&device, &device, &mut dot).unwrap();
        reducer.log_sum_exp_rows_into(&device, rows, &mut log).unwrap();
    };
    all(&reducer);
    let graph = capture(&gpu.stream, || all(&reducer));
    drop(reducer);
    let found = host::find(&values, Operation::Max).unwrap();
    let maxima = host::reduce_columns(&values, Operation::Max, columns).unwrap();
    for _ in 0..2 {
        graph.launch().unwrap();
        assert_eq!(gpu.stream.clone_dtoh(&index).unwrap(), [found.index]);
        assert_eq!(gpu.stream.clone_dtoh(&value).unwrap(), [found.value]);
        assert_eq!(bits(&gpu.stream.clone_dtoh(&sums).unwrap()), bits(&maxima));
        let dot = gpu.stream.clone_dtoh(&dot).unwrap();
        assert_eq!(bits(&dot), bits(&[host::dot(&values, &values).unwrap()]));
        let log = gpu.stream.clone_dtoh(&log).unwrap();
        assert_eq!(bits(&log), bits(&host::log_sum_exp_rows(&values, rows).unwrap()));
    }
}

fn moments<T: Drawn + DeviceRepr>(gpu: &Gpu)
where
    T::Output: DeviceRepr + ValidAsZeroBits,
{
    for (count, elements) in [(1000, 3), (2500, 128), (999, 1000), (64, 32_768), (3, 400_013)] {
        let rows = Rows::new(count, elements).pitch(elements + 1);
        let values = slice::<T>((count * (elements + 1)) as usize, Operation::Sum);
        let device = gpu.stream.clone_htod(&values).unwrap();
        let [mut means, mut variances] =
            [0; 2].map(|_| gpu.stream.alloc_zeros(count as usize).unwrap());
        let stream = &gpu.stream;
        samebits::moments_rows_into(stream, &device, rows, 1, &mut means, &mut variances).unwrap();
        let expected = host::moments_rows(&values, rows, 1).unwrap();
        assert_eq!(bits(&gpu.stream.clone_dtoh(&means).unwrap()), bits(&expected.0), "{rows:?}");
        let found = gpu.stream.clone_dtoh(&variances).unwrap();
        assert_eq!(bits(&found), bits(&expected.1), "{rows:?}");
    }
}

#[test]
fn means_and_variances_are_those_of_the_host() {
    let Some(gpu) = gpu() else { return };
    moments::<f32>(&gpu);
    moments::<f64>(&gpu);
    moments::<bf16>(&gpu);
}

fn log_sum_exps<T: Drawn + DeviceRepr>(gpu: &Gpu)
where
    T::Output: DeviceRepr + ValidAsZeroBits,
{
    for (count, elements) in [(1000, 3), (2500, 128), (999, 1000), (64, 32_768), (3, 400_013)] {
        let rows = Rows::new(count, elements).pitch(elements + 1);
        // Those for maxima have NaN in many rows.
        for operation in [Operation::Sum, Operation::Max] {
            let values = slice::<T>((count * (elements + 1)) as usize, operation);
            let device = gpu.stream.clone_htod(&values).unwrap();
            let mut results = gpu.stream.alloc_zeros(count as usize).unwrap();
            samebits::log_sum_exp_rows_into(&gpu.stream, &device, rows, &mut results).unwrap();
            let expected = host::log_sum_exp_rows(&values, rows).unwrap();
            let found = gpu.stream.clone_dtoh(&results).unwrap();
            assert_eq!(bits(&found), bits(&expected), "{rows:?}");
        }
    }
}

#[test]
fn log_sum_exps_are_those_of_the_host() {
    let Some(gpu) = gpu() else { return };
    log_sum_exps::<f32>(&gpu);
    log_sum_exps::<f64>(&gpu);
    log_sum_exps::<f16>(&gpu);
    log_sum_exps::<bf16>(&gpu);
}
