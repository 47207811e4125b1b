//! Means and variances on a stream.
#![expect(unsafe_code, reason = "callers guarantee the memory at an address")]

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use crate::{
    Element, Error, Kernel, Operation, Reducer, Result, Rows,
    cuda::{Address, Param, Stream},
    element::{Itself, Read},
    engine::Engine,
    free, kept,
    statistics::check,
};

/// The name of these statistics in error messages.
pub(super) const NAME: &str = "the variance";

#[doc(hidden)]
pub fn kernel<T: Element>() -> Kernel {
    let of = (Operation::Sum.instructions(), <T as Read<Itself>>::TYPES);
    Kernel::single("moments", of, |texts| texts.moments)
}

impl<T: Element> Engine<T> {
    /// Queues the means and the variances of rows. The stream's context must be current, and the
    /// caller must have checked the rows.
    fn moments(
        &self,
        input: Address<'_>,
        rows: Rows,
        less: u64,
        [means, variances]: [Option<Address<'_>>; 2],
    ) -> Result<()> {
        let [means, variances] = [means, variances].map(|at| at.map_or(Param::Null, Param::Memory));
        self.statistics(rows, kernel::<T>(), |[count, elements, pitch, threads]| {
            let less = Param::U64(less);
            [Param::Memory(input), means, variances, count, elements, pitch, less, threads]
        })
    }
}

impl<T: Element> Reducer<T> {
    /// Writes the mean and the variance of each row to consecutive elements of two slices on the
    /// device, in one pass. The variance is the sum of the squared differences from the mean,
    /// divided by n - `less`. If `less` is 0, this is the population variance; if it is 1, this is
    /// the sample variance. The variance is NaN if n is at most `less`. [`moments`](crate::moments)
    /// describes the algorithm and bounds its error. Does not wait, and can be captured into a
    /// graph.
    ///
    /// # Errors
    /// The elements are not floats, or one of the errors of
    /// [`reduce_rows_into`](Reducer::reduce_rows_into) occurs.
    pub fn moments_rows_into(
        &self,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        less: u64,
        means: &mut impl DevicePtrMut<T::Output>,
        variances: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        check::<T>(NAME)?;
        rows.check(slice.len() as u64, means.len().min(variances.len()) as u64)?;
        self.same_context("variances", variances.stream())?;
        let (variances, _writes) = Address::of_result(variances, self.stream())?;
        self.leaving(slice, means, |input, means| {
            let _bound = self.engine().queue().stream.bind()?;
            self.engine().moments(input, rows, less, [Some(means), Some(variances)])
        })
    }
}

/// Writes the mean and the variance of each row to two slices, as [`Reducer::moments_rows_into`]
/// does. Does not wait.
pub fn moments_rows_into<T: Element>(
    stream: &Arc<CudaStream>,
    slice: &impl DevicePtr<T>,
    rows: Rows,
    less: u64,
    means: &mut impl DevicePtrMut<T::Output>,
    variances: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    free::of::<T>(stream)?.moments_rows_into(slice, rows, less, means, variances)
}

/// Writes the mean and the variance of each row at an address to consecutive elements at two other
/// addresses, one of which may be null, as [`Reducer::moments_rows_into`] does. Does not wait, and
/// can be captured into a graph.
///
/// # Errors
/// The elements are not floats, or one of the errors of
/// [`reduce_rows_into`](crate::raw::reduce_rows_into) occurs.
///
/// # Safety
/// The requirements are those of [`reduce_rows_into`](crate::raw::reduce_rows_into), for both
/// results.
pub unsafe fn raw_moments_rows_into<T: Element>(
    stream: Stream,
    input: u64,
    rows: Rows,
    less: u64,
    means: u64,
    variances: u64,
) -> Result<()> {
    check::<T>(NAME)?;
    let (count, ..) = rows.numbers();
    let all = rows.check(u64::MAX, count)?;
    if means == 0 && variances == 0 {
        return Err(Error::Null { what: "output", n: count });
    }
    // SAFETY: guaranteed by the caller.
    let (input, [means, variances]) = unsafe {
        let input = Address::promised::<T>("input", input, all)?;
        let place = |at: u64| {
            (at != 0).then(|| Address::promised::<T::Output>("output", at, count)).transpose()
        };
        (input, [place(means)?, place(variances)?])
    };
    let engine = kept::of::<T>(stream)?;
    let _bound = stream.bind()?;
    engine.moments(input, rows, less, [means, variances])
}
