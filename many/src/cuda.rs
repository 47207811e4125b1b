//! What is asked of the CUDA driver, beside what cudarc wraps.
//!
//! One of the files with `unsafe`: stages are launched with the addresses of several GPUs, and results
//! are waited for in memory that device and host share.
#![expect(unsafe_code, reason = "stages are launched with addresses of several GPUs")]

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

/// The current context becomes that of the stream.
pub(crate) fn bind(stream: &CudaStream) -> Result<()> {
    stream.context().bind_to_thread().map_err(doing("using the context"))
}

/// The GPU's name for itself, which no other has: two ranks that took one are found by it.
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
    /// The most blocks of a grid: so many run at once.
    pub(crate) blocks: u32,
}

/// The kernel of a stage, compiled for the stream's GPU, in blocks of so many threads.
pub(crate) fn load<T: Element>(
    stream: &CudaStream,
    operation: Operation,
    stage: Stage,
    threads: u32,
) -> Result<Loaded> {
    let context = stream.context();
    let asking = || doing("asking what the device has");
    let (major, _) = context.compute_capability().map_err(asking())?;
    let kernel = stages::kernel::<T>(operation, stage);
    let module = context.load_module(Ptx::from_src(kernel.ptx(major)));
    let module = module.map_err(doing("compiling a kernel"))?;
    let function = module.load_function(kernel.name).map_err(doing("finding a kernel"))?;
    let each = function.occupancy_max_active_blocks_per_multiprocessor(threads, 0, None);
    let sms = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let blocks = each.map_err(asking())?.max(1) * sms.map_err(asking())?.max(1) as u32;
    Ok(Loaded { function, threads, blocks })
}

/// Launches a stage: each argument in eight bytes, of which the kernel reads as many as it wants.
///
/// # Safety
/// The arguments are those of the entry, and its addresses of memory that outlives the launch.
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
    // SAFETY: as the caller says.
    unsafe { result::launch_kernel(function, (grid, 1, 1), block, 0, stream, &mut params) }
        .map_err(doing("launching a stage"))
}

/// Device memory of words of 8 bytes, in zeros. Other GPUs can be let in, which memory of a pool does
/// not do by a context's leave alone.
#[derive(Debug)]
pub(crate) struct Words {
    address: u64,
    count: u64,
    stream: Arc<CudaStream>,
}

impl Words {
    pub(crate) fn new(stream: &Arc<CudaStream>, count: u64) -> Result<Words> {
        bind(stream)?;
        let allocating = || doing("allocating room for what GPUs tell each other");
        let count = count.max(2);
        // SAFETY: the memory is owned by the value, which frees it, and zeroed before anybody else
        // knows it. The driver returns before it has done so, and other streams do not wait for its own:
        // so it is done on this one, and waited for.
        unsafe {
            let address = result::malloc_sync(count as usize * 8).map_err(allocating())?;
            let words = Words { address, count, stream: stream.clone() };
            words.clear()?;
            stream.synchronize().map_err(allocating())?;
            Ok(words)
        }
    }

