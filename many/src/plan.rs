//! Computes sums over the ranks in a group. Each rank computes partial sums, the ranks exchange
//! them through NCCL, and all ranks run the same final stage.
//!
//! This file contains `unsafe` code: NCCL and the stages are given addresses.
#![expect(unsafe_code, reason = "NCCL and the stages are given addresses")]

use std::{cell::Cell, marker::PhantomData, sync::Arc, thread, time::Instant};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut};
use reduce::{
    Accumulator, Operation,
    stages::{self, Stage},
};

use crate::{
    Datum, Error, Group, Layout, Move, Places, Result,
    cuda::{self, Loaded, Poll, Results, Where, Words},
    local::{Slice, agree},
    nccl::{self, Comm, Kind},
    small::Small,
    stamp,
};

/// The buffers of one rank in this process.
#[derive(Debug)]
struct Seat {
    rank: u32,
    stream: Arc<CudaStream>,
    /// The blocks of all ranks.
    row: Words,
    tickets: Words,
    /// The place of each chunk's sum, for shards of different lengths.
    places: Words,
    /// The elements of this rank's last chunk, if other ranks hold some of them.
    last: Words,
    results: Results,
    stages: Stages,
}

/// The kernels of a plan: two kernels that add chunks, or one kernel that adds the elements of a
/// small sum.
#[derive(Debug)]
enum Stages {
    Parts { partials: Loaded, finish: Loaded },
    Elements(Small),
}

/// A plan for computing sums repeatedly, with a fixed element type, operation and length.
#[derive(Debug)]
pub struct Plan<'g, T> {
    group: &'g Group,
    lengths: Vec<u64>,
    layout: Layout,
    moves: Vec<Move>,
    /// The number of words in a rank's block.
    stride: u64,
    places: Places,
    reduce: bool,
    seats: Vec<Seat>,
    number: u32,
    calls: Cell<u32>,
    element: PhantomData<T>,
}

