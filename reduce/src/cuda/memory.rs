//! Memory that is borrowed from callers, and memory that is allocated for launches.
#![expect(unsafe_code, reason = "the driver's functions for memory use raw addresses")]

use std::{
    cell::Cell,
    hint,
    marker::PhantomData,
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use cudarc::driver::{
    CudaStream, DevicePtr, DevicePtrMut, DriverError, SyncOnDrop, result,
    sys::{self, CUresult},
};

use super::{Queue, Stream};
use crate::error::{Error, Result, doing};

/// The address of elements in device memory, and their number. The memory is borrowed from its
/// owner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address<'m> {
    at: u64,
    len: u64,
    owner: PhantomData<&'m ()>,
}

impl<'m> Address<'m> {
    /// Returns the elements of a slice that will be read. The work that reads the elements must be
    /// queued on the stream while the second returned value is live.
    pub(crate) fn of<T>(
        slice: &'m impl DevicePtr<T>,
        stream: &'m CudaStream,
    ) -> Result<(Address<'m>, SyncOnDrop<'m>)> {
        let (at, reads) = slice.device_ptr(stream);
        Ok((Address::checked::<T>("slice", at, slice.len() as u64)?, reads))
    }

    /// Returns the elements of a slice that will be written; otherwise the same as
    /// [`of`](Address::of).
    pub(crate) fn of_result<T>(
        result: &'m mut impl DevicePtrMut<T>,
        stream: &'m CudaStream,
    ) -> Result<(Address<'m>, SyncOnDrop<'m>)> {
        let len = result.len() as u64;
        let (at, writes) = result.device_ptr_mut(stream);
        Ok((Address::checked::<T>("result", at, len)?, writes))
    }

    /// Returns elements that the caller guarantees to exist.
    ///
    /// # Safety
    /// There must be `len` elements at the address, in memory that the device can read (and write,
    /// for a result) until the work that is queued with the address is done.
    pub(crate) unsafe fn promised<T>(what: &'static str, at: u64, len: u64) -> Result<Address<'m>> {
        if at == 0 && len > 0 {
            return Err(Error::Null { what, n: len });
        }
        Address::checked::<T>(what, at, len)
    }

    /// Checks that the address is a multiple of the element size, as every kernel requires.
    fn checked<T>(what: &'static str, address: u64, len: u64) -> Result<Address<'m>> {
        let size = size_of::<T>() as u64;
        if !address.is_multiple_of(size) {
            return Err(Error::Misaligned { what, address, size });
        }
        Ok(Address { at: address, len, owner: PhantomData })
    }

    pub(crate) fn raw(self) -> u64 {
        self.at
    }

    /// Returns the number of elements.
    pub(crate) fn len(self) -> u64 {
        self.len
    }

    /// Returns the first `len` elements, or all elements if there are fewer.
    pub(crate) fn first(self, len: u64) -> Address<'m> {
        Address { len: len.min(self.len), ..self }
    }

    /// Returns the address of `len` elements of type `T`, which begin at the element with index
    /// `first`.
    pub(crate) fn part<T>(self, first: u64, len: u64) -> Address<'m> {
        debug_assert!(first + len <= self.len, "{first} + {len} of {}", self.len);
        Address { at: self.at + first * size_of::<T>() as u64, len, ..self }
    }

    /// Returns whether the address is a multiple of 16 bytes, the size of a vector.
    pub(crate) fn is_aligned(self) -> bool {
        self.at.is_multiple_of(16)
    }
}

/// Returns the ordinal of the device that holds the memory at an address.
///
/// # Errors
/// There is no driver, or no CUDA allocation contains the address.
pub fn device_of(address: u64) -> Result<i32> {
    super::ready()?;
    let ordinal = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    let mut device = 0i32;
    // SAFETY: the driver writes this attribute as an `int`, and does not read the memory at the
    // address.
    let found =
        unsafe { sys::cuPointerGetAttribute((&raw mut device).cast(), ordinal, address) }.result();
    match found {
        Ok(()) => Ok(device),
        Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)) => {
            Err(Error::NoAllocation { address })
        }
        Err(error) => Err(doing("finding the device of an address")(error)),
    }
}

