//! Measures times on the GPU between two events.

use cudarc::driver::{CudaEvent, sys};

use super::{cuda::Cuda, driver::failed, gate::Gate};
use crate::Result;

/// Measures the time between two events on the GPU, one before and one after the work.
#[derive(Debug)]
pub struct Stopwatch<'c> {
    cuda: &'c Cuda,
    start: CudaEvent,
    end: CudaEvent,
    gate: Option<Gate>,
}

impl<'c> Stopwatch<'c> {
    /// Creates a stopwatch that holds the stream back until all of the work is queued, so that only
    /// the GPU causes the gaps between launches. On a system that cannot hold a stream back, the
    /// stopwatch is [`ungated`](Stopwatch::ungated).
    pub fn gated(cuda: &'c Cuda) -> Result<Stopwatch<'c>> {
        Ok(Stopwatch { gate: Gate::new(cuda), ..Stopwatch::ungated(cuda)? })
    }

    /// Creates a stopwatch that does not hold the stream back. The GPU starts the first launch
    /// while the host queues the others.
    pub fn ungated(cuda: &'c Cuda) -> Result<Stopwatch<'c>> {
        let event = || {
            let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
            cuda.context().new_event(flags).map_err(failed("making an event"))
        };
        Ok(Stopwatch { cuda, start: event()?, end: event()?, gate: None })
    }

    /// Returns the time, in seconds, that the launches made by `work` take on the GPU.
    pub fn time(&mut self, work: impl FnOnce() -> Result<()>) -> Result<f64> {
        let doing = || failed("timing");
        let stream = self.cuda.shared_stream();
        let closed = match &mut self.gate {
            Some(gate) => gate.close(stream)?,
            None => {
                self.cuda.finish()?;
                None
            }
        };
        self.start.record(stream).map_err(doing())?;
        let worked = work();
        self.end.record(stream).map_err(doing())?;
        drop(closed);
        worked?;
        let milliseconds = self.start.elapsed_ms(&self.end).map_err(doing())?;
        Ok(f64::from(milliseconds) / 1e3)
    }

    /// Returns whether the stream is held back while work is queued.
    pub fn is_gated(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| !gate.is_broken())
    }
}
