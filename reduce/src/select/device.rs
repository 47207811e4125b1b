//! Searches for indices and extremes in slices from cudarc.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use super::{Found, check, launch::Sought};
use crate::{
    Element, Error, Operation, Reducer, Result, Rows, cuda::Address, free::of, reducer::no_room,
};

impl<T: Element> Reducer<T> {
    /// Returns the smallest or the largest element, or the largest magnitude, and the lowest index
    /// of an element with this value. NaNs are ignored; if all elements are NaN, the index is 0.
    /// Waits for the result.
    ///
    /// # Errors
    /// There are no elements, the operation is not one of these three or is not defined for the
    /// elements, or one of the errors of [`reduce`](Reducer::reduce) occurs.
    pub fn find(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
    ) -> Result<Found<T::Output>> {
        check::<T>(operation)?;
        if slice.is_empty() {
            return Err(Error::NoElements);
        }
        let (value, index) = self.two::<u64>(Sought::Index(operation), slice)?;
        Ok(Found { index, value })
    }

    /// Writes the results of [`find`](Reducer::find) for each row to consecutive elements of two
    /// slices on the device. Does not wait, and can be captured into a graph.
    ///
    /// # Errors
    /// The same errors as for [`find`](Reducer::find) and
    /// [`reduce_rows_into`](Reducer::reduce_rows_into).
    pub fn find_rows_into(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        values: &mut impl DevicePtrMut<T::Output>,
        indices: &mut impl DevicePtrMut<u64>,
    ) -> Result<()> {
        check::<T>(operation)?;
        rows.check(slice.len() as u64, values.len().min(indices.len()) as u64)?;
        self.leave_two(Sought::Index(operation), slice, rows, values, indices)
    }

    /// Returns the results of [`min`](Reducer::min) and [`max`](Reducer::max), which are computed
    /// in one pass. Waits for the results.
    ///
    /// # Errors
    /// The same errors as for [`reduce`](Reducer::reduce).
    pub fn min_max(&self, slice: &impl DevicePtr<T>) -> Result<(T::Output, T::Output)> {
        self.two::<T::Output>(Sought::Extremes, slice)
    }

    /// Writes the minimum and the maximum to the first elements of two slices on the device. Does
    /// not wait, and can be captured into a graph.
    ///
    /// # Errors
    /// The same errors as for [`reduce_into`](Reducer::reduce_into).
    pub fn min_max_into(
        &self,
        slice: &impl DevicePtr<T>,
        minimum: &mut impl DevicePtrMut<T::Output>,
        maximum: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        no_room(minimum.len().min(maximum.len()))?;
        let rows = Rows::new(1, slice.len() as u64);
        self.leave_two(Sought::Extremes, slice, rows, minimum, maximum)
    }

    /// Writes the minimum and the maximum of each row to consecutive elements of two slices on the
    /// device. Does not wait, and can be captured into a graph.
    ///
    /// # Errors
    /// The same errors as for [`reduce_rows_into`](Reducer::reduce_rows_into).
    pub fn min_max_rows_into(
        &self,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        minima: &mut impl DevicePtrMut<T::Output>,
        maxima: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        rows.check(slice.len() as u64, minima.len().min(maxima.len()) as u64)?;
        self.leave_two(Sought::Extremes, slice, rows, minima, maxima)
    }

    fn two<B: crate::Accumulator>(
        &self,
        sought: Sought,
        slice: &impl DevicePtr<T>,
    ) -> Result<(T::Output, B)> {
        let rows = Rows::new(1, slice.len() as u64);
        self.waiting(slice, |input| {
            self.engine().wait_for_two(|[first, second], epoch| {
                self.engine().select(sought, input, rows, [Some(first), Some(second)], epoch)
            })
        })
    }

    fn leave_two<A, B>(
        &self,
        sought: Sought,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        first: &mut impl DevicePtrMut<A>,
        second: &mut impl DevicePtrMut<B>,
    ) -> Result<()> {
        self.same_context("second result", second.stream())?;
        let (second, _writes) = Address::of_result(second, self.stream())?;
        self.leaving(slice, first, |input, first| {
            let _bound = self.engine().queue().stream.bind()?;
            self.engine().select(sought, input, rows, [Some(first), Some(second)], 0)
        })
    }
}

/// Returns the smallest element and the lowest index of an element with this value, as
/// [`Reducer::find`] does. Waits for the result.
///
/// ```no_run
/// # fn main() -> samebits::Result<()> {
/// # let stream = samebits::open(0)?;
/// # let slice = stream.clone_htod(&vec![3.0f32, 1.0, 1.0]).unwrap();
/// let found = samebits::argmin(&stream, &slice)?;
/// assert_eq!((found.index, found.value), (1, 1.0));
/// # Ok(())
/// # }
/// ```
pub fn argmin<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
) -> Result<Found<T::Output>> {
    of::<T>(stream)?.find(Operation::Min, slice)
}

/// Returns the largest element and the lowest index of an element with this value, as
/// [`Reducer::find`] does. Waits for the result.
pub fn argmax<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
) -> Result<Found<T::Output>> {
    of::<T>(stream)?.find(Operation::Max, slice)
}

/// Writes the value and the index that [`Reducer::find`] returns to the first elements of two
/// slices on the device. Does not wait.
pub fn find_into<T: Element>(
    stream: &Arc<CudaStream>,
    operation: Operation,
    slice: &impl DevicePtr<T>,
    value: &mut impl DevicePtrMut<T::Output>,
    index: &mut impl DevicePtrMut<u64>,
) -> Result<()> {
    if slice.is_empty() {
        return Err(Error::NoElements);
    }
    let rows = Rows::new(1, slice.len() as u64);
    find_rows_into(stream, operation, slice, rows, value, index)
}

/// Writes the value and the index that are found in each row to two slices, as
/// [`Reducer::find_rows_into`] does. Does not wait.
pub fn find_rows_into<T: Element>(
    stream: &Arc<CudaStream>,
    operation: Operation,
    slice: &impl DevicePtr<T>,
    rows: Rows,
    values: &mut impl DevicePtrMut<T::Output>,
    indices: &mut impl DevicePtrMut<u64>,
) -> Result<()> {
    of::<T>(stream)?.find_rows_into(operation, slice, rows, values, indices)
}

/// Returns the minimum and the maximum, as [`Reducer::min_max`] does. Waits for the results.
pub fn min_max<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
) -> Result<(T::Output, T::Output)> {
    of::<T>(stream)?.min_max(slice)
}

/// Writes the minimum and the maximum to two slices, as [`Reducer::min_max_into`] does. Does not
/// wait.
pub fn min_max_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    minimum: &mut impl DevicePtrMut<T::Output>,
    maximum: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.min_max_into(slice, minimum, maximum)
}

/// Writes the minimum and the maximum of each row to two slices, as [`Reducer::min_max_rows_into`]
/// does. Does not wait.
pub fn min_max_rows_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    rows: Rows,
    minima: &mut impl DevicePtrMut<T::Output>,
    maxima: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.min_max_rows_into(slice, rows, minima, maxima)
}
