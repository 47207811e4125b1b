//! The C interface of samebits: the functions that `include/samebits.h` declares. cbindgen
//! generates this header from the doc comments and the signatures.
#![expect(unsafe_code, reason = "C passes addresses and calls functions by their names")]
#![allow(non_camel_case_types, reason = "C's names")]

pub mod accumulators;
mod call;
mod exact;
pub mod forms;
pub mod many;
pub mod operations;
mod status;

use std::ffi::{c_char, c_void};

use call::{Input, Rows};
use exact::Pair;
use samebits::Operation;
use status::checked;

/// The status of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum samebits_status {
    /// The result has been written, or will be written in stream order.
    SAMEBITS_OK = 0,
    /// An argument is invalid, for example a null or misaligned address, too many elements,
    /// overlapping rows, an unknown type, or a stream that is being captured.
    SAMEBITS_INVALID = 1,
    /// There is no usable driver, device or context.
    SAMEBITS_UNAVAILABLE = 2,
    /// A call to the CUDA driver failed.
    SAMEBITS_CUDA = 3,
    /// There is a bug in this library; please report it.
    SAMEBITS_BUG = 4,
}

/// The type of an element.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum samebits_type {
    /// float; the result is a float.
    SAMEBITS_F32 = 0,
    /// double.
    SAMEBITS_F64 = 1,
    /// int32_t; sums wrap.
    SAMEBITS_I32 = 2,
    /// uint32_t; sums wrap.
    SAMEBITS_U32 = 3,
    /// int64_t; sums wrap.
    SAMEBITS_I64 = 4,
    /// uint64_t; sums wrap.
    SAMEBITS_U64 = 5,
    /// __half; the result is a float.
    SAMEBITS_F16 = 6,
    /// __nv_bfloat16; the result is a float.
    SAMEBITS_BF16 = 7,
    /// int8_t; the result is an int64_t, as for the next four types.
    SAMEBITS_I8 = 8,
    /// uint8_t.
    SAMEBITS_U8 = 9,
    /// int16_t.
    SAMEBITS_I16 = 10,
    /// uint16_t.
    SAMEBITS_U16 = 11,
    /// bool, whose bytes are 0 or 1.
    SAMEBITS_BOOL = 12,
}

/// Writes the sum of the `n` elements at `input`, whose samebits_type is `type`, to host memory at
/// `result`. Waits for the result. If there are no elements, the sum is 0.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_sum(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::wait(Operation::Sum, Input { type_, input, n }, result, stream) })
}

/// Writes the minimum of the `n` elements at `input` to host memory at `result`. Waits for the
/// result. NaNs are ignored unless all elements are NaN. -0 is less than +0. If there are no
/// elements, the minimum is the largest value of the type.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_min(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::wait(Operation::Min, Input { type_, input, n }, result, stream) })
}

/// Writes the maximum of the `n` elements at `input` to host memory at `result`. Waits for the
/// result. NaNs are ignored unless all elements are NaN. -0 is less than +0. If there are no
/// elements, the maximum is the smallest value of the type.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_max(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::wait(Operation::Max, Input { type_, input, n }, result, stream) })
}

/// Writes the sum of the `n` elements at `input` to device memory at `output`, in stream order.
/// Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_sum_into(
    type_: u32,
    input: *const c_void,
    n: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::leave(Operation::Sum, Input { type_, input, n }, output, stream) })
}

/// Writes the minimum of the `n` elements at `input`, as samebits_min computes it, to device memory
/// at `output`, in stream order. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_min_into(
    type_: u32,
    input: *const c_void,
    n: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::leave(Operation::Min, Input { type_, input, n }, output, stream) })
}

/// Writes the maximum of the `n` elements at `input`, as samebits_max computes it, to device memory
/// at `output`, in stream order. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_max_into(
    type_: u32,
    input: *const c_void,
    n: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::leave(Operation::Max, Input { type_, input, n }, output, stream) })
}

/// Writes the exact sum of the `n` elements at `input`, rounded once to nearest, ties to even, to
/// host memory at `result`. Waits for the result. The bits of the result do not depend on the order
/// of the elements. The type must be SAMEBITS_F32, SAMEBITS_F64, SAMEBITS_F16 or SAMEBITS_BF16.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_exact_sum(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::wait_exact(Input { type_, input, n }, result, stream) })
}

/// Writes the exact sum, bit-identical to the result of samebits_exact_sum, to device memory at
/// `output`, in stream order. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_exact_sum_into(
    type_: u32,
    input: *const c_void,
    n: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::leave_exact(Input { type_, input, n }, output, stream) })
}

/// Writes the sum of each of `rows` rows to consecutive elements of device memory at `output`, in
/// stream order. A row has `elements` elements, at most 2^32, and begins `pitch` elements after the
/// start of the previous row; a pitch of 0 means contiguous rows. Each sum is bit-identical to the
/// result of samebits_sum for that row alone. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_sum_rows_into(
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    let rows = Rows { rows, elements, pitch };
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::rows(type_, input, rows, output, stream) })
}