impl<T: Datum> Plan<'_, T> {
    /// Returns the layout of the shards.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the number of elements on each rank, as agreed on by all ranks.
    pub fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    /// Computes the result over all ranks, given the slices of the ranks in this process. Waits for
    /// the result.
    pub fn run(&self, slices: &[&dyn Slice<T>]) -> Result<T::Output> {
        let call = self.queue(slices)?;
        self.wait(call)
    }

    /// Queues only the local stage, for measurements.
    pub fn queue_local(&self, slices: &[&dyn Slice<T>]) -> Result<()> {
        let stamp = stamp::of(self.number, 0);
        self.seats.iter().zip(slices).try_for_each(|(seat, slice)| self.local(seat, *slice, stamp))
    }

    /// Queues the whole sum, and returns without waiting for the result.
    pub fn queue(&self, slices: &[&dyn Slice<T>]) -> Result<u32> {
        self.queue_to(slices, Where::Host)
    }

    /// Queues the whole sum, like [`queue`](Plan::queue), but stores the result at the given place.
    pub(crate) fn queue_to(&self, slices: &[&dyn Slice<T>], place: Where) -> Result<u32> {
        self.fits(slices)?;
        self.group.alive()?;
        let call = self.calls.get().wrapping_add(1).max(1);
        self.calls.set(call);
        let stamp = stamp::of(self.number, call);
        if !self.moves.is_empty() {
            self.move_elements(slices)?;
        }
        for (seat, slice) in self.seats.iter().zip(slices) {
            self.local(seat, *slice, stamp)?;
        }
        self.exchange()?;
        self.seats.iter().try_for_each(|seat| self.finish(seat, stamp, call, place))?;
        Ok(call)
    }

    /// Sends elements to another rank if their chunk begins there.
    fn move_elements(&self, slices: &[&dyn Slice<T>]) -> Result<()> {
        let size = size_of::<T>() as u64;
        for (seat, slice) in self.seats.iter().zip(slices) {
            cuda::bind(&seat.stream)?;
            if of(&self.moves, seat.rank).next().is_some() {
                let (whole, first) = self.in_place(seat.rank);
                let own = self.begin(seat.rank) + self.lengths[seat.rank as usize];
                let at = slice.address(&seat.stream) + (first - self.begin(seat.rank)) * size;
                debug_assert!(whole <= self.layout.of(seat.rank).len() as u32);
                // SAFETY: the elements from `first` to `own` are at the end of the rank's slice.
                unsafe { seat.last.take(&seat.stream, 0, at, (own - first) * size) }?;
            }
        }
        self.grouped(Kind::Raw, |comms| {
            for (seat, (comm, slice)) in self.seats.iter().zip(comms.iter().zip(slices)) {
                for m in &self.moves {
                    let bytes = (m.elements.end - m.elements.start) * size;
                    if m.from == seat.rank {
                        let at = slice.address(&seat.stream);
                        // SAFETY: the moved elements are the first elements of the slice, to which
                        // nothing writes.
                        unsafe { comm.send(at, bytes, m.to) }?;
                    }
                    if m.to == seat.rank {
                        let (_, first) = self.in_place(seat.rank);
                        let at = seat.last.address() + (m.elements.start - first) * size;
                        // SAFETY: the buffer has room for a chunk, and the range is within it.
                        unsafe { comm.receive(at, bytes, m.from) }?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Returns the global index of a rank's first element.
    fn begin(&self, rank: u32) -> u64 {
        self.lengths[..rank as usize].iter().sum()
    }

    /// Returns the number of chunks that lie completely in a rank's slice, and the index of the
    /// element after them.
    fn in_place(&self, rank: u32) -> (u32, u64) {
        let own = self.layout.of(rank);
        let broken = of(&self.moves, rank).next().is_some();
        let whole = own.len() as u32 - u32::from(broken);
        (whole, u64::from(own.start + whole) * self.layout.part())
    }

    /// Queues the computation of a rank's block: a stamp, followed by the sums of the rank's chunks
    /// or, in a small sum, by its elements.
    fn local(&self, seat: &Seat, slice: &dyn Slice<T>, stamp: u64) -> Result<()> {
        cuda::bind(&seat.stream)?;
        let size = size_of::<T>() as u64;
        let block = seat.row.address() + u64::from(seat.rank) * self.stride * 8;
        if self.reduce {
            seat.row.clear()?;
        }
        let at = slice.address(&seat.stream);
        let Stages::Parts { partials, .. } = &seat.stages else {
            let head = u64::from(seat.rank) * self.stride;
            seat.row.put(head, stamp)?;
            // SAFETY: the slice has `count` elements, and the block has room for them, because the
            // lengths were agreed on.
            return unsafe {
                seat.row.take(&seat.stream, head * 8 + 16, at, slice.count() as u64 * size)
            };
        };
        let own = self.layout.of(seat.rank);
        let (whole, next) = self.in_place(seat.rank);
        let first = self.layout.elements(seat.rank).start;
        let begin = self.begin(seat.rank);
        // The kernel is also launched on a rank without chunks, to stamp its block.
        let launch = |input: u64, n: u64, parts: u32, to: u32| {
            let mut arguments = [
                input,
                block,
                n,
                self.layout.shape.vectors().into(),
                parts.into(),
                seat.tickets.address(),
                stamp,
                to.into(),
            ];
            let grid = parts.clamp(1, partials.blocks);
            // SAFETY: the arguments match the kernel's parameters, `input` has `n` elements, and a
            // block has room for the sums of the rank with the most chunks.
            unsafe { cuda::launch(partials, &seat.stream, grid, &mut arguments) }
        };
        let end = next.min(self.layout.n);
        launch(at + first.saturating_sub(begin) * size, end.saturating_sub(first), whole, 0)?;
        if whole < own.len() as u32 {
            let rest = self.layout.elements(seat.rank).end - next;
            launch(seat.last.address(), rest, 1, whole)?;
        }
        Ok(())
    }

    fn exchange(&self) -> Result<()> {
        if self.group.world == 1 {
            return Ok(());
        }
        let each = self.stride * 8;
        self.grouped(Kind::Ready, |comms| {
            for (seat, comm) in self.seats.iter().zip(comms) {
                let row = seat.row.address();
                // SAFETY: the buffer has a block for each rank and is live until the plan is
                // dropped, which waits for the stream.
                unsafe {
                    match self.reduce {
                        true => comm.all_reduce(row, each / 4 * u64::from(self.group.world), false),
                        false => comm.all_gather(row, each, seat.rank),
                    }
                }?;
            }
            Ok(())
        })
    }

    fn grouped(&self, kind: Kind, work: impl FnOnce(&[Comm]) -> Result<()>) -> Result<()> {
        let mut comms = self.group.comms.borrow_mut();
        nccl::grouped(&mut comms, kind, self.group.options.timeout, &|| self.group.alive(), work)
    }

    fn finish(&self, seat: &Seat, stamp: u64, call: u32, place: Where) -> Result<()> {
        let out = seat.results.address(place);
        let finish = match &seat.stages {
            Stages::Parts { finish, .. } => finish,
            Stages::Elements(small) => {
                let at = |rank| seat.row.address() + u64::from(rank) * self.stride * 8 + 16;
                let addresses: Vec<u64> = (0..self.group.world).map(at).collect();
                // SAFETY: the buffer has a block for each rank and is live until the plan is
                // dropped, which waits for the stream.
                return unsafe { small.queue(&addresses, out, stamp, call) };
            }
        };
        cuda::bind(&seat.stream)?;
        let mut arguments = [
            seat.row.address(),
            out,
            self.stride,
            self.group.world.into(),
            self.layout.parts().into(),
            self.places.share.into(),
            self.places.gap.into(),
            seat.places.address(),
            stamp,
            call.into(),
        ];
        // SAFETY: the arguments match the kernel's parameters, and all buffers live as long as the
        // plan.
        unsafe { cuda::launch(finish, &seat.stream, 1, &mut arguments) }
    }

    /// Waits for the result of a call, and returns the result. Checks the other ranks during the
    /// wait. After an error, aborts NCCL's kernels.
    pub fn wait(&self, call: u32) -> Result<T::Output> {
        let waited = self.await_idle(call);
        if waited.is_err() {
            self.group.comms.borrow_mut().iter_mut().for_each(Comm::abort);
        }
        waited
    }

    fn await_idle(&self, call: u32) -> Result<T::Output> {
        let timeout = self.group.options.timeout;
        let deadline = Instant::now() + timeout;
        let mut result = None;
        for seat in &self.seats {
            let mut looks = 0u32;
            let poll = || seat.results.look(call, size_of::<T::Output>());
            let bits = loop {
                match poll() {
                    Poll::Result(bits) => break bits,
                    Poll::Wrong(rank) => return Err(stamp::other(rank)),
                    Poll::None => {}
                }
                looks = looks.wrapping_add(1);
                if !looks.is_multiple_of(1024) {
                    std::hint::spin_loop();
                    continue;
                }
                self.group.alive()?;
                self.group.comms.borrow().iter().try_for_each(Comm::check)?;
                if cuda::is_idle(&seat.stream)? && poll() == Poll::None {
                    return Err(reduce::Error::Lost.into());
                }
                if Instant::now() >= deadline {
                    return Err(Error::Gone(format!(
                        "the other ranks did not take part in the sum within {} s; the sum was aborted",
                        timeout.as_secs_f64()
                    )));
                }
                thread::yield_now();
            };
            agree(&mut result, bits)?;
        }
        Ok(T::Output::from_bits64(result.unwrap_or_default()))
    }

    /// Waits for the result that a call stores on the GPUs of this process, and returns the result.
    pub(crate) fn left(&self, call: u32) -> Result<T::Output> {
        let mut result = None;
        for seat in &self.seats {
            match seat.results.left(call, size_of::<T::Output>())? {
                Poll::Result(bits) => agree(&mut result, bits)?,
                Poll::Wrong(rank) => return Err(stamp::other(rank)),
                Poll::None => return Err(reduce::Error::Lost.into()),
            }
        }
        Ok(T::Output::from_bits64(result.unwrap_or_default()))
    }

    fn fits(&self, slices: &[&dyn Slice<T>]) -> Result<()> {
        if slices.len() != self.seats.len() {
            return Err(Error::Shard(format!(
                "{} slices were given for {} ranks in this process: give one slice for each rank",
                slices.len(),
                self.seats.len()
            )));
        }
        for (seat, slice) in self.seats.iter().zip(slices) {
            let agreed = self.lengths[seat.rank as usize];
            if slice.count() as u64 != agreed {
                return Err(Error::Shard(format!(
                    "rank {} has {} elements, but the ranks agreed on {agreed}: make another plan for this number",
                    seat.rank,
                    slice.count()
                )));
            }
        }
        Ok(())
    }
}

impl Group {
    /// Plans a sum that can be computed repeatedly; `here` gives the number of elements on each
    /// rank in this process. All ranks must make the same plans in the same order. If one rank
    /// requests a different sum, all ranks get an error.
    pub fn plan<T: Datum>(&self, operation: Operation, here: &[u64]) -> Result<Plan<'_, T>> {
        self.plan_by(operation, here, self.options.reduce.unwrap_or(self.hosts > 1))
    }

    /// Plans a sum, like [`plan`](Group::plan), but lets the caller choose between the integer
    /// all-reduce and the all-gather.
    pub(crate) fn plan_by<T: Datum>(
        &self,
        operation: Operation,
        here: &[u64],
        reduce: bool,
    ) -> Result<Plan<'_, T>> {
        stages::check::<T>(operation)?;
        let lengths = match &self.control {
            Some(control) => {
                let name = format!("{operation:?}").to_lowercase();
                control.agree(T::NAME, &name, here.iter().sum())?
            }
            None => here.to_vec(),
        };
        let (layout, moves) = Layout::ragged::<T>(&lengths)?;
        let moves = if layout.is_small() { Vec::new() } else { moves };
        let number = self.plans.get() + 1;
        self.plans.set(number);
        // In a small sum, the elements are gathered, so each block has room for a stamp and the
        // longest shard.
        let most = lengths.iter().max().copied().unwrap_or(0) * size_of::<T>() as u64;
        let stride = match layout.is_small() {
            true => 2 + most.div_ceil(16) * 2,
            false => layout.stride(size_of::<T::Output>()),
        };
        let places = layout.places(size_of::<T::Output>());
        let table = cuda::pairs(&places.table);
        let stages = |stream| {
            if layout.is_small() {
                return Small::new::<T>(stream, operation, &layout, &lengths).map(Stages::Elements);
            }
            let load = |stage| cuda::load::<T>(stream, operation, stage, Stage::THREADS);
            Ok(Stages::Parts { partials: load(Stage::Partials)?, finish: load(Stage::Finish)? })
        };
        let seats = self
            .ranks
            .iter()
            .map(|(rank, stream)| {
                let came: u64 = of(&moves, *rank).map(|m| m.elements.end - m.elements.start).sum();
                let last = if came > 0 { layout.part() } else { 0 } * size_of::<T>() as u64;
                Ok(Seat {
                    rank: *rank,
                    stream: stream.clone(),
                    row: Words::new(stream, stride * u64::from(self.world))?,
                    tickets: Words::new(stream, 2)?,
                    places: Words::holding(stream, &table)?,
                    last: Words::new(stream, last.div_ceil(8))?,
                    results: Results::new(stream)?,
                    stages: stages(stream)?,
                })
            })
            .collect::<Result<_>>()?;
        let reduce = reduce && !layout.is_small();
        let (calls, element) = (Cell::new(0), PhantomData);
        Ok(Plan {
            group: self,
            lengths,
            layout,
            moves,
            stride,
            places,
            reduce,
            seats,
            number,
            calls,
            element,
        })
    }

    /// Adds one float from each rank in place, in NCCL's order. This sum is the baseline for the
    /// measurements.
    pub(crate) fn add_totals(&self, totals: &mut [CudaSlice<f32>]) -> Result<()> {
        let mut comms = self.comms.borrow_mut();
        nccl::grouped(&mut comms, Kind::Ready, self.options.timeout, &|| self.alive(), |comms| {
            for ((_, stream), (comm, total)) in self.ranks.iter().zip(comms.iter().zip(totals)) {
                // SAFETY: each slice has at least one element, and its stream is the
                // communicator's.
                unsafe { comm.all_reduce(total.device_ptr_mut(stream).0, 1, true) }?;
            }
            Ok(())
        })
    }
}

/// Returns the moves that send elements to one rank.
fn of(moves: &[Move], rank: u32) -> impl Iterator<Item = &Move> {
    moves.iter().filter(move |m| m.to == rank)
}
