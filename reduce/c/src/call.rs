//! The implementation of the C functions, which selects the element type of a call and returns
//! errors.

use std::{ffi::c_void, slice};

use half::{bf16, f16};
use samebits::{Element, Error, Operation, host, on_threads, raw};

/// The elements of a call, as C passes them.
#[derive(Clone, Copy)]
pub(crate) struct Input {
    pub(crate) type_: u32,
    pub(crate) input: *const c_void,
    pub(crate) n: u64,
}

/// The rows of a call, as C passes them.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) rows: u64,
    pub(crate) elements: u64,
    pub(crate) pitch: u64,
}

impl Rows {
    pub(crate) fn checked(self) -> samebits::Rows {
        let rows = samebits::Rows::new(self.rows, self.elements);
        if self.pitch == 0 { rows } else { rows.pitch(self.pitch) }
    }
}

/// An error from the Rust library, or an invalid argument that only a C program can pass.
#[derive(Debug)]
pub(crate) enum Failure {
    Library(Error),
    Argument(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Library(error)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Evaluates an expression in which `$T` is the type with the given number. If the number is not in
/// the list, returns an error with the given message.
macro_rules! with_one_of {
    ([$($known:literal: $type:ty),+], $number:expr, $T:ident, $body:expr, $other:ident => $message:expr) => {
        match $number {
            $($known => {
                type $T = $type;
                $body
            })+
            $other => Err(Failure::Argument($message)),
        }
    };
}
pub(crate) use with_one_of;

macro_rules! with_type {
    ($number:expr, $T:ident, $body:expr) => {
        with_one_of!(
            [
                0: f32, 1: f64, 2: i32, 3: u32, 4: i64, 5: u64, 6: f16, 7: bf16,
                8: i8, 9: u8, 10: i16, 11: u16, 12: bool
            ], $number, $T, $body,
            other => format!("{other} is not a samebits_type: use SAMEBITS_F32 (0) to SAMEBITS_BOOL (12)")
        )
    };
}
pub(crate) use with_type;

pub(crate) unsafe fn wait(
    operation: Operation,
    Input { type_, input, n }: Input,
    result: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_type!(type_, T, {
        // SAFETY: the caller guarantees room for the result.
        let result = unsafe { Place::at(result) }?;
        // SAFETY: guaranteed by the caller.
        let value =
            unsafe { raw::reduce::<T>(raw::Stream::of(stream)?, operation, input as u64, n) }?;
        result.put(value);
        Ok(())
    })
}

pub(crate) unsafe fn leave(
    operation: Operation,
    Input { type_, input, n }: Input,
    output: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_type!(type_, T, {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let stream = raw::Stream::of(stream)?;
            Ok(raw::reduce_into::<T>(stream, operation, input as u64, n, output as u64)?)
        }
    })
}

pub(crate) unsafe fn rows(
    type_: u32,
    input: *const c_void,
    rows: Rows,
    output: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_type!(type_, T, {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let stream = raw::Stream::of(stream)?;
            Ok(raw::sum_rows_into::<T>(stream, input as u64, rows.checked(), output as u64)?)
        }
    })
}

pub(crate) unsafe fn host(
    operation: Operation,
    Input { type_, input, n }: Input,
    result: *mut c_void,
) -> Result<()> {
    with_type!(type_, T, {
        // SAFETY: the caller guarantees room for the result.
        let result = unsafe { Place::at(result) }?;
        // SAFETY: guaranteed by the caller.
        let elements = unsafe { elements::<T>(input, n) }?;
        let value = on_threads(|| host::reduce(elements, operation));
        result.put(value);
        Ok(())
    })
}

pub(crate) unsafe fn host_rows(
    type_: u32,
    input: *const c_void,
    rows: Rows,
    result: *mut c_void,
) -> Result<()> {
    with_type!(type_, T, {
        let n = rows.checked().span().unwrap_or(u64::MAX);
        let result = address::<<T as Element>::Output>("result", result.cast(), rows.rows)?;
        // SAFETY: guaranteed by the caller.
        let elements = unsafe { elements::<T>(input, n) }?;
        let sums = on_threads(|| host::sum_rows(elements, rows.checked()))?;
        // SAFETY: the address is neither null nor misaligned, and has room for as many sums as
        // there are rows.
        unsafe { sums.as_ptr().copy_to_nonoverlapping(result, sums.len()) };
        Ok(())
    })
}

/// Returns the `n` elements at an address in host memory.
///
/// # Safety
/// `input` must point to `n` elements.
pub(crate) unsafe fn elements<'a, T>(input: *const c_void, n: u64) -> Result<&'a [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    let input = address::<T>("input", input.cast_mut().cast(), n)?;
    let size = size_of::<T>() as u64;
    if n > isize::MAX as u64 / size {
        return Err(Failure::Argument(format!(
            "{n} elements of {size} bytes are more than memory can hold: check the length"
        )));
    }
    // SAFETY: the address is neither null nor misaligned, and the caller guarantees `n` elements
    // there.
    Ok(unsafe { slice::from_raw_parts(input, n as usize) })
}

/// The address of one result in host memory, which is neither null nor misaligned.
pub(crate) struct Place<V>(*mut V);

impl<V> Place<V> {
    /// Checks the address.
    ///
    /// # Safety
    /// There must be room for a `V` at `result`.
    pub(crate) unsafe fn at(result: *mut c_void) -> Result<Self> {
        Ok(Self(address("result", result.cast(), 1)?))
    }

    pub(crate) fn put(self, value: V) {
        // SAFETY: `at` has checked the address, and its caller guarantees the room.
        unsafe { self.0.write(value) };
    }
}

/// Checks that a host address is neither null nor misaligned.
pub(crate) fn address<T>(what: &'static str, address: *mut T, n: u64) -> Result<*mut T> {
    if address.is_null() {
        return Err(Failure::Argument(format!(
            "the {what} is a null pointer, but {n} elements are needed: pass the address of host memory"
        )));
    }
    if !address.is_aligned() {
        let size = align_of::<T>() as u64;
        return Err(Error::Misaligned { what, address: address as u64, size }.into());
    }
    Ok(address)
}
