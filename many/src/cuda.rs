//! Calls to the CUDA driver that cudarc does not wrap.
//!
//! This file contains `unsafe` code: stages are launched with addresses on several GPUs, and the
//! host polls results in memory that it shares with the device.
#![expect(unsafe_code, reason = "stages are launched with addresses on several GPUs")]

use std::{
    ffi::c_void,
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use cudarc::{
    driver::{
        CudaFunction, CudaStream,
        result::{self, DriverError},
        sys::{self, CUdevice_attribute as Attribute, CUresult},
    },
    nvrtc::Ptx,
};
use reduce::{Element, Operation, stages, stages::Stage};

use crate::{Result, error::doing};

/// Makes the stream's context current.
pub(crate) fn bind(stream: &CudaStream) -> Result<()> {
    stream.context().bind_to_thread().map_err(doing("using the context"))
}

/// Returns the GPU's UUID. The rendezvous uses it to detect two ranks on the same GPU.
pub fn name_of(stream: &CudaStream) -> Result<String> {
    let uuid = stream.context().uuid().map_err(doing("asking for the GPU's UUID"))?;
    let hex: String = uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    Ok(format!("GPU-{hex}"))
}

/// A stage that can be launched.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    function: CudaFunction,
    threads: u32,
    /// The maximum number of blocks in a grid, which is the number of blocks that can be resident
    /// at the same time.
    pub(crate) blocks: u32,
}

/// Compiles the kernel of a stage for the stream's GPU, with blocks of the given number of threads.
pub(crate) fn load<T: Element>(
    stream: &CudaStream,
    operation: Operation,
    stage: Stage,
    threads: u32,
) -> Result<Loaded> {
    let context = stream.context();
    let asking = || doing("reading the device's attributes");
    let (major, _) = context.compute_capability().map_err(asking())?;
    let kernel = stages::kernel::<T>(operation, stage);
    let module = context.load_module(Ptx::from_src(kernel.ptx(major).into_owned()));
    let module = module.map_err(doing("compiling a kernel"))?;
    let function = module.load_function(&kernel.name()).map_err(doing("finding a kernel"))?;
    let each = function.occupancy_max_active_blocks_per_multiprocessor(threads, 0, None);
    let sms = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let blocks = each.map_err(asking())?.max(1) * sms.map_err(asking())?.max(1) as u32;
    Ok(Loaded { function, threads, blocks })
}

/// Launches a stage. Each argument occupies eight bytes; the kernel reads only as many of the low
/// bytes as its parameter has.
///
/// # Safety
/// The arguments must match the kernel's parameters, and the addresses among them must point to
/// memory that outlives the launch.
pub(crate) unsafe fn launch(
    stage: &Loaded,
    stream: &CudaStream,
    grid: u32,
    arguments: &mut [u64],
) -> Result<()> {
    let mut params: Vec<*mut c_void> =
        arguments.iter_mut().map(|word| (word as *mut u64).cast()).collect();
    let (function, stream) = (stage.function.cu_function(), stream.cu_stream());
    let block = (stage.threads, 1, 1);
    // SAFETY: guaranteed by the caller.
    unsafe { result::launch_kernel(function, (grid, 1, 1), block, 0, stream, &mut params) }
        .map_err(doing("launching a stage"))
}

/// Zeroed device memory, in words of 8 bytes. It is not allocated from a pool, because the peer
/// access of a context does not extend to pool memory.
#[derive(Debug)]
pub(crate) struct Words {
    address: u64,
    count: u64,
    stream: Arc<CudaStream>,
}

impl Words {
    pub(crate) fn new(stream: &Arc<CudaStream>, count: u64) -> Result<Words> {
        bind(stream)?;
        let allocating = || doing("allocating memory for messages between GPUs");
        let count = count.max(2);
        // SAFETY: this value owns the memory, and frees it. The memory is zeroed on this stream,
        // and the call waits until the memset is complete. A memset on the default stream may
        // return before it is complete, and other streams do not wait for the default stream.
        unsafe {
            let address = result::malloc_sync(count as usize * 8).map_err(allocating())?;
            let words = Words { address, count, stream: stream.clone() };
            words.clear()?;
            stream.synchronize().map_err(allocating())?;
            Ok(words)
        }
    }

