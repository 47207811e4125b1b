//! The implementation of the C functions for exact sums, for every element type.

use std::{ffi::c_void, slice};

use half::{bf16, f16};
use samebits::{Element, ExactAccumulator, host, on_threads, raw};

use crate::call::{Failure, Input, Place, Result, Rows, address, elements, with_one_of};

/// Evaluates an expression in which `$T` is the type with the given number, if that type has exact
/// sums.
macro_rules! with_float {
    ($number:expr, $T:ident, $body:expr) => {
        with_one_of!(
            [0: f32, 1: f64, 6: f16, 7: bf16], $number, $T, $body,
            other => format!(
                "there are no exact sums of samebits_type {other}: use SAMEBITS_F32 (0), SAMEBITS_F64 (1), SAMEBITS_F16 (6) or SAMEBITS_BF16 (7); samebits_sum of integers is exact unless it wraps"
            )
        )
    };
}

pub(crate) unsafe fn wait_exact(
    Input { type_, input, n }: Input,
    result: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: the caller guarantees room for the result.
        let result = unsafe { Place::at(result) }?;
        // SAFETY: guaranteed by the caller.
        let value = unsafe { raw::exact_sum::<T>(raw::Stream::of(stream)?, input as u64, n) }?;
        result.put(value);
        Ok(())
    })
}

pub(crate) unsafe fn leave_exact(
    Input { type_, input, n }: Input,
    output: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let stream = raw::Stream::of(stream)?;
            Ok(raw::exact_sum_into::<T>(stream, input as u64, n, output as u64)?)
        }
    })
}

pub(crate) unsafe fn host_exact(
    Input { type_, input, n }: Input,
    result: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: the caller guarantees room for the result.
        let result = unsafe { Place::at(result) }?;
        // SAFETY: guaranteed by the caller.
        let elements = unsafe { elements::<T>(input, n) }?;
        let value = on_threads(|| host::exact_sum(elements));
        result.put(value);
        Ok(())
    })
}

pub(crate) unsafe fn wait_norm(
    Input { type_, input, n }: Input,
    result: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: the caller guarantees room for the result.
        let result = unsafe { Place::at(result) }?;
        // SAFETY: guaranteed by the caller.
        let squares = unsafe {
            let (stream, input) = (raw::Stream::of(stream)?, input as u64);
            raw::exact_dot_accumulator::<T>(stream, input, input, n)
        }?;
        result.put(squares.round_sqrt());
        Ok(())
    })
}

pub(crate) unsafe fn host_norm(
    Input { type_, input, n }: Input,
    result: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: the caller guarantees room for the result.
        let result = unsafe { Place::at(result) }?;
        // SAFETY: guaranteed by the caller.
        let elements = unsafe { elements::<T>(input, n) }?;
        let value = on_threads(|| host::exact_norm(elements));
        result.put(value);
        Ok(())
    })
}

/// The two inputs of a dot product.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) type_: u32,
    pub(crate) a: *const c_void,
    pub(crate) b: *const c_void,
    pub(crate) n: u64,
}

pub(crate) unsafe fn wait_dot(
    Pair { type_, a, b, n }: Pair,
    result: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: the caller guarantees room for the result.
        let result = unsafe { Place::at(result) }?;
        // SAFETY: guaranteed by the caller.
        let value =
            unsafe { raw::exact_dot::<T>(raw::Stream::of(stream)?, a as u64, b as u64, n) }?;
        result.put(value);
        Ok(())
    })
}

pub(crate) unsafe fn leave_dot(
    Pair { type_, a, b, n }: Pair,
    output: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let stream = raw::Stream::of(stream)?;
            Ok(raw::exact_dot_into::<T>(stream, a as u64, b as u64, n, output as u64)?)
        }
    })
}

pub(crate) unsafe fn host_dot(Pair { type_, a, b, n }: Pair, result: *mut c_void) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: the caller guarantees room for the result.
        let result = unsafe { Place::at(result) }?;
        // SAFETY: guaranteed by the caller.
        let (a, b) = unsafe { (elements::<T>(a, n)?, elements::<T>(b, n)?) };
        let value = on_threads(|| host::exact_dot(a, b))?;
        result.put(value);
        Ok(())
    })
}

pub(crate) unsafe fn rows(
    type_: u32,
    input: *const c_void,
    rows: Rows,
    output: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let stream = raw::Stream::of(stream)?;
            Ok(raw::exact_sum_rows_into::<T>(stream, input as u64, rows.checked(), output as u64)?)
        }
    })
}

