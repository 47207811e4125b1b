//! Reductions of elements at a device address, on a stream from any framework. This module is for
//! adapters.
//!
//! ```no_run
//! use samebits::{Operation, raw};
//!
//! /// Writes the sum of `n` floats at `input` to `output`, both on the device of `stream`.
//! fn sum(input: u64, n: u64, output: u64, stream: *mut std::ffi::c_void) -> samebits::Result<()> {
//!     // SAFETY: the framework keeps the memory and the stream until the work is done.
//!     unsafe {
//!         let stream = raw::Stream::of(stream)?;
//!         raw::reduce_into::<f32>(stream, Operation::Sum, input, n, output)
//!     }
//! }
//! ```
//!
//! Addresses and lengths are numbers, and streams are pointers; none of them are types from cudarc.
//! A call leaves the current context unchanged. Each thread keeps memory for the last
//! [`KEPT`](crate::KEPT) pairs of a stream and a type; [`close`](crate::close) frees it.
#![expect(unsafe_code, reason = "callers guarantee the memory at an address")]

pub use crate::columns::raw::{read_columns_into, reduce_columns_into};
pub use crate::cuda::{Mark, Memory, Stream, device_of};
pub use crate::dot::raw::{dot_into, host_dot};
pub use crate::lists::raw::{List, Offsets, reduce_list_into, reduce_ragged_into};
pub use crate::moments::raw_moments_rows_into as moments_rows_into;
pub use crate::select::raw::{find_rows_into, min_max_rows_into};
use crate::{
    Element, Error, ExactAccumulator, ExactElement, Operation, Result, Rows,
    cuda::Address,
    element::{Itself, Read, Truth, Wide, WideElement},
    kept::{numbered, of},
};

/// Returns the result of an operation over the `n` elements at an address. Waits for the result.
///
/// # Errors
/// The stream is being captured, or one of the errors of [`reduce_into`] occurs.
///
/// # Safety
/// There must be `n` elements at `input`, in memory that the stream's device can read.
pub unsafe fn reduce<T: Element>(
    stream: Stream,
    operation: Operation,
    input: u64,
    n: u64,
) -> Result<T::Output> {
    if stream.is_capturing()? {
        return Err(Error::Capturing);
    }
    operation.check::<T>()?;
    // SAFETY: guaranteed by the caller.
    let input = unsafe { Address::promised::<T>("input", input, n) }?;
    numbered::<T>(stream)?.wait::<Itself>(operation, input)
}

/// Writes the result of an operation over the `n` elements at `input` to `output`. Does not wait,
/// and can be captured into a graph.
///
/// # Errors
/// The operation is not defined for the element type, an address is null or misaligned, there are
/// too many elements, or a call to the driver failed.
///
/// # Safety
/// There must be `n` elements at `input` and room for one [`Element::Output`] at `output`, in
/// memory that the stream's device can read and write, until the stream has passed this point.
pub unsafe fn reduce_into<T: Element>(
    stream: Stream,
    operation: Operation,
    input: u64,
    n: u64,
    output: u64,
) -> Result<()> {
    operation.check::<T>()?;
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe {
        (
            Address::promised::<T>("input", input, n)?,
            Address::promised::<T::Output>("output", output, 1)?,
        )
    };
    of::<T>(stream)?.leave::<Itself>(operation, input, output)
}

/// Returns the result of an operation over elements that are combined in a type of twice the size.
/// Waits for the result.
///
/// # Errors
/// The same errors as for [`reduce`].
///
/// # Safety
/// The requirements are those of [`reduce`].
pub unsafe fn reduce_wide<T: WideElement>(
    stream: Stream,
    operation: Operation,
    input: u64,
    n: u64,
) -> Result<T::Wider> {
    if stream.is_capturing()? {
        return Err(Error::Capturing);
    }
    operation.check::<T>()?;
    // SAFETY: guaranteed by the caller.
    let input = unsafe { Address::promised::<T>("input", input, n) }?;
    numbered::<T>(stream)?.wait::<Wide>(operation, input)
}

