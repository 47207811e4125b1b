//! Reductions of lists and of ragged rows on a stream, for raw addresses and for slices from
//! cudarc.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};

use super::queue::{Queued, kernels_of, queue, ragged_room};
use crate::{
    Accumulator, Element, Error, Operation, Reducer, Result,
    cuda::{self, Address, Param, State},
    element::{Itself, Read},
    engine::Engine,
    error::doing,
    free::of,
    shape,
};

/// The items of a queue on the device, and the arguments of the launch that adds them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready<'m> {
    pub(super) items: Address<'m>,
    pub(super) count: u64,
    pub(super) slices: u64,
    pub(super) elements: u64,
    pub(super) messages: u64,
}

/// Ragged rows: the elements, and offsets of 4 or 8 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ragged<'m> {
    pub(super) input: Address<'m>,
    pub(super) offsets: Address<'m>,
    pub(super) wide: bool,
    pub(super) rows: u64,
}

impl<T: Element> Engine<T> {
    /// Queues a reduction of the slices of a queue. The result of each slice and the result of all
    /// slices together are written to the given addresses. The stream's context must be current.
    pub(super) fn reduce_queue<W>(
        &self,
        operation: Operation,
        ready: Ready<'_>,
        out: Option<Address<'_>>,
        total: Option<Address<'_>>,
    ) -> Result<()>
    where
        T: Read<W>,
    {
        let halves = size_of::<<T as Read<W>>::Value>() as u64 / 4;
        let Ready { items, count, slices, elements, messages } = ready;
        let own = 16 + messages * halves * 8;
        let all = own + if total.is_some() { slices * halves * 8 } else { 0 };
        let [(kernel, threads), _] = kernels_of::<T, W>(operation);
        let (function, blocks) = self.known().get(self.queue(), kernel, threads)?;
        let stream = self.queue().stream;
        self.with_messages(all, 0, |state| {
            let params = [
                Param::Memory(items),
                Param::Null,
                Param::U64(count),
                out.map_or(Param::Null, Param::Memory),
                total.map_or(Param::Null, Param::Memory),
                Param::U64(slices),
                Param::U64(elements),
                state.map_or(Param::Null, Param::Memory),
                Param::U64(state.map_or(0, |state| state.raw() + own)),
            ];
            let grid = count.min(blocks.into()) as u32;
            cuda::launch_form(function, stream, [grid, threads], params)
        })
    }

    /// Queues a reduction of ragged rows. If a row ends before it begins or after the end of the
    /// input, its result is that of an empty row, and the word at `bad` is set to the complement of
    /// the row's number if this complement is larger than the word.
    pub(super) fn reduce_ragged<W>(
        &self,
        operation: Operation,
        ragged: Ragged<'_>,
        output: Address<'_>,
        bad: Address<'_>,
    ) -> Result<()>
    where
        T: Read<W>,
    {
        let Ragged { input, offsets, wide, rows } = ragged;
        let (n, size, stream) = (input.len(), size_of::<T>() as u64, self.queue().stream);
        if n > shape::LONGEST / size {
            return Err(Error::TooLong { n, size, most: shape::LONGEST });
        }
        if rows == 0 {
            return Ok(());
        }
        let halves = size_of::<<T as Read<W>>::Value>() as u64 / 4;
        let [capacity, messages] = ragged_room(n, size);
        let own = 16 + messages * halves * 8;
        let [(adds, threads), (puts, few)] = kernels_of::<T, W>(operation);
        let (puts, _) = self.known().get(self.queue(), puts, few)?;
        let (adds, blocks) = self.known().get(self.queue(), adds, threads)?;
        let run = |state: Address<'_>, items: Address<'_>| {
            let made = Param::U64(state.raw() + own);
            let params = [
                Param::Memory(input),
                Param::Memory(offsets),
                Param::U32(wide.into()),
                Param::U64(n),
                Param::Memory(output),
                Param::U64(rows),
                Param::Memory(items),
                Param::U64(capacity),
                Param::U64(messages),
                made,
                Param::Memory(bad),
            ];
            let grid = rows.div_ceil(few.into()).min(1 << 30) as u32;
            cuda::launch_form(puts, stream, [grid, few], params)?;
            let params = [
                Param::Memory(items),
                made,
                Param::U64(capacity),
                Param::Memory(output),
                Param::Null,
                Param::U64(0),
                Param::U64(0),
                Param::Memory(state),
                Param::Null,
            ];
            let grid = capacity.min(blocks.into()) as u32;
            cuda::launch_form(adds, stream, [grid, threads], params)
        };
        let bytes = capacity as usize * size_of::<[u32; super::ITEM]>();
        self.with_messages(own + 24, 0, |state| {
            let state = state.ok_or(Error::Lost)?;
            if stream.is_capturing()? {
                return cuda::with_captured_state(stream, bytes, |items| {
                    run(state, items.ok_or(Error::Lost)?)
                });
            }
            let mut kept = self.rows().items.borrow_mut();
            match &*kept {
                Some(items) if items.address().len() >= bytes as u64 => run(state, items.address()),
                _ => {
                    let items = cuda::outside_of_captures(|| State::new(self.queue(), bytes))?;
                    run(state, kept.insert(items).address())
                }
            }
        })
    }
}

