//! A point in a stream's queue of work.
#![expect(unsafe_code, reason = "the driver accepts events as handles")]

use cudarc::driver::{
    DriverError,
    result::event,
    sys::{CUevent, CUevent_flags, CUresult},
};

use crate::{
    cuda::Stream,
    error::{Result, doing},
};

/// A point in a stream's queue of work. An adapter uses such a mark to keep an input alive until
/// the launch that reads the input is done.
#[derive(Debug)]
pub struct Mark {
    event: CUevent,
    stream: Stream,
    /// The id that the driver gave the context.
    context: u64,
}

// SAFETY: the driver accepts handles from any thread.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Mark {
    /// Marks the current end of a stream's queue of work. The stream must not be in capture mode.
    ///
    /// # Errors
    /// The driver cannot create or record an event.
    pub fn new(stream: Stream) -> Result<Mark> {
        let marking = || doing("marking a point in a stream");
        let (_bound, context) = (stream.bind()?, stream.context_id()?);
        let event = event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(marking())?;
        let mark = Mark { event, stream, context };
        // SAFETY: the event was just created in the stream's context.
        unsafe { event::record(event, stream.raw()) }.map_err(marking())?;
        Ok(mark)
    }

    /// Returns whether the stream has passed the point. Also returns true if the driver cannot
    /// tell, for example because the event is no longer valid.
    pub fn is_passed(&self) -> bool {
        // SAFETY: the event is live until this value is dropped.
        let status = unsafe { event::query(self.event) };
        status != Err(DriverError(CUresult::CUDA_ERROR_NOT_READY))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Some(_bound) = self.stream.bind_if(self.context) {
            // SAFETY: the event is destroyed once. If the event is still pending, the driver
            // releases it later.
            let _ = unsafe { event::destroy(self.event) };
        }
    }
}
