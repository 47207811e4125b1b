//! A stream and its context.
#![expect(unsafe_code, reason = "the driver accepts streams and contexts as handles")]

use std::{
    ffi::c_void,
    ptr,
    sync::{Arc, OnceLock},
};

use cudarc::driver::{
    CudaContext, CudaStream, DriverError,
    result::{ctx, device, event, primary_ctx, stream},
    sys::{
        self, CUcontext, CUevent_flags, CUevent_wait_flags, CUresult, CUstream,
        CUstreamCaptureMode, CUstreamCaptureStatus_enum as Status,
    },
};

use crate::{
    cuda::ready,
    error::{Error, Result, doing},
};

/// A stream and its context, as handles of the driver, which may come from any framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    context: CUcontext,
    handle: CUstream,
}

// SAFETY: the driver accepts handles from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream from a `CUstream` or `cudaStream_t` and the `CUcontext` in which it was
    /// created.
    ///
    /// # Errors
    /// There is no driver, the context was destroyed, or the stream belongs to another context.
    ///
    /// # Safety
    /// The stream and the context must be live for as long as the value is used.
    pub unsafe fn new(context: *mut c_void, stream: *mut c_void) -> Result<Stream> {
        ready()?;
        let stream = Stream { context: context.cast(), handle: stream.cast() };
        if context.is_null() {
            return Err(Error::NoContext);
        }
        // This call must come first: it reports a destroyed context, whereas making a destroyed
        // context current would count as a reference to it.
        stream.context_id()?;
        let _bound = stream.bind()?;
        match stream.is_default() || context_of(stream.handle)? == stream.context {
            true => Ok(stream),
            false => Err(Error::OtherStream),
        }
    }

    /// Creates a stream from a handle, and asks the driver for its context. A default stream (null,
    /// `cudaStreamLegacy` or `cudaStreamPerThread`) belongs to the calling thread's current
    /// context.
    ///
    /// # Errors
    /// There is no driver, or the stream is a default stream and no context is current.
    ///
    /// # Safety
    /// The requirements are those of [`new`](Stream::new).
    pub unsafe fn of(stream: *mut c_void) -> Result<Stream> {
        ready()?;
        let stream = Stream { context: ptr::null_mut(), handle: stream.cast() };
        let context = match stream.is_default() {
            true => current()?,
            false => context_of(stream.handle)?,
        };
        if context.is_null() { Err(Error::NoContext) } else { Ok(Stream { context, ..stream }) }
    }

    /// Creates a stream of a device's primary context, which the CUDA runtime and the frameworks
    /// built on it use. A default stream then belongs to this context, whichever context is
    /// current.
    ///
    /// # Errors
    /// There is no driver or no such device, or the stream belongs to another context.
    ///
    /// # Safety
    /// The requirements are those of [`new`](Stream::new).
    pub unsafe fn of_device(ordinal: i32, stream: *mut c_void) -> Result<Stream> {
        ready()?;
        let stream = Stream { context: primary(ordinal)?, handle: stream.cast() };
        match stream.is_default() || context_of(stream.handle)? == stream.context {
            true => Ok(stream),
            false => Err(Error::OtherStream),
        }
    }

    /// Makes this stream wait for the work that is queued on another stream.
    ///
    /// # Errors
    /// A call to the driver failed.
    pub fn wait_for(self, other: Stream) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let ordering = || doing("making one stream wait for another");
        let event = {
            let _bound = other.bind()?;
            let event = event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(ordering())?;
            // SAFETY: the event and the stream are live, and were created in the same context.
            let recorded = unsafe { event::record(event, other.handle) };
            recorded.map_err(ordering()).map(|()| event)?
        };
        let _bound = self.bind()?;
        let flags = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event has been recorded, and it is destroyed once; the driver releases the
        // event when it has completed.
        let waits = unsafe {
            let waits = stream::wait_event(self.handle, event, flags);
            waits.and(event::destroy(event))
        };
        waits.map_err(ordering())
    }

    fn is_default(self) -> bool {
        self.handle as usize <= 2
    }

    /// Returns the driver's handle.
    pub(crate) fn raw(self) -> CUstream {
        self.handle
    }

    /// Makes the stream's context current in this thread until the returned guard is dropped.
    pub(crate) fn bind(self) -> Result<Bound> {
        let before = current()?;
        if before == self.context {
            return Ok(Bound { before: None });
        }
        set_current(self.context)?;
        Ok(Bound { before: Some(before) })
    }

    /// Makes the context current for a default stream, because the handle of a default stream belongs
    /// to every context.
    fn bind_default(self) -> Result<Option<Bound>> {
        self.is_default().then(|| self.bind()).transpose()
    }

    /// Makes the context current, like [`bind`](Stream::bind), but only if it still has this id. A
    /// destroyed context must not be made current, and a new context may have the same address as a
    /// destroyed one.
    pub(crate) fn bind_if(self, context: u64) -> Option<Bound> {
        match self.context_id() {
            Ok(number) if number == context => self.bind().ok(),
            _ => None,
        }
    }

    /// Returns the id that the driver gave the stream and never reuses. Returns an error while the
    /// stream is being captured.
    pub(crate) fn id(self) -> Result<u64> {
        let mut id = 0;
        // SAFETY: the stream is live, and the pointer is valid for the result.
        unsafe { sys::cuStreamGetId(self.handle, &mut id) }
            .result()
            .map_err(doing("reading the stream's id"))?;
        Ok(id)
    }

    /// Returns the id that the driver gave the context and never reuses.
    pub(crate) fn context_id(self) -> Result<u64> {
        let mut id = 0;
        // SAFETY: the driver checks whether the context is live, and the pointer is valid for the
        // result.
        unsafe { sys::cuCtxGetId(self.context, &mut id) }
            .result()
            .map_err(doing("reading the context's id"))?;
        Ok(id)
    }

    /// Returns whether the stream is being captured. Also returns true for the legacy default
    /// stream while another stream is being captured, because the driver then reports no status.
    ///
    /// # Errors
    /// The driver does not know the stream.
    pub fn is_capturing(self) -> Result<bool> {
        let mut status = Status::CU_STREAM_CAPTURE_STATUS_NONE;
        let _bound = self.bind_default()?;
        // SAFETY: the stream is live, and the pointer is valid for the result.
        match unsafe { sys::cuStreamIsCapturing(self.handle, &mut status) }.result() {
            Ok(()) => Ok(status != Status::CU_STREAM_CAPTURE_STATUS_NONE),
            Err(DriverError(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)) => Ok(true),
            Err(error) => Err(doing("reading the capture status of the stream")(error)),
        }
    }

    /// Returns whether all queued work is done.
    pub(crate) fn is_idle(self) -> Result<bool> {
        let _bound = self.bind_default()?;
        // SAFETY: the stream is live.
        match unsafe { sys::cuStreamQuery(self.handle) }.result() {
            Ok(()) => Ok(true),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(doing("waiting for a reduction")(error)),
        }
    }
}

