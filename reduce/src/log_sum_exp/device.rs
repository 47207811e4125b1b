//! Log-sum-exps on a stream.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use crate::{
    Element, Kernel, Operation, Reducer, Result, Rows,
    cuda::{Address, Param},
    element::{Itself, Read},
    engine::Engine,
    free,
    statistics::check,
};

/// The name of this statistic in error messages.
pub(super) const NAME: &str = "the log-sum-exp";

/// Returns the kernel, which is the same for rows of any length.
#[doc(hidden)]
pub fn kernel<T: Element>() -> Kernel {
    let of = (Operation::Sum.instructions(), <T as Read<Itself>>::TYPES);
    Kernel::single("log_sum_exp", of, |texts| texts.log_sum_exp)
}

impl<T: Element> Engine<T> {
    /// Queues the log-sum-exps of rows. The caller must have checked the rows.
    pub(crate) fn log_sum_exp(
        &self,
        input: Address<'_>,
        rows: Rows,
        output: Address<'_>,
    ) -> Result<()> {
        check::<T>(NAME)?;
        let _bound = self.queue().stream.bind()?;
        self.statistics(rows, kernel::<T>(), |[count, elements, pitch, threads]| {
            [Param::Memory(input), Param::Memory(output), count, elements, pitch, threads]
        })
    }
}

impl<T: Element> Reducer<T> {
    /// Writes the log-sum-exp of each row, which is the logarithm of the sum of exp(x) over the
    /// row's elements x, to consecutive elements of another slice on the device. Reads each row
    /// once, and does not overflow. [`log_sum_exp`](crate::log_sum_exp) describes the algorithm and
    /// bounds its error. Does not wait, and can be captured into a graph.
    ///
    /// # Errors
    /// The elements are not floats, or one of the errors of
    /// [`reduce_rows_into`](Reducer::reduce_rows_into) occurs.
    pub fn log_sum_exp_rows_into(
        &self,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        results: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        check::<T>(NAME)?;
        rows.check(slice.len() as u64, results.len() as u64)?;
        self.leaving(slice, results, |input, output| self.engine().log_sum_exp(input, rows, output))
    }
}

/// Writes the log-sum-exp of each row to another slice, as [`Reducer::log_sum_exp_rows_into`] does.
/// Does not wait.
pub fn log_sum_exp_rows_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    rows: Rows,
    results: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    free::of::<T>(stream)?.log_sum_exp_rows_into(slice, rows, results)
}
