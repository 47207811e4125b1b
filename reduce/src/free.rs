//! Functions that need no [`Reducer`]: each thread keeps the reducers that these functions use.

use std::{rc::Rc, sync::Arc};

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use crate::{
    Element, ExactElement, Operation, Reducer, Result, Rows, WideElement,
    kept::{self, Which},
};

/// Returns the result of an operation over a slice, as [`Reducer::reduce`] does. Waits for the
/// result.
///
/// ```no_run
/// # fn main() -> samebits::Result<()> {
/// # let stream = samebits::open(0)?;
/// # let slice = stream.clone_htod(&vec![3.0f32, 4.0]).unwrap();
/// use samebits::Operation;
/// assert_eq!(samebits::reduce(&stream, Operation::Norm, &slice)?, 5.0);
/// # Ok(())
/// # }
/// ```
pub fn reduce<T: Element>(
    stream: &Arc<CudaStream>,
    operation: Operation,
    slice: &impl DevicePtr<T>,
) -> Result<T::Output> {
    of::<T>(stream)?.reduce(operation, slice)
}

/// Writes the result of an operation over a slice to the first element of another slice, as
/// [`Reducer::reduce_into`] does. Does not wait.
pub fn reduce_into<T: Element>(
    stream: &Arc<CudaStream>,
    operation: Operation,
    slice: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.reduce_into(operation, slice, result)
}

/// Writes the result of an operation for each row of a slice to another slice, as
/// [`Reducer::reduce_rows_into`] does. Does not wait.
pub fn reduce_rows_into<T: Element>(
    stream: &Arc<CudaStream>,
    operation: Operation,
    slice: &impl DevicePtr<T>,
    rows: Rows,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.reduce_rows_into(operation, slice, rows, result)
}

/// Returns the result of an operation over elements that are combined in a type of twice the size,
/// as [`Reducer::reduce_wide`] does. Waits for the result.
pub fn reduce_wide<T: WideElement>(
    stream: &Arc<CudaStream>,
    operation: Operation,
    slice: &impl DevicePtr<T>,
) -> Result<T::Wider> {
    of::<T>(stream)?.reduce_wide(operation, slice)
}

/// Returns the number of elements that are not zero, as [`Reducer::count`] does. Waits for the
/// result.
pub fn count<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<u64> {
    of::<T>(stream)?.count(slice)
}

/// Returns whether any element is not zero, as [`Reducer::any`] does. Waits for the result.
pub fn any<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<bool> {
    of::<T>(stream)?.any(slice)
}

/// Returns whether no element is zero, as [`Reducer::every`] does. Waits for the result.
pub fn every<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<bool> {
    of::<T>(stream)?.every(slice)
}

/// Returns the sum of a slice, which is 0 for an empty slice. Waits for the result.
pub fn sum<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.sum(slice)
}

/// Returns the smallest element of a slice, ignoring NaNs, as [`Reducer::min`] does. Waits for the
/// result.
pub fn min<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.min(slice)
}

/// Returns the largest element of a slice, ignoring NaNs, as [`Reducer::max`] does. Waits for the
/// result.
pub fn max<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.max(slice)
}

/// Writes the sum of a slice to the first element of another slice, as [`Reducer::sum_into`] does.
/// Does not wait.
pub fn sum_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.sum_into(slice, result)
}

/// Writes the minimum of a slice to the first element of another slice, as [`Reducer::min_into`]
/// does. Does not wait.
pub fn min_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.min_into(slice, result)
}

/// Writes the maximum of a slice to the first element of another slice, as [`Reducer::max_into`]
/// does. Does not wait.
pub fn max_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.max_into(slice, result)
}

/// Returns the exact sum of a slice, rounded once, as [`Reducer::exact_sum`] does. Waits for the
/// result.
pub fn exact_sum<T: ExactElement>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
) -> Result<T::Output> {
    of::<T>(stream)?.exact_sum(slice)
}

/// Writes the exact sum of a slice to the first element of another slice, as
/// [`Reducer::exact_sum_into`] does. Does not wait.
pub fn exact_sum_into<T: ExactElement>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.exact_sum_into(slice, result)
}

/// Returns the exact dot product of two slices, rounded once, as [`Reducer::exact_dot`] does. Waits
/// for the result.
pub fn exact_dot<T: ExactElement>(
    stream: &Arc<CudaStream>,
    a: &impl DevicePtr<T>,
    b: &impl DevicePtr<T>,
) -> Result<T::Output> {
    of::<T>(stream)?.exact_dot(a, b)
}

/// Writes the exact dot product of two slices to the first element of another slice, as
/// [`Reducer::exact_dot_into`] does. Does not wait.
pub fn exact_dot_into<T: ExactElement>(
    stream: &Arc<CudaStream>,
    a: &impl DevicePtr<T>,
    b: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.exact_dot_into(a, b, result)
}

/// Returns the exact sum of the squares of a slice's elements, rounded once. Waits for the result.
pub fn exact_sum_of_squares<T: ExactElement>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
) -> Result<T::Output> {
    exact_dot(stream, slice, slice)
}

/// Returns the square root of the exact sum of the squares of a slice's elements, rounded once, as
/// [`Reducer::exact_norm`] does. Waits for the result.
pub fn exact_norm<T: ExactElement>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
) -> Result<T::Output> {
    of::<T>(stream)?.exact_norm(slice)
}

/// Writes the exact sum of each row of a slice to another slice, as
/// [`Reducer::exact_sum_rows_into`] does. Does not wait.
pub fn exact_sum_rows_into<T: ExactElement>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    rows: Rows,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.exact_sum_rows_into(slice, rows, result)
}

/// Writes the sum of each row of a slice to another slice, as [`Reducer::sum_rows_into`] does. Does
/// not wait.
pub fn sum_rows_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    rows: Rows,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.sum_rows_into(slice, rows, result)
}

pub(crate) fn of<T: Element>(stream: &Arc<CudaStream>) -> Result<Rc<Reducer<T>>> {
    let (context, handle) = (stream.context().cu_ctx() as usize, stream.cu_stream() as usize);
    kept::or_make(Which::Owned(context, handle), || Reducer::new(stream))
}