/// Writes the exact sum of the products of the `n` pairs of elements at `a` and at `b`, rounded
/// once, to host memory at `result`. Waits for the result. The type must be SAMEBITS_F32,
/// SAMEBITS_F64, SAMEBITS_F16 or SAMEBITS_BF16.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_exact_dot(
    type_: u32,
    a: *const c_void,
    b: *const c_void,
    n: u64,
    result: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::wait_dot(Pair { type_, a, b, n }, result, stream) })
}

/// Writes the exact dot product, bit-identical to the result of samebits_exact_dot, to device
/// memory at `output`, in stream order. Does not wait, and can be captured into a graph.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_exact_dot_into(
    type_: u32,
    a: *const c_void,
    b: *const c_void,
    n: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::leave_dot(Pair { type_, a, b, n }, output, stream) })
}

/// Writes the square root of the exact sum of the squares of the `n` elements at `input`, rounded
/// once, to host memory at `result`. Waits for the result. The type must be SAMEBITS_F32,
/// SAMEBITS_F64, SAMEBITS_F16 or SAMEBITS_BF16. To get the sum of the squares, call
/// samebits_exact_dot with the array as both inputs.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_exact_norm(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::wait_norm(Input { type_, input, n }, result, stream) })
}

/// Like samebits_sum_rows_into, but writes exact sums. Each sum is rounded once, and is
/// bit-identical to the result of samebits_exact_sum for that row alone.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_exact_sum_rows_into(
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    output: *mut c_void,
    stream: *mut c_void,
) -> samebits_status {
    let rows = Rows { rows, elements, pitch };
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::rows(type_, input, rows, output, stream) })
}

/// Writes the sum of the `n` elements in host memory at `input` to host memory at `result`. The sum
/// is bit-identical to the result of samebits_sum. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_sum(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::host(Operation::Sum, Input { type_, input, n }, result) })
}

/// Writes the minimum of the `n` elements in host memory at `input` to host memory at `result`. The
/// minimum is bit-identical to the result of samebits_min. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_min(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::host(Operation::Min, Input { type_, input, n }, result) })
}

/// Writes the maximum of the `n` elements in host memory at `input` to host memory at `result`. The
/// maximum is bit-identical to the result of samebits_max. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_max(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::host(Operation::Max, Input { type_, input, n }, result) })
}

/// Writes the exact sum of the `n` elements in host memory at `input` to host memory at `result`.
/// The sum is bit-identical to the result of samebits_exact_sum. Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_exact_sum(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::host_exact(Input { type_, input, n }, result) })
}

/// Writes the exact dot product of the elements in host memory at `a` and at `b`, bit-identical to
/// the result of samebits_exact_dot, to host memory at `result`. The type must be SAMEBITS_F32,
/// SAMEBITS_F64, SAMEBITS_F16 or SAMEBITS_BF16.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_exact_dot(
    type_: u32,
    a: *const c_void,
    b: *const c_void,
    n: u64,
    result: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::host_dot(Pair { type_, a, b, n }, result) })
}

/// Writes the exact norm of the `n` elements in host memory at `input`, bit-identical to the result
/// of samebits_exact_norm, to host memory at `result`.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_exact_norm(
    type_: u32,
    input: *const c_void,
    n: u64,
    result: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::host_norm(Input { type_, input, n }, result) })
}

/// Writes the sums of rows in host memory at `input` to consecutive elements of host memory at
/// `result`. The rows are laid out as for samebits_sum_rows_into, and the sums have the same bits.
/// Needs no GPU.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_host_sum_rows(
    type_: u32,
    input: *const c_void,
    rows: u64,
    elements: u64,
    pitch: u64,
    result: *mut c_void,
) -> samebits_status {
    let rows = Rows { rows, elements, pitch };
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { call::host_rows(type_, input, rows, result) })
}

/// Returns the reason why the calling thread's last call failed, or an empty string if it
/// succeeded. The pointer is valid until the thread's next call.
#[unsafe(no_mangle)]
pub extern "C" fn samebits_last_error() -> *const c_char {
    status::last_error()
}

/// Returns the version number of the order of additions. Versions of this library that have the
/// same order give bit-identical results.
#[unsafe(no_mangle)]
pub extern "C" fn samebits_order() -> u32 {
    samebits::ORDER
}

/// Frees the memory that the calling thread keeps on devices and on the host. A later call
/// allocates new memory. Call this function before you reset a device, and before the program ends
/// if you check for leaks. When a thread ends, its memory is freed as well.
#[unsafe(no_mangle)]
pub extern "C" fn samebits_close() {
    samebits::close();
}
