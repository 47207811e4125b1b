//! A gate in a stream, which delays the launches that follow it until all of them are queued.
//!
//! This file contains `unsafe` code, because only the driver's C functions make a stream wait for a
//! number in host memory.
#![expect(unsafe_code, reason = "only the driver's C functions make a stream wait")]

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

/// A gate, which makes a stream wait for a number in host memory.
///
/// Tools such as compute-sanitizer and ncu make the host wait for the end of every launch. A closed
/// gate would then cause a deadlock, so a watchdog permanently opens a gate that stays closed for
/// too long.
#[derive(Debug)]
pub(crate) struct Gate {
    flag: Arc<Flag>,
    address: u64,
    closings: u32,
    watch: Arc<Watchdog>,
    keeper: Option<JoinHandle<()>>,
}

/// A number in pinned host memory, which the GPU reads.
#[derive(Debug)]
struct Flag(*mut u32);

// SAFETY: the number is written only atomically, and the last owner frees the memory.
unsafe impl Send for Flag {}
// SAFETY: as above.
unsafe impl Sync for Flag {}

impl Flag {
    fn set(&self, value: u32) {
        // SAFETY: the flag is aligned and lives as long as this value. Both threads write the
        // number only here, and the GPU only reads it.
        unsafe { AtomicU32::from_ptr(self.0) }.store(value, Ordering::Release);
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        // SAFETY: `malloc_host` allocated the flag, and it is freed only here. A destructor cannot
        // return the error.
        let _ = unsafe { result::free_host(self.0.cast()) };
    }
}

/// The state that the watchdog shares with the gate.
#[derive(Debug, Default)]
struct Watchdog {
    closed: Mutex<Option<(Instant, u32)>>,
    broken: AtomicBool,
    over: AtomicBool,
}

/// The longest time that a gate may stay closed. Queueing takes about a thousandth of this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens the gate when dropped, so that the gate opens on every path. If a stream waited forever,
/// the program would hang.
pub(crate) struct Closed<'g>(&'g Gate);

impl Gate {
    /// Creates a gate; `None` if this system cannot make a stream wait.
    pub(crate) fn new(cuda: &Cuda) -> Option<Gate> {
        let (portable, mapped) = (sys::CU_MEMHOSTALLOC_PORTABLE, sys::CU_MEMHOSTALLOC_DEVICEMAP);
        // SAFETY: the four bytes of pinned memory are owned by the flag.
        let flag = Flag(unsafe { result::malloc_host(4, portable | mapped) }.ok()?.cast());
        flag.set(0);
        let mut address = 0;
        // SAFETY: the flag is mapped host memory.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, flag.0.cast(), 0) }
            .result()
            .ok()?;
        let (flag, watch) = (Arc::new(flag), Arc::default());
        let mut gate = Gate { flag, address, closings: 0, watch, keeper: None };
        // Test the wait once, for the value that the flag already has.
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

    /// Returns whether the watchdog has opened the gate permanently.
    pub(crate) fn is_broken(&self) -> bool {
        self.watch.broken.load(Ordering::Relaxed)
    }

    /// Holds the stream back until the returned value is dropped.
    pub(crate) fn close(&mut self, stream: &CudaStream) -> Result<Option<Closed<'_>>> {
        if self.is_broken() {
            return Ok(None);
        }
        self.closings = self.closings.wrapping_add(1);
        // The watchdog starts before the wait, and the gate opens on every path from here on,
        // because a tool may block in the wait itself.
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

    /// Opens a gate that stays closed for too long. Returns when the gate is dropped.
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
        // Join the watchdog, so that the flag is freed here. Freeing memory waits for the GPU, so a
        // later free would wait for the next stream that is held back.
        if let Some(keeper) = self.keeper.take() {
            keeper.thread().unpark();
            let _ = keeper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a watchdog on a gate. If `since` is `None`, the gate is open; otherwise it was closed
    /// for the seventh time at `since`. Returns the number of times that the gate had been closed
    /// when the watchdog opened it (`None` if it did not open the gate within a time limit), and
    /// whether the gate is broken.
    fn opened(since: Option<Instant>, patience: Duration) -> (Option<u32>, bool) {
        let watch = Watchdog::default();
        watch.set(since.map(|since| (since, 7)));
        let opened = Mutex::new(Vec::<u32>::new());
        thread::scope(|scope| {
            let keeper = scope.spawn(|| {
                watch.keep(patience, |closings| opened.lock().unwrap().push(closings));
            });
            // If the gate is overdue, the test waits until the watchdog opens it. For any other
            // gate, the test checks for a while that the watchdog does not open it.
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
    fn only_a_gate_that_stays_closed_too_long_is_opened_permanently() {
        let (now, patience) = (Instant::now(), Duration::from_secs(1));
        assert_eq!(opened(now.checked_sub(2 * patience), patience), (Some(7), true));
        // A gate whose closing time lies in the future is not overdue, however slow this machine
        // is.
        assert_eq!(opened(Some(now + 1000 * patience), patience), (None, false));
        assert_eq!(opened(None, patience), (None, false));
    }
}