impl<T: Element> Reducer<T> {
    /// Returns the result of an operation for each slice of a list, and for all slices together,
    /// such as the norms of a model's gradients and their global norm. One launch adds all slices.
    /// The results are bit-identical to those of [`host::reduce_list`](crate::host::reduce_list).
    /// Waits for the results.
    ///
    /// # Errors
    /// The operation is not defined for the element type, there are no slices, a slice is in
    /// another context, or a call to the driver failed.
    pub fn reduce_list(
        &self,
        operation: Operation,
        slices: &[&CudaSlice<T>],
    ) -> Result<(Vec<T::Output>, T::Output)> {
        operation.check::<T>()?;
        self.engine().refuse_capture()?;
        if slices.is_empty() {
            return Err(Error::NoSlices);
        }
        let mut guards = Vec::with_capacity(slices.len());
        let mut all = Vec::with_capacity(slices.len());
        for slice in slices {
            self.same_context("slice", slice.stream())?;
            let (address, reads) = Address::of::<T>(*slice, self.stream())?;
            guards.push(reads);
            all.push((address.raw(), address.len()));
        }
        self.ordered()?;
        let queued = queued::<T>(all)?;
        let reading = || doing("moving a list");
        let items = self.stream().clone_htod(&queued.words).map_err(reading())?;
        let size = size_of::<T::Output>();
        let mut results =
            self.stream().alloc_zeros::<u8>((slices.len() + 1) * size).map_err(reading())?;
        {
            let (items, _reads) = Address::of::<u32>(&items, self.stream())?;
            let (out, _writes) = Address::of_result::<u8>(&mut results, self.stream())?;
            let (each, total) = (slices.len() * size, size);
            let total = out.part::<u8>(each as u64, total as u64);
            let _bound = self.engine().queue().stream.bind()?;
            let ready = ready(&queued, items, slices.len() as u64);
            self.engine().reduce_queue::<Itself>(operation, ready, Some(out), Some(total))?;
        }
        drop(guards);
        let bytes = self.stream().clone_dtoh(&results).map_err(reading())?;
        let value = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            T::Output::from_bits64(u64::from_le_bytes(word))
        };
        let mut values: Vec<T::Output> = bytes.chunks_exact(size).map(value).collect();
        let total = values.pop().ok_or(Error::Lost)?;
        Ok((values, total))
    }

    /// Writes the result of an operation for each ragged row to consecutive elements of another
    /// slice on the device. Row r has elements `offsets[r]` to `offsets[r + 1]` - 1 of the slice.
    /// Waits until the device has checked the offsets.
    ///
    /// # Errors
    /// The operation is not defined for the element type, there are no offsets, the result has too
    /// little room, a row ends before it begins or after the end of the slice, or a call to the
    /// driver failed.
    pub fn reduce_ragged_into(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        offsets: &impl DevicePtr<u64>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        operation.check::<T>()?;
        self.engine().refuse_capture()?;
        let rows = offsets.len().checked_sub(1).ok_or(Error::NoOffsets)? as u64;
        let (room, len) = (result.len() as u64, slice.len() as u64);
        if room < rows {
            return Err(Error::NoRoomForRows { room, rows });
        }
        if rows == 0 {
            return Ok(());
        }
        self.same_context("offsets", offsets.stream())?;
        let reading = || doing("checking the offsets");
        let mut bad = self.stream().alloc_zeros::<u64>(1).map_err(reading())?;
        {
            let (bad, _writes) = Address::of_result::<u64>(&mut bad, self.stream())?;
            let (offsets, _reads) = Address::of::<u64>(offsets, self.stream())?;
            self.leaving(slice, result, |input, output| {
                let _bound = self.engine().queue().stream.bind()?;
                let ragged = Ragged { input, offsets, wide: true, rows };
                self.engine().reduce_ragged::<Itself>(operation, ragged, output, bad)
            })?;
        }
        let found = self.stream().clone_dtoh(&bad).map_err(reading())?;
        if found[0] == 0 {
            return Ok(());
        }
        let row = !found[0];
        let all = offsets_at(self.stream(), offsets, row as usize)?;
        Err(Error::Offsets { row, begin: all[0], end: all[1], len })
    }
}

fn offsets_at(
    stream: &Arc<CudaStream>,
    offsets: &impl DevicePtr<u64>,
    row: usize,
) -> Result<[u64; 2]> {
    let mut all = vec![0; offsets.len()];
    stream.memcpy_dtoh(offsets, &mut all).map_err(doing("reading the offsets"))?;
    stream.synchronize().map_err(doing("reading the offsets"))?;
    Ok([all[row], all[row + 1]])
}

/// Returns the queue of slices.
pub(super) fn queued<T>(slices: Vec<(u64, u64)>) -> Result<Queued> {
    let size = size_of::<T>() as u64;
    queue(slices, size).map_err(|n| Error::TooLong { n, size, most: shape::LONGEST })
}

pub(super) fn ready<'m>(queued: &Queued, items: Address<'m>, slices: u64) -> Ready<'m> {
    let &Queued { messages, elements, .. } = queued;
    Ready { items, count: queued.items(), slices, elements, messages }
}

/// Returns the result of an operation for each slice of a list, and for all slices together, as
/// [`Reducer::reduce_list`] does. Waits for the results.
pub fn reduce_list<T: Element>(
    stream: &Arc<CudaStream>,
    operation: Operation,
    slices: &[&CudaSlice<T>],
) -> Result<(Vec<T::Output>, T::Output)> {
    of::<T>(stream)?.reduce_list(operation, slices)
}

/// Writes the result of an operation for each ragged row to another slice, as
/// [`Reducer::reduce_ragged_into`] does. Waits until the device has checked the offsets.
pub fn reduce_ragged_into<T: Element>(
    stream: &Arc<CudaStream>,
    operation: Operation,
    slice: &impl DevicePtr<T>,
    offsets: &impl DevicePtr<u64>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.reduce_ragged_into(operation, slice, offsets, result)
}
