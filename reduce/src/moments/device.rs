//! Means and variances on a stream.
#![expect(unsafe_code, reason = "callers guarantee the memory at an address")]

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use crate::{
    Element, Error, Kernel, Operation, Reducer, Result, Rows,
    cuda::{self, Address, Param, Stream},
    element::{Itself, Read},
    engine::Engine,
    free, kept,
};

/// The maximum number of elements in a row, because a kernel counts them with 32 bits.
const LONGEST: u64 = u32::MAX as u64;

/// Fails if the elements are not floats.
pub(super) fn check<T: Element>() -> Result<()> {
    if T::FLOAT {
        return Ok(());
    }
    let elements = <T as Read<Itself>>::TYPES.name;
    Err(Error::OnlyFloats { operation: "the variance", elements })
}

/// Returns the number of threads that add a row.
pub(super) fn threads(elements: u64, size: u64) -> u32 {
    if elements * size <= 2 << 10 { 32 } else { 256 }
}

/// Returns the kernel in which `threads` threads add a row.
#[doc(hidden)]
pub fn kernel<T: Element>(threads: u32) -> Kernel {
    let of = (Operation::Sum.instructions(), <T as Read<Itself>>::TYPES);
    match threads {
        32 => Kernel::single("moments_lanes", of, |texts| texts.moments[0]),
        _ => Kernel::single("moments_block", of, |texts| texts.moments[1]),
    }
}

/// Returns the number of blocks of 256 threads, and the number of threads that add a row.
#[doc(hidden)]
pub fn plan(rows: Rows, size: u64) -> [u32; 2] {
    let (count, elements, _) = rows.numbers();
    let threads = threads(elements, size);
    let each = u64::from(256 / threads);
    [count.div_ceil(each).min(1 << 30) as u32, threads]
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
        let (count, elements, pitch) = rows.numbers();
        if elements > LONGEST {
            return Err(Error::LongRows { elements, most: LONGEST });
        }
        let [grid, threads] = plan(rows, size_of::<T>() as u64);
        let (function, _) = self.known().get(self.queue(), kernel::<T>(threads), 256)?;
        let params = [
            Param::Memory(input),
            means.map_or(Param::Null, Param::Memory),
            variances.map_or(Param::Null, Param::Memory),
            Param::U64(count),
            Param::U32(elements as u32),
            Param::U64(pitch),
            Param::U64(less),
        ];
        cuda::launch_form(function, self.queue().stream, [grid, 256], params)
    }
}

impl<T: Element> Reducer<T> {
    /// Writes the mean of each row, and its variance, to consecutive elements of two slices on the
    /// device, in one pass. The variance is the sum of the squared differences from the mean,
    /// divided by n - `less`. With a `less` of 0, it is the variance of the population, and with 1
    /// that of the sample. It is NaN if n is at most `less`. [`moments`](crate::moments) describes
    /// the algorithm and bounds its error. Does not wait, and can be captured into a graph.
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
        check::<T>()?;
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
    check::<T>()?;
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