/// Writes the result of [`reduce_wide`] to another address. Does not wait, and can be captured into
/// a graph.
///
/// # Errors
/// The same errors as for [`reduce_into`].
///
/// # Safety
/// The requirements are those of [`reduce_into`]; `output` must have room for one
/// [`WideElement::Wider`].
pub unsafe fn reduce_wide_into<T: WideElement>(
    stream: Stream,
    operation: Operation,
    input: u64,
    n: u64,
    output: u64,
) -> Result<()> {
    operation.check::<T>()?;
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe {
        (
            Address::promised::<T>("input", input, n)?,
            Address::promised::<T::Wider>("output", output, 1)?,
        )
    };
    of::<T>(stream)?.leave::<Wide>(operation, input, output)
}

/// Returns the sum, the maximum or the minimum of elements that are read as 1 if they are not zero,
/// and otherwise as 0. The sum is the number of nonzero elements, the maximum is 1 if any element
/// is nonzero, and the minimum is 1 if every element is nonzero. Waits for the result.
///
/// # Errors
/// The operation is not one of these three, or one of the errors of [`reduce`] occurs.
///
/// # Safety
/// The requirements are those of [`reduce`].
pub unsafe fn reduce_truth<T: Element>(
    stream: Stream,
    operation: Operation,
    input: u64,
    n: u64,
) -> Result<i64> {
    if stream.is_capturing()? {
        return Err(Error::Capturing);
    }
    operation.check_truth()?;
    // SAFETY: guaranteed by the caller.
    let input = unsafe { Address::promised::<T>("input", input, n) }?;
    numbered::<T>(stream)?.wait::<Truth>(operation, input)
}

/// Writes the result of [`reduce_truth`] to another address. Does not wait, and can be captured
/// into a graph.
///
/// # Errors
/// The same errors as for [`reduce_truth`] and [`reduce_into`].
///
/// # Safety
/// The requirements are those of [`reduce_into`]; `output` must have room for an `i64`.
pub unsafe fn reduce_truth_into<T: Element>(
    stream: Stream,
    operation: Operation,
    input: u64,
    n: u64,
    output: u64,
) -> Result<()> {
    operation.check_truth()?;
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe {
        (Address::promised::<T>("input", input, n)?, Address::promised::<i64>("output", output, 1)?)
    };
    of::<T>(stream)?.leave::<Truth>(operation, input, output)
}

/// Returns the exact sum of the `n` elements at an address, rounded once. Waits for the result.
///
/// # Errors
/// The same errors as for [`reduce`].
///
/// # Safety
/// The requirements are those of [`reduce`].
pub unsafe fn exact_sum<T: ExactElement>(stream: Stream, input: u64, n: u64) -> Result<T::Output> {
    if stream.is_capturing()? {
        return Err(Error::Capturing);
    }
    // SAFETY: guaranteed by the caller.
    let input = unsafe { Address::promised::<T>("input", input, n) }?;
    numbered::<T>(stream)?.wait_exact(input)
}

/// Writes the exact sum of the `n` elements at `input`, rounded once, to `output`. Does not wait,
/// and can be captured into a graph.
///
/// # Errors
/// The same errors as for [`reduce_into`].
///
/// # Safety
/// The requirements are those of [`reduce_into`].
pub unsafe fn exact_sum_into<T: ExactElement>(
    stream: Stream,
    input: u64,
    n: u64,
    output: u64,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe {
        (
            Address::promised::<T>("input", input, n)?,
            Address::promised::<T::Output>("output", output, 1)?,
        )
    };
    of::<T>(stream)?.leave_exact(input, output)
}

/// Writes the exact sum of `n` elements to another address, as
/// [`ExactAccumulator::WORDS`](crate::ExactAccumulator::WORDS) words of 64 bits. Adding the words
/// of several devices as integers gives the words for all their elements. Does not wait, and can be
/// captured into a graph.
///
/// # Errors
/// The same errors as for [`reduce_into`].
///
/// # Safety
/// The requirements are those of [`reduce_into`]; `output` must have room for the words.
pub unsafe fn exact_words_into<T: ExactElement>(
    stream: Stream,
    input: u64,
    n: u64,
    output: u64,
) -> Result<()> {
    let words = ExactAccumulator::<T::Output>::WORDS as u64;
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe {
        (
            Address::promised::<T>("input", input, n)?,
            Address::promised::<u64>("output", output, words)?,
        )
    };
    of::<T>(stream)?.leave_raw(input, output)
}

