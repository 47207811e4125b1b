//! The CUDA driver, and all the `unsafe` of this crate.
#![expect(unsafe_code, reason = "kernels are launched on a caller's stream and slices")]

use std::{
    cell::Cell,
    ffi::c_void,
    hint,
    marker::PhantomData,
    ptr::NonNull,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop,
    result::{self, DriverError},
    sys::{self, CUresult, CUstreamCaptureStatus_enum},
};

use crate::error::{Error, Result, doing};

/// The functions of the driver that are called here, and by cudarc for us: it panics where one is
/// missing.
const SYMBOLS: [&str; 24] = [
    "cuInit",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuGetErrorString",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuLaunchKernel",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemFreeHost",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemsetD8Async",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
];

/// Whether there is a library of the CUDA driver, with all that is called of it. Where there is none,
/// everything that cudarc does panics.
pub(crate) fn probe() -> Result<()> {
    static MISSING: OnceLock<Option<&str>> = OnceLock::new();
    // SAFETY: it only opens the library by name.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver);
    }
    let missing = MISSING.get_or_init(|| {
        // SAFETY: the library is there. Its symbols are looked up, and not called.
        let has =
            |symbol: &str| unsafe { sys::culib().get::<*const c_void>(symbol.as_bytes()) }.is_ok();
        SYMBOLS.into_iter().find(|symbol| !has(symbol))
    });
    missing.map_or(Ok(()), |symbol| Err(Error::NoSymbol { symbol }))
}

/// Stops cudarc from putting events between the streams of a context: a wait for an event from
/// outside ends the capture of a graph. For the tests of this crate, which order streams themselves.
#[doc(hidden)]
pub fn untracked(context: &CudaContext) {
    // SAFETY: called before anything is allocated, and the tests wait for a stream before another
    // uses what it wrote.
    unsafe { context.disable_event_tracking() };
}

/// Allocates and compiles although this thread captures a stream: what is made lasts longer than the
/// capture, and no captured work depends on it being ordered.
pub(crate) fn outside_of_captures<T>(make: impl FnOnce() -> T) -> T {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the mode of this thread is exchanged, and exchanged back. An error leaves it as it is.
    let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
    let made = make();
    // SAFETY: as above.
    let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
    made
}

/// Whether the stream is being captured; also where it cannot be asked because another one is.
pub(crate) fn is_capturing(stream: &CudaStream) -> Result<bool> {
    let mut status = CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream lives, and the answer has a place.
    match unsafe { sys::cuStreamIsCapturing(stream.cu_stream(), &mut status) }.result() {
        Ok(()) => Ok(status != CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE),
        Err(DriverError(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)) => Ok(true),
        Err(error) => Err(doing("asking whether the stream is captured")(error)),
    }
}

/// Elements in device memory: where they begin, and how many they are. Lent by what owns them, and made
/// by nobody else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address<'m> {
    at: u64,
    len: u64,
    owner: PhantomData<&'m ()>,
}

impl<'m> Address<'m> {
    /// Of a slice, for work of the stream that is queued while the second value lives.
    pub(crate) fn of<T>(
        slice: &'m impl DevicePtr<T>,
        stream: &'m CudaStream,
    ) -> Result<(Address<'m>, SyncOnDrop<'m>)> {
        let (at, reads) = slice.device_ptr(stream);
        Ok((Address::aligned::<T>("slice", at, slice.len())?, reads))
    }

    /// Of a slice that is written.
    pub(crate) fn of_result<T>(
        result: &'m mut impl DevicePtrMut<T>,
        stream: &'m CudaStream,
    ) -> Result<(Address<'m>, SyncOnDrop<'m>)> {
        let len = result.len();
        let (at, writes) = result.device_ptr_mut(stream);
        Ok((Address::aligned::<T>("result", at, len)?, writes))
    }

    /// Refused, where no kernel can read an element.
    fn aligned<T>(what: &'static str, address: u64, len: usize) -> Result<Address<'m>> {
        let size = size_of::<T>() as u64;
        if !address.is_multiple_of(size) {
            return Err(Error::Misaligned { what, address, size });
        }
        Ok(Address { at: address, len: len as u64, owner: PhantomData })
    }

    /// How many elements lie there.
    pub(crate) fn len(self) -> u64 {
        self.len
    }

    /// No more than so many of them.
    pub(crate) fn first(self, len: u64) -> Address<'m> {
        Address { len: len.min(self.len), ..self }
    }

