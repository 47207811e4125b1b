//! A gate in a stream: nothing behind it runs until all of it is queued.
//!
//! One of the files with `unsafe`: a stream that waits for a number in host memory is known to the
//! driver's C functions only.
#![expect(unsafe_code, reason = "only the driver's C functions know a stream that waits")]

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cudarc::driver::{CudaStream, DriverError, result, sys};

use super::{cuda::Cuda, driver::failed};
use crate::Result;

/// A number in host memory that a stream waits for.
///
/// Tools such as compute-sanitizer and ncu make every launch wait for its end, and so would the
/// stream for ever: a watchdog opens a gate that has been closed for too long, for good.
#[derive(Debug)]
pub(crate) struct Gate {
    flag: Arc<Flag>,
    address: u64,
    closings: u32,
    watch: Arc<Watchdog>,
    keeper: Option<JoinHandle<()>>,
}

/// Pinned host memory of one number, which the GPU reads.
#[derive(Debug)]
struct Flag(*mut u32);

// SAFETY: the number is only written, as an atomic one; the memory is freed with the last owner.
unsafe impl Send for Flag {}
// SAFETY: as above.
unsafe impl Sync for Flag {}

impl Flag {
    fn set(&self, value: u32) {
        // SAFETY: the flag is aligned, and lives as long as this value; both threads that write it
        // do so here, and the GPU only reads it.
        unsafe { AtomicU32::from_ptr(self.0) }.store(value, Ordering::Release);
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        // SAFETY: allocated by `malloc_host`, freed once. An error at the end has no reader.
        let _ = unsafe { result::free_host(self.0.cast()) };
    }
}

/// The watchdog, and what it looks at.
#[derive(Debug, Default)]
struct Watchdog {
    closed: Mutex<Option<(Instant, u32)>>,
    broken: AtomicBool,
    over: AtomicBool,
}

/// How long a gate may be closed: a thousand times what queueing takes.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens the gate when dropped, on every path: a stream that waits for ever hangs the program.
pub(crate) struct Closed<'g>(&'g Gate);

impl Gate {
    /// A gate, if this system has the waiting that it needs.
    pub(crate) fn new(cuda: &Cuda) -> Option<Gate> {
        let (portable, mapped) = (sys::CU_MEMHOSTALLOC_PORTABLE, sys::CU_MEMHOSTALLOC_DEVICEMAP);
        // SAFETY: four bytes of pinned memory, owned by the flag.
        let flag = Flag(unsafe { result::malloc_host(4, portable | mapped) }.ok()?.cast());
        flag.set(0);
        let mut address = 0;
        // SAFETY: the flag is mapped host memory.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, flag.0.cast(), 0) }
            .result()
            .ok()?;
        let (flag, watch) = (Arc::new(flag), Arc::default());
        let mut gate = Gate { flag, address, closings: 0, watch, keeper: None };
        // The wait that is tried here is for the value that is already there.
        gate.wait(cuda.shared_stream(), 0).ok()?;
        cuda.finish().ok()?;
        let (watch, flag) = (gate.watch.clone(), gate.flag.clone());
        gate.keeper =
            Some(thread::spawn(move || watch.keep(PATIENCE, |closings| flag.set(closings))));
        Some(gate)
    }

    fn wait(&self, stream: &CudaStream, value: u32) -> Result<(), DriverError> {
        let equal = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_EQ as u32;
        // SAFETY: the address is that of the gate's flag.
        unsafe {
            sys::cuStreamWaitValue32_v2(stream.cu_stream(), self.address, value, equal).result()
        }
    }

    /// Whether the watchdog has opened it for good.
    pub(crate) fn is_broken(&self) -> bool {
        self.watch.broken.load(Ordering::Relaxed)
    }

    /// Holds the stream back until the value returned is dropped.
    pub(crate) fn close(&mut self, stream: &CudaStream) -> Result<Option<Closed<'_>>> {
        if self.is_broken() {
            return Ok(None);
        }
        self.closings = self.closings.wrapping_add(1);
        // Watched before it is closed, and opened on every path from here on: also where the wait
        // itself is what a tool does not let go.
        self.watch.set(Some((Instant::now(), self.closings)));
        let closed = Closed(&*self);
        self.wait(stream, self.closings).map_err(failed("holding the stream back"))?;
        Ok(Some(closed))
    }
}

impl Watchdog {
    fn set(&self, closed: Option<(Instant, u32)>) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = closed;
    }

    /// Opens a gate that has been closed for too long; ends with the gate.
    fn keep(&self, patience: Duration, open: impl Fn(u32)) {
        while !self.over.load(Ordering::Relaxed) {
            thread::park_timeout(patience / 20);
            let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, closings)) = closed.filter(|(since, _)| since.elapsed() > patience) {
                self.broken.store(true, Ordering::Relaxed);
                open(closings);
            }
        }
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.flag.set(self.0.closings);
        self.0.watch.set(None);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.watch.over.store(true, Ordering::Relaxed);
        // Its memory is freed here, and not by the watchdog some time later: the driver waits for the
        // GPU before it frees, and whoever holds back the next stream would wait for the driver.
        if let Some(keeper) = self.keeper.take() {
            keeper.thread().unpark();
            let _ = keeper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a watchdog opened in a while, of a gate that was closed for the seventh time then; and whether
    /// it is broken.
    fn opened(since: Option<Instant>, patience: Duration) -> (Option<u32>, bool) {
        let watch = Watchdog::default();
        watch.set(since.map(|since| (since, 7)));
        let opened = Mutex::new(Vec::<u32>::new());
        thread::scope(|scope| {
            let keeper = scope.spawn(|| {
                watch.keep(patience, |closings| opened.lock().unwrap().push(closings));
            });
            // One that is to be opened is so soon; of the others nothing is heard for a while.
            let late = since.is_some_and(|since| since.elapsed() > patience);
            let most = if late { 5 * patience } else { patience / 4 };
            let started = Instant::now();
            while started.elapsed() < most && opened.lock().unwrap().is_empty() {
                thread::sleep(patience / 20);
            }
            let found = opened.lock().unwrap().first().copied();
            watch.over.store(true, Ordering::Relaxed);
            keeper.thread().unpark();
            keeper.join().unwrap();
            (found, watch.broken.load(Ordering::Relaxed))
        })
    }

    #[test]
    fn a_gate_that_is_closed_for_too_long_is_opened_for_good_and_no_other() {
        let (now, patience) = (Instant::now(), Duration::from_secs(1));
        assert_eq!(opened(now.checked_sub(2 * patience), patience), (Some(7), true));
        // Closed a moment ago, however slow this machine is.
        assert_eq!(opened(Some(now + 1000 * patience), patience), (None, false));
        assert_eq!(opened(None, patience), (None, false));
    }
}
