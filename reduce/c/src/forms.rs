//! The C functions for indices, for both extremes in one pass, and for dot products.
#![expect(unsafe_code, reason = "C passes addresses and calls functions by their names")]

use std::ffi::c_void;

use half::{bf16, f16};
use samebits::{Element, Found, Itself, Operation, Read, Wide, host, on_threads, raw};

use crate::{
    call::{Failure, Place, Rows, address, elements, with_one_of, with_type},
    operations::{SAMEBITS_WIDE, operation, samebits_operation},
    samebits_status,
    status::checked,
};

/// Writes the smallest or largest element of each of `rows` rows, and the lowest index of an
/// element with this value, to consecutive elements of device memory at `values` and `indices`. The
/// operation is SAMEBITS_MIN, SAMEBITS_MAX or SAMEBITS_LARGEST_MAGNITUDE. The indices are uint64_t;
/// `values` may be null. NaNs are ignored; if all elements of a row are NaN, the index is 0. A
/// `pitch` of 0 means contiguous rows. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_find_rows_into(
    operation: u32,
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    values: *mut c_void,
    indices: *mut u64,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        let sought = plain(operation)?;
        let rows = Rows { rows, elements, pitch }.checked();
        with_type!(type_, T, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let stream = raw::Stream::of(stream)?;
                let (values, indices) = (values as u64, indices as u64);
                Ok(raw::find_rows_into::<T>(stream, sought, input as u64, rows, values, indices)?)
            }
        })
    })
}

/// Writes the minimum and the maximum of each of `rows` rows, in one pass, to consecutive elements
/// of device memory at `minima` and `maxima`. A single row may be empty. A `pitch` of 0 means
/// contiguous rows. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_min_max_rows_into(
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    minima: *mut c_void,
    maxima: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        let rows = Rows { rows, elements, pitch }.checked();
        with_type!(type_, T, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let stream = raw::Stream::of(stream)?;
                let (minima, maxima) = (minima as u64, maxima as u64);
                Ok(raw::min_max_rows_into::<T>(stream, input as u64, rows, minima, maxima)?)
            }
        })
    })
}

/// Writes the sum of the products of the `n` elements at `a` and at `b` to device memory at
/// `output`. Each product is rounded, and the products are added in the order of samebits_sum_into.
/// The type must have 32 or 64 bits, or be SAMEBITS_F16 or SAMEBITS_BF16. Does not wait, and can be
/// captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_dot_into(
    type_: u32,
    a: *const c_void,
    b: *const c_void,
    n: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        with_type!(type_, T, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let (stream, output) = (raw::Stream::of(stream)?, output as u64);
                Ok(raw::dot_into::<T, Itself>(stream, a as u64, b as u64, n, output)?)
            }
        })
    })
}

/// Evaluates an expression in which `$T` is the type with the given number. That type must have a
/// wider counterpart.
macro_rules! with_wide {
    ($type:expr, $T:ident, $body:expr) => {
        with_one_of!(
            [0: f32, 2: i32, 3: u32], $type, $T, $body,
            other => format!("samebits_type {other} has no wider type: use SAMEBITS_F32, SAMEBITS_I32 or SAMEBITS_U32")
        )
    };
}

/// Writes the dot product of elements that are converted to a type of twice the size before they
/// are multiplied. The type is SAMEBITS_F32, SAMEBITS_I32 or SAMEBITS_U32. Otherwise, the function
/// is like samebits_dot_into.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_dot_wide_into(
    type_: u32,
    a: *const c_void,
    b: *const c_void,
    n: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        with_wide!(type_, T, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let (stream, output) = (raw::Stream::of(stream)?, output as u64);
                Ok(raw::dot_into::<T, Wide>(stream, a as u64, b as u64, n, output)?)
            }
        })
    })
}

