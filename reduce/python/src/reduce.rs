//! Reductions for each element type, which is given by its number. They release Python's global
//! interpreter lock (GIL).

use std::{ffi::c_void, slice};

use half::{bf16, f16};
use pyo3::{exceptions::PyTypeError, prelude::*};
use samebits::{Element, Operation, Rows, host, on_threads, raw};

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
            other => Err(PyTypeError::new_err(format!("there is no element type {other}"))),
        }
    };
}

/// As [`with_type`], for types whose sums can be exact, or whose products a device adds.
macro_rules! with_float {
    ($number:expr, $T:ident, $body:expr, $($double:tt)*) => {
        match $number {
            0 => {
                type $T = f32;
                $body
            }
            $($double)*
            6 => {
                type $T = f16;
                $body
            }
            7 => {
                type $T = bf16;
                $body
            }
            other => Err(PyTypeError::new_err(format!("there are no exact sums of element type {other}"))),
        }
    };
    ($number:expr, $T:ident, $body:expr) => {
        with_float!($number, $T, $body, 1 => {
            type $T = f64;
            $body
        })
    };
}

/// The number of the exact sum, after those of the operations.
const EXACT: u8 = 3;

fn operation(number: u8) -> PyResult<Operation> {
    let known = Operation::ALL.get(usize::from(number)).copied();
    known.ok_or_else(|| PyTypeError::new_err(format!("there is no operation {number}")))
}

/// Returns the stream with a handle, in the device's primary context, which all Python frameworks
/// use.
fn stream(device: i32, handle: usize) -> samebits::Result<raw::Stream> {
    // SAFETY: the frameworks keep their streams alive for as long as their arrays.
    unsafe { raw::Stream::of_device(device, handle as *mut c_void) }
}

/// Writes a reduction of the `n` elements at `input` to `output`. Both addresses are in device
/// memory.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "addresses have no names in Python")]
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
    with_type!(kind, T, {
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory until
        // the stream has passed this point.
        py.detach(|| unsafe {
            raw::reduce_into::<T>(stream(device, handle)?, operation, input, n, output)
        })
        .map_err(raised)
    })
}

/// Writes the exact dot product of `n` elements at `a` and at `b` to `output`, all on a device.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "addresses have no names in Python")]
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
        // SAFETY: the frameworks guarantee it, and keep the memory until the stream has passed this point.
        py.detach(|| unsafe { raw::exact_dot_into::<T>(stream(device, handle)?, a, b, n, output) })
            .map_err(raised)
    },)
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
        // SAFETY: the Python code has checked that there are `n` aligned elements, and keeps the arrays alive.
        let (a, b) = unsafe { (elements::<T>(a, n), elements::<T>(b, n)) };
        let value = py.detach(|| on_threads(|| host::exact_dot(a, b))).map_err(raised)?;
        // SAFETY: `output` is an array of the caller with room for one result.
        unsafe { (output as *mut <T as Element>::Output).write(value) };
        Ok(())
    })
}

/// Writes the sum of each row at `input` to `output`, both on a device; `number` tells whether it is the exact one.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "addresses have no names in Python")]
pub(crate) fn sum_rows_into(
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
    with_type!(kind, T, {
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory until
        // the stream has passed this point.
        py.detach(|| unsafe {
            raw::sum_rows_into::<T>(stream(device, handle)?, input, rows, output)
        })
        .map_err(raised)
    })
}

/// Makes a stream of a device wait for the work that is queued on another stream.
#[pyfunction]
pub(crate) fn wait(py: Python<'_>, device: i32, handle: usize, other: usize) -> PyResult<()> {
    py.detach(|| stream(device, handle)?.wait_for(stream(device, other)?)).map_err(raised)
}

/// A point in the work of a stream.
#[pyclass(frozen)]
pub(crate) struct Mark(raw::Mark);

#[pymethods]
impl Mark {
    /// Returns whether the stream has passed the point.
    fn is_passed(&self) -> bool {
        self.0.is_passed()
    }
}

/// Marks the current end of a stream's work. Returns None if the stream is being captured; in that
/// case the caller must keep the graph's arrays alive.
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
unsafe fn elements<'a, T>(input: usize, n: u64) -> &'a [T] {
    if n == 0 {
        return &[];
    }
    // SAFETY: guaranteed by the caller.
    unsafe { slice::from_raw_parts(input as *const T, n as usize) }
}

/// Writes a reduction of the `n` elements in host memory at `input` to `output`.
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
            // SAFETY: `output` is an array of the caller with room for one result.
            unsafe { (output as *mut <T as Element>::Output).write(value) };
            Ok(())
        });
    }
    let operation = operation(number)?;
    with_type!(kind, T, {
        // SAFETY: the Python code has checked that there are `n` aligned elements, and keeps the array alive.
        let elements = unsafe { elements::<T>(input, n) };
        let value = py.detach(|| {
            on_threads(|| match operation {
                Operation::Sum => host::sum(elements),
                Operation::Min => host::min(elements),
                Operation::Max => host::max(elements),
            })
        });
        // SAFETY: `output` is an array of the caller with room for one result.
        unsafe { (output as *mut <T as Element>::Output).write(value) };
        Ok(())
    })
}

/// Writes the sum of each row of host memory at `input` to `output`; `number` tells whether it is the exact one.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "addresses have no names in Python")]
pub(crate) fn host_sum_rows(
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
            // SAFETY: `output` is an array of the caller with room for a result for each row.
            unsafe { write(&sums.map_err(raised)?, output) };
            Ok(())
        });
    }
    with_type!(kind, T, {
        // SAFETY: the Python code has checked the rows and their alignment, and keeps the array alive.
        let all = unsafe { self::elements::<T>(input, rows.span().unwrap_or(0)) };
        let sums = py.detach(|| on_threads(|| host::sum_rows(all, rows))).map_err(raised)?;
        // SAFETY: `output` is an array of the caller with room for a result for each row.
        unsafe { write(&sums, output) };
        Ok(())
    })
}

/// Copies sums to an address.
///
/// # Safety
/// There must be room for the sums.
unsafe fn write<A: Copy>(sums: &[A], output: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { sums.as_ptr().copy_to_nonoverlapping(output as *mut A, sums.len()) };
}

/// Whether there is a CUDA driver with every function that samebits calls.
#[pyfunction]
pub(crate) fn is_available() -> bool {
    samebits::has_driver()
}

/// Frees the memory that the calling thread keeps for the streams that it has used.
#[pyfunction]
pub(crate) fn close(py: Python<'_>) {
    py.detach(samebits::close);
}
