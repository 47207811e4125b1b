//! Computes sums on all GPUs of a process, which exchange the partial sums inside their kernels.
//! Each block publishes its chunk's sum to every GPU over the links between them, and each GPU's
//! last block polls for the messages of all chunks.
//!
//! This file contains `unsafe` code: a kernel writes to the memory of other GPUs.
#![expect(unsafe_code, reason = "a kernel is given the addresses of other GPUs' memory")]

use std::{
    cell::Cell,
    marker::PhantomData,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaEvent, CudaStream, DevicePtr};
use reduce::{
    Accumulator, Element, Operation, shape,
    stages::{self, Stage},
};

use crate::{
    Datum, Error, Layout, Result,
    cuda::{self, Loaded, Poll, Results, Where, Words},
    error::doing,
    small::Small,
};

/// The maximum number of GPUs in a process, because each lane of a warp publishes to one GPU.
const MOST: usize = 32;

/// The approximate number of polls per second in one thread, for converting a timeout to a number
/// of polls.
const POLLS: f64 = 1.3e6;

/// The GPUs of this process, each with a stream.
#[derive(Debug)]
pub struct Local {
    seats: Vec<Seat>,
    timeout: Duration,
    /// Whether two seats are on the same GPU. If so, all seats run one after another, and only the
    /// last one polls.
    shared: bool,
    epoch: Cell<u32>,
}

/// The buffers of one GPU: its message slots, its result, and the ticket of its blocks.
#[derive(Debug)]
struct Seat {
    stream: Arc<CudaStream>,
    slots: Words,
    tickets: Words,
    results: Results,
    /// An event on this GPU's stream, which other streams wait for.
    event: CudaEvent,
    /// A table in this GPU's memory, which contains the addresses of all GPUs' slots.
    table: Words,
}

/// A plan for computing sums repeatedly, with a fixed element type, operation and length.
#[derive(Debug)]
pub struct LocalPlan<'l, T> {
    local: &'l Local,
    layout: Layout,
    stages: Vec<Loaded>,
    /// The buffers for a small sum, in which the first GPU adds the elements of all GPUs and no
    /// stages run.
    small: Option<Sent>,
    element: PhantomData<T>,
}

impl Local {
    /// Opens the GPUs of these streams, and gives each GPU access to the slots of all other GPUs.
    pub fn new(streams: &[Arc<CudaStream>], timeout: Duration) -> Result<Local> {
        if streams.is_empty() || streams.len() > MOST {
            return Err(Error::Gpus(format!(
                "one process supports 1 to {MOST} GPUs, but {} streams were given",
                streams.len()
            )));
        }
        let gpus: Vec<usize> = streams.iter().map(|stream| stream.context().ordinal()).collect();
        let shared = open(&gpus, |writer, owner| cuda::let_in(&streams[writer], &streams[owner]))?;
        // A value occupies at most two words, and there are two sets of slots, one for even and one
        // for odd epochs.
        let slots: Vec<Words> = streams
            .iter()
            .map(|stream| Words::new(stream, 2 * 2 * shape::CHUNKS))
            .collect::<Result<_>>()?;
        let table: Vec<u64> = slots.iter().map(Words::address).collect();
        let seat = |(stream, slots): (&Arc<CudaStream>, Words)| {
            Ok(Seat {
                stream: stream.clone(),
                slots,
                tickets: Words::new(stream, 2)?,
                results: Results::new(stream)?,
                event: stream.context().new_event(None).map_err(doing("making an event"))?,
                table: Words::holding(stream, &table)?,
            })
        };
        let seats = streams.iter().zip(slots).map(seat).collect::<Result<_>>()?;
        Ok(Local { seats, timeout, shared, epoch: Cell::new(0) })
    }

    /// Returns the number of GPUs.
    pub fn world(&self) -> u32 {
        self.seats.len() as u32
    }

    /// Plans a repeated sum of `n` elements. [`shard`](crate::shard()) computes the shard of each
    /// GPU.
    pub fn plan<T: Element>(&self, n: u64, operation: Operation) -> Result<LocalPlan<'_, T>> {
        stages::check::<T>(operation)?;
        let layout = Layout::even::<T>(n, self.world())?;
        let load =
            |seat: &Seat| cuda::load::<T>(&seat.stream, operation, Stage::Exchange, Stage::THREADS);
        let stages = match layout.is_small() {
            true => Vec::new(),
            false => self.seats.iter().map(load).collect::<Result<_>>()?,
        };
        let small = match layout.is_small() {
            true => Some(Sent::new::<T>(&self.seats[0].stream, operation, &layout)?),
            false => None,
        };
        Ok(LocalPlan { local: self, layout, stages, small, element: PhantomData })
    }

    /// Computes the sum of these slices, in order. Each slice is on its own GPU. Waits for the
    /// result.
    pub fn sum<T: Datum>(&self, slices: &[&dyn Slice<T>]) -> Result<T::Output> {
        let n = slices.iter().map(|slice| slice.count() as u64).sum();
        self.plan(n, Operation::Sum)?.run(slices)
    }
}

