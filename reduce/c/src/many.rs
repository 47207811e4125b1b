//! The C functions that reduce tensors along an axis, lists of slices, and ragged rows, and those
//! that compute statistics of rows.
#![expect(unsafe_code, reason = "C passes addresses and calls functions by their names")]

use std::ffi::c_void;

use half::{bf16, f16};
use samebits::{Columns, Element, Itself, Read, Truth, Wide, host, on_threads, raw};

use crate::{
    call::{Failure, Rows, address, elements, with_one_of, with_type},
    forms::write,
    operations::{SAMEBITS_WIDE, TRUTH, operation, with_read},
    samebits_status,
    status::checked,
};

/// Writes the result of a samebits_operation along one axis of a contiguous tensor, whose `rank`
/// lengths are at `shape`, to consecutive elements of device memory at `output`. The results have
/// the shape of the tensor without the axis. Each result is bit-identical to that of a slice with
/// the same elements. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_reduce_axis_into(
    operation: u32,
    type_: u32,
    input: *const c_void,
    shape: *const u64,
    rank: u32,
    axis: u32,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        // SAFETY: guaranteed by the caller.
        let shape = unsafe { self::elements::<u64>(shape.cast(), rank.into()) }?;
        let columns = Columns::of_axis(shape, axis as usize)?;
        with_read!(operation, type_, T, W, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let (stream, output) = (raw::Stream::of(stream)?, output as u64);
                let input = input as u64;
                Ok(raw::read_columns_into::<T, W>(stream, reduction, input, columns, output)?)
            }
        })
    })
}

/// Like samebits_reduce_axis_into, but for a tensor and results in host memory. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_reduce_axis(
    operation: u32,
    type_: u32,
    input: *const c_void,
    shape: *const u64,
    rank: u32,
    axis: u32,
    result: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        // SAFETY: guaranteed by the caller.
        let shape = unsafe { self::elements::<u64>(shape.cast(), rank.into()) }?;
        let columns = Columns::of_axis(shape, axis as usize)?;
        with_read!(operation, type_, T, W, {
            let result =
                address::<<T as Read<W>>::Value>("result", result.cast(), columns.results())?;
            // SAFETY: guaranteed by the caller.
            let all = unsafe { self::elements::<T>(input, shape.iter().product()) }?;
            let values = on_threads(|| host::read_columns::<T, W>(all, reduction, columns))?;
            // SAFETY: the address has room for all results, and is aligned.
            unsafe { write(result, values.into_iter()) };
            Ok(())
        })
    })
}

/// A list of slices in device memory. samebits_list_new makes a list, and samebits_list_free frees
/// it.
pub struct samebits_list(raw::List);

/// Makes a list of `count` slices in device memory, whose addresses are at `inputs` and whose
/// lengths are at `lengths`. The list can be reduced many times, and in a graph. It does not keep
/// the slices alive. Waits until the addresses and lengths have been copied to the device.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_list_new(
    type_: u32,
    inputs: *const *const c_void,
    lengths: *const u64,
    count: u64,
    stream: *mut c_void,
    list: *mut *mut samebits_list,
) -> samebits_status {
    checked(|| {
        let list = address("list", list, 1)?;
        // SAFETY: guaranteed by the caller.
        let (inputs, lengths) = unsafe {
            (elements::<u64>(inputs.cast(), count)?, elements::<u64>(lengths.cast(), count)?)
        };
        let slices: Vec<(u64, u64)> = inputs.iter().copied().zip(lengths.iter().copied()).collect();
        with_type!(type_, T, {
            // SAFETY: guaranteed by the caller.
            let stream = unsafe { raw::Stream::of(stream) }?;
            let made = raw::List::new::<T>(stream, &slices)?;
            // SAFETY: the address is neither null nor misaligned.
            unsafe { list.write(Box::into_raw(Box::new(samebits_list(made)))) };
            Ok(())
        })
    })
}

/// Frees a list once the work that uses it is done. A null pointer is ignored.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_list_free(list: *mut samebits_list) {
    if !list.is_null() {
        // SAFETY: the list comes from samebits_list_new, and is freed once.
        drop(unsafe { Box::from_raw(list) });
    }
}

/// Writes the result of a samebits_operation for each slice of a list to consecutive elements of
/// device memory at `output`, and the result for all slices together to `total`. One of the two may
/// be null. The type must be the type of the list. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_reduce_list_into(
    operation: u32,
    type_: u32,
    list: *const samebits_list,
    output: *mut c_void,
    total: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        let list = address("list", list.cast_mut(), 1)?;
        // SAFETY: the list comes from samebits_list_new.
        let list = unsafe { &(*list).0 };
        with_read!(operation, type_, T, W, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let (stream, output) = (raw::Stream::of(stream)?, output as u64);
                Ok(raw::reduce_list_into::<T, W>(stream, reduction, list, output, total as u64)?)
            }
        })
    })
}

/// Like samebits_reduce_list_into, but for `count` slices and their results in host memory. Needs
/// no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_reduce_list(
    operation: u32,
    type_: u32,
    inputs: *const *const c_void,
    lengths: *const u64,
    count: u64,
    results: *mut c_void,
    total: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        // SAFETY: guaranteed by the caller.
        let (inputs, lengths) = unsafe {
            (elements::<u64>(inputs.cast(), count)?, elements::<u64>(lengths.cast(), count)?)
        };
        with_read!(operation, type_, T, W, {
            type A = <T as Read<W>>::Value;
            let slices = inputs.iter().zip(lengths);
            // SAFETY: guaranteed by the caller.
            let slice = |(at, n): (&u64, &u64)| unsafe { elements::<T>(*at as *const c_void, *n) };
            let slices = slices.map(slice).collect::<crate::call::Result<Vec<&[T]>>>()?;
            let (each, all) = on_threads(|| host::read_list::<T, W>(&slices, reduction))?;
            // SAFETY: the addresses have room for the results, and are aligned.
            unsafe {
                if !results.is_null() {
                    write(address::<A>("results", results.cast(), count)?, each.into_iter());
                }
                if !total.is_null() {
                    write(address::<A>("total", total.cast(), 1)?, [all].into_iter());
                }
            }
            Ok(())
        })
    })
}

