//! A sum over the ranks of a group: partial sums, NCCL, and the same finish on all of them.
//!
//! One of the files with `unsafe`: NCCL and the stages are given addresses.
#![expect(unsafe_code, reason = "NCCL and the stages are given addresses")]

use std::{cell::Cell, marker::PhantomData, sync::Arc, thread, time::Instant};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut};
use reduce::{Accumulator, Operation, stages::Stage};

use crate::{
    Datum, Error, Group, Layout, Move, Places, Result,
    cuda::{self, Loaded, News, Results, Where, Words},
    local::{Slice, agree},
    nccl::{self, Comm, Kind},
    small::Small,
    stamp,
};

/// What one rank of this process needs.
#[derive(Debug)]
struct Seat {
    rank: u32,
    stream: Arc<CudaStream>,
    /// The blocks of all ranks.
    row: Words,
    tickets: Words,
    /// Where the parts' sums lie, of ragged shards.
    places: Words,
    /// A part whose end other ranks have.
    last: Words,
    results: Results,
    stages: Stages,
}

/// The kernels: of parts, or of elements that are too few for them.
#[derive(Debug)]
enum Stages {
    Parts { partials: Loaded, finish: Loaded },
    Elements(Small),
}

/// A sum of one type, operation and length, over and over.
#[derive(Debug)]
pub struct Plan<'g, T> {
    group: &'g Group,
    lengths: Vec<u64>,
    layout: Layout,
    moves: Vec<Move>,
    /// Words of a rank's block.
    stride: u64,
    places: Places,
    reduce: bool,
    seats: Vec<Seat>,
    number: u32,
    calls: Cell<u32>,
    element: PhantomData<T>,
}

