//! Reductions of rows on the CPU. Each row is reduced like a slice.

use super::layout::Rows;
use crate::{
    Element, Operation, Result,
    element::{Itself, Read},
    fold,
    threads::each_row,
};

/// Returns the sum of each row of a slice. The sums are bit-identical to those on the GPU.
///
/// # Errors
/// The same errors as for [`reduce_rows`].
pub fn sum_rows<T: Element>(slice: &[T], rows: Rows) -> Result<Vec<T::Output>> {
    reduce_rows(slice, Operation::Sum, rows)
}

/// Returns the result of an operation for each row of a slice. The results are bit-identical to
/// those on the GPU.
///
/// # Errors
/// The operation is not defined for the element type, there are no rows, or the rows overlap,
/// extend beyond the slice, or have no elements or too many.
pub fn reduce_rows<T: Element>(
    slice: &[T],
    operation: Operation,
    rows: Rows,
) -> Result<Vec<T::Output>> {
    read_rows::<T, Itself>(slice, operation, rows)
}

/// Returns the result of an operation for each row, whose elements are converted as `W` specifies.
///
/// # Errors
/// The same errors as for [`reduce_rows`].
#[doc(hidden)]
pub fn read_rows<T: Element + Read<W>, W>(
    slice: &[T],
    operation: Operation,
    rows: Rows,
) -> Result<Vec<<T as Read<W>>::Value>> {
    operation.check::<T>()?;
    each_row(slice, rows, 64, |row| fold::result_of::<T, W>(row, operation))
}
