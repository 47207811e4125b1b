//! Streams an input that does not fit on the GPU. Each chunk is copied while the previous chunk is
//! added.
//!
//! This file contains `unsafe` code, because only the driver's C functions allocate pinned memory
//! and copy asynchronously.
#![expect(unsafe_code, reason = "only the driver's C functions copy asynchronously")]

use std::{ffi::c_void, sync::Arc};

use cudarc::driver::{CudaEvent, CudaStream, result, sys};

use super::{
    address::Address,
    cuda::{Cuda, Memory},
    driver::failed,
};
use crate::{Error, Result};

/// Two slots for chunks, on the host and on the GPU, and a stream for the copies.
#[derive(Debug)]
pub struct Feed<'c> {
    cuda: &'c Cuda,
    stream: Arc<CudaStream>,
    places: [Place; 2],
    started: CudaEvent,
    spans: Vec<[CudaEvent; 4]>,
}

/// A slot for a chunk.
#[derive(Debug)]
struct Place {
    host: Pinned,
    device: Memory,
    /// The index of the last chunk that was copied through the slot.
    last: Option<usize>,
}

/// Pinned host memory, which is freed when dropped.
#[derive(Debug)]
struct Pinned {
    at: *mut c_void,
    bytes: usize,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: `malloc_host` allocated the memory, and it is freed only here. A destructor
        // cannot return the error.
        let _ = unsafe { result::free_host(self.at) };
    }
}

/// The times at which a chunk was copied and added, in microseconds since the feed was started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The start and the end of the copy.
    pub copied: [f64; 2],
    /// The start and the end of the addition.
    pub added: [f64; 2],
}

impl<'c> Feed<'c> {
    /// Allocates slots for two chunks of up to `bytes` bytes each.
    pub fn new(cuda: &'c Cuda, bytes: u64) -> Result<Feed<'c>> {
        cuda.bind()?;
        let place = || {
            let device = cuda.alloc("a chunk of the input", bytes)?;
            let size = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
            // SAFETY: the `Pinned` value below owns the memory, and frees it once.
            let at = unsafe { result::malloc_host(size, 0) }.map_err(|_| Error::Refused {
                what: "a pinned chunk of the input".into(),
                needed: bytes,
            })?;
            // SAFETY: `size` bytes were just allocated. All of these bytes are written, so `piece`
            // returns initialized memory.
            unsafe { at.cast::<u8>().write_bytes(0, size) };
            Ok::<_, Error>(Place { host: Pinned { at, bytes: size }, device, last: None })
        };
        let stream = cuda.context().new_stream().map_err(failed("making a stream for copies"))?;
        let places = [place()?, place()?];
        Ok(Feed { cuda, stream, places, started: event(cuda)?, spans: Vec::new() })
    }

    /// Waits until all work has finished, discards the earlier times, and starts the clock.
    pub fn start(&mut self) -> Result<()> {
        self.finish()?;
        self.spans.clear();
        self.places.iter_mut().for_each(|place| place.last = None);
        self.started.record(self.cuda.shared_stream()).map_err(failed("starting a clock"))
    }

    /// Waits for the last copy from the next chunk's host buffer, and returns the buffer.
    pub fn piece(&mut self) -> Result<&mut [u8]> {
        let place = &mut self.places[self.spans.len() % 2];
        if let Some(last) = place.last {
            self.spans[last][1].synchronize().map_err(failed("waiting for a copy"))?;
        }
        // SAFETY: the memory is initialized, lives as long as this value, and is borrowed with it.
        // No copy from the memory is in progress.
        Ok(unsafe { std::slice::from_raw_parts_mut(place.host.at.cast(), place.host.bytes) })
    }

    /// Sends the first `bytes` bytes of the buffer that [`piece`](Feed::piece) returned, and calls
    /// `add` with their device address. The launches in `add` run after the copy, and the next copy
    /// to the same slot runs after these launches. The function returns without waiting.
    pub fn send(&mut self, bytes: u64, add: impl FnOnce(Address<'_>) -> Result<()>) -> Result<()> {
        let doing = || failed("sending a chunk to the GPU");
        let piece = self.spans.len();
        let cuda = self.cuda;
        let span = [event(cuda)?, event(cuda)?, event(cuda)?, event(cuda)?];
        let place = &mut self.places[piece % 2];
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(place.host.bytes);
        match place.last {
            Some(last) => self.stream.wait(&self.spans[last][3]).map_err(doing())?,
            None => self.stream.wait(&self.started).map_err(doing())?,
        }
        let to = cuda.device_address(place.device.address(), bytes as u64)?;
        span[0].record(&self.stream).map_err(doing())?;
        // SAFETY: both buffers are live and have `bytes` bytes. `piece` waits for the copy before
        // the host's buffer is written again.
        unsafe {
            let from = std::slice::from_raw_parts(place.host.at.cast::<u8>(), bytes);
            result::memcpy_htod_async(to, from, self.stream.cu_stream())
        }
        .map_err(doing())?;
        span[1].record(&self.stream).map_err(doing())?;
        let stream = cuda.shared_stream();
        stream.wait(&span[1]).map_err(doing())?;
        span[2].record(stream).map_err(doing())?;
        let added = add(place.device.address());
        span[3].record(stream).map_err(doing())?;
        place.last = Some(piece);
        self.spans.push(span);
        added
    }

    /// Waits until all chunks are copied and added.
    pub fn finish(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed("waiting for copies"))?;
        self.cuda.finish()
    }

    /// Waits for the last chunk, and returns the times at which each chunk was copied and added.
    pub fn spans(&self) -> Result<Vec<Span>> {
        self.finish()?;
        let since = |event: &CudaEvent| {
            let milliseconds = self.started.elapsed_ms(event).map_err(failed("reading a clock"))?;
            Ok::<_, Error>(f64::from(milliseconds) * 1e3)
        };
        let span = |[a, b, c, d]: &[CudaEvent; 4]| {
            Ok(Span { copied: [since(a)?, since(b)?], added: [since(c)?, since(d)?] })
        };
        self.spans.iter().map(span).collect()
    }
}

impl Drop for Feed<'_> {
    fn drop(&mut self) {
        // Wait, because a copy would otherwise continue after its memory is freed. A destructor
        // cannot return the error.
        let _ = self.finish();
    }
}

fn event(cuda: &Cuda) -> Result<CudaEvent> {
    let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    cuda.context().new_event(flags).map_err(failed("making an event"))
}
