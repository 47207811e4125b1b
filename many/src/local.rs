//! All GPUs of a process, with the exchange inside their kernels: each block posts its part's sum to
//! every GPU through their own links, and each GPU's last block waits for the mail of all.
//!
//! One of the files with `unsafe`: a kernel writes to the memory of other GPUs.
#![expect(unsafe_code, reason = "a kernel has the addresses of other GPUs' memory")]

use std::{
    cell::Cell,
    marker::PhantomData,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaEvent, CudaStream, DevicePtr};
use reduce::{Accumulator, Element, Operation, shape, stages::Stage};

use crate::{
    Datum, Error, Layout, Result,
    cuda::{self, Loaded, News, Results, Where, Words},
    error::doing,
    small::Small,
};

/// The most GPUs of one process: a thread of a warp posts to each.
const MOST: usize = 32;

/// Times per second that a thread looks for mail, about: what makes a count of looks of a time.
const LOOKS: f64 = 1.3e6;

/// The GPUs of this process, each with a stream.
#[derive(Debug)]
pub struct Local {
    seats: Vec<Seat>,
    timeout: Duration,
    /// Whether two of them are one GPU: then they post one after the other, and the last one waits.
    shared: bool,
    epoch: Cell<u32>,
}

/// One GPU: its mail, where it says what came of it, and the ticket of its blocks.
#[derive(Debug)]
struct Seat {
    stream: Arc<CudaStream>,
    boxes: Words,
    tickets: Words,
    results: Results,
    /// How far its stream has come, for another that waits.
    event: CudaEvent,
    /// Where the boxes of all are, in this GPU's memory.
    table: Words,
}

/// A sum of one type, operation and length, over and over.
#[derive(Debug)]
pub struct LocalPlan<'l, T> {
    local: &'l Local,
    layout: Layout,
    stages: Vec<Loaded>,
    /// So few elements that the first GPU is sent them by all, instead of the stages.
    small: Option<Sent>,
    element: PhantomData<T>,
}

impl Local {
    /// The GPUs of these streams. Each lets all others write to its mail.
    pub fn new(streams: &[Arc<CudaStream>], timeout: Duration) -> Result<Local> {
        if streams.is_empty() || streams.len() > MOST {
            return Err(Error::Gpus(format!(
                "one process takes 1 to {MOST} GPUs, and was given {}",
                streams.len()
            )));
        }
        let gpus: Vec<usize> = streams.iter().map(|stream| stream.context().ordinal()).collect();
        let shared = open(&gpus, |writer, owner| cuda::let_in(&streams[writer], &streams[owner]))?;
        // The widest values take two halves; two sets, for even and odd epochs.
        let boxes: Vec<Words> = streams
            .iter()
            .map(|stream| Words::new(stream, 2 * 2 * shape::PARTS))
            .collect::<Result<_>>()?;
        let table: Vec<u64> = boxes.iter().map(Words::address).collect();
        let seat = |(stream, boxes): (&Arc<CudaStream>, Words)| {
            Ok(Seat {
                stream: stream.clone(),
                boxes,
                tickets: Words::new(stream, 2)?,
                results: Results::new(stream)?,
                event: stream.context().new_event(None).map_err(doing("making an event"))?,
                table: Words::holding(stream, &table)?,
            })
        };
        let seats = streams.iter().zip(boxes).map(seat).collect::<Result<_>>()?;
        Ok(Local { seats, timeout, shared, epoch: Cell::new(0) })
    }

    /// How many GPUs there are.
    pub fn world(&self) -> u32 {
        self.seats.len() as u32
    }

    /// What is added again and again: `n` elements in all, cut as [`shard`](crate::shard()) says.
    pub fn plan<T: Element>(&self, n: u64, operation: Operation) -> Result<LocalPlan<'_, T>> {
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

    /// The sum of these slices, one behind the other, each on its GPU. Waits for it.
    pub fn sum<T: Datum>(&self, slices: &[&dyn Slice<T>]) -> Result<T::Output> {
        let n = slices.iter().map(|slice| slice.count() as u64).sum();
        self.plan(n, Operation::Sum)?.run(slices)
    }
}

/// A slice on a device, whatever it is called.
pub trait Slice<T> {
    /// How many elements it has.
    fn count(&self) -> usize;

