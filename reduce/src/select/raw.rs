//! Searches for indices and extremes among elements at an address.
#![expect(unsafe_code, reason = "callers guarantee the memory at an address")]

use super::{check, launch::Sought};
use crate::{
    Element, Error, Operation, Result, Rows,
    cuda::{Address, Stream},
    kept::of,
};

/// Writes the smallest or the largest element of each row, or its largest magnitude, and the lowest
/// index of an element with this value, to consecutive elements at two addresses. If `values` is
/// null, only the indices are written. Does not wait, and can be captured into a graph.
///
/// # Errors
/// The operation is not one of these three, or one of the errors of
/// [`reduce_rows_into`](crate::raw::reduce_rows_into) occurs.
///
/// # Safety
/// The rows must be at `input`; `values`, unless it is null, must have room for an
/// [`Element::Output`] for each row, and `indices` must have room for a `u64` for each row. The
/// requirements for the memory are those of [`reduce_into`](crate::raw::reduce_into).
pub unsafe fn find_rows_into<T: Element>(
    stream: Stream,
    operation: Operation,
    input: u64,
    rows: Rows,
    values: u64,
    indices: u64,
) -> Result<()> {
    check::<T>(operation)?;
    if rows.numbers().1 == 0 {
        return Err(Error::NoElements);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { into::<T, u64>(stream, Sought::Index(operation), input, rows, [values, indices]) }
}

/// Writes the minimum and the maximum of each row to consecutive elements at two addresses. A
/// single row may be empty. Does not wait, and can be captured into a graph.
///
/// # Errors
/// The same errors as for [`reduce_rows_into`](crate::raw::reduce_rows_into).
///
/// # Safety
/// The rows must be at `input`; `minima`, unless it is null, and `maxima` must have room for an
/// [`Element::Output`] for each row. The requirements for the memory are those of
/// [`reduce_into`](crate::raw::reduce_into).
pub unsafe fn min_max_rows_into<T: Element>(
    stream: Stream,
    input: u64,
    rows: Rows,
    minima: u64,
    maxima: u64,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { into::<T, T::Output>(stream, Sought::Extremes, input, rows, [minima, maxima]) }
}

unsafe fn into<T: Element, B>(
    stream: Stream,
    sought: Sought,
    input: u64,
    rows: Rows,
    [first, second]: [u64; 2],
) -> Result<()> {
    let (count, elements, _) = rows.numbers();
    let all = if (count, elements) == (1, 0) { 0 } else { rows.check(u64::MAX, count)? };
    // SAFETY: guaranteed by the caller.
    let (input, first, second) = unsafe {
        let first = (first != 0).then(|| Address::promised::<T::Output>("output", first, count));
        (
            Address::promised::<T>("input", input, all)?,
            first.transpose()?,
            Address::promised::<B>("second output", second, count)?,
        )
    };
    let engine = of::<T>(stream)?;
    let _bound = stream.bind()?;
    engine.select(sought, input, rows, [first, Some(second)], 0)
}