/// Changes an accumulator of elements of type `$T`, whose bytes are at an address. If the change
/// fails, the bytes are not changed.
macro_rules! change {
    ($at:expr, $T:ident, |$sum:ident| $body:expr) => {{
        type Sum = ExactAccumulator<<$T as Element>::Output>;
        let at = address::<u8>("accumulator", $at.cast(), Sum::BYTES as u64)?;
        // SAFETY: the address is not null, and the caller guarantees that many bytes.
        let bytes = unsafe { slice::from_raw_parts_mut(at, Sum::BYTES) };
        let mut $sum = Sum::from_bytes(bytes)?;
        $body;
        bytes.copy_from_slice(&$sum.to_bytes());
        Ok(())
    }};
}

pub(crate) unsafe fn begin(type_: u32, accumulator: *mut c_void) -> Result<()> {
    with_float!(type_, T, {
        let sum = ExactAccumulator::<<T as Element>::Output>::new().to_bytes();
        let at = address::<u8>("accumulator", accumulator.cast(), sum.len() as u64)?;
        // SAFETY: the address is not null, and the caller guarantees that many bytes.
        unsafe { sum.as_ptr().copy_to_nonoverlapping(at, sum.len()) };
        Ok(())
    })
}

pub(crate) unsafe fn add(Input { type_, input, n }: Input, accumulator: *mut c_void) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: guaranteed by the caller.
        let elements = unsafe { elements::<T>(input, n) }?;
        change!(accumulator, T, |sum| sum.add(elements))
    })
}

pub(crate) unsafe fn add_products(
    Pair { type_, a, b, n }: Pair,
    accumulator: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: guaranteed by the caller.
        let (a, b) = unsafe { (elements::<T>(a, n)?, elements::<T>(b, n)?) };
        change!(accumulator, T, |sum| sum.add_products(a, b)?)
    })
}

pub(crate) unsafe fn add_device(
    Input { type_, input, n }: Input,
    accumulator: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        change!(accumulator, T, |sum| {
            // SAFETY: guaranteed by the caller.
            let other =
                unsafe { raw::exact_accumulator::<T>(raw::Stream::of(stream)?, input as u64, n) }?;
            sum.merge(&other)?;
        })
    })
}

pub(crate) unsafe fn add_products_device(
    Pair { type_, a, b, n }: Pair,
    accumulator: *mut c_void,
    stream: *mut c_void,
) -> Result<()> {
    with_float!(type_, T, {
        change!(accumulator, T, |sum| {
            // SAFETY: guaranteed by the caller.
            let other = unsafe {
                let stream = raw::Stream::of(stream)?;
                raw::exact_dot_accumulator::<T>(stream, a as u64, b as u64, n)
            }?;
            sum.merge(&other)?;
        })
    })
}

pub(crate) unsafe fn merge(
    type_: u32,
    accumulator: *mut c_void,
    other: *const c_void,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: guaranteed by the caller.
        let other = unsafe { accumulator_at::<T>(other) }?;
        change!(accumulator, T, |sum| sum.merge(&other)?)
    })
}

pub(crate) unsafe fn round(
    type_: u32,
    accumulator: *const c_void,
    result: *mut c_void,
    root: bool,
) -> Result<()> {
    with_float!(type_, T, {
        // SAFETY: the caller guarantees room for the result.
        let result = unsafe { Place::at(result) }?;
        // SAFETY: guaranteed by the caller.
        let sum = unsafe { accumulator_at::<T>(accumulator) }?;
        let rounded = if root { sum.round_sqrt() } else { sum.round() };
        result.put(rounded);
        Ok(())
    })
}

/// Returns the accumulator whose bytes are at an address.
///
/// # Safety
/// There must be as many bytes at the address as an accumulator for elements of type `T` has.
unsafe fn accumulator_at<T: samebits::ExactElement>(
    at: *const c_void,
) -> Result<ExactAccumulator<T::Output>> {
    let length = ExactAccumulator::<T::Output>::BYTES;
    let at = address::<u8>("accumulator", at.cast_mut().cast(), length as u64)?;
    // SAFETY: the address is not null, and the caller guarantees that many bytes.
    Ok(ExactAccumulator::from_bytes(unsafe { slice::from_raw_parts(at, length) })?)
}
