//! Reductions along an axis, of lists, and of ragged rows. All functions release Python's global
//! interpreter lock (GIL).

use half::{bf16, f16};
use pyo3::{exceptions::PyTypeError, prelude::*};
use samebits::{Columns, Itself, Rows, Truth, Wide, host, on_threads, raw};

use crate::{
    failure::raised,
    forms::Place,
    reduce::{TRUTH, WIDE, elements, operation, stream, with_read, with_type, write},
};

/// Writes the result of an operation for each column to `output`. A layout consists of the numbers
/// of batches, rows and columns, the distance between rows, and the distance between batches.
#[pyfunction]
pub(crate) fn reduce_columns(
    py: Python<'_>,
    number: u8,
    kind: u8,
    input: u64,
    layout: (u64, u64, u64, u64, u64),
    output: u64,
    place: Place,
) -> PyResult<()> {
    let operation = operation(number)?;
    let (batches, rows, inner, pitch, apart) = layout;
    let columns = Columns::new(rows, inner).pitch(pitch).batches(batches, apart);
    let span = match rows * inner * batches {
        0 => 0,
        _ => (batches - 1) * apart + (rows - 1) * pitch + inner,
    };
    with_read!(number, kind, T, W, {
        let Some((device, handle)) = place else {
            // SAFETY: the Python code has checked the array, and keeps it alive.
            let all = unsafe { elements::<T>(input as usize, span) };
            let values =
                py.detach(|| on_threads(|| host::read_columns::<T, W>(all, operation, columns)));
            // SAFETY: the Python code has allocated room for the results.
            unsafe { write(&values.map_err(raised)?, output as usize) };
            return Ok(());
        };
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
        // until the stream has passed this point.
        py.detach(|| unsafe {
            let stream = stream(device, handle)?;
            raw::read_columns_into::<T, W>(stream, operation, input, columns, output)
        })
        .map_err(raised)
    })
}

/// A list of slices on a device.
#[pyclass(frozen)]
pub(crate) struct List(raw::List);

#[pymethods]
impl List {
    #[new]
    fn new(
        py: Python<'_>,
        kind: u8,
        slices: Vec<(u64, u64)>,
        device: i32,
        handle: usize,
    ) -> PyResult<List> {
        with_type!(kind, T, {
            py.detach(|| raw::List::new::<T>(stream(device, handle)?, &slices))
                .map(List)
                .map_err(raised)
        })
    }

    /// Writes the result of an operation for each slice to `output`, and the result for all slices
    /// together to `total`.
    #[expect(clippy::too_many_arguments, reason = "Python passes addresses as separate arguments")]
    fn reduce(
        &self,
        py: Python<'_>,
        number: u8,
        kind: u8,
        output: u64,
        total: u64,
        device: i32,
        handle: usize,
    ) -> PyResult<()> {
        let operation = operation(number)?;
        with_read!(number, kind, T, W, {
            // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory
            // alive until the stream has passed this point.
            py.detach(|| unsafe {
                let stream = stream(device, handle)?;
                raw::reduce_list_into::<T, W>(stream, operation, &self.0, output, total)
            })
            .map_err(raised)
        })
    }
}

/// Writes the results for slices in host memory, like `List.reduce`.
#[pyfunction]
pub(crate) fn host_reduce_list(
    py: Python<'_>,
    number: u8,
    kind: u8,
    slices: Vec<(u64, u64)>,
    output: u64,
    total: u64,
) -> PyResult<()> {
    let operation = operation(number)?;
    with_read!(number, kind, T, W, {
        // SAFETY: the Python code has checked the arrays, and keeps them alive.
        let slice = |(at, n): &(u64, u64)| unsafe { elements::<T>(*at as usize, *n) };
        let slices: Vec<&[T]> = slices.iter().map(slice).collect();
        let found = py.detach(|| on_threads(|| host::read_list::<T, W>(&slices, operation)));
        let (each, all) = found.map_err(raised)?;
        // SAFETY: the Python code has allocated room for the results.
        unsafe {
            write(&each, output as usize);
            write(&[all], total as usize);
        }
        Ok(())
    })
}

