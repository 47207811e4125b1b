//! Reductions of columns on the CPU. Each column is copied, and then reduced like a slice.

use super::layout::Columns;
use crate::{
    Element, Operation, Result,
    element::{Itself, Read},
    fold,
    threads::each,
};

/// Returns the result of an operation for each column. The results are bit-identical to those on
/// the GPU, and to those of slices with the elements of the columns.
///
/// # Errors
/// The operation is not defined for the element type, the columns have too many elements, or they
/// extend beyond the slice.
pub fn reduce_columns<T: Element>(
    slice: &[T],
    operation: Operation,
    columns: Columns,
) -> Result<Vec<T::Output>> {
    read_columns::<T, Itself>(slice, operation, columns)
}

/// Returns the result of an operation for each column of elements that are converted as `W`
/// specifies.
///
/// # Errors
/// The same errors as for [`reduce_columns`].
#[doc(hidden)]
pub fn read_columns<T: Element + Read<W>, W>(
    slice: &[T],
    operation: Operation,
    columns: Columns,
) -> Result<Vec<<T as Read<W>>::Value>> {
    operation.check::<T>()?;
    columns.check(slice.len() as u64, u64::MAX)?;
    let Columns { rows, inner, pitch, apart, .. } = columns;
    let column = |index: usize| {
        let index = index as u64;
        let first = index / inner * apart + index % inner;
        let elements: Vec<T> = (0..rows).map(|row| slice[(first + row * pitch) as usize]).collect();
        fold::result_of::<T, W>(&elements, operation)
    };
    Ok(each(columns.results() as usize, 16, column))
}
