//! A gate that holds all GPUs of a process back until all work is queued, so that the host causes
//! no gaps between kernels.
//!
//! All streams wait for the same word in pinned memory. The GPUs observe the change of the word up
//! to 9 µs apart. After the gate opens, they therefore first compute a sum that needs messages from
//! all GPUs. After this sum, the GPUs start within about 1 µs of each other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaEvent, CudaStream, sys};

use crate::{
    Error, Result,
    cuda::{self, Pinned},
    error::doing,
};

/// The streams of all GPUs, and the word for which they wait.
pub(crate) struct Gate {
    streams: Vec<Arc<CudaStream>>,
    events: Vec<(CudaEvent, CudaEvent)>,
    word: Arc<Word>,
}

/// The word, and the state that the measuring thread shares with the watching thread.
struct Word {
    pinned: Pinned,
    closings: AtomicU64,
    opened: AtomicU64,
    broken: AtomicBool,
    over: AtomicBool,
}

impl Gate {
    pub(crate) fn new(streams: &[Arc<CudaStream>]) -> Result<Gate> {
        let event = |stream: &Arc<CudaStream>| {
            let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
            stream.context().new_event(flags).map_err(doing("making an event"))
        };
        let events = streams.iter().map(|s| Ok((event(s)?, event(s)?))).collect::<Result<_>>()?;
        let word = Arc::new(Word {
            pinned: Pinned::new(&streams[0])?,
            closings: 0.into(),
            opened: 0.into(),
            broken: false.into(),
            over: false.into(),
        });
        let watched = word.clone();
        thread::spawn(move || watched.watch());
        Ok(Gate { streams: streams.to_vec(), events, word })
    }

    /// Returns the time that the queued work takes on each GPU after the GPUs have synchronized, in
    /// microseconds. `meet` queues the synchronization, and `queue` queues the work.
    pub(crate) fn time(
        &self,
        meet: impl FnOnce() -> Result<()>,
        queue: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<f64>> {
        let timing = || doing("timing");
        let all = || self.streams.iter().zip(&self.events);
        let closing = self.word.closings.fetch_add(1, Ordering::AcqRel) + 1;
        let held = all().try_for_each(|(stream, _)| self.word.pinned.hold(stream, closing as u32));
        let begun = held.and_then(|()| meet()).and_then(|()| {
            all().try_for_each(|(stream, (start, _))| start.record(stream).map_err(timing()))
        });
        let queued = begun.and_then(|()| queue());
        let ended = all().try_for_each(|(stream, (_, end))| end.record(stream).map_err(timing()));
        // The gate is opened on every path, because the program would hang if a stream were still
        // held back.
        self.word.open(closing);
        queued.and(ended)?;
        if self.word.broken.load(Ordering::Acquire) {
            return Err(Error::Gpus(
                "a call waited for a GPU that was held back, so the call was not timed".into(),
            ));
        }
        let micros = |(stream, (start, end)): (&Arc<CudaStream>, &(CudaEvent, CudaEvent))| {
            cuda::bind(stream)?;
            stream.synchronize().map_err(timing())?;
            start.elapsed_ms(end).map(|ms| f64::from(ms) * 1e3).map_err(timing())
        };
        all().map(micros).collect()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.word.over.store(true, Ordering::Release);
    }
}

impl Word {
    fn open(&self, closing: u64) {
        self.pinned.put(closing as u32);
        self.opened.store(closing, Ordering::Release);
    }

    /// Opens a gate that has been closed for more than two seconds. If the gate stayed closed, a
    /// library that synchronizes while it queues work would hang.
    fn watch(&self) {
        let (mut seen, mut since) = (0, Instant::now());
        while !self.over.load(Ordering::Acquire) {
            let closings = self.closings.load(Ordering::Acquire);
            if closings == self.opened.load(Ordering::Acquire) || closings != seen {
                (seen, since) = (closings, Instant::now());
            } else if since.elapsed() > Duration::from_secs(2) {
                self.broken.store(true, Ordering::Release);
                self.open(closings);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}
