//! On a GPU, if there is one: right, in place, in a graph, and the same bits every time.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use reduce::Reducer;

/// A stream, or a line that says why there is none.
fn stream() -> Option<Arc<CudaStream>> {
    if !reduce::has_driver() {
        eprintln!("skipped: there is no NVIDIA driver");
        return None;
    }
    match CudaContext::new(0).and_then(|context| {
        reduce::untracked(&context);
        context.new_stream()
    }) {
        Ok(stream) => Some(stream),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn values(n: usize) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
    (0..n).map(|_| rng.random::<f32>() - 0.5).collect()
}

const SIZES: [usize; 12] =
    [0, 1, 1000, 4096, 4097, 1 << 14, 1 << 15, 60_001, 1 << 17, 1 << 18, 1 << 22, (1 << 24) + 13];

#[test]
fn sums_minima_and_maxima() {
    let Some(stream) = stream() else { return };
    for n in SIZES {
        let values = values(n);
        let slice = stream.clone_htod(&values).unwrap();
        let exact: f64 = values.iter().map(|&v| f64::from(v)).sum();
        let sum = reduce::sum(&stream, &slice).unwrap();
        let magnitude: f64 = values.iter().map(|&v| f64::from(v).abs()).sum();
        assert!((f64::from(sum) - exact).abs() <= 1e-5 * magnitude, "{n}: {sum}, not {exact}");
        let (min, max) = values
            .iter()
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
        assert_eq!(reduce::min(&stream, &slice).unwrap(), min, "{n}");
        assert_eq!(reduce::max(&stream, &slice).unwrap(), max, "{n}");
        for _ in 0..100 {
            let again = reduce::sum(&stream, &slice).unwrap();
            assert_eq!(again.to_bits(), sum.to_bits(), "{n}");
        }
        if n > 8 {
            // A slice between two words of 16 bytes: the same elements, the same bits.
            let mut shifted = vec![9.0f32; 3];
            shifted.extend_from_slice(&values);
            let shifted = stream.clone_htod(&shifted).unwrap();
            let same = reduce::sum(&stream, &shifted.slice(3..)).unwrap();
            assert_eq!(same.to_bits(), sum.to_bits(), "{n}, unaligned");
        }
    }
}

#[test]
fn integers_wrap() {
    let Some(stream) = stream() else { return };
    for n in SIZES {
        let values: Vec<i64> =
            (0..n as i64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64)).collect();
        let slice = stream.clone_htod(&values).unwrap();
        let expected = values.iter().fold(0i64, |a, &b| a.wrapping_add(b));
        assert_eq!(reduce::sum(&stream, &slice).unwrap(), expected, "{n}");
        assert_eq!(
            reduce::min(&stream, &slice).unwrap(),
            values.iter().copied().min().unwrap_or(i64::MAX)
        );
        let unsigned: Vec<u32> = values.iter().map(|&v| v as u32).collect();
        let slice = stream.clone_htod(&unsigned).unwrap();
        assert_eq!(
            reduce::max(&stream, &slice).unwrap(),
            unsigned.iter().copied().max().unwrap_or(0)
        );
    }
}

#[test]
fn stays_on_the_device_and_in_a_graph() {
    let Some(stream) = stream() else { return };
    let reducer = Reducer::<f32>::new(&stream).unwrap();
    for n in SIZES {
        let slice = stream.clone_htod(&values(n)).unwrap();
        let expected = reducer.sum(&slice).unwrap();
        let mut result = stream.clone_htod(&[f32::NAN]).unwrap();
        reducer.sum_into(&slice, &mut result).unwrap();
        assert_eq!(stream.clone_dtoh(&result).unwrap()[0].to_bits(), expected.to_bits(), "{n}");
        stream.memcpy_htod(&[f32::NAN], &mut result).unwrap();
        stream.synchronize().unwrap();
        stream
            .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .unwrap();
        reducer.sum_into(&slice, &mut result).unwrap();
        let none = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(none).unwrap().unwrap();
        for _ in 0..3 {
            graph.launch().unwrap();
            assert_eq!(stream.clone_dtoh(&result).unwrap()[0].to_bits(), expected.to_bits(), "{n}");
            stream.memcpy_htod(&[f32::NAN], &mut result).unwrap();
        }
    }
    let mut empty = stream.alloc_zeros::<f32>(1).unwrap();
    let mut none = empty.slice_mut(0..0);
    let slice = stream.clone_htod(&values(10)).unwrap();
    assert!(reducer.sum_into(&slice, &mut none).is_err());
}