/// A slice on a device, of any slice type.
pub trait Slice<T> {
    /// Returns the number of elements.
    fn count(&self) -> usize;

    /// Returns the slice's device address, for use in work on this stream.
    fn address(&self, stream: &CudaStream) -> u64;
}

impl<T: Datum, S: DevicePtr<T>> Slice<T> for S {
    fn count(&self) -> usize {
        self.len()
    }

    fn address(&self, stream: &CudaStream) -> u64 {
        // The guard is dropped immediately. The slice's own stream is this stream, so stream order
        // is sufficient.
        self.device_ptr(stream).0
    }
}

impl<T: Datum> LocalPlan<'_, T> {
    /// Returns the layout of the shards.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Computes the result over these slices, each of which is on its own GPU. Waits for the
    /// result.
    pub fn run(&self, slices: &[&dyn Slice<T>]) -> Result<T::Output> {
        let epoch = self.queue(slices)?;
        self.wait(epoch)
    }

    /// Launches the kernels without waiting, and returns the epoch of the result.
    pub fn queue(&self, slices: &[&dyn Slice<T>]) -> Result<u32> {
        self.queue_to(slices, Where::Host)
    }

    /// Launches like [`queue`](LocalPlan::queue), but stores the result at the given place.
    pub(crate) fn queue_to(&self, slices: &[&dyn Slice<T>], place: Where) -> Result<u32> {
        self.fits(slices)?;
        let Local { seats, shared, timeout, .. } = self.local;
        // Epoch 0 marks a slot that was never written.
        let epoch = self.local.epoch.get().wrapping_add(1).max(1);
        self.local.epoch.set(epoch);
        if let Some(small) = &self.small {
            self.send(small, slices, place, epoch)?;
            return Ok(epoch);
        }
        self.wait_for_the_idle()?;
        let patience = (timeout.as_secs_f64() * POLLS).clamp(1.0, f64::from(u32::MAX)) as u64;
        for rank in 0..seats.len() {
            let (seat, stage) = (&seats[rank], &self.stages[rank]);
            let own = self.layout.of(rank as u32);
            let waits = !shared || rank + 1 == seats.len();
            if *shared && rank > 0 {
                wait_for(&seats[rank - 1].stream)?;
            }
            cuda::bind(&seat.stream)?;
            let mut arguments = [
                slices[rank].address(&seat.stream),
                seat.results.address(place),
                slices[rank].count() as u64,
                self.layout.shape.vectors().into(),
                own.len() as u64,
                seat.tickets.address(),
                epoch.into(),
                epoch.into(),
                own.start.into(),
                self.layout.parts().into(),
                seat.table.address(),
                seats.len() as u64,
                rank as u64,
                if waits { patience } else { 0 },
            ];
            let grid = (own.len() as u32).clamp(1, stage.blocks);
            // SAFETY: the arguments match the kernel's parameters, the slices' lengths were
            // checked, and all buffers live as long as `Local`, which waits for its streams before
            // it frees them.
            unsafe { cuda::launch(stage, &seat.stream, grid, &mut arguments) }?;
        }
        Ok(epoch)
    }

    /// Lets all streams wait for the earlier calls of the ranks without chunks. Such a rank publishes
    /// nothing, so the others would not notice that it is two calls behind, and would overwrite
    /// messages that it has not consumed.
    fn wait_for_the_idle(&self) -> Result<()> {
        let ordering = || doing("letting the GPUs wait for one without chunks");
        let seats = &self.local.seats;
        for (rank, idle) in (0..).zip(seats) {
            if !self.layout.of(rank).is_empty() {
                continue;
            }
            idle.event.record(&idle.stream).map_err(ordering())?;
            for other in seats {
                other.stream.wait(&idle.event).map_err(ordering())?;
            }
        }
        Ok(())
    }

    /// Waits until all GPUs have the result of an epoch, and returns that result.
    pub fn wait(&self, epoch: u32) -> Result<T::Output> {
        // The host waits longer than the GPUs, because their timeout is a number of polls, whose
        // duration depends on the clock rate.
        let deadline = Instant::now() + self.local.timeout * 3 + Duration::from_secs(1);
        let bytes = size_of::<T::Output>();
        let mut result = None;
        for seat in self.has() {
            let mut polls = 0u32;
            let bits = loop {
                match seat.results.look(epoch, bytes) {
                    Poll::Result(bits) => break bits,
                    Poll::Wrong(part) => return Err(self.missing(part)),
                    Poll::None => {}
                }
                polls = polls.wrapping_add(1);
                if !polls.is_multiple_of(4096) {
                    std::hint::spin_loop();
                    continue;
                }
                let poll = || seat.results.look(epoch, bytes);
                if cuda::is_idle(&seat.stream)? && poll() == Poll::None {
                    return Err(reduce::Error::Lost.into());
                }
                if Instant::now() >= deadline {
                    return Err(Error::Gone(format!(
                        "GPU {} did not finish within {:.0} s; the sum was abandoned",
                        seat.stream.context().ordinal(),
                        self.local.timeout.as_secs_f64() * 3.0
                    )));
                }
                thread::yield_now();
            };
            agree(&mut result, bits)?;
        }
        Ok(T::Output::from_bits64(result.unwrap_or_default()))
    }

    /// Waits for the result that an epoch stores on the GPUs, and returns that result.
    pub(crate) fn left(&self, epoch: u32) -> Result<T::Output> {
        let mut result = None;
        for seat in self.has() {
            match seat.results.left(epoch, size_of::<T::Output>())? {
                Poll::Result(bits) => agree(&mut result, bits)?,
                Poll::Wrong(part) => return Err(self.missing(part)),
                Poll::None => return Err(reduce::Error::Lost.into()),
            }
        }
        Ok(T::Output::from_bits64(result.unwrap_or_default()))
    }

    /// Returns the GPUs that have a result. These are all GPUs, or only the GPU that has collected
    /// the messages or elements.
    fn has(&self) -> &[Seat] {
        let seats = &self.local.seats[..];
        match &self.small {
            Some(_) => &seats[..1],
            None if self.local.shared => &seats[seats.len() - 1..],
            None => seats,
        }
    }

    fn missing(&self, part: u32) -> Error {
        let rank = (0..self.layout.world()).find(|rank| self.layout.of(*rank).contains(&part));
        let rank = rank.unwrap_or_default();
        let device = self.local.seats[rank as usize].stream.context().ordinal();
        Error::Gone(format!(
            "the sum of chunk {part}, of rank {rank} on GPU {device}, did not arrive within about {} s; the sum was aborted",
            self.local.timeout.as_secs_f64()
        ))
    }

    /// Checks that each slice is the shard of its GPU.
    fn fits(&self, slices: &[&dyn Slice<T>]) -> Result<()> {
        if slices.len() != self.local.seats.len() {
            return Err(Error::Shard(format!(
                "{} slices were given for {} GPUs: give one slice for each GPU",
                slices.len(),
                self.local.seats.len()
            )));
        }
        for (rank, slice) in (0..).zip(slices) {
            let own = self.layout.elements(rank);
            let (wants, has) = (own.end - own.start, slice.count() as u64);
            if wants != has {
                return Err(Error::Shard(format!(
                    "rank {rank} has {has} elements, but its shard of {} elements has {wants}: compute shards with many::shard",
                    self.layout.n
                )));
            }
        }
        Ok(())
    }

    /// Queues a small sum. When the other streams have reached this call, the first GPU adds the
    /// elements of all GPUs. The other streams continue only after that addition.
    fn send(&self, small: &Sent, slices: &[&dyn Slice<T>], place: Where, epoch: u32) -> Result<()> {
        let (adds, others) = self.local.seats.split_at(1);
        let adds = &adds[0];
        let ordering = || doing("letting one GPU wait for another");
        for (rank, other) in (1..).zip(others) {
            let (from, bytes) = (slices[rank].address(&other.stream), small.bytes[rank]);
            // SAFETY: the slice has `bytes` bytes, because its length was checked, and callers keep
            // the slice alive until they have waited.
            unsafe { small.row.take(&other.stream, small.behind[rank], from, bytes) }?;
            other.event.record(&other.stream).map_err(ordering())?;
            adds.stream.wait(&other.event).map_err(ordering())?;
        }
        let sent = small.behind.iter().map(|behind| small.row.address() + behind);
        let own = slices[0].address(&adds.stream);
        let addresses: Vec<u64> = [own].into_iter().chain(sent.skip(1)).collect();
        // SAFETY: each rank's elements are at its address when the streams have reached this point.
        unsafe { small.kernel.queue(&addresses, adds.results.address(place), 0, epoch) }?;
        adds.event.record(&adds.stream).map_err(ordering())?;
        others.iter().try_for_each(|other| other.stream.wait(&adds.event).map_err(ordering()))
    }
}