/// Returns an accumulator of the `n` elements at an address. Waits for the result.
///
/// # Errors
/// The same errors as for [`reduce`].
///
/// # Safety
/// The requirements are those of [`reduce`].
pub unsafe fn exact_accumulator<T: ExactElement>(
    stream: Stream,
    input: u64,
    n: u64,
) -> Result<ExactAccumulator<T::Output>> {
    if stream.is_capturing()? {
        return Err(Error::Capturing);
    }
    // SAFETY: guaranteed by the caller.
    let input = unsafe { Address::promised::<T>("input", input, n) }?;
    numbered::<T>(stream)?.wait_accumulator(input)
}

/// Returns an accumulator of the products of the `n` elements at each of two addresses. Waits for
/// the result.
///
/// # Errors
/// The same errors as for [`reduce`].
///
/// # Safety
/// The requirements are those of [`reduce`], for both addresses.
pub unsafe fn exact_dot_accumulator<T: ExactElement>(
    stream: Stream,
    a: u64,
    b: u64,
    n: u64,
) -> Result<ExactAccumulator<T::Output>> {
    if stream.is_capturing()? {
        return Err(Error::Capturing);
    }
    // SAFETY: guaranteed by the caller.
    let (a, b) = unsafe {
        (
            Address::promised::<T>("first input", a, n)?,
            Address::promised::<T>("second input", b, n)?,
        )
    };
    numbered::<T>(stream)?.wait_dot_accumulator(a, b)
}

/// Writes the exact sum of each row, rounded once, to consecutive elements at another address. Does
/// not wait, and can be captured into a graph.
///
/// # Errors
/// The same errors as for [`sum_rows_into`].
///
/// # Safety
/// The requirements are those of [`sum_rows_into`].
pub unsafe fn exact_sum_rows_into<T: ExactElement>(
    stream: Stream,
    input: u64,
    rows: Rows,
    output: u64,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe { addresses_of_rows::<T, T::Output>(input, rows, output) }?;
    of::<T>(stream)?.exact_rows(input, rows, output)
}

/// Returns the exact dot product of the `n` elements at each of two addresses, rounded once. Waits
/// for the result.
///
/// # Errors
/// The same errors as for [`reduce`].
///
/// # Safety
/// The requirements are those of [`reduce`], for both addresses.
pub unsafe fn exact_dot<T: ExactElement>(
    stream: Stream,
    a: u64,
    b: u64,
    n: u64,
) -> Result<T::Output> {
    if stream.is_capturing()? {
        return Err(Error::Capturing);
    }
    // SAFETY: guaranteed by the caller.
    let (a, b) = unsafe {
        (
            Address::promised::<T>("first input", a, n)?,
            Address::promised::<T>("second input", b, n)?,
        )
    };
    numbered::<T>(stream)?.wait_dot(a, b)
}

/// Writes the exact dot product of the `n` elements at each of two addresses, rounded once, to a
/// third address. Does not wait, and can be captured into a graph.
///
/// # Errors
/// The same errors as for [`reduce_into`].
///
/// # Safety
/// The requirements are those of [`reduce_into`], for both inputs.
pub unsafe fn exact_dot_into<T: ExactElement>(
    stream: Stream,
    a: u64,
    b: u64,
    n: u64,
    output: u64,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let (a, b, output) = unsafe {
        (
            Address::promised::<T>("first input", a, n)?,
            Address::promised::<T>("second input", b, n)?,
            Address::promised::<T::Output>("output", output, 1)?,
        )
    };
    of::<T>(stream)?.leave_dot(a, b, output)
}