/// Like samebits_find_rows_into, but for rows and results in host memory. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_find_rows(
    operation: u32,
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    values: *mut c_void,
    indices: *mut u64,
) -> samebits_status {
    checked(|| {
        let sought = plain(operation)?;
        let layout = Rows { rows, elements, pitch }.checked();
        with_type!(type_, T, {
            let indices = address("indices", indices, rows)?;
            // SAFETY: guaranteed by the caller.
            let all = unsafe { self::elements::<T>(input, layout.span().unwrap_or(u64::MAX)) }?;
            let found = on_threads(|| host::find_rows(all, sought, layout))?;
            type A = <T as Element>::Output;
            let value = |found: &Found<A>| found.value;
            // SAFETY: the addresses have room for as many results as there are rows, and are
            // aligned.
            unsafe {
                if !values.is_null() {
                    write(address::<A>("values", values.cast(), rows)?, found.iter().map(value));
                }
                write(indices, found.iter().map(|found| found.index));
            }
            Ok(())
        })
    })
}

/// Like samebits_min_max_rows_into, but for rows and results in host memory. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_min_max_rows(
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    minima: *mut c_void,
    maxima: *mut c_void,
) -> samebits_status {
    checked(|| {
        let layout = Rows { rows, elements, pitch }.checked();
        with_type!(type_, T, {
            type A = <T as Element>::Output;
            let minima = address::<A>("minima", minima.cast(), rows)?;
            let maxima = address::<A>("maxima", maxima.cast(), rows)?;
            // SAFETY: guaranteed by the caller.
            let all = unsafe { self::elements::<T>(input, layout.span().unwrap_or(u64::MAX)) }?;
            let both = on_threads(|| match (rows, elements) {
                (1, 0) => Ok(vec![host::min_max(all)]),
                _ => host::min_max_rows(all, layout),
            })?;
            // SAFETY: the addresses have room for as many results as there are rows, and are
            // aligned.
            unsafe {
                write(minima, both.iter().map(|both| both.0));
                write(maxima, both.iter().map(|both| both.1));
            }
            Ok(())
        })
    })
}

/// Writes the dot product of elements in host memory, bit-identical to the result of
/// samebits_dot_into, to host memory at `result`. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_dot(
    type_: u32,
    a: *const c_void,
    b: *const c_void,
    n: u64,
    result: *mut c_void,
) -> samebits_status {
    checked(|| {
        with_type!(type_, T, {
            // SAFETY: guaranteed by the caller.
            unsafe { host_dot::<T, Itself>(a, b, n, result) }
        })
    })
}

/// Writes the dot product of elements in host memory, bit-identical to the result of
/// samebits_dot_wide_into, to host memory at `result`. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_dot_wide(
    type_: u32,
    a: *const c_void,
    b: *const c_void,
    n: u64,
    result: *mut c_void,
) -> samebits_status {
    checked(|| {
        with_wide!(type_, T, {
            // SAFETY: guaranteed by the caller.
            unsafe { host_dot::<T, Wide>(a, b, n, result) }
        })
    })
}

/// Returns the operation with the given number. Returns an error for the number of a wide or
/// logical operation.
fn plain(number: u32) -> crate::call::Result<Operation> {
    if number >= samebits_operation::SAMEBITS_COUNT as u32 || number & SAMEBITS_WIDE != 0 {
        return Err(Failure::Argument(format!(
            "{number} is not an operation whose result has an index: use SAMEBITS_MIN, SAMEBITS_MAX or SAMEBITS_LARGEST_MAGNITUDE"
        )));
    }
    operation(number)
}

unsafe fn host_dot<T: Element + Read<W>, W>(
    a: *const c_void,
    b: *const c_void,
    n: u64,
    result: *mut c_void,
) -> crate::call::Result<()> {
    // SAFETY: the caller guarantees room for the result.
    let result = unsafe { Place::at(result) }?;
    // SAFETY: guaranteed by the caller.
    let (a, b) = unsafe { (elements::<T>(a, n)?, elements::<T>(b, n)?) };
    let value = on_threads(|| raw::host_dot::<T, W>(a, b))?;
    result.put(value);
    Ok(())
}

/// Writes results to consecutive elements.
///
/// # Safety
/// There must be room for all results.
pub(crate) unsafe fn write<A>(at: *mut A, results: impl Iterator<Item = A>) {
    for (i, result) in results.enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe { at.add(i).write(result) };
    }
}
