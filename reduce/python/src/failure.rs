//! Converts the library's errors to Python exceptions.

use pyo3::{
    PyErr, create_exception,
    exceptions::{PyRuntimeError, PyValueError},
};
use samebits::Error;

create_exception!(
    samebits,
    CudaError,
    PyRuntimeError,
    "The CUDA driver is missing, or a call to it failed."
);

/// Returns the exception for an error.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Driver { .. }
        | Error::NoDriver
        | Error::NoSymbol { .. }
        | Error::NoDevice { .. }
        | Error::OldDevice { .. }
        | Error::OldDriver
        | Error::NoContext
        | Error::Forked
        | Error::Lost => CudaError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