    /// Allocates memory for these values, and copies them to it.
    pub(crate) fn holding(stream: &Arc<CudaStream>, values: &[u64]) -> Result<Words> {
        let words = Words::new(stream, values.len() as u64)?;
        let copying = || doing("copying to the device");
        // SAFETY: the memory has room for the values, which live until the copy is complete.
        unsafe { result::memcpy_htod_async(words.address, values, stream.cu_stream()) }
            .map_err(copying())?;
        stream.synchronize().map_err(copying())?;
        Ok(words)
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Waits until the stream has reached this point, and then returns the words.
    pub(crate) fn read(&self) -> Result<Vec<u64>> {
        bind(&self.stream)?;
        let reading = || doing("reading messages between GPUs");
        self.stream.synchronize().map_err(reading())?;
        let mut words = vec![0u64; self.count as usize];
        // SAFETY: both `words` and the memory have `count` words.
        unsafe { result::memcpy_dtoh_sync(&mut words, self.address) }.map_err(reading())?;
        Ok(words)
    }

    /// Writes a number to one of the words, in stream order.
    pub(crate) fn put(&self, at: u64, value: u64) -> Result<()> {
        assert!(at < self.count, "word {at} of {}", self.count);
        let (stream, address) = (self.stream.cu_stream(), self.address + at * 8);
        // SAFETY: `at < count` was checked, so the word is within the memory.
        unsafe { sys::cuStreamWriteValue64_v2(stream, address, value, 0) }
            .result()
            .map_err(doing("stamping a block"))
    }

    /// Zeroes all words, in stream order.
    pub(crate) fn clear(&self) -> Result<()> {
        // SAFETY: the memory has `count` words of 8 bytes, and is freed only after its stream is
        // idle.
        unsafe {
            result::memset_d8_async(
                self.address,
                0,
                self.count as usize * 8,
                self.stream.cu_stream(),
            )
        }
        .map_err(doing("clearing messages between GPUs"))
    }

    /// Copies `bytes` bytes from an address to offset `behind` in this memory. The copy is queued
    /// on a stream, which may belong to another GPU.
    ///
    /// # Safety
    /// The address must point to `bytes` readable bytes on the stream's device until the stream has
    /// passed this point.
    pub(crate) unsafe fn take(
        &self,
        stream: &CudaStream,
        behind: u64,
        from: u64,
        bytes: u64,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        assert!(behind + bytes <= self.count * 8, "{behind} + {bytes} of {} words", self.count);
        bind(stream)?;
        // SAFETY: the assertion has checked that the destination is within this memory; the caller
        // guarantees the source.
        unsafe {
            sys::cuMemcpyAsync(self.address + behind, from, bytes as usize, stream.cu_stream())
        }
        .result()
        .map_err(doing("copying on the device"))
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if bind(&self.stream).is_ok() {
            let _ = self.stream.synchronize();
            // SAFETY: `new` allocated the memory, it is freed once, and no work on its stream still
            // uses it.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// Enables the writer's GPU to access the memory of the owner's GPU. Returns whether this is
/// possible.
pub(crate) fn let_in(writer: &CudaStream, owner: &CudaStream) -> Result<bool> {
    bind(writer)?;
    let (ours, theirs) = (writer.context(), owner.context());
    let mut can = 0;
    // SAFETY: both devices exist, and the pointer is valid for the result.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, ours.cu_device(), theirs.cu_device()) }
        .result()
        .map_err(doing("querying peer access"))?;
    if can == 0 {
        return Ok(false);
    }
    // SAFETY: the writer's context is current, and the owner's context lives as long as its stream.
    match unsafe { sys::cuCtxEnablePeerAccess(theirs.cu_ctx(), 0) }.result() {
        Ok(()) | Err(DriverError(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)) => Ok(true),
        Err(error) => Err(doing("enabling peer access")(error)),
    }
}

/// A few words of pinned memory that all GPUs can access.
#[derive(Debug)]
pub(crate) struct Pinned {
    words: NonNull<u64>,
    address: u64,
    stream: Arc<CudaStream>,
}

// SAFETY: all accesses to the words are atomic.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

/// The number of words of pinned memory: two for a result, one for an error, and one that is
/// unused.
const PINNED: usize = 4;

/// The state of a call, as seen by the host when it polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Poll {
    /// There is no result yet.
    None,
    /// The bits of the result.
    Result(u64),
    /// The call failed. The value is the number of the missing chunk, or of the rank whose stamp
    /// differs.
    Wrong(u32),
}

impl Poll {
    fn of(word: impl Fn(usize) -> u64, epoch: u32, bytes: usize) -> Poll {
        let half = |at| Some(word(at)).filter(|word| (word >> 32) as u32 == epoch);
        if let Some(wrong) = half(2) {
            return Poll::Wrong(wrong as u32);
        }
        let Some(low) = half(0) else { return Poll::None };
        let high = if bytes == 8 { half(1) } else { Some(0) };
        match high {
            Some(high) => Poll::Result(low & 0xffff_ffff | high << 32),
            None => Poll::None,
        }
    }
}

/// The place where a result is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// In host memory, which the host polls.
    Host,
    /// In device memory.
    Device,
}

/// The memory for a GPU's results.
#[derive(Debug)]
pub(crate) struct Results {
    host: Pinned,
    device: Words,
}

impl Results {
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Results> {
        Ok(Results { host: Pinned::new(stream)?, device: Words::new(stream, PINNED as u64)? })
    }

    pub(crate) fn address(&self, place: Where) -> u64 {
        match place {
            Where::Host => self.host.address,
            Where::Device => self.device.address,
        }
    }

    /// Reads the state of an epoch's result, which has `bytes` bytes, from pinned memory.
    pub(crate) fn look(&self, epoch: u32, bytes: usize) -> Poll {
        self.host.look(epoch, bytes)
    }

    /// Waits until the stream has reached this point, and then reads the state of the result from
    /// device memory.
    pub(crate) fn left(&self, epoch: u32, bytes: usize) -> Result<Poll> {
        let words = self.device.read()?;
        Ok(Poll::of(|at| words[at], epoch, bytes))
    }
}

impl Pinned {
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Pinned> {
        bind(stream)?;
        let allocating = || doing("allocating pinned memory for a result");
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: this value owns the memory, which is page-aligned and zeroed before it is shared.
        // Zero marks an empty word, because no epoch is zero.
        unsafe {
            let words = result::malloc_host(PINNED * 8, flags).map_err(allocating())?;
            let words = NonNull::new(words.cast::<u64>()).ok_or(reduce::Error::Lost)?;
            words.write_bytes(0, PINNED);
            let mut pinned = Pinned { words, address: 0, stream: stream.clone() };
            sys::cuMemHostGetDevicePointer_v2(&mut pinned.address, words.as_ptr().cast(), 0)
                .result()
                .map_err(allocating())?;
            Ok(pinned)
        }
    }

    fn word(&self, at: usize) -> u64 {
        assert!(at < PINNED);
        // SAFETY: `at < PINNED`, so the address points to one of the words, which is aligned and
        // accessed atomically by host and devices.
        unsafe { AtomicU64::from_ptr(self.words.as_ptr().add(at)) }.load(Ordering::Acquire)
    }

    /// Reads the state of an epoch's result, which has `bytes` bytes.
    pub(crate) fn look(&self, epoch: u32, bytes: usize) -> Poll {
        Poll::of(|at| self.word(at), epoch, bytes)
    }

    /// Stores the number that streams wait for.
    pub(crate) fn put(&self, value: u32) {
        // SAFETY: the address points to the first half of the first word, which is aligned and
        // accessed atomically.
        unsafe { AtomicU32::from_ptr(self.words.as_ptr().cast()) }.store(value, Ordering::Release);
    }

    /// Makes a stream wait until `value` is stored.
    pub(crate) fn hold(&self, stream: &CudaStream, value: u32) -> Result<()> {
        bind(stream)?;
        let equal = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_EQ as u32;
        // SAFETY: the address points to the first word, which is live until all streams that wait
        // for it are idle.
        unsafe { sys::cuStreamWaitValue32_v2(stream.cu_stream(), self.address, value, equal) }
            .result()
            .map_err(doing("holding a stream back"))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = bind(&self.stream);
        let _ = self.stream.synchronize();
        // SAFETY: `new` allocated the memory, it is freed once, and no kernel writes to it any
        // more.
        let _ = unsafe { result::free_host(self.words.as_ptr().cast()) };
    }
}

/// Packs pairs of 32-bit numbers into words. The last word may hold only one number.
pub(crate) fn pairs(numbers: &[u32]) -> Vec<u64> {
    let pair = |two: &[u32]| u64::from(two[0]) | u64::from(two.get(1).copied().unwrap_or(0)) << 32;
    numbers.chunks(2).map(pair).collect()
}

/// Returns whether a stream has finished all queued work. Returns an error if the work failed.
pub(crate) fn is_idle(stream: &CudaStream) -> Result<bool> {
    bind(stream)?;
    // SAFETY: the stream is live, because it is borrowed.
    match unsafe { sys::cuStreamQuery(stream.cu_stream()) }.result() {
        Ok(()) => Ok(true),
        Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
        Err(error) => Err(doing("waiting for a sum")(error)),
    }
}