/// Writes the result of an operation for each ragged row of `n` elements to `output`. The offsets
/// have 64 bits. On a device, `bad` is the address of a word that is 0 before the call; on the
/// host, bad offsets are an error.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python passes addresses as separate arguments")]
pub(crate) fn reduce_ragged(
    py: Python<'_>,
    number: u8,
    kind: u8,
    input: u64,
    n: u64,
    offsets: u64,
    rows: u64,
    output: u64,
    bad: u64,
    place: Place,
) -> PyResult<()> {
    let operation = operation(number)?;
    with_read!(number, kind, T, W, {
        let Some((device, handle)) = place else {
            // SAFETY: the Python code has checked the arrays, and keeps them alive.
            let (all, offsets) = unsafe {
                (elements::<T>(input as usize, n), elements::<u64>(offsets as usize, rows + 1))
            };
            let values =
                py.detach(|| on_threads(|| host::read_ragged::<T, W>(all, operation, offsets)));
            // SAFETY: the Python code has allocated room for the results.
            unsafe { write(&values.map_err(raised)?, output as usize) };
            return Ok(());
        };
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
        // until the stream has passed this point.
        py.detach(|| unsafe {
            let stream = stream(device, handle)?;
            let offsets = raw::Offsets::U64(offsets);
            raw::reduce_ragged_into::<T, W>(stream, operation, input, n, offsets, rows, output, bad)
        })
        .map_err(raised)
    })
}

/// Writes the mean and the variance of each row to two addresses.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python passes addresses as separate arguments")]
pub(crate) fn moments_rows(
    py: Python<'_>,
    kind: u8,
    input: u64,
    rows: (u64, u64, u64),
    less: u64,
    means: u64,
    variances: u64,
    place: Place,
) -> PyResult<()> {
    let layout = Rows::new(rows.0, rows.1).pitch(rows.2);
    with_type!(kind, T, {
        let Some((device, handle)) = place else {
            // SAFETY: the Python code has checked the rows and their alignment, and keeps the array
            // alive.
            let all = unsafe { elements::<T>(input as usize, layout.span().unwrap_or(0)) };
            let found = py.detach(|| on_threads(|| host::moments_rows(all, layout, less)));
            let found = found.map_err(raised)?;
            // SAFETY: the Python code has allocated room for one result per row.
            unsafe {
                write(&found.0, means as usize);
                write(&found.1, variances as usize);
            }
            return Ok(());
        };
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
        // until the stream has passed this point.
        py.detach(|| unsafe {
            let stream = stream(device, handle)?;
            raw::moments_rows_into::<T>(stream, input, layout, less, means, variances)
        })
        .map_err(raised)
    })
}

/// Writes the log-sum-exp of each row to an address.
#[pyfunction]
pub(crate) fn log_sum_exp_rows(
    py: Python<'_>,
    kind: u8,
    input: u64,
    rows: (u64, u64, u64),
    output: u64,
    place: Place,
) -> PyResult<()> {
    let layout = Rows::new(rows.0, rows.1).pitch(rows.2);
    with_type!(kind, T, {
        let Some((device, handle)) = place else {
            // SAFETY: the Python code has checked the rows and their alignment, and keeps the array
            // alive.
            let all = unsafe { elements::<T>(input as usize, layout.span().unwrap_or(0)) };
            let found = py.detach(|| on_threads(|| host::log_sum_exp_rows(all, layout)));
            // SAFETY: the Python code has allocated room for one result per row.
            unsafe { write(&found.map_err(raised)?, output as usize) };
            return Ok(());
        };
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
        // until the stream has passed this point.
        py.detach(|| unsafe {
            raw::log_sum_exp_rows_into::<T>(stream(device, handle)?, input, layout, output)
        })
        .map_err(raised)
    })
}
