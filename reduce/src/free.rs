//! Functions that need no [`Reducer`]: each thread keeps the reducers that these functions use.

use std::{rc::Rc, sync::Arc};

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use crate::{
    Element, ExactElement, ExactProduct, Reducer, Result, Rows,
    kept::{self, Which},
};

/// Returns the sum of a slice, which is 0 for an empty slice. Waits for the result.
pub fn sum<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.sum(slice)
}

/// Returns the smallest element of a slice, ignoring NaNs, as [`Reducer::min`] does. Waits for the result.
pub fn min<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.min(slice)
}

/// Returns the largest element of a slice, ignoring NaNs, as [`Reducer::max`] does. Waits for the result.
pub fn max<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.max(slice)
}

/// Writes the sum of a slice to the first element of another slice, as [`Reducer::sum_into`] does. Does not
/// wait.
pub fn sum_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.sum_into(slice, result)
}

/// Writes the minimum of a slice to the first element of another slice, as [`Reducer::min_into`] does. Does
/// not wait.
pub fn min_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.min_into(slice, result)
}

/// Writes the maximum of a slice to the first element of another slice, as [`Reducer::max_into`] does. Does
/// not wait.
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
pub fn exact_dot<T: ExactProduct>(
    stream: &Arc<CudaStream>,
    a: &impl DevicePtr<T>,
    b: &impl DevicePtr<T>,
) -> Result<f32> {
    of::<T>(stream)?.exact_dot(a, b)
}

/// Writes the exact dot product of two slices to the first element of another slice, as
/// [`Reducer::exact_dot_into`] does. Does not wait.
pub fn exact_dot_into<T: ExactProduct>(
    stream: &Arc<CudaStream>,
    a: &impl DevicePtr<T>,
    b: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<f32>,
) -> Result<()> {
    of::<T>(stream)?.exact_dot_into(a, b, result)
}

/// Returns the exact sum of the squares of a slice's elements, rounded once. Waits for the result.
pub fn exact_sum_of_squares<T: ExactProduct>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
) -> Result<f32> {
    exact_dot(stream, slice, slice)
}

/// The square root of the exact sum of the squares of a slice, rounded once, as [`Reducer::exact_norm`]. Waits for
/// it.
pub fn exact_norm<T: ExactProduct>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
) -> Result<f32> {
    of::<T>(stream)?.exact_norm(slice)
}

/// Writes the exact sum of each row of a slice to another slice, as [`Reducer::exact_sum_rows_into`]. Does not wait.
pub fn exact_sum_rows_into<T: ExactElement>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    rows: Rows,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.exact_sum_rows_into(slice, rows, result)
}

/// Writes the sum of each row of a slice to another slice, as [`Reducer::sum_rows_into`] does. Does not wait.
pub fn sum_rows_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    rows: Rows,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.sum_rows_into(slice, rows, result)
}

fn of<T: Element>(stream: &Arc<CudaStream>) -> Result<Rc<Reducer<T>>> {
    let (context, handle) = (stream.context().cu_ctx() as usize, stream.cu_stream() as usize);
    kept::or_make(Which::Owned(context, handle), || Reducer::new(stream))
}
