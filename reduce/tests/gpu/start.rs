//! Tests the first calls of a program, the reducers that threads keep, and several threads and
//! contexts.

use std::{sync::Arc, thread};

use cudarc::driver::CudaContext;
use samebits::{Accumulator, Operation, Reducer};

use crate::{
    drawn::{on_the_host, slice},
    gpu,
};

const N: usize = 1_400_003;

/// Checks that a reducer's state is zeroed on the reducer's own stream. On the default stream,
/// which is busy here, it would be zeroed only after its first use.
#[test]
fn a_busy_default_stream_delays_nothing() {
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>(N, Operation::Sum);
    let expected = on_the_host(&values, Operation::Sum);
    let device = gpu.stream.clone_htod(&values).unwrap();
    let default = gpu.context.default_stream();
    let mut large = default.alloc_zeros::<u8>(4 << 30).unwrap();
    default.synchronize().unwrap();
    for time in 0..20 {
        // The reducer gets memory that was used before and is not zero.
        let stale: Vec<_> =
            (0..4).map(|_| gpu.stream.clone_htod(&vec![0xffu8; 300_000]).unwrap()).collect();
        drop(stale);
        for _ in 0..20 {
            default.memset_zeros(&mut large).unwrap();
        }
        let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
        for _ in 0..3 {
            let sum = reducer.sum(&device).unwrap();
            assert_eq!(sum.to_bits64(), expected, "time {time}");
        }
        drop(reducer);
        default.synchronize().unwrap();
    }
}

#[test]
fn the_free_functions_keep_a_bounded_number() {
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>(N, Operation::Sum);
    let expected = on_the_host(&values, Operation::Sum);
    let device = gpu.stream.clone_htod(&values).unwrap();
    gpu.stream.synchronize().unwrap();
    // Each call is passed a new `Arc` of the same stream.
    samebits::sum(&gpu.context.default_stream(), &device).unwrap();
    let (kept, (free, _)) = (samebits::kept(), gpu.context.mem_get_info().unwrap());
    for _ in 0..200 {
        let sum = samebits::sum(&gpu.context.default_stream(), &device).unwrap();
        assert_eq!(sum.to_bits64(), expected);
    }
    assert_eq!(samebits::kept(), kept, "one stream has one reducer");
    let (now, _) = gpu.context.mem_get_info().unwrap();
    assert!(now + (4 << 20) > free, "{} bytes are gone", free - now);
    // Even with many streams, the number of kept reducers is bounded.
    for _ in 0..3 * samebits::KEPT {
        let stream = gpu.context.new_stream().unwrap();
        assert_eq!(samebits::sum(&stream, &device).unwrap().to_bits64(), expected);
        assert!(samebits::kept() <= samebits::KEPT);
    }
    assert_eq!(samebits::kept(), samebits::KEPT);
}

#[test]
fn threads_have_their_own_reducers() {
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>(N, Operation::Sum);
    let expected = on_the_host(&values, Operation::Sum);
    let device = gpu.stream.clone_htod(&values).unwrap();
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    assert_eq!(reducer.sum(&device).unwrap().to_bits64(), expected);
    thread::scope(|scope| {
        // One reducer is moved to a thread that has no context yet; the others are created by their
        // threads.
        let (device, stream) = (&device, &gpu.stream);
        scope.spawn(move || {
            for _ in 0..500 {
                assert_eq!(reducer.sum(device).unwrap().to_bits64(), expected);
            }
        });
        for _ in 0..3 {
            scope.spawn(move || {
                for _ in 0..500 {
                    assert_eq!(samebits::sum(stream, device).unwrap().to_bits64(), expected);
                }
            });
        }
    });
}

/// Checks that one thread can alternate between two contexts, of two devices or of the same device.
#[test]
fn contexts_take_turns() {
    let Some(gpu) = gpu() else { return };
    let other = second(&gpu.context);
    let values = slice::<f32>(N, Operation::Sum);
    let streams = [gpu.stream.clone(), other.new_stream().unwrap()];
    let devices = [0, 1].map(|i| streams[i].clone_htod(&values).unwrap());
    let reducers = [0, 1].map(|i| Reducer::<f32>::new(&streams[i]).unwrap());
    for n in [100, 30_000, N] {
        let expected = on_the_host(&values[..n], Operation::Sum);
        for _ in 0..10 {
            for i in [0, 1] {
                let view = devices[i].slice(..n);
                assert_eq!(reducers[i].sum(&view).unwrap().to_bits64(), expected);
                assert_eq!(samebits::sum(&streams[i], &view).unwrap().to_bits64(), expected);
            }
        }
    }
}

/// Checks that the default stream of a context is not mistaken for that of the current context.
#[test]
fn a_default_stream_is_that_of_its_context() {
    let Some(gpu) = gpu() else { return };
    let other = second(&gpu.context);
    let stream = gpu.context.default_stream();
    // The sum takes longer than the polls before the first query of the stream.
    let device = stream.alloc_zeros::<f32>(1 << 28).unwrap();
    stream.synchronize().unwrap();
    let reducer = Reducer::<f32>::new(&stream).unwrap();
    for _ in 0..10 {
        other.bind_to_thread().unwrap();
        assert_eq!(reducer.sum(&device).unwrap(), 0.0);
    }
}

/// Checks that contexts can be dropped when only the kernels that were compiled in them still refer
/// to them.
#[test]
fn a_context_comes_and_goes() {
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>(N, Operation::Sum);
    let expected = on_the_host(&values, Operation::Sum);
    for _ in 0..3 {
        let context = CudaContext::new_non_primary(0, 0).unwrap();
        let stream = context.new_stream().unwrap();
        let device = stream.clone_htod(&values).unwrap();
        assert_eq!(
            Reducer::<f32>::new(&stream).unwrap().sum(&device).unwrap().to_bits64(),
            expected
        );
    }
    let device = gpu.stream.clone_htod(&values).unwrap();
    assert_eq!(samebits::sum(&gpu.stream, &device).unwrap().to_bits64(), expected);
}

/// Returns a context of the second device, or a second context of the first device.
pub(crate) fn second(first: &CudaContext) -> Arc<CudaContext> {
    let count = CudaContext::device_count().unwrap();
    let second = if count > 1 {
        CudaContext::new(1)
    } else {
        CudaContext::new_non_primary(first.ordinal(), 0)
    };
    let second = second.unwrap();
    samebits::untracked(&second);
    second
}

#[test]
fn prepared_kernels_are_used() {
    let Some(gpu) = gpu() else { return };
    let reducer = Reducer::<f64>::new(&gpu.stream).unwrap();
    reducer.prepare(Operation::ALL).unwrap();
    let values = slice::<f64>(N, Operation::Max);
    let device = gpu.stream.clone_htod(&values).unwrap();
    let expected = on_the_host(&values, Operation::Max);
    assert_eq!(reducer.max(&device).unwrap().to_bits64(), expected);
}
