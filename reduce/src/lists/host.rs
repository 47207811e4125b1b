//! Lists and ragged rows on the CPU.

use crate::{
    Element, Error, Operation, Result,
    element::{Itself, Read},
    fold,
    threads::each,
};

/// Returns the result of an operation for each slice of a list, and for all slices together. The
/// result of a slice is bit-identical to that of [`reduce`](crate::host::reduce). Slice values are
/// combined in the same way as the chunk values of a single slice.
///
/// # Errors
/// The operation is not defined for the element type, or there are no slices.
pub fn reduce_list<T: Element>(
    slices: &[&[T]],
    operation: Operation,
) -> Result<(Vec<T::Output>, T::Output)> {
    read_list::<T, Itself>(slices, operation)
}

/// Like [`reduce_list`], for elements that are converted as `W` specifies.
///
/// # Errors
/// The same errors as for [`reduce_list`].
#[doc(hidden)]
#[expect(clippy::type_complexity, reason = "the way determines the type")]
pub fn read_list<T: Element + Read<W>, W>(
    slices: &[&[T]],
    operation: Operation,
) -> Result<(Vec<<T as Read<W>>::Value>, <T as Read<W>>::Value)> {
    operation.check::<T>()?;
    if slices.is_empty() {
        return Err(Error::NoSlices);
    }
    let values = each(slices.len(), 1, |index| fold::value_of::<T, W>(slices[index], operation));
    let lengths: Vec<usize> = slices.iter().map(|slice| slice.len()).collect();
    Ok(fold::results_of::<T, W>(&values, &lengths, operation))
}

/// Returns the result of an operation for each ragged row. Row r has elements `offsets[r]` to
/// `offsets[r + 1]` - 1. The results are bit-identical to those on the GPU, and to those of slices
/// with the same elements.
///
/// # Errors
/// The operation is not defined for the element type, there are no offsets, or a row ends before it
/// begins or after the end of the slice.
pub fn reduce_ragged<T: Element>(
    slice: &[T],
    operation: Operation,
    offsets: &[u64],
) -> Result<Vec<T::Output>> {
    read_ragged::<T, Itself>(slice, operation, offsets)
}

/// Like [`reduce_ragged`], for elements that are converted as `W` specifies.
///
/// # Errors
/// The same errors as for [`reduce_ragged`].
#[doc(hidden)]
pub fn read_ragged<T: Element + Read<W>, W>(
    slice: &[T],
    operation: Operation,
    offsets: &[u64],
) -> Result<Vec<<T as Read<W>>::Value>> {
    operation.check::<T>()?;
    if offsets.is_empty() {
        return Err(Error::NoOffsets);
    }
    let ends = offsets.windows(2);
    let (len, bad) =
        (slice.len() as u64, |ends: &[u64]| ends[1] < ends[0] || ends[1] > slice.len() as u64);
    if let Some(row) = ends.clone().position(bad) {
        return Err(Error::Offsets {
            row: row as u64,
            begin: offsets[row],
            end: offsets[row + 1],
            len,
        });
    }
    let row = |row: usize| {
        let row = &slice[offsets[row] as usize..offsets[row + 1] as usize];
        fold::result_of::<T, W>(row, operation)
    };
    Ok(each(offsets.len() - 1, 64, row))
}
