//! The code that all statistics of rows of floats share.

use crate::{
    Accumulator, Element, Error, Kernel, Result, Rows,
    cuda::{self, Param},
    element::{Itself, Read},
    engine::Engine,
    threads::each_row,
};

/// The maximum number of elements in a row, because a kernel counts them with 32 bits.
const LONGEST: u64 = u32::MAX as u64;

/// Fails if the elements are not floats. `operation` names the statistic in the message.
pub(crate) fn check<T: Element>(operation: &'static str) -> Result<()> {
    if T::FLOAT {
        return Ok(());
    }
    Err(Error::OnlyFloats { operation, elements: <T as Read<Itself>>::TYPES.name })
}

/// Returns the number of threads that read a row: the smallest power of two for which each thread
/// has at most four vectors, but at most 256.
pub(crate) fn threads(elements: u64, size: u64) -> u32 {
    let vectors = elements.div_ceil(16 / size);
    vectors.div_ceil(4).min(256).next_power_of_two() as u32
}

/// Returns the number of blocks of 256 threads, and the number of threads that read a row.
#[doc(hidden)]
pub fn plan(rows: Rows, size: u64) -> [u32; 2] {
    let (count, elements, _) = rows.numbers();
    let threads = threads(elements, size);
    [count.div_ceil(u64::from(256 / threads)).min(1 << 30) as u32, threads]
}

impl<T: Element> Engine<T> {
    /// Queues statistics of rows. The arguments of `params` are the number of rows, their length,
    /// their pitch and the number of threads that read a row. The stream's context must be current,
    /// and the caller must have checked the rows.
    pub(crate) fn statistics<'m, const N: usize>(
        &self,
        rows: Rows,
        kernel: Kernel,
        params: impl FnOnce([Param<'m>; 4]) -> [Param<'m>; N],
    ) -> Result<()> {
        let (count, elements, pitch) = rows.numbers();
        if elements > LONGEST {
            return Err(Error::LongRows { elements, most: LONGEST });
        }
        let [grid, threads] = plan(rows, size_of::<T>() as u64);
        let (function, _) = self.known().get(self.queue(), kernel, 256)?;
        let layout = [
            Param::U64(count),
            Param::U32(elements as u32),
            Param::U64(pitch),
            Param::U32(threads),
        ];
        cuda::launch_form(function, self.queue().stream, [grid, 256], params(layout))
    }
}

/// Checks the elements and the rows, and returns the statistic of each row, computed on the CPU.
pub(crate) fn of_rows<T: Element, V: Send + Sync>(
    operation: &'static str,
    slice: &[T],
    rows: Rows,
    statistic: impl Fn(&[T]) -> V + Sync,
) -> Result<Vec<V>> {
    check::<T>(operation)?;
    each_row(slice, rows, 16, statistic)
}

/// Returns the elements of a row as doubles.
pub(crate) fn doubles<T: Element>(row: &[T]) -> Vec<f64> {
    let mut values = Vec::with_capacity(row.len());
    <T as Read<Itself>>::read(row, |_, run| {
        values.extend(run.iter().map(|value| value.to_double()))
    });
    values
}
