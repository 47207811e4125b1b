//! Tests the raw interface, with reductions at addresses on streams of any kind.
#![expect(unsafe_code, reason = "the raw interface relies on the caller's addresses")]

use std::{ffi::c_void, ptr, thread};

use cudarc::driver::{
    CudaContext, CudaStream, DevicePtr, DevicePtrMut,
    result::{ctx, stream},
    sys::{self, CUgraphInstantiate_flags as Flags, CUstreamCaptureMode as Mode},
};
use samebits::{Accumulator, Error, Operation, Rows, host, raw};

use crate::{
    Gpu, alone,
    drawn::{on_the_host, slice},
    gpu, is_alone, start,
};

/// Lengths for every shape.
const SIZES: [usize; 6] = [0, 1000, 10_000, 30_001, 120_000, 1_400_003];

fn of(stream: &CudaStream) -> raw::Stream {
    // SAFETY: the stream is live for as long as a test uses the value.
    unsafe { raw::Stream::of(stream.cu_stream().cast()) }.unwrap()
}

fn current() -> *mut c_void {
    ctx::get_current().unwrap().map_or(ptr::null_mut(), |context| context.cast())
}

fn holds(gpu: &Gpu, stream: raw::Stream) {
    let mut output = gpu.stream.alloc_zeros::<f32>(1).unwrap();
    for (n, operation) in SIZES.into_iter().zip(Operation::ALL.iter().copied().cycle()) {
        for shift in [0, 1] {
            let values = slice::<f32>(n + shift, operation);
            let device = gpu.stream.clone_htod(&values).unwrap();
            gpu.stream.synchronize().unwrap();
            let expected = on_the_host(&values[shift..], operation);
            let input = device.device_ptr(&gpu.stream).0 + 4 * shift as u64;
            let out = output.device_ptr_mut(&gpu.stream).0;
            // SAFETY: there are `n` elements at `input`, and there is room for one result at `out`.
            let (waited, left) = unsafe {
                (
                    raw::reduce::<f32>(stream, operation, input, n as u64),
                    raw::reduce_into::<f32>(stream, operation, input, n as u64, out),
                )
            };
            assert_eq!(waited.unwrap().to_bits64(), expected, "{operation:?} of {n}");
            left.unwrap();
            gpu.context.synchronize().unwrap();
            let left = gpu.stream.clone_dtoh(&output).unwrap()[0];
            assert_eq!(left.to_bits64(), expected, "{operation:?} of {n}, left");
        }
    }
}

#[test]
fn every_stream_has_the_bits_of_the_host() {
    let Some(gpu) = gpu() else { return };
    holds(&gpu, of(&gpu.stream));
    gpu.context.bind_to_thread().unwrap();
    // The legacy default stream (0 and 1), and the per-thread default stream (2).
    for handle in [0, 1, 2] {
        // SAFETY: these are default streams of the current context, which are always valid.
        holds(&gpu, unsafe { raw::Stream::of(handle as *mut c_void) }.unwrap());
    }
    samebits::close();
    assert_eq!(samebits::kept(), 0);
    holds(&gpu, of(&gpu.stream));
}

#[test]
fn a_destroyed_stream_is_not_mistaken_for_another() {
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>(1_400_003, Operation::Sum);
    let device = gpu.stream.clone_htod(&values).unwrap();
    gpu.stream.synchronize().unwrap();
    let expected = on_the_host(&values, Operation::Sum);
    let input = device.device_ptr(&gpu.stream).0;
    let mut outputs = gpu.stream.alloc_zeros::<f32>(200).unwrap();
    gpu.stream.synchronize().unwrap();
    let out = outputs.device_ptr_mut(&gpu.stream).0;
    gpu.context.bind_to_thread().unwrap();
    for time in 0..200 {
        // The stream is destroyed while work is in flight, and the next stream may have the same
        // handle.
        let handle = stream::create(stream::StreamKind::NonBlocking).unwrap();
        // SAFETY: the stream is live until its work is queued, there are `n` elements at `input`,
        // and there is room for a result at `out`.
        unsafe {
            let one = raw::Stream::of(handle.cast()).unwrap();
            let (n, out) = (values.len() as u64, out + 4 * time);
            raw::reduce_into::<f32>(one, Operation::Sum, input, n, out).unwrap();
            stream::destroy(handle).unwrap();
        }
    }
    gpu.context.synchronize().unwrap();
    for sum in gpu.stream.clone_dtoh(&outputs).unwrap() {
        assert_eq!(sum.to_bits64(), expected);
    }
    assert!(samebits::kept() <= samebits::KEPT);
}