/// The buffers in which the elements of a small slice are gathered.
#[derive(Debug)]
struct Sent {
    kernel: Small,
    /// The copied elements of all ranks except the first, whose elements are read in place. The
    /// elements are copied because peer access does not extend to the pool memory of slices.
    row: Words,
    /// The offset of each rank's elements in `row`, in bytes.
    behind: Vec<u64>,
    /// The size of each rank's elements, in bytes.
    bytes: Vec<u64>,
}

impl Sent {
    fn new<T: Element>(
        stream: &Arc<CudaStream>,
        operation: Operation,
        layout: &Layout,
    ) -> Result<Sent> {
        let lengths = layout.lengths();
        let bytes: Vec<u64> = lengths.iter().map(|length| length * size_of::<T>() as u64).collect();
        let next = |next: &mut u64, bytes: &u64| {
            Some(std::mem::replace(next, *next + bytes.next_multiple_of(16)))
        };
        let behind: Vec<u64> = bytes.iter().scan(0, next).collect();
        let all: u64 = bytes.iter().map(|bytes| bytes.next_multiple_of(16)).sum();
        let kernel = Small::new::<T>(stream, operation, layout, &lengths)?;
        Ok(Sent { kernel, row: Words::new(stream, all / 8)?, behind, bytes })
    }
}