/// Writes the sums of rows to consecutive elements at another address, as [`reduce_rows_into`]
/// does.
///
/// # Errors
/// The same errors as for [`reduce_rows_into`].
///
/// # Safety
/// The requirements are those of [`reduce_rows_into`].
pub unsafe fn sum_rows_into<T: Element>(
    stream: Stream,
    input: u64,
    rows: Rows,
    output: u64,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { reduce_rows_into::<T>(stream, Operation::Sum, input, rows, output) }
}

/// Writes the result of an operation for each row to consecutive elements at another address. Does
/// not wait, and can be captured into a graph.
///
/// # Errors
/// The same errors as for [`reduce_into`]. It is also an error if there are no rows, or if the rows
/// overlap, have no elements or have too many.
///
/// # Safety
/// The rows must be at `input`, and `output` must have room for an [`Element::Output`] for each
/// row. The requirements for the memory are those of [`reduce_into`].
pub unsafe fn reduce_rows_into<T: Element>(
    stream: Stream,
    operation: Operation,
    input: u64,
    rows: Rows,
    output: u64,
) -> Result<()> {
    operation.check::<T>()?;
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe { addresses_of_rows::<T, T::Output>(input, rows, output) }?;
    of::<T>(stream)?.reduce_rows::<Itself>(operation, input, rows, output)
}

/// Writes the log-sum-exp of each row to consecutive elements at another address, as
/// [`Reducer::log_sum_exp_rows_into`](crate::Reducer::log_sum_exp_rows_into) does. Does not wait,
/// and can be captured into a graph.
///
/// # Errors
/// The elements are not floats, or one of the errors of [`reduce_rows_into`] occurs.
///
/// # Safety
/// The requirements are those of [`reduce_rows_into`].
pub unsafe fn log_sum_exp_rows_into<T: Element>(
    stream: Stream,
    input: u64,
    rows: Rows,
    output: u64,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe { addresses_of_rows::<T, T::Output>(input, rows, output) }?;
    of::<T>(stream)?.log_sum_exp(input, rows, output)
}

/// Checks rows, and returns the addresses of their elements and sums.
///
/// # Safety
/// The requirements are those of [`reduce_rows_into`].
unsafe fn addresses_of_rows<'m, T: Element, A>(
    input: u64,
    rows: Rows,
    output: u64,
) -> Result<(Address<'m>, Address<'m>)> {
    let (count, ..) = rows.numbers();
    let all = rows.check(u64::MAX, count)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        Ok((
            Address::promised::<T>("input", input, all)?,
            Address::promised::<A>("output", output, count)?,
        ))
    }
}

/// Like [`reduce_into`], for elements that are converted as `W` specifies.
///
/// # Errors
/// The same errors as for [`reduce_into`].
///
/// # Safety
/// The requirements are those of [`reduce_into`]; `output` must have room for one value of the type
/// to which `W` converts.
#[doc(hidden)]
pub unsafe fn read_into<T: Element + Read<W>, W>(
    stream: Stream,
    operation: Operation,
    input: u64,
    n: u64,
    output: u64,
) -> Result<()> {
    operation.check::<T>()?;
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe {
        (
            Address::promised::<T>("input", input, n)?,
            Address::promised::<<T as Read<W>>::Value>("output", output, 1)?,
        )
    };
    of::<T>(stream)?.leave::<W>(operation, input, output)
}

/// Like [`reduce_rows_into`], for elements that are converted as `W` specifies.
///
/// # Errors
/// The same errors as for [`reduce_rows_into`].
///
/// # Safety
/// The requirements are those of [`reduce_rows_into`]; `output` must have room for values of the
/// type to which `W` converts.
#[doc(hidden)]
pub unsafe fn read_rows_into<T: Element + Read<W>, W>(
    stream: Stream,
    operation: Operation,
    input: u64,
    rows: Rows,
    output: u64,
) -> Result<()> {
    operation.check::<T>()?;
    // SAFETY: guaranteed by the caller.
    let (input, output) =
        unsafe { addresses_of_rows::<T, <T as Read<W>>::Value>(input, rows, output) }?;
    of::<T>(stream)?.reduce_rows::<W>(operation, input, rows, output)
}
