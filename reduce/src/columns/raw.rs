//! Reductions of columns of elements at an address.
#![expect(unsafe_code, reason = "callers guarantee the memory at an address")]

use super::layout::Columns;
use crate::{
    Element, Operation, Result,
    cuda::{Address, Stream},
    element::{Itself, Read},
    kept::of,
};

/// Writes the result of an operation for each column to consecutive elements at another address.
/// Does not wait, and can be captured into a graph.
///
/// # Errors
/// The same errors as for [`reduce_into`](crate::raw::reduce_into), or the columns overlap or have
/// too many elements.
///
/// # Safety
/// The columns must be at `input`, and `output` must have room for an [`Element::Output`] for each
/// column. The requirements for the memory are those of [`reduce_into`](crate::raw::reduce_into).
pub unsafe fn reduce_columns_into<T: Element>(
    stream: Stream,
    operation: Operation,
    input: u64,
    columns: Columns,
    output: u64,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { read_columns_into::<T, Itself>(stream, operation, input, columns, output) }
}

/// Like [`reduce_columns_into`], for elements that are converted as `W` specifies.
///
/// # Errors
/// The same errors as for [`reduce_columns_into`].
///
/// # Safety
/// The requirements are those of [`reduce_columns_into`]; `output` must have room for values of the
/// type to which `W` converts.
#[doc(hidden)]
pub unsafe fn read_columns_into<T: Element + Read<W>, W>(
    stream: Stream,
    operation: Operation,
    input: u64,
    columns: Columns,
    output: u64,
) -> Result<()> {
    operation.check::<T>()?;
    let results = columns.results();
    let all = columns.check(u64::MAX, results)?;
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe {
        (
            Address::promised::<T>("input", input, all)?,
            Address::promised::<<T as Read<W>>::Value>("output", output, results)?,
        )
    };
    let engine = of::<T>(stream)?;
    let _bound = stream.bind()?;
    engine.reduce_columns::<W>(operation, input, columns, output)
}