/// Writes the result of a samebits_operation for each of `rows` ragged rows of the `n` elements at
/// `input` to consecutive elements of device memory at `output`. Row r has elements offsets[r] to
/// offsets[r + 1] - 1; the offsets are uint64_t in device memory. Does not wait, and can be
/// captured into a graph. If a row ends before it begins or after the end of the input, its result
/// is that of an empty row, and the number of the first such row is recorded: the word at `bad` in
/// device memory, which you must set to 0 before the call, becomes the complement of this number.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_reduce_ragged_into(
    operation: u32,
    type_: u32,
    input: *const c_void,
    n: u64,
    offsets: *const u64,
    rows: u64,
    output: *mut c_void,
    bad: *mut u64,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        let offsets = raw::Offsets::U64(offsets as u64);
        let (input, output, bad) = (input as u64, output as u64, bad as u64);
        with_read!(operation, type_, T, W, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let stream = raw::Stream::of(stream)?;
                Ok(raw::reduce_ragged_into::<T, W>(
                    stream, reduction, input, n, offsets, rows, output, bad,
                )?)
            }
        })
    })
}

/// Like samebits_reduce_ragged_into, but for rows and results in host memory. Bad offsets are an
/// error. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_reduce_ragged(
    operation: u32,
    type_: u32,
    input: *const c_void,
    n: u64,
    offsets: *const u64,
    rows: u64,
    result: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        with_read!(operation, type_, T, W, {
            let result = address::<<T as Read<W>>::Value>("result", result.cast(), rows)?;
            // SAFETY: guaranteed by the caller.
            let (all, offsets) = unsafe {
                (elements::<T>(input, n)?, elements::<u64>(offsets.cast(), rows.saturating_add(1))?)
            };
            let values = on_threads(|| host::read_ragged::<T, W>(all, reduction, offsets))?;
            // SAFETY: the address has room for all results, and is aligned.
            unsafe { write(result, values.into_iter()) };
            Ok(())
        })
    })
}

/// Writes the mean and the variance of each of `rows` rows of floats to consecutive elements of
/// device memory at `means` and `variances`, in one pass. The variance is the sum of the squared
/// differences from the mean, divided by the number of elements minus `less`. It is NaN if the
/// number of elements is at most `less`. One of the two pointers may be null. A `pitch` of 0 means
/// contiguous rows. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_moments_rows_into(
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    less: u64,
    means: *mut c_void,
    variances: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        let rows = Rows { rows, elements, pitch }.checked();
        with_type!(type_, T, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let (stream, input) = (raw::Stream::of(stream)?, input as u64);
                let (means, variances) = (means as u64, variances as u64);
                Ok(raw::moments_rows_into::<T>(stream, input, rows, less, means, variances)?)
            }
        })
    })
}

/// Like samebits_moments_rows_into, but for rows and results in host memory. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_moments_rows(
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    less: u64,
    means: *mut c_void,
    variances: *mut c_void,
) -> samebits_status {
    checked(|| {
        let layout = Rows { rows, elements, pitch }.checked();
        with_type!(type_, T, {
            type A = <T as Element>::Output;
            // SAFETY: guaranteed by the caller.
            let all = unsafe { self::elements::<T>(input, layout.span().unwrap_or(u64::MAX)) }?;
            let found = on_threads(|| host::moments_rows(all, layout, less))?;
            // SAFETY: the addresses have room for as many results as there are rows, and are
            // aligned.
            unsafe {
                write(address::<A>("means", means.cast(), rows)?, found.0.into_iter());
                write(address::<A>("variances", variances.cast(), rows)?, found.1.into_iter());
            }
            Ok(())
        })
    })
}

/// Writes the log-sum-exp of each of `rows` rows of floats, which is the logarithm of the sum of
/// exp(x) over the row's elements x, to consecutive elements of device memory at `output`. Does not
/// overflow. If a row contains NaN, its result is NaN. A `pitch` of 0 means contiguous rows. Does
/// not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_log_sum_exp_rows_into(
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        let rows = Rows { rows, elements, pitch }.checked();
        with_type!(type_, T, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let stream = raw::Stream::of(stream)?;
                Ok(raw::log_sum_exp_rows_into::<T>(stream, input as u64, rows, output as u64)?)
            }
        })
    })
}

/// Like samebits_log_sum_exp_rows_into, but for rows and results in host memory. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_log_sum_exp_rows(
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    result: *mut c_void,
) -> samebits_status {
    checked(|| {
        let layout = Rows { rows, elements, pitch }.checked();
        with_type!(type_, T, {
            type A = <T as Element>::Output;
            // SAFETY: guaranteed by the caller.
            let all = unsafe { self::elements::<T>(input, layout.span().unwrap_or(u64::MAX)) }?;
            let found = on_threads(|| host::log_sum_exp_rows(all, layout))?;
            // SAFETY: the address has room for as many results as there are rows, and is aligned.
            unsafe { write(address::<A>("result", result.cast(), rows)?, found.into_iter()) };
            Ok(())
        })
    })
}