    /// Whether a word of 16 bytes begins there.
    pub(crate) fn begins_a_word(self) -> bool {
        self.at.is_multiple_of(16)
    }
}

/// A launch, on all elements of its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'m> {
    pub(crate) grid: u32,
    pub(crate) threads: u32,
    pub(crate) input: Address<'m>,
    pub(crate) output: Address<'m>,
    pub(crate) words: u32,
    pub(crate) parts: u32,
    pub(crate) epoch: u32,
}

/// Launches a kernel on a stream whose context is current. `state` has room for its values, in zeros,
/// where it has any.
pub(crate) fn launch(
    function: &CudaFunction,
    stream: &CudaStream,
    call: Call<'_>,
    state: Option<Address<'_>>,
) -> Result<()> {
    let Call { grid, threads, input, output, mut words, mut parts, mut epoch } = call;
    let (Address { at: mut input, len: mut n, .. }, mut output) = (input, output.at);
    let mut state = state.map_or(0, |state| state.at);
    let mut params: [*mut c_void; 7] = [
        (&raw mut input).cast(),
        (&raw mut output).cast(),
        (&raw mut n).cast(),
        (&raw mut words).cast(),
        (&raw mut parts).cast(),
        (&raw mut state).cast(),
        (&raw mut epoch).cast(),
    ];
    let (function, stream) = (function.cu_function(), stream.cu_stream());
    // SAFETY: the seven parameters are those of every entry point; the addresses are of live memory,
    // and `n` elements are at the first.
    unsafe {
        result::launch_kernel(function, (grid, 1, 1), (threads, 1, 1), 0, stream, &mut params)
    }
    .map_err(doing("launching a reduction"))
}

/// A launch for rows, as [`Call`] is one for a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowsCall<'m> {
    pub(crate) grid: u32,
    pub(crate) threads: u32,
    pub(crate) input: Address<'m>,
    pub(crate) output: Address<'m>,
    pub(crate) rows: u64,
    pub(crate) elements: u64,
    pub(crate) pitch: u64,
    pub(crate) told: [u32; 3],
}

/// Launches a kernel of rows, as [`launch`] does one of slices.
pub(crate) fn launch_rows(
    function: &CudaFunction,
    stream: &CudaStream,
    call: RowsCall<'_>,
    state: Option<Address<'_>>,
) -> Result<()> {
    let RowsCall { grid, threads, input, output, .. } = call;
    let (mut input, mut output) = (input.at, output.at);
    let mut state = state.map_or(0, |state| state.at);
    let RowsCall { mut rows, mut elements, mut pitch, told: [mut a, mut b, mut c], .. } = call;
    let mut params: [*mut c_void; 9] = [
        (&raw mut input).cast(),
        (&raw mut output).cast(),
        (&raw mut rows).cast(),
        (&raw mut elements).cast(),
        (&raw mut pitch).cast(),
        (&raw mut a).cast(),
        (&raw mut b).cast(),
        (&raw mut c).cast(),
        (&raw mut state).cast(),
    ];
    let (function, stream) = (function.cu_function(), stream.cu_stream());
    // SAFETY: the nine parameters are those of every entry point of rows; the addresses are of live
    // memory, in which the caller has looked for so many rows.
    unsafe {
        result::launch_kernel(function, (grid, 1, 1), (threads, 1, 1), 0, stream, &mut params)
    }
    .map_err(doing("launching a sum for each row"))
}

/// Device memory that is zero for the first who uses it on its stream.
#[derive(Debug)]
pub(crate) struct State {
    address: u64,
    bytes: usize,
    stream: Arc<CudaStream>,
}

impl State {
    pub(crate) fn new(stream: &Arc<CudaStream>, bytes: usize) -> Result<State> {
        let allocating = || doing("allocating room for what blocks tell each other");
        // SAFETY: the memory is owned by the value, which frees it; it is zeroed on the stream that
        // uses it, so before any use.
        unsafe {
            let address = if stream.context().has_async_alloc() {
                result::malloc_async(stream.cu_stream(), bytes)
            } else {
                result::malloc_sync(bytes)
            };
            let address = address.map_err(allocating())?;
            let state = State { address, bytes, stream: stream.clone() };
            result::memset_d8_async(state.address, 0, bytes, stream.cu_stream())
                .map_err(allocating())?;
            Ok(state)
        }
    }

