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
//! Addresses, lengths and streams are numbers and pointers, not types from cudarc. A call leaves
//! the current context unchanged. Each thread keeps memory for the last [`KEPT`](crate::KEPT) pairs
//! of a stream and a type; [`close`](crate::close) frees it.
#![expect(unsafe_code, reason = "callers guarantee the memory at an address")]

use std::rc::Rc;

pub use crate::cuda::{Mark, Memory, Stream};
use crate::{
    Element, Error, ExactAccumulator, ExactElement, ExactProduct, Operation, Result, Rows,
    cuda::{Address, Queue},
    engine::Engine,
    kept::{self, Which},
};

/// Returns the result over the `n` elements at an address. Waits for the result.
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
    // SAFETY: guaranteed by the caller.
    let input = unsafe { Address::promised::<T>("input", input, n) }?;
    kept::<T>(stream)?.wait(operation, input)
}

/// Writes the result over the `n` elements at one address to another. Does not wait, and can be
/// captured into a graph.
///
/// # Errors
/// An address is null or misaligned, there are too many elements, or a call to the driver failed.
///
/// # Safety
/// There must be `n` elements at `input` and room for one [`Element::Output`] at `output`, in memory that the
/// stream's device can read and write, until the stream has passed this point.
pub unsafe fn reduce_into<T: Element>(
    stream: Stream,
    operation: Operation,
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
    of::<T>(stream)?.leave(operation, input, output)
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
    kept::<T>(stream)?.wait_exact(input)
}

/// Writes the exact sum of the `n` elements at one address, rounded once, to another. Does not
/// wait, and can be captured into a graph.
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

/// Writes the exact sum of `n` elements as [`ExactAccumulator::WORDS`](crate::ExactAccumulator::WORDS) words of 64 bits to another address,
/// for an exchange between devices: the words of all devices, added as integers, are those of all elements. Does not
/// wait, and can be captured into a graph.
///
/// # Errors
/// Those of [`reduce_into`].
///
/// # Safety
/// Those of [`reduce_into`], with room for the words at `output`.
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

/// Writes the exact sum of each row, rounded once, to consecutive elements at another address. Does not wait, and can
/// be captured into a graph.
///
/// # Errors
/// Those of [`sum_rows_into`].
///
/// # Safety
/// Those of [`sum_rows_into`].
pub unsafe fn exact_sum_rows_into<T: ExactElement>(
    stream: Stream,
    input: u64,
    rows: Rows,
    output: u64,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe { addresses_of_rows::<T>(input, rows, output) }?;
    of::<T>(stream)?.exact_rows(input, rows, output)
}

/// Returns the exact dot product of the `n` elements at each of two addresses, rounded once. Waits for it.
///
/// # Errors
/// Those of [`reduce`].
///
/// # Safety
/// Those of [`reduce`], for both addresses.
pub unsafe fn exact_dot<T: ExactProduct>(stream: Stream, a: u64, b: u64, n: u64) -> Result<f32> {
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
    kept::<T>(stream)?.wait_dot(a, b)
}

/// Writes the exact dot product of the `n` elements at each of two addresses, rounded once, to a third. Does not wait,
/// and can be captured into a graph.
///
/// # Errors
/// Those of [`reduce_into`].
///
/// # Safety
/// Those of [`reduce_into`], for both inputs.
pub unsafe fn exact_dot_into<T: ExactProduct>(
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
            Address::promised::<f32>("output", output, 1)?,
        )
    };
    of::<T>(stream)?.leave_dot(a, b, output)
}

/// Writes the sums of rows to consecutive elements at another address. Does not wait, and can be captured into a
/// graph.
///
/// # Errors
/// The same errors as for [`reduce_into`]. It is also an error if there are no rows, or if the rows
/// overlap, have no elements or have too many.
///
/// # Safety
/// The rows must be at `input`, and `output` must have room for an [`Element::Output`] for each
/// row. The requirements for the memory are those of [`reduce_into`].
pub unsafe fn sum_rows_into<T: Element>(
    stream: Stream,
    input: u64,
    rows: Rows,
    output: u64,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let (input, output) = unsafe { addresses_of_rows::<T>(input, rows, output) }?;
    of::<T>(stream)?.sum_rows(input, rows, output)
}

/// Checks rows, and returns the addresses of their elements and sums.
///
/// # Safety
/// Those of [`sum_rows_into`].
unsafe fn addresses_of_rows<'m, T: Element>(
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
            Address::promised::<T::Output>("output", output, count)?,
        ))
    }
}

/// Returns the thread's reducer for a stream. While the stream is being captured, returns a new
/// reducer, because the graph owns the memory of captured work.
fn of<T: Element>(stream: Stream) -> Result<Rc<Engine<T>>> {
    if stream.is_capturing()? {
        return Ok(Rc::new(Engine::new(Queue { stream, owner: None })));
    }
    kept(stream)
}

fn kept<T: Element>(stream: Stream) -> Result<Rc<Engine<T>>> {
    let _bound = stream.bind()?;
    let which = Which::Numbered(stream.id()?);
    kept::or_make(which, || Ok(Engine::new(Queue { stream, owner: None })))
}
