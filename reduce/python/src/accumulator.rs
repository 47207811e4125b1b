//! Accumulators for exact sums of arrays on the host or on a device.

use half::{bf16, f16};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyBytes};
use samebits::{ExactAccumulator, on_threads, raw};

use crate::{
    failure::raised,
    reduce::{elements, stream},
};

/// An accumulator.
#[pyclass]
pub(crate) struct Accumulator(Sum);

#[derive(Clone)]
enum Sum {
    Float(ExactAccumulator<f32>),
    Double(ExactAccumulator<f64>),
}

/// Evaluates an expression in which `$sum` is the accumulator, which can have either type.
macro_rules! either {
    ($of:expr, $sum:ident, $body:expr) => {
        match $of {
            Sum::Float($sum) => $body,
            Sum::Double($sum) => $body,
        }
    };
}

/// Evaluates an expression in which `$T` is the type with the given number, and `$sum` is the
/// accumulator for that type.
macro_rules! with_sum {
    ($of:expr, $kind:expr, $T:ident, $sum:ident, $body:expr) => {
        match ($of, $kind) {
            (Sum::Float($sum), 0) => {
                type $T = f32;
                $body
            }
            (Sum::Double($sum), 1) => {
                type $T = f64;
                $body
            }
            (Sum::Float($sum), 6) => {
                type $T = f16;
                $body
            }
            (Sum::Float($sum), 7) => {
                type $T = bf16;
                $body
            }
            (_, other) => Err(PyTypeError::new_err(format!(
                "elements of type {other} cannot be added to this accumulator"
            ))),
        }
    };
}

#[pymethods]
impl Accumulator {
    #[new]
    fn new(double: bool) -> Accumulator {
        Accumulator(match double {
            false => Sum::Float(ExactAccumulator::new()),
            true => Sum::Double(ExactAccumulator::new()),
        })
    }

    /// Returns the accumulator with these bytes. The number of bytes determines the type.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Accumulator> {
        let sum = if bytes.len() == ExactAccumulator::<f64>::BYTES {
            ExactAccumulator::from_bytes(bytes).map(Sum::Double)
        } else {
            ExactAccumulator::from_bytes(bytes).map(Sum::Float)
        };
        sum.map(Accumulator).map_err(raised)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        either!(&self.0, sum, PyBytes::new(py, &sum.to_bytes()))
    }

    #[getter]
    fn double(&self) -> bool {
        matches!(self.0, Sum::Double(_))
    }

    #[getter]
    fn count(&self) -> u64 {
        either!(&self.0, sum, sum.count())
    }

    fn round(&self) -> f64 {
        match &self.0 {
            Sum::Float(sum) => sum.round().into(),
            Sum::Double(sum) => sum.round(),
        }
    }

    fn round_sqrt(&self) -> f64 {
        match &self.0 {
            Sum::Float(sum) => sum.round_sqrt().into(),
            Sum::Double(sum) => sum.round_sqrt(),
        }
    }

    fn merge(slf: Bound<'_, Self>, other: Bound<'_, Self>) -> PyResult<()> {
        // An accumulator can be merged with itself.
        let other = other.borrow().0.clone();
        let merged = match (&mut slf.borrow_mut().0, &other) {
            (Sum::Float(sum), Sum::Float(other)) => sum.merge(other),
            (Sum::Double(sum), Sum::Double(other)) => sum.merge(other),
            _ => {
                let text = "one accumulator is float32 and the other float64: only accumulators of the same type can be merged";
                return Err(PyTypeError::new_err(text));
            }
        };
        merged.map_err(raised)
    }

    /// Adds the `n` elements in host memory at an address, or the products of the elements at two
    /// addresses.
    fn add(&mut self, py: Python<'_>, kind: u8, addresses: Vec<usize>, n: u64) -> PyResult<()> {
        with_sum!(&mut self.0, kind, T, sum, {
            // SAFETY: the Python code has checked that there are `n` aligned elements, and keeps
            // the arrays alive.
            let slice = |at: usize| unsafe { elements::<T>(at, n) };
            py.detach(|| match addresses[..] {
                [a, b] => on_threads(|| sum.add_products(slice(a), slice(b))),
                _ => {
                    addresses.iter().for_each(|at| on_threads(|| sum.add(slice(*at))));
                    Ok(())
                }
            })
            .map_err(raised)
        })
    }

    /// Adds the `n` elements in device memory at an address, or the products of the elements at two
    /// addresses.
    fn add_device(
        &mut self,
        py: Python<'_>,
        kind: u8,
        addresses: Vec<u64>,
        n: u64,
        device: i32,
        handle: usize,
    ) -> PyResult<()> {
        with_sum!(&mut self.0, kind, T, sum, {
            // SAFETY: the frameworks guarantee that the addresses are valid, and keep the memory
            // alive until the stream has passed this point.
            py.detach(|| unsafe {
                let stream = stream(device, handle)?;
                let other = match addresses[..] {
                    [a, b] => raw::exact_dot_accumulator::<T>(stream, a, b, n)?,
                    [a] => raw::exact_accumulator::<T>(stream, a, n)?,
                    _ => return Ok(()),
                };
                sum.merge(&other)
            })
            .map_err(raised)
        })
    }
}
