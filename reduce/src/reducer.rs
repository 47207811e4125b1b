//! Sums, minima and maxima on a stream.

use std::{
    cell::{Cell, OnceCell},
    marker::PhantomData,
    sync::Arc,
};

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use crate::{
    Accumulator, Element, Error, Operation, Result,
    cuda::{self, Address, Answer, Call, State},
    element::Sealed,
    kernels::Family,
    modules::{self, Loaded},
    rows::kept::Kept,
    shape,
};

/// Reduces slices of one type on one stream.
///
/// A kernel is compiled when it is first needed, once a context: [`prepare`](Reducer::prepare) does
/// it ahead. The reducer owns a little memory that its launches leave as they found it, so they run
/// one after the other, as those of one stream do. Work that is captured into a graph owns its memory:
/// the graph may outlive the reducer, and run beside it.
///
/// It can be handed to another thread, and is not shared by two:
///
/// ```compile_fail
/// fn is_shared<T: Sync>() {}
/// is_shared::<reduce::Reducer<f32>>();
/// ```
#[derive(Debug)]
pub struct Reducer<T> {
    stream: Arc<CudaStream>,
    loaded: [[OnceCell<Loaded>; Family::ALL.len()]; 3],
    /// The next ticket, and mail: zeros between launches.
    state: OnceCell<State>,
    answer: OnceCell<Answer>,
    rows: Kept,
    /// That of the last result that was waited for.
    epoch: Cell<u32>,
    element: PhantomData<T>,
}

impl<T: Element> Reducer<T> {
    /// A reducer that has nothing yet but its stream.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Reducer<T>> {
        Ok(Reducer {
            stream: stream.clone(),
            loaded: Default::default(),
            state: OnceCell::new(),
            answer: OnceCell::new(),
            rows: Kept::default(),
            epoch: Cell::new(0),
            element: PhantomData,
        })
    }

    /// Compiles these operations in all their shapes, and allocates what they need: no call after this
    /// is slower than the next.
    pub fn prepare(&self, operations: &[Operation]) -> Result<()> {
        self.bind()?;
        for operation in operations {
            for family in Family::ALL {
                self.load(*operation, family)?;
            }
        }
        self.state()?;
        self.answer()?;
        Ok(())
    }

    /// The sum, 0 of nothing. Waits for it.
    pub fn sum(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.here(Operation::Sum, slice)
    }

    /// The smallest element that is a number; NaN if none is, and of nothing the largest value of the
    /// type, infinity or `MAX`. -0 is below +0. Waits for it.
    pub fn min(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.here(Operation::Min, slice)
    }

    /// The largest element that is a number; NaN if none is, and of nothing the smallest value of the
    /// type, minus infinity or `MIN`. -0 is below +0. Waits for it.
    pub fn max(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.here(Operation::Max, slice)
    }

    /// Leaves the sum in the first element of a slice on the device. Does not wait, and can be
    /// captured into a graph.
    pub fn sum_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.there(Operation::Sum, slice, result)
    }

    /// As [`sum_into`](Reducer::sum_into), what [`min`](Reducer::min) is.
    pub fn min_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.there(Operation::Min, slice, result)
    }

    /// As [`sum_into`](Reducer::sum_into), what [`max`](Reducer::max) is.
    pub fn max_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.there(Operation::Max, slice, result)
    }

    fn there(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        if result.is_empty() {
            return Err(Error::NoRoom);
        }
        self.same_context("result", result.stream())?;
        self.bind()?;
        let (output, _writes) = Address::of_result(result, &self.stream)?;
        self.launch(operation, slice, output, 0)
    }

    fn here(&self, operation: Operation, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.bind()?;
        // Before anything else of a capture is disturbed.
        if cuda::is_capturing(&self.stream)? {
            return Err(Error::Capturing);
        }
        let answer = self.answer()?;
        let epoch = self.epoch.get().wrapping_add(1).max(1);
        self.epoch.set(epoch);
        self.launch(operation, slice, answer.address(), epoch)?;
        Ok(T::Output::from_word(answer.wait(epoch, size_of::<T::Output>())?))
    }

    fn launch(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        output: Address<'_>,
        epoch: u32,
    ) -> Result<()> {
        self.same_context("slice", slice.stream())?;
        let (input, _reads) = Address::of(slice, &self.stream)?;
        self.launch_at(operation, input, output, epoch)
    }

    /// Of all elements of that address.
    pub(crate) fn launch_at(
        &self,
        operation: Operation,
        input: Address<'_>,
        output: Address<'_>,
        epoch: u32,
    ) -> Result<()> {
        let (n, size) = (input.len(), size_of::<T>() as u64);
        let shape = shape::pick(n, size).ok_or(Error::TooLong { n, size, most: shape::LONGEST })?;
        let (parts, words, threads) = (shape.parts(), shape.words(), shape.threads());
        let family = Family::of(shape, input.begins_a_word());
        let loaded = self.load(operation, family)?;
        let grid = parts.min(loaded.blocks);
        let call = Call { grid, threads, input, output, words, parts, epoch };
        let run =
            |state: Option<Address<'_>>| cuda::launch(&loaded.function, &self.stream, call, state);
        if shape.values() == 0 {
            return run(None);
        }
        // Whoever waits for the result is not captured: that was asked.
        if epoch == 0 && cuda::is_capturing(&self.stream)? {
            let bytes = state_bytes::<T>(u64::from(shape.values()));
            return cuda::with_captured_state(&self.stream, bytes, run);
        }
        run(Some(self.state()?.address()))
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    pub(crate) fn rows(&self) -> &Kept {
        &self.rows
    }

    pub(crate) fn bind(&self) -> Result<()> {
        self.stream.context().bind_to_thread().map_err(crate::error::doing("using the context"))
    }

    pub(crate) fn same_context(&self, what: &'static str, stream: &CudaStream) -> Result<()> {
        let (theirs, ours) = (stream.context(), self.stream.context());
        if theirs.cu_ctx() == ours.cu_ctx() {
            return Ok(());
        }
        Err(Error::OtherContext { what, theirs: theirs.ordinal(), ours: ours.ordinal() })
    }

    fn load(&self, operation: Operation, family: Family) -> Result<&Loaded> {
        let place = &self.loaded[operation as usize][family as usize];
        get_or_try(place, || {
            let kernel = <T as Sealed>::KERNELS[operation as usize][family as usize];
            modules::load(self.stream.context(), kernel, family.threads())
        })
    }

    fn state(&self) -> Result<&State> {
        get_or_try(&self.state, || {
            let bytes = state_bytes::<T>(shape::PARTS);
            cuda::outside_of_captures(|| State::new(&self.stream, bytes))
        })
    }

    fn answer(&self) -> Result<&Answer> {
        get_or_try(&self.answer, || cuda::outside_of_captures(|| Answer::new(&self.stream)))
    }
}

/// The ticket, and mail of so many values.
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
    fn a_value_of_the_mail_has_its_flags_beside_it() {
        assert_eq!([0, 100].map(state_bytes::<f32>), [16, 816]);
        // Halves are added as floats.
        assert_eq!([state_bytes::<half::f16>(100), state_bytes::<f64>(3)], [816, 64]);
    }
}