#[test]
fn the_current_context_is_unchanged() {
    let Some(gpu) = gpu() else { return };
    let other = start::second(&gpu.context);
    let device = gpu.stream.clone_htod(&[1.0f32; 100]).unwrap();
    gpu.stream.synchronize().unwrap();
    let (one, input) = (of(&gpu.stream), device.device_ptr(&gpu.stream).0);
    other.bind_to_thread().unwrap();
    let before = current();
    // SAFETY: there are 100 elements at `input`.
    let sum = unsafe { raw::reduce::<f32>(one, Operation::Sum, input, 100) };
    assert_eq!((sum.unwrap(), current()), (100.0, before));
    samebits::close();
    assert_eq!(current(), before);
    // Repeats the test in a thread without a current context.
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: there are 100 elements at `input`.
            let sum = unsafe { raw::reduce::<f32>(one, Operation::Sum, input, 100) };
            assert_eq!((sum.unwrap(), current()), (100.0, ptr::null_mut()));
        });
    });
    gpu.context.bind_to_thread().unwrap();
}

#[test]
fn captured_work_runs_repeatedly() {
    let Some(gpu) = gpu() else { return };
    let stream = &gpu.stream;
    for n in SIZES {
        let values = slice::<f32>(n, Operation::Sum);
        let device = stream.clone_htod(&values).unwrap();
        let mut output = stream.alloc_zeros::<f32>(1).unwrap();
        stream.synchronize().unwrap();
        let (input, out) = (device.device_ptr(stream).0, output.device_ptr_mut(stream).0);
        samebits::close();
        stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
        // SAFETY: there are `n` elements at `input`, and there is room for one result at `out`.
        unsafe {
            let error = raw::reduce::<f32>(of(stream), Operation::Sum, input, n as u64);
            assert!(matches!(error, Err(Error::Capturing)), "{error:?}");
            raw::reduce_into::<f32>(of(stream), Operation::Sum, input, n as u64, out).unwrap();
        }
        let flags = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).unwrap().unwrap();
        let expected = on_the_host(&values, Operation::Sum);
        for _ in 0..20 {
            stream.memcpy_htod(&[f32::NAN], &mut output).unwrap();
            graph.launch().unwrap();
            assert_eq!(stream.clone_dtoh(&output).unwrap()[0].to_bits64(), expected, "{n}");
        }
    }
}

#[test]
fn a_mark_is_passed_when_the_work_before_it_is_done() {
    let Some(gpu) = gpu() else { return };
    let device = gpu.stream.clone_htod(&vec![1.0f32; 1 << 24]).unwrap();
    let input = device.device_ptr(&gpu.stream).0;
    // SAFETY: there are 2^24 elements at `input`.
    let sum = unsafe { raw::reduce::<f32>(of(&gpu.stream), Operation::Sum, input, 1 << 24) };
    assert_eq!(sum.unwrap(), 16_777_216.0);
    let mark = raw::Mark::new(of(&gpu.stream)).unwrap();
    gpu.stream.synchronize().unwrap();
    assert!(mark.is_passed());
}

#[test]
fn rows_by_address() {
    let Some(gpu) = gpu() else { return };
    for (rows, elements) in [(33, 7), (1000, 300), (5, 20_001), (3, 400_001), (1, 100)] {
        let rows = Rows::new(rows, elements).pitch(elements + 3);
        let values = slice::<f64>(rows.span().unwrap() as usize, Operation::Sum);
        let device = gpu.stream.clone_htod(&values).unwrap();
        let mut sums = gpu.stream.alloc_zeros::<f64>(rows.numbers().0 as usize).unwrap();
        let (input, out) = (device.device_ptr(&gpu.stream).0, sums.device_ptr_mut(&gpu.stream).0);
        // SAFETY: the rows are at `input`, and there is room for their sums at `out`.
        unsafe { raw::sum_rows_into::<f64>(of(&gpu.stream), input, rows, out) }.unwrap();
        let sums = gpu.stream.clone_dtoh(&sums).unwrap();
        assert_eq!(sums, host::sum_rows(&values, rows).unwrap());
    }
}