    pub(crate) fn address(&self) -> Address<'_> {
        Address { at: self.address, len: self.bytes as u64, owner: PhantomData }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let stream = &self.stream;
        // An error at the end has no reader. Memory of before a capture must not be freed by the graph:
        // better to lose it.
        if stream.context().bind_to_thread().is_err() || is_capturing(stream).unwrap_or(true) {
            return;
        }
        // SAFETY: allocated by `new`, freed once, after all launches of its stream.
        let _ = unsafe {
            if stream.context().has_async_alloc() {
                result::free_async(self.address, stream.cu_stream())
            } else {
                let _ = stream.synchronize();
                result::free_sync(self.address)
            }
        };
    }
}

/// A launch that is captured, with state that the graph owns: it is allocated, zeroed and freed each
/// time that the graph runs.
pub(crate) fn with_captured_state(
    stream: &CudaStream,
    bytes: usize,
    launch: impl FnOnce(Option<Address<'_>>) -> Result<()>,
) -> Result<()> {
    let capturing = || doing("capturing the state of a reduction");
    let raw = stream.cu_stream();
    // SAFETY: all three become nodes of the graph in the order of the stream, around the launch.
    unsafe {
        let state = result::malloc_async(raw, bytes).map_err(capturing())?;
        let launched =
            result::memset_d8_async(state, 0, bytes, raw).map_err(capturing()).and_then(|()| {
                launch(Some(Address { at: state, len: bytes as u64, owner: PhantomData }))
            });
        let freed = result::free_async(state, raw).map_err(capturing());
        launched.and(freed)
    }
}

/// Two words of pinned memory, for a result of up to eight bytes: 32 bits of it and the epoch in each.
#[derive(Debug)]
pub(crate) struct Answer {
    words: NonNull<u64>,
    address: u64,
    /// Whether a launch may still write to it: one that was waited for in vain.
    open: Cell<bool>,
    stream: Arc<CudaStream>,
}

// SAFETY: the words are used by one thread at a time, as nothing that has an `Answer` is `Sync`.
unsafe impl Send for Answer {}

/// How often the words are looked at before the stream is asked whether it is well.
const SPINS: u32 = 4096;

impl Answer {
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Answer> {
        let allocating = || doing("allocating pinned memory for a result");
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: the memory is owned by the value, which frees it. It is aligned to pages, and zeroed
        // before anybody else knows it: no epoch is zero.
        unsafe {
            let words = result::malloc_host(16, flags).map_err(allocating())?.cast::<u64>();
            let words = NonNull::new(words).ok_or(Error::Lost)?;
            words.write_bytes(0, 2);
            let stream = stream.clone();
            let mut answer = Answer { words, address: 0, open: Cell::new(false), stream };
            sys::cuMemHostGetDevicePointer_v2(&mut answer.address, words.as_ptr().cast(), 0)
                .result()
                .map_err(allocating())?;
            Ok(answer)
        }
    }

    /// Where a kernel writes it.
    pub(crate) fn address(&self) -> Address<'_> {
        Address { at: self.address, len: 2, owner: PhantomData }
    }

    /// The result of `bytes` bytes, once all of it carries the epoch. Spins, because a stream that is
    /// waited for answers microseconds later; asks the stream now and then, so that a launch that
    /// failed is an error.
    pub(crate) fn wait(&self, epoch: u32, bytes: usize) -> Result<u64> {
        self.open.set(true);
        let mut result = 0;
        for half in 0..bytes / 4 {
            // SAFETY: one of two words that live as long as this; device and host share it, so the
            // host's side is atomic.
            let word = unsafe { AtomicU64::from_ptr(self.words.as_ptr().add(half)) };
            let come = || {
                let word = word.load(Ordering::Acquire);
                ((word >> 32) as u32 == epoch).then_some(word & u64::from(u32::MAX))
            };
            result |= self.spin(come)? << (32 * half);
        }
        self.open.set(false);
        Ok(result)
    }

    fn spin(&self, come: impl Fn() -> Option<u64>) -> Result<u64> {
        loop {
            for _ in 0..SPINS {
                if let Some(half) = come() {
                    return Ok(half);
                }
                hint::spin_loop();
            }
            // SAFETY: the stream lives.
            match unsafe { sys::cuStreamQuery(self.stream.cu_stream()) }.result() {
                Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => thread::yield_now(),
                Err(error) => return Err(doing("waiting for a reduction")(error)),
                Ok(()) => return come().ok_or(Error::Lost),
            }
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let _ = self.stream.context().bind_to_thread();
        if self.open.get() {
            let _ = self.stream.synchronize();
        }
        // SAFETY: allocated by `new`, freed once, when nothing writes to it any more.
        let _ = unsafe { result::free_host(self.words.as_ptr().cast()) };
    }
}