    /// With these in it.
    pub(crate) fn holding(stream: &Arc<CudaStream>, values: &[u64]) -> Result<Words> {
        let words = Words::new(stream, values.len() as u64)?;
        let copying = || doing("copying to the device");
        // SAFETY: there is room for as many, and the values live until it is done.
        unsafe { result::memcpy_htod_async(words.address, values, stream.cu_stream()) }
            .map_err(copying())?;
        stream.synchronize().map_err(copying())?;
        Ok(words)
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// The words, once the stream has come so far.
    pub(crate) fn read(&self) -> Result<Vec<u64>> {
        bind(&self.stream)?;
        let reading = || doing("reading what a GPU was told");
        self.stream.synchronize().map_err(reading())?;
        let mut words = vec![0u64; self.count as usize];
        // SAFETY: there are as many words.
        unsafe { result::memcpy_dtoh_sync(&mut words, self.address) }.map_err(reading())?;
        Ok(words)
    }

    /// Puts a number in one of the words, in the order of the stream.
    pub(crate) fn put(&self, at: u64, value: u64) -> Result<()> {
        assert!(at < self.count, "word {at} of {}", self.count);
        let (stream, address) = (self.stream.cu_stream(), self.address + at * 8);
        // SAFETY: one of the words.
        unsafe { sys::cuStreamWriteValue64_v2(stream, address, value, 0) }
            .result()
            .map_err(doing("stamping a block"))
    }

    /// Zeros in all of it, in the order of the stream.
    pub(crate) fn clear(&self) -> Result<()> {
        // SAFETY: all of the memory, in the order of its stream.
        unsafe {
            result::memset_d8_async(
                self.address,
                0,
                self.count as usize * 8,
                self.stream.cu_stream(),
            )
        }
        .map_err(doing("clearing what GPUs tell each other"))
    }

    /// Copies bytes to this, behind so many of its own, in the order of a stream, which may be another GPU's.
    ///
    /// # Safety
    /// There are so many bytes at the address, on the stream's device, until the stream has passed.
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
        // SAFETY: there is room, as was just asked; the rest is the caller's.
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
            // SAFETY: allocated by `new`, freed once, when nothing of its stream runs.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// Lets the GPU of one stream write to memory of another's. Whether it could.
pub(crate) fn let_in(writer: &CudaStream, owner: &CudaStream) -> Result<bool> {
    bind(writer)?;
    let (ours, theirs) = (writer.context(), owner.context());
    let mut can = 0;
    // SAFETY: both devices exist, and the answer has a place.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, ours.cu_device(), theirs.cu_device()) }
        .result()
        .map_err(doing("asking for peer access"))?;
    if can == 0 {
        return Ok(false);
    }
    // SAFETY: the writer's context is current, and the other one lives as long as its stream.
    match unsafe { sys::cuCtxEnablePeerAccess(theirs.cu_ctx(), 0) }.result() {
        Ok(()) | Err(DriverError(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)) => Ok(true),
        Err(error) => Err(doing("asking for peer access")(error)),
    }
}

/// A few words of pinned memory, which all GPUs see.
#[derive(Debug)]
pub(crate) struct Pinned {
    words: NonNull<u64>,
    address: u64,
    stream: Arc<CudaStream>,
}

// SAFETY: the words are only used as atomic ones.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

/// Words of pinned memory: two for a result, one for what went wrong instead.
const PINNED: usize = 4;

/// What a host finds that waits for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing yet.
    None,
    /// The bits.
    Result(u64),
    /// What is wrong: a part that has not come, or a rank whose stamp is another.
    Wrong(u32),
}

impl News {
    fn of(word: impl Fn(usize) -> u64, epoch: u32, bytes: usize) -> News {
        let half = |at| Some(word(at)).filter(|word| (word >> 32) as u32 == epoch);
        if let Some(wrong) = half(2) {
            return News::Wrong(wrong as u32);
        }
        let Some(low) = half(0) else { return News::None };
        let high = if bytes == 8 { half(1) } else { Some(0) };
        match high {
            Some(high) => News::Result(low & 0xffff_ffff | high << 32),
            None => News::None,
        }
    }
}

/// Where a result is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// In memory of the host, which waits for it.
    Host,
    /// In memory of the GPU.
    Device,
}

/// The places of a GPU's results.
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

    /// What has come to the host of an epoch, of a result of so many bytes.
    pub(crate) fn look(&self, epoch: u32, bytes: usize) -> News {
        self.host.look(epoch, bytes)
    }

    /// What was left on the GPU, once its stream has come so far.
    pub(crate) fn left(&self, epoch: u32, bytes: usize) -> Result<News> {
        let words = self.device.read()?;
        Ok(News::of(|at| words[at], epoch, bytes))
    }
}

impl Pinned {
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Pinned> {
        bind(stream)?;
        let allocating = || doing("allocating pinned memory for a result");
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: the memory is owned by the value, which frees it. It is aligned to pages, and zeroed
        // before anybody else knows it: no epoch is zero.
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
        // SAFETY: one of the words, aligned, and used as an atomic one by the host and the devices.
        unsafe { AtomicU64::from_ptr(self.words.as_ptr().add(at)) }.load(Ordering::Acquire)
    }

    /// What has come of an epoch, of a result of so many bytes.
    pub(crate) fn look(&self, epoch: u32, bytes: usize) -> News {
        News::of(|at| self.word(at), epoch, bytes)
    }

    /// Puts a number there, for streams that wait for it.
    pub(crate) fn put(&self, value: u32) {
        // SAFETY: the first half of the first word, aligned, and used as an atomic one.
        unsafe { AtomicU32::from_ptr(self.words.as_ptr().cast()) }.store(value, Ordering::Release);
    }

    /// Holds a stream back until that number is there.
    pub(crate) fn hold(&self, stream: &CudaStream, value: u32) -> Result<()> {
        bind(stream)?;
        let equal = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_EQ as u32;
        // SAFETY: the address is that of the first word, which lives until its streams are done.
        unsafe { sys::cuStreamWaitValue32_v2(stream.cu_stream(), self.address, value, equal) }
            .result()
            .map_err(doing("holding a stream back"))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = bind(&self.stream);
        // Nothing writes to it any more.
        let _ = self.stream.synchronize();
        // SAFETY: allocated by `new`, freed once.
        let _ = unsafe { result::free_host(self.words.as_ptr().cast()) };
    }
}

/// Numbers of 32 bits, two a word.
pub(crate) fn pairs(numbers: &[u32]) -> Vec<u64> {
    let pair = |two: &[u32]| u64::from(two[0]) | u64::from(two.get(1).copied().unwrap_or(0)) << 32;
    numbers.chunks(2).map(pair).collect()
}

/// Whether a stream has done all that was queued, or how it failed.
pub(crate) fn is_idle(stream: &CudaStream) -> Result<bool> {
    bind(stream)?;
    // SAFETY: the stream lives.
    match unsafe { sys::cuStreamQuery(stream.cu_stream()) }.result() {
        Ok(()) => Ok(true),
        Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
        Err(error) => Err(doing("waiting for a sum")(error)),
    }
}