    /// Its address, for work of this stream, while the answer lives.
    fn address(&self, stream: &CudaStream) -> u64;
}

impl<T: Datum, S: DevicePtr<T>> Slice<T> for S {
    fn count(&self) -> usize {
        self.len()
    }

    fn address(&self, stream: &CudaStream) -> u64 {
        // The event that follows a use is that of the slice's own stream, which is this one.
        self.device_ptr(stream).0
    }
}

impl<T: Datum> LocalPlan<'_, T> {
    /// Who adds what.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The result of these slices, each on its GPU. Waits for it.
    pub fn run(&self, slices: &[&dyn Slice<T>]) -> Result<T::Output> {
        let epoch = self.queue(slices)?;
        self.wait(epoch)
    }

    /// Launches, and does not wait: the epoch that the result will have.
    pub fn queue(&self, slices: &[&dyn Slice<T>]) -> Result<u32> {
        self.queue_to(slices, Where::Host)
    }

    /// As [`queue`](LocalPlan::queue), with the result left there.
    pub(crate) fn queue_to(&self, slices: &[&dyn Slice<T>], place: Where) -> Result<u32> {
        self.fits(slices)?;
        let Local { seats, shared, timeout, .. } = self.local;
        // Zero is what a box holds that was never used.
        let epoch = self.local.epoch.get().wrapping_add(1).max(1);
        self.local.epoch.set(epoch);
        if let Some(small) = &self.small {
            self.send(small, slices, place, epoch)?;
            return Ok(epoch);
        }
        let patience = (timeout.as_secs_f64() * LOOKS).clamp(1.0, f64::from(u32::MAX)) as u64;
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
                self.layout.shape.words().into(),
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
            // SAFETY: these are the arguments of the entry; the slices were measured, and everything
            // else lives as long as `Local`, which waits for its streams before it frees.
            unsafe { cuda::launch(stage, &seat.stream, grid, &mut arguments) }?;
        }
        Ok(epoch)
    }

    /// The result of an epoch, once all GPUs have it.
    pub fn wait(&self, epoch: u32) -> Result<T::Output> {
        // A GPU waits so long by itself, and its clock is not ours.
        let deadline = Instant::now() + self.local.timeout * 3 + Duration::from_secs(1);
        let bytes = size_of::<T::Output>();
        let mut result = None;
        for seat in self.has() {
            let mut looks = 0u32;
            let bits = loop {
                match seat.results.look(epoch, bytes) {
                    News::Result(bits) => break bits,
                    News::Wrong(part) => return Err(self.missing(part)),
                    News::None => {}
                }
                looks = looks.wrapping_add(1);
                if !looks.is_multiple_of(4096) {
                    std::hint::spin_loop();
                    continue;
                }
                let news = || seat.results.look(epoch, bytes);
                if cuda::is_idle(&seat.stream)? && news() == News::None {
                    return Err(reduce::Error::Lost.into());
                }
                if Instant::now() >= deadline {
                    return Err(Error::Gone(format!(
                        "GPU {} has not ended within {:.0} s",
                        seat.stream.context().ordinal(),
                        self.local.timeout.as_secs_f64() * 3.0
                    )));
                }
                thread::yield_now();
            };
            agree(&mut result, bits)?;
        }
        Ok(T::Output::from_word(result.unwrap_or_default()))
    }

    /// The result that an epoch has left on the GPUs. Waits for it.
    pub(crate) fn left(&self, epoch: u32) -> Result<T::Output> {
        let mut result = None;
        for seat in self.has() {
            match seat.results.left(epoch, size_of::<T::Output>())? {
                News::Result(bits) => agree(&mut result, bits)?,
                News::Wrong(part) => return Err(self.missing(part)),
                News::None => return Err(reduce::Error::Lost.into()),
            }
        }
        Ok(T::Output::from_word(result.unwrap_or_default()))
    }

    /// Who has a result: all, or the one that had the others' mail or elements.
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
            "the sum of part {part}, of rank {rank} on GPU {device}, did not come within about {} s; the sum was given up",
            self.local.timeout.as_secs_f64()
        ))
    }

    /// Whether each slice is its GPU's shard.
    fn fits(&self, slices: &[&dyn Slice<T>]) -> Result<()> {
        if slices.len() != self.local.seats.len() {
            return Err(Error::Shard(format!(
                "{} slices for {} GPUs: give each its own",
                slices.len(),
                self.local.seats.len()
            )));
        }
        for (rank, slice) in (0..).zip(slices) {
            let own = self.layout.elements(rank);
            let (wants, has) = (own.end - own.start, slice.count() as u64);
            if wants != has {
                return Err(Error::Shard(format!(
                    "rank {rank} has {has} elements, and its whole parts of {} are {wants}: cut with many::shard",
                    self.layout.n
                )));
            }
        }
        Ok(())
    }

    /// The first GPU adds the elements of all, once the others have sent theirs; and these send no more
    /// before it has.
    fn send(&self, small: &Sent, slices: &[&dyn Slice<T>], place: Where, epoch: u32) -> Result<()> {
        let (adds, others) = self.local.seats.split_at(1);
        let adds = &adds[0];
        let ordering = || doing("letting a GPU wait for another");
        for (rank, other) in (1..).zip(others) {
            let (from, bytes) = (slices[rank].address(&other.stream), small.bytes[rank]);
            // SAFETY: the slice was measured, and whoever queues keeps it until it has waited.
            unsafe { small.row.take(&other.stream, small.behind[rank], from, bytes) }?;
            other.event.record(&other.stream).map_err(ordering())?;
            adds.stream.wait(&other.event).map_err(ordering())?;
        }
        let sent = small.behind.iter().map(|behind| small.row.address() + behind);
        let own = slices[0].address(&adds.stream);
        let addresses: Vec<u64> = [own].into_iter().chain(sent.skip(1)).collect();
        // SAFETY: there lie the elements of each rank, once the streams have come so far.
        unsafe { small.kernel.queue(&addresses, adds.results.address(place), 0, epoch) }?;
        adds.event.record(&adds.stream).map_err(ordering())?;
        others.iter().try_for_each(|other| other.stream.wait(&adds.event).map_err(ordering()))
    }
}

