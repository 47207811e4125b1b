//! Reductions of elements at an address, for one type and one stream. The safe interface and the
//! raw interface share this code.

use std::{
    cell::{Cell, OnceCell},
    marker::PhantomData,
};

use crate::{
    Accumulator, Element, Error, Operation, Result,
    cuda::{self, Address, Answer, Call, Queue, State},
    element::{Itself, Read},
    exact,
    kernels::{Family, kernel_of},
    modules::Known,
    once::get_or_try,
    rows::kept::Kept,
    shape,
};

/// The kernels and the memory that reductions of one type need on one stream.
#[derive(Debug)]
pub(crate) struct Engine<T> {
    queue: Queue,
    known: Known,
    /// The next ticket and the message slots, which are zero between launches.
    state: OnceCell<State>,
    answer: OnceCell<Answer>,
    rows: Kept,
    exact: exact::kept::Kept,
    /// The epoch of the last result that a call waited for.
    epoch: Cell<u32>,
    element: PhantomData<T>,
}

impl<T: Element> Engine<T> {
    pub(crate) fn new(queue: Queue) -> Engine<T> {
        Engine {
            queue,
            known: Known::default(),
            state: OnceCell::new(),
            answer: OnceCell::new(),
            rows: Kept::default(),
            exact: Default::default(),
            epoch: Cell::new(0),
            element: PhantomData,
        }
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    pub(crate) fn rows(&self) -> &Kept {
        &self.rows
    }

    pub(crate) fn exact(&self) -> &exact::kept::Kept {
        &self.exact
    }

    /// Compiles the kernels of these operations for all shapes, and allocates their memory.
    pub(crate) fn prepare(&self, operations: &[Operation]) -> Result<()> {
        self.prepare_read::<Itself>(operations)
    }

    /// Like [`prepare`](Engine::prepare), for elements that are converted as `W` specifies.
    pub(crate) fn prepare_read<W>(&self, operations: &[Operation]) -> Result<()>
    where
        T: Read<W>,
    {
        let _bound = self.queue.stream.bind()?;
        for operation in operations {
            operation.check::<T>()?;
            for family in Family::ALL {
                self.known.get(
                    &self.queue,
                    kernel_of::<T, W>(*operation, family),
                    family.threads(),
                )?;
            }
        }
        self.state()?;
        self.answer()?;
        Ok(())
    }

    /// Fails if the stream is being captured, so that no call invalidates the capture.
    pub(crate) fn refuse_capture(&self) -> Result<()> {
        if self.queue.stream.is_capturing()? { Err(Error::Capturing) } else { Ok(()) }
    }

    /// Computes the result over all elements at an address, which are converted as `W` specifies.
    /// Waits for the result. The stream must not be in capture mode.
    pub(crate) fn wait<W>(
        &self,
        operation: Operation,
        input: Address<'_>,
    ) -> Result<<T as Read<W>>::Value>
    where
        T: Read<W>,
    {
        self.wait_for(|output, epoch| self.launch::<W>(operation, input, output, epoch))
    }

    /// Waits for the result of a launch. The arguments of `launch` are the address and the epoch of
    /// the answer.
    pub(crate) fn wait_for<A: Accumulator>(
        &self,
        launch: impl FnOnce(Address<'_>, u32) -> Result<()>,
    ) -> Result<A> {
        let (answer, epoch) = self.launched(launch)?;
        Ok(A::from_bits64(answer.wait(epoch, 0, size_of::<A>())?))
    }

    /// Waits for the two results of a launch. The second result begins two words after the first.
    pub(crate) fn wait_for_two<A: Accumulator, B: Accumulator>(
        &self,
        launch: impl FnOnce([Address<'_>; 2], u32) -> Result<()>,
    ) -> Result<(A, B)> {
        let launch = |answer: Address<'_>, epoch| launch([answer, answer.part::<u64>(2, 2)], epoch);
        let (answer, epoch) = self.launched(launch)?;
        let (first, second) =
            (answer.wait(epoch, 0, size_of::<A>())?, answer.wait(epoch, 2, size_of::<B>())?);
        Ok((A::from_bits64(first), B::from_bits64(second)))
    }

    /// Starts a launch whose answer has the next epoch. Returns the answer and this epoch.
    fn launched(
        &self,
        launch: impl FnOnce(Address<'_>, u32) -> Result<()>,
    ) -> Result<(&Answer, u32)> {
        let _bound = self.queue.stream.bind()?;
        let answer = self.answer()?;
        // Skips 0, which marks a result that no host polls for, and the largest epoch, which is RAW
        // in exact sums.
        let epoch = ((self.epoch.get() + 1) % u32::MAX).max(1);
        self.epoch.set(epoch);
        launch(answer.address(), epoch)?;
        Ok((answer, epoch))
    }

    /// Queues a reduction of all elements at an address. The result is written to another address.
    pub(crate) fn leave<W>(
        &self,
        operation: Operation,
        input: Address<'_>,
        output: Address<'_>,
    ) -> Result<()>
    where
        T: Read<W>,
    {
        let _bound = self.queue.stream.bind()?;
        self.launch::<W>(operation, input, output, 0)
    }

    /// Queues a reduction, like [`leave`](Engine::leave), but the stream's context must be current.
    /// If `epoch` is not 0, the kernel writes the result for a host thread that polls for it.
    pub(crate) fn launch<W>(
        &self,
        operation: Operation,
        input: Address<'_>,
        output: Address<'_>,
        epoch: u32,
    ) -> Result<()>
    where
        T: Read<W>,
    {
        let stream = self.queue.stream;
        let (n, size) = (input.len(), size_of::<T>() as u64);
        let shape = shape::pick(n, size).ok_or(Error::TooLong { n, size, most: shape::LONGEST })?;
        let (chunks, vectors, threads) = (shape.chunks(), shape.vectors(), shape.threads());
        let family = Family::of(shape, input.is_aligned());
        let kernel = kernel_of::<T, W>(operation, family);
        let (function, blocks) = self.known.get(&self.queue, kernel, family.threads())?;
        let grid = chunks.min(blocks);
        let call = Call { grid, threads, input, output, vectors, chunks, epoch };
        let run = |state: Option<Address<'_>>| cuda::launch(function, stream, call, state);
        if shape.values() == 0 {
            return run(None);
        }
        // If `epoch` is not 0, the caller has checked that the stream is not being captured.
        if epoch == 0 && stream.is_capturing()? {
            let bytes = state_bytes::<<T as Read<W>>::Value>(u64::from(shape.values()));
            return cuda::with_captured_state(stream, bytes, run);
        }
        run(Some(self.state()?.address()))
    }

    fn state(&self) -> Result<&State> {
        get_or_try(&self.state, || {
            // All conversions of the elements share the memory, so it has room for values of eight
            // bytes.
            let bytes = state_bytes::<f64>(shape::CHUNKS);
            cuda::outside_of_captures(|| State::new(&self.queue, bytes))
        })
    }

    fn answer(&self) -> Result<&Answer> {
        get_or_try(&self.answer, || cuda::outside_of_captures(|| Answer::new(&self.queue)))
    }
}

/// Returns the size in bytes of the ticket and of the slots for `values` values.
pub(crate) fn state_bytes<A: Accumulator>(values: u64) -> usize {
    16 + values as usize * size_of::<A>() * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_a_flag_for_each_half_of_its_value() {
        assert_eq!([0, 100].map(state_bytes::<f32>), [16, 816]);
        assert_eq!(state_bytes::<f64>(3), 64);
    }
}