/// Device memory that is zeroed, in stream order, before the first launch that uses it.
#[derive(Debug)]
pub(crate) struct State {
    address: u64,
    bytes: usize,
    queue: Queue,
    /// The id that the driver gave the context.
    context: u64,
}

impl State {
    /// Allocates memory for a stream whose context is current.
    pub(crate) fn new(queue: &Queue, bytes: usize) -> Result<State> {
        let allocating = || doing("allocating room for the messages between blocks");
        let context = queue.stream.context_id()?;
        // SAFETY: this value owns the memory, and frees it. The memory is zeroed on the stream that
        // uses it, so it is zero before any use.
        unsafe {
            let address = match ordered(queue) {
                Some(stream) => result::malloc_async(stream.raw(), bytes),
                None => result::malloc_sync(bytes),
            };
            let address = address.map_err(allocating())?;
            let state = State { address, bytes, queue: queue.clone(), context };
            result::memset_d8_async(address, 0, bytes, queue.stream.raw()).map_err(allocating())?;
            Ok(state)
        }
    }

    /// Allocates memory like [`new`](State::new), and copies words to it in stream order.
    pub(crate) fn of(queue: &Queue, words: &[u32]) -> Result<State> {
        let state = State::new(queue, size_of_val(words))?;
        // SAFETY: the memory has room for the words. The words are not in pinned memory, so the
        // driver has copied them when this call returns.
        unsafe { result::memcpy_htod_async(state.address, words, queue.stream.raw()) }
            .map_err(doing("moving a list"))?;
        Ok(state)
    }

    pub(crate) fn address(&self) -> Address<'_> {
        Address { at: self.address, len: self.bytes as u64, owner: PhantomData }
    }

    /// Waits for the stream, and returns the first `words` words of 64 bits. The stream's context
    /// must be current.
    pub(crate) fn read(&self, words: usize) -> Result<Vec<u64>> {
        let stream = self.queue.stream.raw();
        let mut found = vec![0; words.min(self.bytes / 8)];
        // SAFETY: the memory has at least as many words as the vector, and both live until the copy
        // is done.
        unsafe {
            result::memcpy_dtoh_async(&mut found, self.address, stream)
                .and_then(|()| result::stream::synchronize(stream))
                .map_err(doing("reading an exact sum's digits"))?;
        }
        Ok(found)
    }
}

/// Returns the stream on which memory is allocated and freed in stream order. Returns `None` if the
/// stream may be destroyed before the memory is freed, or if the device does not support such
/// allocations.
fn ordered(queue: &Queue) -> Option<Stream> {
    let owner = queue.owner.as_ref()?;
    owner.context().has_async_alloc().then_some(queue.stream)
}

impl Drop for State {
    fn drop(&mut self) {
        let Queue { stream, owner } = &self.queue;
        let Some(_bound) = stream.bind_if(self.context) else { return };
        let Some(ordered) = ordered(&self.queue) else {
            // The stream may no longer exist; before it frees the memory, the driver waits for the
            // device.
            super::outside_of_captures(|| {
                if let Some(owner) = owner {
                    let _ = owner.synchronize();
                }
                // SAFETY: `new` allocated the memory, and it is freed once.
                let _ = unsafe { result::free_sync(self.address) };
            });
            return;
        };
        // During a capture, this call would become a node of the graph, and a graph must not free
        // memory that was allocated before the capture. The memory is therefore leaked.
        if !stream.is_capturing().unwrap_or(true) {
            // SAFETY: `new` allocated the memory, and it is freed once, after all launches on its
            // stream.
            let _ = unsafe { result::free_async(self.address, ordered.raw()) };
        }
    }
}

