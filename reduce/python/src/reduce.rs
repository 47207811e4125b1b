//! Reductions of elements whose type is given as a number. All functions release Python's global
//! interpreter lock (GIL).

use std::{ffi::c_void, slice};

use half::{bf16, f16};
use pyo3::{exceptions::PyTypeError, prelude::*};
use samebits::{Element, Itself, Operation, Read, Rows, Truth, Wide, host, on_threads, raw};

use crate::failure::raised;

/// Evaluates an expression in which `$T` is the type with the given number. `KINDS` in `_checks.py`
/// has the same numbers.
macro_rules! with_type {
    ($number:expr, $T:ident, $body:expr) => {
        match $number {
            0 => {
                type $T = f32;
                $body
            }
            1 => {
                type $T = f64;
                $body
            }
            2 => {
                type $T = i32;
                $body
            }
            3 => {
                type $T = u32;
                $body
            }
            4 => {
                type $T = i64;
                $body
            }
            5 => {
                type $T = u64;
                $body
            }
            6 => {
                type $T = f16;
                $body
            }
            7 => {
                type $T = bf16;
                $body
            }
            8 => {
                type $T = i8;
                $body
            }
            9 => {
                type $T = u8;
                $body
            }
            10 => {
                type $T = i16;
                $body
            }
            11 => {
                type $T = u16;
                $body
            }
            12 => {
                type $T = bool;
                $body
            }
            other => Err(PyTypeError::new_err(format!("there is no element type {other}"))),
        }
    };
}
pub(crate) use with_type;

/// Like [`with_type`], but for types that have exact sums.
macro_rules! with_float {
    ($number:expr, $T:ident, $body:expr) => {
        match $number {
            0 => {
                type $T = f32;
                $body
            }
            1 => {
                type $T = f64;
                $body
            }
            6 => {
                type $T = f16;
                $body
            }
            7 => {
                type $T = bf16;
                $body
            }
            other => Err(PyTypeError::new_err(format!(
                "there are no exact sums of element type {other}"
            ))),
        }
    };
}

/// The number that selects the exact sum. The other numbers are those of the operations, to which
/// one of the next two constants may be added.
const EXACT: u8 = 255;

/// The number that is added to an operation's number so that elements are combined in a type of
/// twice the size.
pub(crate) const WIDE: u8 = 32;

/// The number that is added to an operation's number so that elements are read as 1 if they are not
/// zero, and otherwise as 0.
pub(crate) const TRUTH: u8 = 64;

/// Evaluates an expression in which `$T` is the type with the given number, and `$W` is the
/// conversion that the operation applies to its elements.
macro_rules! with_read {
    ($number:expr, $kind:expr, $T:ident, $W:ident, $body:expr) => {
        match ($number & (WIDE | TRUTH), $kind) {
            (0, kind) => with_type!(kind, $T, {
                type $W = Itself;
                $body
            }),
            (TRUTH, kind) => with_type!(kind, $T, {
                type $W = Truth;
                $body
            }),
            (_, 0) => {
                type $T = f32;
                type $W = Wide;
                $body
            }
            (_, 2) => {
                type $T = i32;
                type $W = Wide;
                $body
            }
            (_, 3) => {
                type $T = u32;
                type $W = Wide;
                $body
            }
            (_, other) => {
                Err(PyTypeError::new_err(format!("element type {other} has no wider type")))
            }
        }
    };
}
pub(crate) use with_read;

pub(crate) fn operation(number: u8) -> PyResult<Operation> {
    let known = Operation::ALL.get(usize::from(number & !(WIDE | TRUTH))).copied();
    known.ok_or_else(|| PyTypeError::new_err(format!("there is no operation {number}")))
}

/// Returns the stream with the given handle, in the device's primary context, which all Python
/// frameworks use.
pub(crate) fn stream(device: i32, handle: usize) -> samebits::Result<raw::Stream> {
    // SAFETY: the frameworks keep their streams alive for as long as their arrays.
    unsafe { raw::Stream::of_device(device, handle as *mut c_void) }
}

