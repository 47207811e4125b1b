//! Tests that captured work owns its state and that its kernels stay loaded.

use std::sync::Arc;

use cudarc::driver::{
    CudaGraph, CudaSlice, CudaStream,
    sys::{CUgraphInstantiate_flags as Flags, CUstreamCaptureMode as Mode},
};
use samebits::{Accumulator, Error, Operation, Reducer};

use crate::{
    drawn::{on_the_host, slice},
    gpu,
};

/// Lengths for one block, a few chunks and many chunks.
const SIZES: [usize; 6] = [1000, 10_000, 30_001, 120_000, 1_400_003, (1 << 24) + 13];

/// Captures work on a stream, and returns it as an executable graph.
pub(crate) fn capture(stream: &Arc<CudaStream>, work: impl FnOnce()) -> CudaGraph {
    stream.synchronize().unwrap();
    stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    work();
    stream.end_capture(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH).unwrap().unwrap()
}

fn read_and_spoil(stream: &Arc<CudaStream>, result: &mut CudaSlice<f32>) -> u64 {
    let bits = stream.clone_dtoh(result).unwrap()[0].to_bits64();
    stream.memcpy_htod(&[f32::NAN], result).unwrap();
    bits
}

#[test]
fn outlive_their_reducer() {
    let Some(gpu) = gpu() else { return };
    let stream = &gpu.stream;
    for n in SIZES {
        let values = slice::<f32>(n, Operation::Sum);
        let expected = on_the_host(&values, Operation::Sum);
        let device = stream.clone_htod(&values).unwrap();
        let mut result = stream.clone_htod(&[f32::NAN]).unwrap();
        // The first call of this reducer is captured, so its state is created during the capture.
        let reducer = Reducer::<f32>::new(stream).unwrap();
        let graph = capture(stream, || reducer.sum_into(&device, &mut result).unwrap());
        drop(reducer);
        // The reducer's memory may have been reused by now.
        let stale = stream.clone_htod(&vec![0xffu8; 600_000]).unwrap();
        for time in 0..50 {
            graph.launch().unwrap();
            assert_eq!(read_and_spoil(stream, &mut result), expected, "{n}, time {time}");
        }
        drop(stale);
    }
}

#[test]
fn hold_several_and_run_between_calls() {
    let Some(gpu) = gpu() else { return };
    let stream = &gpu.stream;
    let values = slice::<f32>(SIZES[5], Operation::Sum);
    let device = stream.clone_htod(&values).unwrap();
    let reducer = Reducer::<f32>::new(stream).unwrap();
    let expected = SIZES.map(|n| on_the_host(&values[..n], Operation::Sum));
    let mut results = SIZES.map(|_| stream.clone_htod(&[f32::NAN]).unwrap());
    let graph = capture(stream, || {
        for (n, result) in SIZES.iter().zip(&mut results) {
            reducer.sum_into(&device.slice(..*n), result).unwrap();
        }
    });
    for _ in 0..20 {
        graph.launch().unwrap();
        for (n, expected) in SIZES.iter().zip(&expected) {
            assert_eq!(reducer.sum(&device.slice(..*n)).unwrap().to_bits64(), *expected, "{n}");
        }
        for (result, expected) in results.iter_mut().zip(&expected) {
            assert_eq!(read_and_spoil(stream, result), *expected);
        }
    }
}

#[test]
fn run_beside_each_other() {
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>(SIZES[5], Operation::Sum);
    let device = gpu.stream.clone_htod(&values).unwrap();
    let expected = SIZES.map(|n| on_the_host(&values[..n], Operation::Sum));
    gpu.stream.synchronize().unwrap();
    let streams = [0, 1, 2].map(|_| gpu.context.new_stream().unwrap());
    let mut results = [0, 1, 2].map(|i| SIZES.map(|_| streams[i].clone_htod(&[f32::NAN]).unwrap()));
    let graphs: Vec<CudaGraph> = streams
        .iter()
        .zip(&mut results)
        .map(|(stream, results)| {
            let reducer = Reducer::<f32>::new(stream).unwrap();
            capture(stream, || {
                for (n, result) in SIZES.iter().zip(results) {
                    reducer.sum_into(&device.slice(..*n), result).unwrap();
                }
            })
        })
        .collect();
    for time in 0..50 {
        for _ in 0..4 {
            graphs.iter().for_each(|graph| graph.launch().unwrap());
        }
        for (stream, results) in streams.iter().zip(&mut results) {
            for (result, expected) in results.iter_mut().zip(&expected) {
                assert_eq!(read_and_spoil(stream, result), *expected, "time {time}");
            }
        }
    }
}

#[test]
fn have_no_result_to_wait_for() {
    let Some(gpu) = gpu() else { return };
    let stream = &gpu.stream;
    let values = slice::<f32>(1_400_003, Operation::Sum);
    let device = stream.clone_htod(&values).unwrap();
    let mut result = stream.clone_htod(&[f32::NAN]).unwrap();
    let reducer = Reducer::<f32>::new(stream).unwrap();
    let graph = capture(stream, || {
        assert!(matches!(reducer.sum(&device), Err(Error::Capturing)));
        assert!(matches!(samebits::max(stream, &device), Err(Error::Capturing)));
        // The capture is unaffected.
        reducer.sum_into(&device, &mut result).unwrap();
    });
    graph.launch().unwrap();
    let expected = on_the_host(&values, Operation::Sum);
    assert_eq!(read_and_spoil(stream, &mut result), expected);
    assert_eq!(reducer.sum(&device).unwrap().to_bits64(), expected);
}