/// Captures a launch whose state belongs to the graph. Each time the graph runs, it allocates,
/// zeroes and frees the state.
pub(crate) fn with_captured_state(
    stream: Stream,
    bytes: usize,
    launch: impl FnOnce(Option<Address<'_>>) -> Result<()>,
) -> Result<()> {
    let capturing = || doing("capturing the state of a reduction");
    let raw = stream.raw();
    // SAFETY: all three calls become nodes of the graph, in stream order. The allocation and the
    // memset come before the launch, and the free comes after it.
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

/// Device memory for a caller, which may drop it at any time.
#[derive(Debug)]
pub struct Memory {
    address: u64,
    stream: Stream,
    /// The id that the driver gave the context.
    context: u64,
}

impl Memory {
    /// Allocates memory in the stream's context.
    ///
    /// # Errors
    /// The device has too little free memory.
    pub fn new(stream: Stream, bytes: usize) -> Result<Memory> {
        let (_bound, context) = (stream.bind()?, stream.context_id()?);
        // SAFETY: this value owns the memory, and frees it.
        let address =
            unsafe { result::malloc_sync(bytes) }.map_err(doing("allocating a result"))?;
        Ok(Memory { address, stream, context })
    }

    /// Returns the device address.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(_bound) = self.stream.bind_if(self.context) {
            // SAFETY: `new` allocated the memory, and it is freed once; before that, the driver
            // waits for the device.
            let _ = super::outside_of_captures(|| unsafe { result::free_sync(self.address) });
        }
    }
}

/// Four words of pinned memory for one or two results of up to eight bytes. Each word holds 32 bits
/// of a result and the epoch.
#[derive(Debug)]
pub(crate) struct Answer {
    words: NonNull<u64>,
    address: u64,
    /// Whether a launch may still write to the memory, because a wait failed.
    open: Cell<bool>,
    queue: Queue,
    /// The id that the driver gave the context.
    context: u64,
}

// SAFETY: only one thread at a time uses the words, because no type that contains an `Answer` is
// `Sync`.
unsafe impl Send for Answer {}

/// The number of polls between two checks of the stream.
const SPINS: u32 = 4096;

impl Answer {
    pub(crate) fn new(queue: &Queue) -> Result<Answer> {
        let allocating = || doing("allocating pinned memory for a result");
        let context = queue.stream.context_id()?;
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: this value owns the memory, which is page-aligned and zeroed before it is shared.
        // A word of zero is empty, because no epoch is zero.
        unsafe {
            let words = result::malloc_host(32, flags).map_err(allocating())?.cast::<u64>();
            let words = NonNull::new(words).ok_or(Error::Lost)?;
            words.write_bytes(0, 4);
            let queue = queue.clone();
            let open = Cell::new(false);
            let mut answer = Answer { words, address: 0, open, queue, context };
            sys::cuMemHostGetDevicePointer_v2(&mut answer.address, words.as_ptr().cast(), 0)
                .result()
                .map_err(allocating())?;
            Ok(answer)
        }
    }

    /// Returns the address to which a kernel writes the result.
    pub(crate) fn address(&self) -> Address<'_> {
        Address { at: self.address, len: 4, owner: PhantomData }
    }

    /// Waits until all words of a result have the epoch, and returns the result, which begins at
    /// word `first` and has `bytes` bytes. Polls the words, because a wait for the stream would
    /// return microseconds later. Occasionally also checks the stream, so that a failed launch
    /// becomes an error.
    pub(crate) fn wait(&self, epoch: u32, first: usize, bytes: usize) -> Result<u64> {
        self.open.set(true);
        let mut result = 0;
        for half in 0..bytes / 4 {
            // SAFETY: the address points to one of the four words, which are live as long as this
            // value. The device writes to these words, so the host accesses them atomically.
            let word = unsafe { AtomicU64::from_ptr(self.words.as_ptr().add(first + half)) };
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
            if self.queue.stream.is_idle()? {
                return come().ok_or(Error::Lost);
            }
            thread::yield_now();
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let Some(_bound) = self.queue.stream.bind_if(self.context) else { return };
        match &self.queue.owner {
            Some(owner) if self.open.get() => {
                let _ = owner.synchronize();
            }
            // It is unknown whether the stream still exists and whether the launch may still write,
            // so the memory is leaked.
            None if self.open.get() => return,
            _ => {}
        }
        // SAFETY: `new` allocated the memory, and it is freed once, when nothing writes to it any
        // more.
        let _ =
            super::outside_of_captures(|| unsafe { result::free_host(self.words.as_ptr().cast()) });
    }
}