/// Where the elements of a small slice come together.
#[derive(Debug)]
struct Sent {
    kernel: Small,
    /// Those of each rank behind so many bytes of it, but the first one's, which are read where they are:
    /// a GPU is let into no memory of a pool, which slices lie in.
    row: Words,
    behind: Vec<u64>,
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

/// Has every GPU let in by all others, each named by its place among them. Whether two of them are one.
fn open(gpus: &[usize], mut let_in: impl FnMut(usize, usize) -> Result<bool>) -> Result<bool> {
    let mut shared = false;
    for (writer, ours) in gpus.iter().enumerate() {
        shared |= gpus[..writer].contains(ours);
        for (owner, theirs) in gpus.iter().enumerate().filter(|(_, theirs)| *theirs != ours) {
            if !let_in(writer, owner)? {
                return Err(Error::Gpus(format!(
                    "GPU {ours} cannot write to GPU {theirs}'s memory (no peer access): let NCCL carry it, with --exchange gather"
                )));
            }
        }
    }
    Ok(shared)
}

/// All GPUs have the bits of one sum.
pub(crate) fn agree(result: &mut Option<u64>, bits: u64) -> Result<()> {
    match result.replace(bits) {
        Some(other) if other != bits => {
            Err(Error::Gone("two GPUs have different bits of one sum: please report it".into()))
        }
        _ => Ok(()),
    }
}

fn wait_for(stream: &CudaStream) -> Result<()> {
    stream.synchronize().map_err(doing("waiting for a rank of the same GPU"))
}

impl Drop for Local {
    fn drop(&mut self) {
        // A kernel may still write to another GPU's boxes: all end before any of them is freed.
        for seat in &self.seats {
            let _ = cuda::bind(&seat.stream).and_then(|()| wait_for(&seat.stream));
            let _ = seat.boxes.address();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gpu_is_let_in_by_all_others() {
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

    /// Peer access in one direction is none.
    #[test]
    fn a_gpu_that_is_not_let_in_is_named() {
        let error = open(&[0, 1, 2], |writer, owner| Ok((writer, owner) != (2, 0))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "GPU 2 cannot write to GPU 0's memory (no peer access): let NCCL carry it, with --exchange gather"
        );
        let failed = |_, _| Err(Error::Gpus("the driver failed".into()));
        assert_eq!(open(&[0, 1], failed).unwrap_err().to_string(), "the driver failed");
    }
}
