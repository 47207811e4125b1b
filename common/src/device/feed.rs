//! Input that a GPU has no room for: it goes there in pieces, while the piece before is added.
//!
//! One of the files with `unsafe`: pinned memory, and copies that nobody waits for, are known to the
//! driver's C functions only.
#![expect(unsafe_code, reason = "only the driver's C functions copy while others run")]

use std::{ffi::c_void, sync::Arc};

use cudarc::driver::{CudaEvent, CudaStream, result, sys};

use super::{
    address::Address,
    cuda::{Cuda, Memory},
    driver::failed,
};
use crate::{Error, Result};

/// Two places for pieces, on the host and on the GPU, and a stream for copies from one to the other.
#[derive(Debug)]
pub struct Feed<'c> {
    cuda: &'c Cuda,
    stream: Arc<CudaStream>,
    places: [Place; 2],
    started: CudaEvent,
    spans: Vec<[CudaEvent; 4]>,
}

/// Room for a piece.
#[derive(Debug)]
struct Place {
    host: Pinned,
    device: Memory,
    /// The last piece that was copied through it.
    last: Option<usize>,
}

/// Pinned host memory; freed when dropped.
#[derive(Debug)]
struct Pinned {
    at: *mut c_void,
    bytes: usize,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: allocated by `malloc_host`, freed once. An error at the end has no reader.
        let _ = unsafe { result::free_host(self.at) };
    }
}

/// When a piece was copied and added, in microseconds since the feed was started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// From when to when it was copied.
    pub copied: [f64; 2],
    /// From when to when it was added.
    pub added: [f64; 2],
}

impl<'c> Feed<'c> {
    /// Room for two pieces of that many bytes.
    pub fn new(cuda: &'c Cuda, bytes: u64) -> Result<Feed<'c>> {
        cuda.bind()?;
        let place = || {
            let device = cuda.alloc("a piece of the input", bytes)?;
            let size = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
            // SAFETY: owned by the value made of it, which frees it once.
            let at = unsafe { result::malloc_host(size, 0) }.map_err(|_| Error::Refused {
                what: "a pinned piece of the input".into(),
                needed: bytes,
            })?;
            // SAFETY: that many bytes were just allocated; all of them are given a value, so that
            // whoever looks at the piece sees initialised memory.
            unsafe { at.cast::<u8>().write_bytes(0, size) };
            Ok::<_, Error>(Place { host: Pinned { at, bytes: size }, device, last: None })
        };
        let stream = cuda.context().new_stream().map_err(failed("making a stream for copies"))?;
        let places = [place()?, place()?];
        Ok(Feed { cuda, stream, places, started: event(cuda)?, spans: Vec::new() })
    }

    /// Forgets what was before, and starts the clock; waits until nothing runs.
    pub fn start(&mut self) -> Result<()> {
        self.finish()?;
        self.spans.clear();
        self.places.iter_mut().for_each(|place| place.last = None);
        self.started.record(self.cuda.shared_stream()).map_err(failed("starting a clock"))
    }

    /// The piece of the host that is sent next, once its last copy has ended.
    pub fn piece(&mut self) -> Result<&mut [u8]> {
        let place = &mut self.places[self.spans.len() % 2];
        if let Some(last) = place.last {
            self.spans[last][1].synchronize().map_err(failed("waiting for a copy"))?;
        }
        // SAFETY: the memory is initialised, lives as long as this value, and is borrowed with it; no
        // copy from it is under way.
        Ok(unsafe { std::slice::from_raw_parts_mut(place.host.at.cast(), place.host.bytes) })
    }

    /// Sends that piece's first bytes, and calls `add` with their address: what it launches follows the
    /// copy, and the next copy to the same place follows that. Nobody waits.
    pub fn send(&mut self, bytes: u64, add: impl FnOnce(Address<'_>) -> Result<()>) -> Result<()> {
        let doing = || failed("sending a piece to the GPU");
        let piece = self.spans.len();
        let cuda = self.cuda;
        let span = [event(cuda)?, event(cuda)?, event(cuda)?, event(cuda)?];
        let place = &mut self.places[piece % 2];
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(place.host.bytes);
        match place.last {
            Some(last) => self.stream.wait(&self.spans[last][3]).map_err(doing())?,
            None => self.stream.wait(&self.started).map_err(doing())?,
        }
        let to = cuda.own(place.device.address(), bytes as u64)?;
        span[0].record(&self.stream).map_err(doing())?;
        // SAFETY: both places are live and that large; the host's is not written before the copy has
        // ended, which `piece` waits for.
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

    /// Waits until all is copied and added.
    pub fn finish(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed("waiting for copies"))?;
        self.cuda.finish()
    }

    /// When each piece was copied and added; waits for the last one.
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
        // A copy from memory that is about to be freed would go on. An error has no reader.
        let _ = self.finish();
    }
}

fn event(cuda: &Cuda) -> Result<CudaEvent> {
    let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    cuda.context().new_event(flags).map_err(failed("making an event"))
}