impl<T: Datum> Plan<'_, T> {
    /// Who adds what.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The elements of each rank, as all have agreed.
    pub fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    /// The result over all ranks, of the slices of those in this process. Waits for it.
    pub fn run(&self, slices: &[&dyn Slice<T>]) -> Result<T::Output> {
        let call = self.queue(slices)?;
        self.wait(call)
    }

    /// Queues the local part alone, for who measures.
    pub fn queue_local(&self, slices: &[&dyn Slice<T>]) -> Result<()> {
        let stamp = stamp::of(self.number, 0);
        self.seats.iter().zip(slices).try_for_each(|(seat, slice)| self.local(seat, *slice, stamp))
    }

    /// Queues all of it, and does not wait for the result.
    pub fn queue(&self, slices: &[&dyn Slice<T>]) -> Result<u32> {
        self.queue_to(slices, Where::Host)
    }

    /// As [`queue`](Plan::queue), with the result left there.
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

    /// The elements of parts that begin on another rank go there.
    fn move_elements(&self, slices: &[&dyn Slice<T>]) -> Result<()> {
        let size = size_of::<T>() as u64;
        for (seat, slice) in self.seats.iter().zip(slices) {
            cuda::bind(&seat.stream)?;
            if of(&self.moves, seat.rank).next().is_some() {
                let (whole, first) = self.in_place(seat.rank);
                let own = self.begin(seat.rank) + self.lengths[seat.rank as usize];
                let at = slice.address(&seat.stream) + (first - self.begin(seat.rank)) * size;
                debug_assert!(whole <= self.layout.of(seat.rank).len() as u32);
                // SAFETY: what the rank has of its last part lies at the end of its slice.
                unsafe { seat.last.take(&seat.stream, 0, at, (own - first) * size) }?;
            }
        }
        self.grouped(Kind::Raw, |comms| {
            for (seat, (comm, slice)) in self.seats.iter().zip(comms.iter().zip(slices)) {
                for m in &self.moves {
                    let bytes = (m.elements.end - m.elements.start) * size;
                    if m.from == seat.rank {
                        let at = slice.address(&seat.stream);
                        // SAFETY: what moves is the beginning of the slice, and nobody writes to it.
                        unsafe { comm.send(at, bytes, m.to) }?;
                    }
                    if m.to == seat.rank {
                        let (_, first) = self.in_place(seat.rank);
                        let at = seat.last.address() + (m.elements.start - first) * size;
                        // SAFETY: there is room for a part, and this lies within it.
                        unsafe { comm.receive(at, bytes, m.from) }?;
                    }
                }
            }
            Ok(())
        })
    }

    /// The first element of a rank, as it was given.
    fn begin(&self, rank: u32) -> u64 {
        self.lengths[..rank as usize].iter().sum()
    }

    /// How many of a rank's parts it has whole, and the first element of the next one.
    fn in_place(&self, rank: u32) -> (u32, u64) {
        let own = self.layout.of(rank);
        let broken = of(&self.moves, rank).next().is_some();
        let whole = own.len() as u32 - u32::from(broken);
        (whole, u64::from(own.start + whole) * self.layout.part())
    }

    /// This rank's block: a stamp, and the sums of its parts, or its elements.
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
            // SAFETY: the slice is as long as was agreed.
            return unsafe {
                seat.row.take(&seat.stream, head * 8 + 16, at, slice.count() as u64 * size)
            };
        };
        let own = self.layout.of(seat.rank);
        let (whole, next) = self.in_place(seat.rank);
        let first = self.layout.elements(seat.rank).start;
        let begin = self.begin(seat.rank);
        // A rank of no parts stamps its block too.
        let launch = |input: u64, n: u64, parts: u32, to: u32| {
            let mut arguments = [
                input,
                block,
                n,
                self.layout.shape.words().into(),
                parts.into(),
                seat.tickets.address(),
                stamp,
                to.into(),
            ];
            let grid = parts.clamp(1, partials.blocks);
            // SAFETY: these are the arguments of the entry; there are `n` elements at `input`, and a
            // block has room for the sums of as many parts as any rank has.
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
                // SAFETY: the row has a block for each rank, until the plan is dropped, which waits.
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
                // SAFETY: the row has a block for each rank, until the plan is dropped, which waits.
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
        // SAFETY: these are the arguments of the entry, and all of it lives as long as the plan.
        unsafe { cuda::launch(finish, &seat.stream, 1, &mut arguments) }
    }

    /// The result of a call. While it has not come, the other ranks are asked for; whatever goes wrong
    /// ends NCCL's kernels too.
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
            let news = || seat.results.look(call, size_of::<T::Output>());
            let bits = loop {
                match news() {
                    News::Result(bits) => break bits,
                    News::Wrong(rank) => return Err(stamp::other(rank)),
                    News::None => {}
                }
                looks = looks.wrapping_add(1);
                if !looks.is_multiple_of(1024) {
                    std::hint::spin_loop();
                    continue;
                }
                self.group.alive()?;
                self.group.comms.borrow().iter().try_for_each(Comm::check)?;
                if cuda::is_idle(&seat.stream)? && news() == News::None {
                    return Err(reduce::Error::Lost.into());
                }
                if Instant::now() >= deadline {
                    return Err(Error::Gone(format!(
                        "the other ranks did not take part within {} s; the sum was aborted",
                        timeout.as_secs_f64()
                    )));
                }
                thread::yield_now();
            };
            agree(&mut result, bits)?;
        }
        Ok(T::Output::from_word(result.unwrap_or_default()))
    }

    /// The result that a call has left on the GPUs of this process. Waits for it.
    pub(crate) fn left(&self, call: u32) -> Result<T::Output> {
        let mut result = None;
        for seat in &self.seats {
            match seat.results.left(call, size_of::<T::Output>())? {
                News::Result(bits) => agree(&mut result, bits)?,
                News::Wrong(rank) => return Err(stamp::other(rank)),
                News::None => return Err(reduce::Error::Lost.into()),
            }
        }
        Ok(T::Output::from_word(result.unwrap_or_default()))
    }

    fn fits(&self, slices: &[&dyn Slice<T>]) -> Result<()> {
        if slices.len() != self.seats.len() {
            return Err(Error::Shard(format!(
                "{} slices for {} ranks of this process: give each its own",
                slices.len(),
                self.seats.len()
            )));
        }
        for (seat, slice) in self.seats.iter().zip(slices) {
            let agreed = self.lengths[seat.rank as usize];
            if slice.count() as u64 != agreed {
                return Err(Error::Shard(format!(
                    "rank {} has {} elements, and {agreed} were agreed on: make a plan for these",
                    seat.rank,
                    slice.count()
                )));
            }
        }
        Ok(())
    }
}

impl Group {
    /// What is added again and again: so many elements on each rank of this process. All ranks make the
    /// same plans in the same order; one that wants something else is told so.
    pub fn plan<T: Datum>(&self, operation: Operation, here: &[u64]) -> Result<Plan<'_, T>> {
        self.plan_by(operation, here, self.options.reduce.unwrap_or(self.hosts > 1))
    }

    /// As [`plan`](Group::plan), with the sums as integers that are added, or gathered.
    pub(crate) fn plan_by<T: Datum>(
        &self,
        operation: Operation,
        here: &[u64],
        reduce: bool,
    ) -> Result<Plan<'_, T>> {
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
        // A small slice is gathered itself: its longest shard and a stamp.
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

    /// The sum of one float of each rank, in place, in NCCL's order: what this crate is held against.
    pub(crate) fn add_totals(&self, totals: &mut [CudaSlice<f32>]) -> Result<()> {
        let mut comms = self.comms.borrow_mut();
        nccl::grouped(&mut comms, Kind::Ready, self.options.timeout, &|| self.alive(), |comms| {
            for ((_, stream), (comm, total)) in self.ranks.iter().zip(comms.iter().zip(totals)) {
                // SAFETY: each slice has an element, and its stream is the communicator's.
                unsafe { comm.all_reduce(total.device_ptr_mut(stream).0, 1, true) }?;
            }
            Ok(())
        })
    }
}

/// What one rank receives.
fn of(moves: &[Move], rank: u32) -> impl Iterator<Item = &Move> {
    moves.iter().filter(move |m| m.to == rank)
}