/// Reduces the `n` elements at `input`, and writes the result to `output`. Both addresses are in
/// device memory.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python passes addresses as separate arguments")]
pub(crate) fn reduce_into(
    py: Python<'_>,
    number: u8,
    kind: u8,
    input: u64,
    n: u64,
    output: u64,
    device: i32,
    handle: usize,
) -> PyResult<()> {
    if number == EXACT {
        return with_float!(kind, T, {
            // SAFETY: as below.
            py.detach(|| unsafe {
                raw::exact_sum_into::<T>(stream(device, handle)?, input, n, output)
            })
            .map_err(raised)
        });
    }
    let operation = operation(number)?;
    with_read!(number, kind, T, W, {
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
        // until the stream has passed this point.
        py.detach(|| unsafe {
            raw::read_into::<T, W>(stream(device, handle)?, operation, input, n, output)
        })
        .map_err(raised)
    })
}

/// Writes the exact dot product of `n` elements at `a` and at `b` to `output`; all three addresses
/// are in device memory.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python passes addresses as separate arguments")]
pub(crate) fn exact_dot_into(
    py: Python<'_>,
    kind: u8,
    a: u64,
    b: u64,
    n: u64,
    output: u64,
    device: i32,
    handle: usize,
) -> PyResult<()> {
    with_float!(kind, T, {
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
        // until the stream has passed this point.
        py.detach(|| unsafe { raw::exact_dot_into::<T>(stream(device, handle)?, a, b, n, output) })
            .map_err(raised)
    })
}

/// Writes the exact dot product of `n` elements of host memory at `a` and at `b` to `output`.
#[pyfunction]
pub(crate) fn host_exact_dot(
    py: Python<'_>,
    kind: u8,
    a: usize,
    b: usize,
    n: u64,
    output: usize,
) -> PyResult<()> {
    with_float!(kind, T, {
        // SAFETY: the Python code has checked that there are `n` aligned elements, and keeps the
        // arrays alive.
        let (a, b) = unsafe { (elements::<T>(a, n), elements::<T>(b, n)) };
        let value = py.detach(|| on_threads(|| host::exact_dot(a, b))).map_err(raised)?;
        // SAFETY: `output` is the caller's array, which has room for one result.
        unsafe { (output as *mut <T as Element>::Output).write(value) };
        Ok(())
    })
}

/// Writes the result of an operation for each row at `input` to `output`; both addresses are in
/// device memory.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python passes addresses as separate arguments")]
pub(crate) fn reduce_rows_into(
    py: Python<'_>,
    number: u8,
    kind: u8,
    input: u64,
    rows: u64,
    elements: u64,
    pitch: u64,
    output: u64,
    device: i32,
    handle: usize,
) -> PyResult<()> {
    let rows = Rows::new(rows, elements).pitch(pitch);
    if number == EXACT {
        return with_float!(kind, T, {
            // SAFETY: as below.
            py.detach(|| unsafe {
                raw::exact_sum_rows_into::<T>(stream(device, handle)?, input, rows, output)
            })
            .map_err(raised)
        });
    }
    let operation = operation(number)?;
    with_read!(number, kind, T, W, {
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
        // until the stream has passed this point.
        py.detach(|| unsafe {
            raw::read_rows_into::<T, W>(stream(device, handle)?, operation, input, rows, output)
        })
        .map_err(raised)
    })
}

/// Makes a stream of a device wait for the work that is queued on another stream.
#[pyfunction]
pub(crate) fn wait(py: Python<'_>, device: i32, handle: usize, other: usize) -> PyResult<()> {
    py.detach(|| stream(device, handle)?.wait_for(stream(device, other)?)).map_err(raised)
}

/// Returns the ordinal of the device that holds the memory at an address.
#[pyfunction]
pub(crate) fn device_of(py: Python<'_>, address: u64) -> PyResult<i32> {
    py.detach(|| raw::device_of(address)).map_err(raised)
}

/// A point in a stream's queue of work.
#[pyclass(frozen)]
pub(crate) struct Mark(raw::Mark);

#[pymethods]
impl Mark {
    /// Returns whether the stream has passed the point.
    fn is_passed(&self) -> bool {
        self.0.is_passed()
    }
}

