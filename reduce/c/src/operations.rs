//! The C functions that take an operation as an argument.
#![expect(unsafe_code, reason = "C passes addresses and calls functions by their names")]

use std::ffi::c_void;

use half::{bf16, f16};
use samebits::{Itself, Operation, Read, Truth, Wide, host, on_threads, raw};

use crate::{
    call::{Failure, Place, Result, Rows, address, elements, with_one_of, with_type},
    samebits_status,
    status::checked,
};

/// An operation. Add SAMEBITS_WIDE to one of the first eight operations to combine float as double,
/// and int32_t and uint32_t as 64-bit integers. The result then has the wider type.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum samebits_operation {
    /// The sum. Without elements, it is 0.
    SAMEBITS_SUM = 0,
    /// The minimum, ignoring NaN. If there are no elements, it is the largest value of the type.
    SAMEBITS_MIN = 1,
    /// The maximum, ignoring NaN. If there are no elements, it is the smallest value of the type.
    SAMEBITS_MAX = 2,
    /// The sum of floats, divided by their number and rounded once. Without elements, it is NaN.
    SAMEBITS_MEAN = 3,
    /// The sum of the squares of floats.
    SAMEBITS_SUM_OF_SQUARES = 4,
    /// The square root of the sum of the squares of floats.
    SAMEBITS_NORM = 5,
    /// The sum of the magnitudes of floats.
    SAMEBITS_SUM_OF_MAGNITUDES = 6,
    /// The largest magnitude of floats, ignoring NaN. Without elements, it is 0.
    SAMEBITS_LARGEST_MAGNITUDE = 7,
    /// The number of elements that are not zero, as an int64_t. NaN is not zero.
    SAMEBITS_COUNT = 64,
    /// 1 if no element is zero, and 0 otherwise, as an int64_t.
    SAMEBITS_ALL = 65,
    /// 1 if any element is not zero, and 0 otherwise, as an int64_t.
    SAMEBITS_ANY = 66,
}

/// The number that is added to an operation's number so that elements are combined in a type of
/// twice the size.
pub const SAMEBITS_WIDE: u32 = 32;

/// The number that is added to the operation number of the sum, the minimum or the maximum so that
/// elements are read as 1 if they are not zero, and otherwise as 0.
pub(crate) const TRUTH: u32 = samebits_operation::SAMEBITS_COUNT as u32;

/// Evaluates an expression in which `$T` is the type with the given number, and `$W` is the
/// conversion that the operation applies to its elements.
macro_rules! with_read {
    ($operation:expr, $type:expr, $T:ident, $W:ident, $body:expr) => {
        match $operation & (SAMEBITS_WIDE | TRUTH) {
            0 => with_type!($type, $T, {
                type $W = Itself;
                $body
            }),
            SAMEBITS_WIDE => with_one_of!(
                [0: f32, 2: i32, 3: u32], $type, $T, {
                    type $W = Wide;
                    $body
                },
                other => format!("samebits_type {other} has no wider type: omit SAMEBITS_WIDE, or use SAMEBITS_F32, SAMEBITS_I32 or SAMEBITS_U32")
            ),
            _ => with_type!($type, $T, {
                type $W = Truth;
                $body
            }),
        }
    };
}
pub(crate) use with_read;

pub(crate) fn operation(number: u32) -> Result<Operation> {
    let known = Operation::ALL.get((number & !(SAMEBITS_WIDE | TRUTH)) as usize).copied();
    let logical = matches!(known, Some(Operation::Sum | Operation::Min | Operation::Max));
    let valid = number & TRUTH == 0 || (logical && number & SAMEBITS_WIDE == 0);
    known.filter(|_| valid).ok_or_else(|| {
        let what = format!(
            "{number} is not a samebits_operation: use SAMEBITS_SUM (0) to SAMEBITS_ANY (66)"
        );
        Failure::Argument(what)
    })
}

/// Writes the result of a samebits_operation over the `n` elements at `input`, whose samebits_type
/// is `type`, to device memory at `output`, in stream order. Does not wait, and can be captured
/// into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_reduce_into(
    operation: u32,
    type_: u32,
    input: *const c_void,
    n: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        with_read!(operation, type_, T, W, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let stream = raw::Stream::of(stream)?;
                Ok(raw::read_into::<T, W>(stream, reduction, input as u64, n, output as u64)?)
            }
        })
    })
}

/// Writes the result of a samebits_operation for each of `rows` rows to consecutive elements of
/// device memory at `output`, like samebits_sum_rows_into. Each result is bit-identical to the
/// result for the row alone.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_reduce_rows_into(
    operation: u32,
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        let rows = Rows { rows, elements, pitch }.checked();
        with_read!(operation, type_, T, W, {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let stream = raw::Stream::of(stream)?;
                let output = output as u64;
                Ok(raw::read_rows_into::<T, W>(stream, reduction, input as u64, rows, output)?)
            }
        })
    })
}

/// Writes the result of a samebits_operation over the `n` elements in host memory at `input` to
/// host memory at `result`. It is bit-identical to the result of samebits_reduce_into. Needs no
/// GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_reduce(
    operation: u32,
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        with_read!(operation, type_, T, W, {
            // SAFETY: the caller guarantees room for the result.
            let result = unsafe { Place::at(result) }?;
            // SAFETY: guaranteed by the caller.
            let elements = unsafe { elements::<T>(input, n) }?;
            let value = on_threads(|| host::reduce_read::<T, W>(elements, reduction))?;
            result.put(value);
            Ok(())
        })
    })
}

/// Writes the result of a samebits_operation for each row in host memory to host memory at
/// `result`. The results are bit-identical to those of samebits_reduce_rows_into. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_reduce_rows(
    operation: u32,
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    result: *mut c_void,
) -> samebits_status {
    checked(|| {
        let reduction = self::operation(operation)?;
        let layout = Rows { rows, elements, pitch }.checked();
        with_read!(operation, type_, T, W, {
            let n = layout.span().unwrap_or(u64::MAX);
            let result = address::<<T as Read<W>>::Value>("result", result.cast(), rows)?;
            // SAFETY: guaranteed by the caller.
            let elements = unsafe { self::elements::<T>(input, n) }?;
            let values = on_threads(|| host::read_rows::<T, W>(elements, reduction, layout))?;
            // SAFETY: the address is neither null nor misaligned, and has room for as many results
            // as there are rows.
            unsafe { values.as_ptr().copy_to_nonoverlapping(result, values.len()) };
            Ok(())
        })
    })
}
