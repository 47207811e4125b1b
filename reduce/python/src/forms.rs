//! Functions for indices, for both extremes in one pass, and for dot products. All of them release
//! Python's global interpreter lock (GIL).

use half::{bf16, f16};
use pyo3::{exceptions::PyTypeError, prelude::*};
use samebits::{Element, Found, Itself, Read, Rows, Wide, host, on_threads, raw};

use crate::{
    failure::raised,
    reduce::{elements, operation, stream, with_type, write},
};

/// A device and the handle of one of its streams, or None for host memory.
pub(crate) type Place = Option<(i32, usize)>;

/// Writes the smallest or largest element of each row, and the lowest index at which this value
/// occurs, to two addresses. The address for the values may be 0.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python passes addresses as separate arguments")]
pub(crate) fn find_rows(
    py: Python<'_>,
    number: u8,
    kind: u8,
    input: u64,
    rows: (u64, u64, u64),
    values: u64,
    indices: u64,
    place: Place,
) -> PyResult<()> {
    let sought = operation(number)?;
    let layout = Rows::new(rows.0, rows.1).pitch(rows.2);
    with_type!(kind, T, {
        let Some((device, handle)) = place else {
            // SAFETY: the Python code has checked the rows and their alignment, and keeps the array
            // alive.
            let all = unsafe { elements::<T>(input as usize, layout.span().unwrap_or(0)) };
            let found = py.detach(|| on_threads(|| host::find_rows(all, sought, layout)));
            let found = found.map_err(raised)?;
            type A = <T as Element>::Output;
            let of = |found: &Found<A>| (found.value, found.index);
            let (all, places): (Vec<A>, Vec<u64>) = found.iter().map(of).unzip();
            // SAFETY: the Python code has allocated room for one result per row.
            unsafe {
                if values != 0 {
                    write(&all, values as usize);
                }
                write(&places, indices as usize);
            }
            return Ok(());
        };
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
        // until the stream has passed this point.
        py.detach(|| unsafe {
            raw::find_rows_into::<T>(
                stream(device, handle)?,
                sought,
                input,
                layout,
                values,
                indices,
            )
        })
        .map_err(raised)
    })
}

/// Writes the minimum and the maximum of each row to two addresses. A single row may be empty.
#[pyfunction]
pub(crate) fn min_max_rows(
    py: Python<'_>,
    kind: u8,
    input: u64,
    rows: (u64, u64, u64),
    minima: u64,
    maxima: u64,
    place: Place,
) -> PyResult<()> {
    let layout = Rows::new(rows.0, rows.1).pitch(rows.2);
    with_type!(kind, T, {
        let Some((device, handle)) = place else {
            // SAFETY: the Python code has checked the rows and their alignment, and keeps the array
            // alive.
            let all = unsafe { elements::<T>(input as usize, layout.span().unwrap_or(0)) };
            let both = py.detach(|| {
                on_threads(|| match rows {
                    (1, 0, _) => Ok(vec![host::min_max(all)]),
                    _ => host::min_max_rows(all, layout),
                })
            });
            let (low, high): (Vec<_>, Vec<_>) = both.map_err(raised)?.into_iter().unzip();
            // SAFETY: the Python code has allocated room for one result per row.
            unsafe {
                write(&low, minima as usize);
                write(&high, maxima as usize);
            }
            return Ok(());
        };
        // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
        // until the stream has passed this point.
        py.detach(|| unsafe {
            raw::min_max_rows_into::<T>(stream(device, handle)?, input, layout, minima, maxima)
        })
        .map_err(raised)
    })
}

/// Writes the dot product of the `n` elements at `a` and at `b` to `output`. If `wide` is true,
/// elements are converted to a type of twice the size before they are multiplied.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python passes addresses as separate arguments")]
pub(crate) fn dot(
    py: Python<'_>,
    kind: u8,
    wide: bool,
    a: u64,
    b: u64,
    n: u64,
    output: u64,
    place: Place,
) -> PyResult<()> {
    match (wide, kind) {
        (false, kind) => {
            with_type!(kind, T, product::<T, Itself>(py, [a, b, output], n, place))
        }
        (true, 0) => product::<f32, Wide>(py, [a, b, output], n, place),
        (true, 2) => product::<i32, Wide>(py, [a, b, output], n, place),
        (true, 3) => product::<u32, Wide>(py, [a, b, output], n, place),
        (true, other) => {
            Err(PyTypeError::new_err(format!("element type {other} has no wider type")))
        }
    }
}

fn product<T: Element + Read<W>, W>(
    py: Python<'_>,
    [a, b, output]: [u64; 3],
    n: u64,
    place: Place,
) -> PyResult<()> {
    let Some((device, handle)) = place else {
        // SAFETY: the Python code has checked that there are `n` aligned elements, and keeps the
        // arrays alive.
        let (a, b) = unsafe { (elements::<T>(a as usize, n), elements::<T>(b as usize, n)) };
        let value = py.detach(|| on_threads(|| raw::host_dot::<T, W>(a, b))).map_err(raised)?;
        // SAFETY: the Python code has allocated room for one result.
        unsafe { write(&[value], output as usize) };
        return Ok(());
    };
    // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory alive
    // until the stream has passed this point.
    py.detach(|| unsafe { raw::dot_into::<T, W>(stream(device, handle)?, a, b, n, output) })
        .map_err(raised)
}