#[test]
fn bad_addresses_and_streams_are_errors() {
    let Some(gpu) = gpu() else { return };
    let stream = of(&gpu.stream);
    let device = gpu.stream.alloc_zeros::<f32>(100).unwrap();
    let at = device.device_ptr(&gpu.stream).0;
    // SAFETY: the calls fail before a launch, or need no memory.
    unsafe {
        let sum = |input, n| raw::reduce::<f32>(stream, Operation::Sum, input, n).unwrap_err();
        assert!(matches!(sum(0, 3), Error::Null { what: "input", n: 3 }));
        assert!(matches!(sum(at + 2, 3), Error::Misaligned { what: "input", .. }));
        assert!(matches!(sum(at, u64::MAX), Error::TooLong { .. }));
        let into = raw::reduce_into::<f64>(stream, Operation::Min, at, 5, at + 4).unwrap_err();
        assert!(matches!(into, Error::Misaligned { what: "output", .. }));
        let into = raw::reduce_into::<f64>(stream, Operation::Min, at, 5, 0).unwrap_err();
        assert!(matches!(into, Error::Null { what: "output", n: 1 }));
        let rows = Rows::new(3, 4).pitch(2);
        let rows = raw::sum_rows_into::<f32>(stream, at, rows, at).unwrap_err();
        assert!(matches!(rows, Error::Pitch { .. }));
        assert_eq!(raw::device_of(at + 4).unwrap(), gpu.context.ordinal() as i32);
        let host = [0f32; 4];
        let lost = raw::device_of(host.as_ptr() as u64);
        assert!(matches!(lost, Err(Error::NoAllocation { .. })), "{lost:?}");
        // An empty sum needs no address.
        assert_eq!(raw::reduce::<f32>(stream, Operation::Sum, 0, 0).unwrap(), 0.0);
        let other = start::second(&gpu.context);
        let wrong = raw::Stream::new(other.cu_ctx().cast(), gpu.stream.cu_stream().cast());
        assert!(matches!(wrong, Err(Error::OtherStream)), "{wrong:?}");
        let none = raw::Stream::new(ptr::null_mut(), gpu.stream.cu_stream().cast());
        assert!(matches!(none, Err(Error::NoContext)));
    }
    thread::spawn(|| {
        // SAFETY: no context is current, so nothing is launched.
        let none = unsafe { raw::Stream::of(ptr::null_mut()) };
        assert!(matches!(none, Err(Error::NoContext)), "{none:?}");
    })
    .join()
    .unwrap();
}

/// Checks that the use of a destroyed context is an error, even if another context was created at
/// the same address.
#[test]
fn a_dead_context_is_an_error() {
    if !is_alone() {
        return alone("raw::a_dead_context_is_an_error", &[]);
    }
    let Some(gpu) = gpu() else { return };
    for _ in 0..5 {
        let context = CudaContext::new_non_primary(0, 0).unwrap();
        let one = context.new_stream().unwrap();
        let device = one.clone_htod(&vec![1.0f32; 1_400_003]).unwrap();
        one.synchronize().unwrap();
        let (dead, input) = (of(&one), device.device_ptr(&one).0);
        // SAFETY: there are 1,400,003 elements at `input`.
        let sum = unsafe { raw::reduce::<f32>(dead, Operation::Sum, input, 1_400_003) };
        assert_eq!(sum.unwrap(), 1_400_003.0);
        let raw_context = context.cu_ctx();
        drop((device, one, context));
        // SAFETY: the driver checks the context, and reports that it was destroyed.
        let again = unsafe { raw::Stream::new(raw_context.cast(), ptr::null_mut()) };
        assert!(again.is_err(), "{again:?}");
    }
    // The memory that the thread keeps for destroyed contexts is dropped without using those
    // contexts.
    samebits::close();
    holds(&gpu, of(&gpu.stream));
    // A reset destroys the primary context's kernels and memory.
    // SAFETY: no work is running, and only the check below uses the context afterwards.
    unsafe { sys::cuDevicePrimaryCtxReset_v2(gpu.context.cu_device()) }.result().unwrap();
    // SAFETY: the driver checks whether the context is live.
    let error = unsafe { raw::Stream::new(gpu.context.cu_ctx().cast(), ptr::null_mut()) };
    eprintln!("after a reset: {error:?}");
    std::process::exit(0);
}
