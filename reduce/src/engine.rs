//! Reductions of elements at an address, for one type and one stream. The safe and the raw
//! interface share this engine.

use std::{
    cell::{Cell, OnceCell},
    marker::PhantomData,
};

use crate::{
    Accumulator, Element, Error, Operation, Result,
    cuda::{self, Address, Answer, Call, Queue, State},
    element::Sealed,
    exact,
    kernels::Family,
    modules::{self, Loaded},
    rows::kept::Kept,
    shape,
};

/// The kernels and the memory that reductions of one type need on one stream.
#[derive(Debug)]
pub(crate) struct Engine<T> {
    queue: Queue,
    loaded: [[OnceCell<Loaded>; Family::ALL.len()]; 3],
    /// The next ticket and the message slots. They are zero between launches.
    state: OnceCell<State>,
    answer: OnceCell<Answer>,
    rows: Kept,
    exact: exact::launch::Kept,
    /// The epoch of the last result that a call waited for.
    epoch: Cell<u32>,
    element: PhantomData<T>,
}

impl<T: Element> Engine<T> {
    pub(crate) fn new(queue: Queue) -> Engine<T> {
        Engine {
            queue,
            loaded: Default::default(),
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

    pub(crate) fn rows(&self) -> &Kept {
        &self.rows
    }

    pub(crate) fn exact(&self) -> &exact::launch::Kept {
        &self.exact
    }

    /// Compiles the kernels of these operations for all shapes, and allocates their memory.
    pub(crate) fn prepare(&self, operations: &[Operation]) -> Result<()> {
        let _bound = self.queue.stream.bind()?;
        for operation in operations {
            for family in Family::ALL {
                self.load(*operation, family)?;
            }
        }
        self.state()?;
        self.answer()?;
        Ok(())
    }

    /// Fails if the stream is being captured, before a call can invalidate the capture.
    pub(crate) fn refuse_capture(&self) -> Result<()> {
        if self.queue.stream.is_capturing()? { Err(Error::Capturing) } else { Ok(()) }
    }

    /// Computes the result over all elements at an address, and waits for it. The stream must not
    /// be in capture mode.
    pub(crate) fn wait(&self, operation: Operation, input: Address<'_>) -> Result<T::Output> {
        self.wait_for(|output, epoch| self.launch(operation, input, output, epoch))
    }

    /// Waits for the result of a launch. The launch is given the address and the epoch of the
    /// answer.
    pub(crate) fn wait_for(
        &self,
        launch: impl FnOnce(Address<'_>, u32) -> Result<()>,
    ) -> Result<T::Output> {
        let _bound = self.queue.stream.bind()?;
        let answer = self.answer()?;
        // Skips 0, which means a result for the stream, and the largest epoch, which is RAW in
        // exact sums.
        let epoch = ((self.epoch.get() + 1) % u32::MAX).max(1);
        self.epoch.set(epoch);
        launch(answer.address(), epoch)?;
        Ok(T::Output::from_bits64(answer.wait(epoch, size_of::<T::Output>())?))
    }

    /// Queues a reduction of all elements at an address. Its result is written to another address.
    pub(crate) fn leave(
        &self,
        operation: Operation,
        input: Address<'_>,
        output: Address<'_>,
    ) -> Result<()> {
        let _bound = self.queue.stream.bind()?;
        self.launch(operation, input, output, 0)
    }

    /// Queues a reduction, like [`leave`](Engine::leave), but the stream's context must be current.
    /// With an `epoch` other than 0, the kernel writes the result for a host that polls.
    pub(crate) fn launch(
        &self,
        operation: Operation,
        input: Address<'_>,
        output: Address<'_>,
        epoch: u32,
    ) -> Result<()> {
        let stream = self.queue.stream;
        let (n, size) = (input.len(), size_of::<T>() as u64);
        let shape = shape::pick(n, size).ok_or(Error::TooLong { n, size, most: shape::LONGEST })?;
        let (chunks, vectors, threads) = (shape.chunks(), shape.vectors(), shape.threads());
        let family = Family::of(shape, input.is_aligned());
        let loaded = self.load(operation, family)?;
        let grid = chunks.min(loaded.blocks);
        let call = Call { grid, threads, input, output, vectors, chunks, epoch };
        let run = |state: Option<Address<'_>>| cuda::launch(loaded.function, stream, call, state);
        if shape.values() == 0 {
            return run(None);
        }
        // With an epoch, the caller has checked that the stream is not being captured.
        if epoch == 0 && stream.is_capturing()? {
            let bytes = state_bytes::<T>(u64::from(shape.values()));
            return cuda::with_captured_state(stream, bytes, run);
        }
        run(Some(self.state()?.address()))
    }

    fn load(&self, operation: Operation, family: Family) -> Result<&Loaded> {
        let place = &self.loaded[operation as usize][family as usize];
        get_or_try(place, || {
            let kernel = <T as Sealed>::KERNELS[operation as usize][family as usize];
            modules::load(&self.queue, kernel, family.threads())
        })
    }

    fn state(&self) -> Result<&State> {
        get_or_try(&self.state, || {
            let bytes = state_bytes::<T>(shape::CHUNKS);
            cuda::outside_of_captures(|| State::new(&self.queue, bytes))
        })
    }

    fn answer(&self) -> Result<&Answer> {
        get_or_try(&self.answer, || cuda::outside_of_captures(|| Answer::new(&self.queue)))
    }
}

/// Returns the number of bytes of the ticket and of the slots for `values` values.
pub(crate) fn state_bytes<T: Element>(values: u64) -> usize {
    16 + values as usize * size_of::<T::Output>() * 2
}

pub(crate) fn get_or_try<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match cell.get() {
        Some(value) => Ok(value),
        None => {
            let value = make()?;
            Ok(cell.get_or_init(|| value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_a_flag_for_each_half_of_its_value() {
        assert_eq!([0, 100].map(state_bytes::<f32>), [16, 816]);
        // Halves are added as floats.
        assert_eq!([state_bytes::<half::f16>(100), state_bytes::<f64>(3)], [816, 64]);
    }
}