/// Returns the primary context of a device. It is retained once in each process.
fn primary(ordinal: i32) -> Result<CUcontext> {
    static KNOWN: [OnceLock<usize>; 64] = [const { OnceLock::new() }; 64];
    let opening = || doing("opening the device");
    let index = usize::try_from(ordinal).unwrap_or(usize::MAX);
    let known = KNOWN.get(index);
    if let Some(context) = known.and_then(OnceLock::get) {
        return Ok(*context as CUcontext);
    }
    let count = device::get_count().map_err(opening())?.clamp(0, KNOWN.len() as i32) as usize;
    let Some(place) = known.filter(|_| index < count) else {
        return Err(Error::NoDevice { ordinal: index, count });
    };
    let device = device::get(ordinal).map_err(opening())?;
    // SAFETY: the device exists, and its context is never released.
    let context = unsafe { primary_ctx::retain(device) }.map_err(opening())?;
    Ok(*place.get_or_init(|| context as usize) as CUcontext)
}

fn context_of(stream: CUstream) -> Result<CUcontext> {
    let mut context = ptr::null_mut();
    // SAFETY: the stream is live, and the pointer is valid for the result.
    unsafe { sys::cuStreamGetCtx(stream, &mut context) }
        .result()
        .map_err(doing("reading the stream's context"))?;
    Ok(context)
}

/// Returns this thread's current context, or null.
fn current() -> Result<CUcontext> {
    let context = ctx::get_current().map_err(doing("reading the current context"))?;
    Ok(context.unwrap_or(ptr::null_mut()))
}

fn set_current(context: CUcontext) -> Result<()> {
    // SAFETY: the context is live, which the driver also checks.
    unsafe { ctx::set_current(context) }.map_err(doing("using the context"))
}

/// A guard that keeps a context current. When the guard is dropped, it restores the previous
/// context, because a framework's current device is its current context.
#[derive(Debug)]
#[must_use]
pub(crate) struct Bound {
    before: Option<CUcontext>,
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            let _ = set_current(before);
        }
    }
}

/// A stream, and its owner if the owner must be kept alive.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) stream: Stream,
    pub(crate) owner: Option<Arc<CudaStream>>,
}

impl Queue {
    pub(crate) fn owned(owner: &Arc<CudaStream>) -> Queue {
        let stream = Stream { context: owner.context().cu_ctx(), handle: owner.cu_stream() };
        Queue { stream, owner: Some(owner.clone()) }
    }
}

/// Stops cudarc from adding events between the streams of a context, because a wait for an event
/// from outside a capture invalidates the capture. This function is for tests, which order their
/// streams themselves.
#[doc(hidden)]
pub fn untracked(context: &CudaContext) {
    // SAFETY: the tests call this before they allocate anything, and synchronize a stream before
    // another stream uses its output.
    unsafe { context.disable_event_tracking() };
}

/// Runs a function that may allocate or compile, even while this thread captures a stream. The
/// function's result must outlive the capture, and captured work must not depend on the time at
/// which the result was made.
pub(crate) fn outside_of_captures<T>(make: impl FnOnce() -> T) -> T {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the call replaces this thread's capture mode, which is restored below. An error
    // leaves the mode unchanged.
    let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
    let made = make();
    // SAFETY: as above.
    let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
    made
}
