//! The C functions for accumulators, which are bytes in host memory.
#![expect(unsafe_code, reason = "C passes addresses and calls functions by their names")]

use std::ffi::c_void;

use samebits::ExactAccumulator;

use crate::{
    call::Input,
    exact::{self, Pair},
    samebits_status,
    status::checked,
};

/// The size in bytes of an accumulator for SAMEBITS_F32, SAMEBITS_F16 and SAMEBITS_BF16.
pub const SAMEBITS_ACCUMULATOR_F32: u64 = 96;

/// The size in bytes of an accumulator for SAMEBITS_F64.
pub const SAMEBITS_ACCUMULATOR_F64: u64 = 552;

const _: () = {
    assert!(SAMEBITS_ACCUMULATOR_F32 == ExactAccumulator::<f32>::BYTES as u64);
    assert!(SAMEBITS_ACCUMULATOR_F64 == ExactAccumulator::<f64>::BYTES as u64);
};

/// Writes an empty accumulator to host memory at `accumulator`. Its size is
/// SAMEBITS_ACCUMULATOR_F32 bytes for floats and halves, and SAMEBITS_ACCUMULATOR_F64 bytes for
/// doubles. The bytes can be copied, stored, and sent to other machines. Two accumulators with the
/// same number of elements and equal sums have equal bytes. EXACT.md of the Rust crate defines the
/// layout.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_accumulator_begin(
    type_: u32,
    accumulator: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::begin(type_, accumulator) })
}

/// Adds the `n` elements in host memory at `input` to an accumulator.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_accumulator_add(
    type_: u32,
    accumulator: *mut c_void,
    input: *const c_void,
    n: u64,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::add(Input { type_, input, n }, accumulator) })
}

/// Adds the products of the `n` pairs of elements in host memory at `a` and at `b` to an
/// accumulator.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_accumulator_add_products(
    type_: u32,
    accumulator: *mut c_void,
    a: *const c_void,
    b: *const c_void,
    n: u64,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::add_products(Pair { type_, a, b, n }, accumulator) })
}

/// Adds the `n` elements in device memory at `input` to an accumulator in host memory, and waits
/// for the stream. The accumulator has the same bytes as after samebits_accumulator_add.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_accumulator_add_device(
    type_: u32,
    accumulator: *mut c_void,
    input: *const c_void,
    n: u64,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::add_device(Input { type_, input, n }, accumulator, stream) })
}

/// Adds the products of the `n` pairs of elements in device memory at `a` and at `b` to an
/// accumulator in host memory, and waits for the stream.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_accumulator_add_products_device(
    type_: u32,
    accumulator: *mut c_void,
    a: *const c_void,
    b: *const c_void,
    n: u64,
    stream: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::add_products_device(Pair { type_, a, b, n }, accumulator, stream) })
}

/// Merges the accumulator at `other` into the accumulator at `accumulator`. The bytes do not depend
/// on the order of the merges.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_accumulator_merge(
    type_: u32,
    accumulator: *mut c_void,
    other: *const c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::merge(type_, accumulator, other) })
}

/// Writes the sum of an accumulator's elements, rounded once, to host memory at `result`. The
/// accumulator is not changed.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_accumulator_round(
    type_: u32,
    accumulator: *const c_void,
    result: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::round(type_, accumulator, result, false) })
}

/// Writes the square root of an accumulator's sum, rounded once, to host memory at `result`. The
/// root of a sum of squares is the norm.
///
/// # Safety
/// The pointers must be valid, as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn samebits_accumulator_round_sqrt(
    type_: u32,
    accumulator: *const c_void,
    result: *mut c_void,
) -> samebits_status {
    // SAFETY: guaranteed by the caller.
    checked(|| unsafe { exact::round(type_, accumulator, result, true) })
}
