//! Exact sums over the ranks of a group. Each rank computes its sum as integers, and an all-reduce
//! adds the integers of all ranks. The bits of the result do not depend on the shards, on their
//! order, or on the number of ranks.
//!
//! This file contains `unsafe` code: NCCL and the kernels are given addresses.
#![expect(unsafe_code, reason = "NCCL and the kernels are given addresses")]

use std::{sync::Arc, thread, time::Instant};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use reduce::{ExactAccumulator, ExactElement, raw};

use crate::{
    Datum, Error, Group, Result, cuda,
    error::doing,
    local::Slice,
    nccl::{self, Comm, Kind},
};

/// A plan for computing exact sums repeatedly, with a fixed element type and a fixed number of
/// elements on each rank.
#[derive(Debug)]
pub struct ExactPlan<'g, T> {
    group: &'g Group,
    /// The number of elements on each rank in this process.
    here: Vec<u64>,
    /// The total number of elements on all ranks.
    n: u64,
    seats: Vec<Seat>,
    element: std::marker::PhantomData<T>,
}

/// A rank of this process, and the integers that it exchanges.
#[derive(Debug)]
struct Seat {
    stream: Arc<CudaStream>,
    words: CudaSlice<u64>,
}

impl Group {
    /// Plans an exact sum that can be computed repeatedly; `here` gives the number of elements on
    /// each rank in this process. All ranks must create the same plans in the same order. If one
    /// rank requests a different sum, all ranks get an error.
    pub fn plan_exact<T: Datum + ExactElement>(&self, here: &[u64]) -> Result<ExactPlan<'_, T>> {
        if here.len() != self.ranks.len() {
            return Err(Error::Shard(format!(
                "{} lengths were given for {} ranks in this process: give one length for each rank",
                here.len(),
                self.ranks.len()
            )));
        }
        let mut n = total(here)?;
        if let Some(control) = &self.control {
            n = total(&control.agree(T::NAME, "exact sum", n)?)?;
        }
        let seat = |(_, stream): &(u32, Arc<CudaStream>)| {
            let words = stream.alloc_zeros(ExactAccumulator::<T::Output>::WORDS);
            let words = words.map_err(doing("allocating an exact sum's digits"))?;
            Ok(Seat { stream: stream.clone(), words })
        };
        let seats = self.ranks.iter().map(seat).collect::<Result<_>>()?;
        let element = std::marker::PhantomData;
        Ok(ExactPlan { group: self, here: here.to_vec(), n, seats, element })
    }
}

/// Returns the sum of these lengths, which must not exceed the number of elements that an
/// accumulator can count.
fn total(lengths: &[u64]) -> Result<u64> {
    let n = lengths.iter().try_fold(0u64, |sum, length| sum.checked_add(*length));
    n.filter(|n| *n <= 1 << 62).ok_or_else(|| {
        Error::Shard("together, the ranks have more than 2^62 elements: add fewer".into())
    })
}

impl<T: Datum + ExactElement> ExactPlan<'_, T> {
    /// Computes the exact sum over all ranks, given the slices of the ranks in this process. Waits
    /// for the result.
    pub fn run(&mut self, slices: &[&dyn Slice<T>]) -> Result<T::Output> {
        self.accumulate(slices).map(|sum| sum.round())
    }

    /// Like [`run`](ExactPlan::run), but returns an accumulator that contains the elements of all
    /// ranks.
    pub fn accumulate(&mut self, slices: &[&dyn Slice<T>]) -> Result<ExactAccumulator<T::Output>> {
        self.fits(slices)?;
        self.group.alive()?;
        for (seat, slice) in self.seats.iter_mut().zip(slices) {
            let (input, n) = (slice.address(&seat.stream), slice.count() as u64);
            let output = seat.words.device_ptr_mut(&seat.stream).0;
            // SAFETY: the slice has `n` elements on the stream's device, the words have room for
            // the digits, and both live until the wait for the stream below.
            unsafe {
                // The handle of a default stream does not identify the stream's context.
                let context = seat.stream.context().cu_ctx();
                let stream = raw::Stream::new(context.cast(), seat.stream.cu_stream().cast())?;
                raw::exact_words_into::<T>(stream, input, n, output)?;
            }
        }
        let added = self.exchange().and_then(|()| self.await_idle());
        if let Err(error) = added {
            self.group.comms.borrow_mut().iter_mut().for_each(Comm::abort);
            return Err(error);
        }
        let mut found: Option<Vec<u64>> = None;
        for seat in &self.seats {
            let words = seat.stream.clone_dtoh(&seat.words);
            let words = words.map_err(doing("reading an exact sum's digits"))?;
            match found.replace(words) {
                Some(other) if Some(&other) != found.as_ref() => {
                    return Err(Error::Gone(
                        "two GPUs have different digits of the same sum: please report this error"
                            .into(),
                    ));
                }
                _ => {}
            }
        }
        Ok(ExactAccumulator::from_words(&found.unwrap_or_default(), self.n)?)
    }

    /// Queues the sum of the integers of all ranks.
    fn exchange(&self) -> Result<()> {
        let group = self.group;
        if group.world == 1 {
            return Ok(());
        }
        let mut comms = group.comms.borrow_mut();
        let timeout = group.options.timeout;
        nccl::grouped(&mut comms, Kind::Ready, timeout, &|| group.alive(), |comms| {
            for (seat, comm) in self.seats.iter().zip(comms) {
                let at = seat.words.device_ptr(&seat.stream).0;
                // SAFETY: `at` points to this many words on the stream's device, and they live
                // until the wait for the stream.
                unsafe { comm.add_words(at, seat.words.len() as u64) }?;
            }
            Ok(())
        })
    }

    /// Waits for the streams, and meanwhile checks that no other rank is lost.
    fn await_idle(&self) -> Result<()> {
        let timeout = self.group.options.timeout;
        let deadline = Instant::now() + timeout;
        for seat in &self.seats {
            while !cuda::is_idle(&seat.stream)? {
                self.group.alive()?;
                self.group.comms.borrow().iter().try_for_each(Comm::check)?;
                if Instant::now() >= deadline {
                    return Err(Error::Gone(format!(
                        "the other ranks did not take part in the sum within {} s; the sum was aborted",
                        timeout.as_secs_f64()
                    )));
                }
                thread::yield_now();
            }
        }
        Ok(())
    }

    fn fits(&self, slices: &[&dyn Slice<T>]) -> Result<()> {
        let given: Vec<u64> = slices.iter().map(|slice| slice.count() as u64).collect();
        if given != self.here {
            return Err(Error::Shard(format!(
                "the slices in this process have {given:?} elements, but the ranks agreed on {:?}: make another plan for these numbers",
                self.here
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn more_elements_than_an_accumulator_counts_are_refused() {
        assert_eq!(total(&[1 << 61, 1 << 61]).unwrap(), 1 << 62);
        assert!(total(&[1 << 62, 1]).is_err() && total(&[u64::MAX, 1]).is_err());
    }
}
