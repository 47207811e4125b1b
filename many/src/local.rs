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

use cudarc::driver::{CudaStream, DevicePtr};
use reduce::{Accumulator, Element, Operation, shape, stages::Stage};

use crate::{
    Datum, Error, Layout, Result,
    cuda::{self, Loaded, News, Pinned, Words},
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
    pinned: Pinned,
    /// Where the boxes of all are, in this GPU's memory.
    table: Words,
}

/// A sum of one type, operation and length, over and over.
#[derive(Debug)]
pub struct LocalPlan<'l, T> {
    local: &'l Local,
    layout: Layout,
    operation: Operation,
    stages: Vec<Loaded>,
    /// Room on the host for the elements of each GPU, of a small sum.
    rows: Vec<Pinned>,
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
        let mut shared = false;
        for (i, writer) in streams.iter().enumerate() {
            for owner in streams {
                let (ours, theirs) = (writer.context(), owner.context());
                if Arc::ptr_eq(writer, owner) || ours.cu_ctx() == theirs.cu_ctx() {
                    continue;
                }
                if !cuda::let_in(writer, owner)? {
                    return Err(Error::Gpus(format!(
                        "GPU {} cannot write to GPU {}'s memory (no peer access): let NCCL carry it, with --exchange gather",
                        ours.ordinal(),
                        theirs.ordinal()
                    )));
                }
            }
            let twin =
                |other: &Arc<CudaStream>| other.context().cu_ctx() == writer.context().cu_ctx();
            shared |= streams[..i].iter().any(twin);
        }
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
                pinned: Pinned::new(stream)?,
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
        let stages = match layout.is_small() {
            true => Vec::new(),
            false => self
                .seats
                .iter()
                .map(|seat| cuda::load::<T>(&seat.stream, operation, Stage::Exchange))
                .collect::<Result<_>>()?,
        };
        let room = |(rank, seat): (u32, &Seat)| {
            let own = layout.elements(rank);
            Pinned::with(&seat.stream, (own.end - own.start) * size_of::<T>() as u64)
        };
        let rows = match layout.is_small() {
            true => (0..).zip(&self.seats).map(room).collect::<Result<_>>()?,
            false => Vec::new(),
        };
        Ok(LocalPlan { local: self, layout, operation, stages, rows, element: PhantomData })
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
        self.fits(slices)?;
        let Local { seats, shared, timeout, .. } = self.local;
        // Zero is what a box holds that was never used.
        let epoch = self.local.epoch.get().wrapping_add(1).max(1);
        self.local.epoch.set(epoch);
        if self.layout.is_small() {
            self.fetch(slices, epoch)?;
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
                seat.pinned.address(),
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
        let seats = &self.local.seats;
        let small = self.layout.is_small();
        // A small sum is the host's: it waits for the elements of all.
        let bytes = if small { 0 } else { size_of::<T::Output>() };
        let first = if self.local.shared && !small { seats.len() - 1 } else { 0 };
        let mut result = None;
        for (rank, seat) in seats.iter().enumerate().skip(first) {
            let pinned = self.rows.get(rank).unwrap_or(&seat.pinned);
            let mut looks = 0u32;
            let bits = loop {
                match pinned.look(epoch, bytes) {
                    News::Result(bits) => break bits,
                    News::Wrong(part) => return Err(self.missing(part)),
                    News::None => {}
                }
                looks = looks.wrapping_add(1);
                if !looks.is_multiple_of(4096) {
                    std::hint::spin_loop();
                    continue;
                }
                let news = || pinned.look(epoch, bytes);
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
            if result.is_some_and(|other| other != bits) {
                return Err(Error::Gone(
                    "two GPUs have different bits of one sum: please report it".into(),
                ));
            }
            result = Some(bits);
        }
        if small {
            return Ok(self.small());
        }
        Ok(T::Output::from_word(result.unwrap_or_default()))
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

    /// So few that a host adds them while GPUs would still exchange mail: they are copied there.
    fn fetch(&self, slices: &[&dyn Slice<T>], epoch: u32) -> Result<()> {
        for ((slice, seat), row) in slices.iter().zip(&self.local.seats).zip(&self.rows) {
            let bytes = slice.count() as u64 * size_of::<T>() as u64;
            // SAFETY: so many bytes lie at the slice, which whoever queues keeps until it has waited.
            unsafe { row.take(slice.address(&seat.stream), bytes, epoch) }?;
        }
        Ok(())
    }

    fn small(&self) -> T::Output {
        let mut all = Vec::new();
        for (rank, row) in (0..).zip(&self.rows) {
            let own = self.layout.elements(rank);
            let bytes = row.bytes((own.end - own.start) * size_of::<T>() as u64);
            all.extend(bytes.chunks_exact(size_of::<T>()).map(T::take));
        }
        on_the_host(&all, self.operation)
    }
}

pub(crate) fn on_the_host<T: Element>(all: &[T], operation: Operation) -> T::Output {
    match operation {
        Operation::Sum => reduce::host::sum(all),
        Operation::Min => reduce::host::min(all),
        Operation::Max => reduce::host::max(all),
    }
}

fn wait_for(stream: &CudaStream) -> Result<()> {
    stream.synchronize().map_err(crate::error::doing("waiting for a rank of the same GPU"))
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
