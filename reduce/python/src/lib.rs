//! The extension module of the Python package. The module reduces the elements at an address, and
//! exchanges arrays through DLPack. The Python code in `samebits/` finds the addresses of the
//! arrays.
#![expect(unsafe_code, reason = "Python passes arrays as addresses")]

mod accumulator;
mod array;
mod dlpack;
mod failure;
mod forms;
mod many;
mod reduce;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _samebits {
    #[pymodule_export]
    use super::accumulator::Accumulator;
    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::dlpack::{Borrowed, import_dlpack};
    #[pymodule_export]
    use super::failure::CudaError;
    #[pymodule_export]
    use super::forms::{dot, find_rows, min_max_rows};
    #[pymodule_export]
    use super::many::{
        List, host_reduce_list, log_sum_exp_rows, moments_rows, reduce_columns, reduce_ragged,
    };
    #[pymodule_export]
    use super::reduce::{
        Mark, close, device_of, exact_dot_into, host_exact_dot, host_reduce, host_reduce_rows,
        is_available, mark, reduce_into, reduce_rows_into, wait,
    };

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("ORDER", samebits::ORDER)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