/// Marks the current end of a stream's queue of work. Returns None if the stream is being captured.
/// The caller must then keep the graph's arrays alive.
#[pyfunction]
pub(crate) fn mark(py: Python<'_>, device: i32, handle: usize) -> PyResult<Option<Mark>> {
    let mark = || {
        let stream = stream(device, handle)?;
        if stream.is_capturing()? { Ok(None) } else { raw::Mark::new(stream).map(Some) }
    };
    py.detach(mark).map(|mark| mark.map(Mark)).map_err(raised)
}

/// Returns the `n` elements at an address in host memory.
///
/// # Safety
/// The address must point to `n` aligned elements.
pub(crate) unsafe fn elements<'a, T>(input: usize, n: u64) -> &'a [T] {
    if n == 0 {
        return &[];
    }
    // SAFETY: guaranteed by the caller.
    unsafe { slice::from_raw_parts(input as *const T, n as usize) }
}

/// Reduces the `n` elements in host memory at `input`, and writes the result to `output`.
#[pyfunction]
pub(crate) fn host_reduce(
    py: Python<'_>,
    number: u8,
    kind: u8,
    input: usize,
    n: u64,
    output: usize,
) -> PyResult<()> {
    if number == EXACT {
        return with_float!(kind, T, {
            // SAFETY: as below.
            let elements = unsafe { elements::<T>(input, n) };
            let value = py.detach(|| on_threads(|| host::exact_sum(elements)));
            // SAFETY: `output` is the caller's array, which has room for one result.
            unsafe { (output as *mut <T as Element>::Output).write(value) };
            Ok(())
        });
    }
    let operation = operation(number)?;
    with_read!(number, kind, T, W, {
        // SAFETY: the Python code has checked that there are `n` aligned elements, and keeps the
        // array alive.
        let elements = unsafe { elements::<T>(input, n) };
        let value = py.detach(|| on_threads(|| host::reduce_read::<T, W>(elements, operation)));
        // SAFETY: `output` is the caller's array, which has room for one result.
        unsafe { (output as *mut <T as Read<W>>::Value).write(value.map_err(raised)?) };
        Ok(())
    })
}

/// Writes the result of an operation for each row of host memory at `input` to `output`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python passes addresses as separate arguments")]
pub(crate) fn host_reduce_rows(
    py: Python<'_>,
    number: u8,
    kind: u8,
    input: usize,
    rows: u64,
    elements: u64,
    pitch: u64,
    output: usize,
) -> PyResult<()> {
    let rows = Rows::new(rows, elements).pitch(pitch);
    if number == EXACT {
        return with_float!(kind, T, {
            // SAFETY: as below.
            let all = unsafe { self::elements::<T>(input, rows.span().unwrap_or(0)) };
            let sums = py.detach(|| on_threads(|| host::exact_sum_rows(all, rows)));
            // SAFETY: `output` is the caller's array, which has room for one result per row.
            unsafe { write(&sums.map_err(raised)?, output) };
            Ok(())
        });
    }
    let operation = operation(number)?;
    with_read!(number, kind, T, W, {
        // SAFETY: the Python code has checked the rows and their alignment, and keeps the array
        // alive.
        let all = unsafe { self::elements::<T>(input, rows.span().unwrap_or(0)) };
        let sums = py.detach(|| on_threads(|| host::read_rows::<T, W>(all, operation, rows)));
        let sums = sums.map_err(raised)?;
        // SAFETY: `output` is the caller's array, which has room for one result per row.
        unsafe { write(&sums, output) };
        Ok(())
    })
}

/// Copies sums to an address.
///
/// # Safety
/// There must be room for the sums.
pub(crate) unsafe fn write<A: Copy>(sums: &[A], output: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { sums.as_ptr().copy_to_nonoverlapping(output as *mut A, sums.len()) };
}

/// Returns whether there is a CUDA driver with every function that samebits calls.
#[pyfunction]
pub(crate) fn is_available() -> bool {
    samebits::has_driver()
}

/// Frees the memory that the calling thread keeps for the streams that it has used.
#[pyfunction]
pub(crate) fn close(py: Python<'_>) {
    py.detach(samebits::close);
}