/// Enables peer access between all GPUs, which are identified by device number. Returns whether any
/// two of them are the same GPU.
fn open(gpus: &[usize], mut let_in: impl FnMut(usize, usize) -> Result<bool>) -> Result<bool> {
    let mut shared = false;
    for (writer, ours) in gpus.iter().enumerate() {
        shared |= gpus[..writer].contains(ours);
        for (owner, theirs) in gpus.iter().enumerate().filter(|(_, theirs)| *theirs != ours) {
            if !let_in(writer, owner)? {
                return Err(Error::Gpus(format!(
                    "GPU {ours} cannot write to GPU {theirs}'s memory (no peer access): use NCCL instead, with --exchange gather"
                )));
            }
        }
    }
    Ok(shared)
}

/// Checks that a GPU's result has the same bits as that of the previous GPU.
pub(crate) fn agree(result: &mut Option<u64>, bits: u64) -> Result<()> {
    match result.replace(bits) {
        Some(other) if other != bits => Err(Error::Gone(
            "two GPUs have different bits for the same sum: please report this error".into(),
        )),
        _ => Ok(()),
    }
}

fn wait_for(stream: &CudaStream) -> Result<()> {
    stream.synchronize().map_err(doing("waiting for another rank on the same GPU"))
}

impl Drop for Local {
    fn drop(&mut self) {
        // A kernel may still write to another GPU's slots, so all kernels must end before any slot
        // is freed.
        for seat in &self.seats {
            let _ = cuda::bind(&seat.stream).and_then(|()| wait_for(&seat.stream));
            let _ = seat.slots.address();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gpu_gets_access_to_all_others() {
        let mut asked = Vec::new();
        let shared = open(&[4, 1, 4], |writer, owner| {
            asked.push((writer, owner));
            Ok(true)
        });
        assert!(shared.unwrap());
        assert_eq!(asked, [(0, 1), (1, 0), (1, 2), (2, 1)]);
        assert!(!open(&[0, 1], |_, _| Ok(true)).unwrap());
        assert!(!open(&[0], |_, _| Ok(false)).unwrap());
    }

    /// Checks that peer access in only one direction is an error that names the GPU.
    #[test]
    fn a_gpu_without_peer_access_is_named() {
        let error = open(&[0, 1, 2], |writer, owner| Ok((writer, owner) != (2, 0))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "GPU 2 cannot write to GPU 0's memory (no peer access): use NCCL instead, with --exchange gather"
        );
        let failed = |_, _| Err(Error::Gpus("the driver failed".into()));
        assert_eq!(open(&[0, 1], failed).unwrap_err().to_string(), "the driver failed");
    }
}
