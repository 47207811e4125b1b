//! Reductions of columns on a stream, for raw addresses and for slices from cudarc.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use super::{
    layout::Columns,
    plan::{THREADS, kernel_of, plan},
};
use crate::{
    Element, Error, Operation, Reducer, Result,
    cuda::{self, Address, Param},
    element::{Itself, Read},
    engine::Engine,
    free::of,
    shape,
};

impl<T: Element> Engine<T> {
    /// Queues a reduction of columns. The result of each column is written to `output`. The
    /// stream's context must be current, and the caller must have checked the columns.
    pub(crate) fn reduce_columns<W>(
        &self,
        operation: Operation,
        input: Address<'_>,
        columns: Columns,
        output: Address<'_>,
    ) -> Result<()>
    where
        T: Read<W>,
    {
        if let Some(rows) = columns.as_rows() {
            return self.reduce_rows::<W>(operation, input, rows, output);
        }
        if columns.results() == 0 {
            return Ok(());
        }
        let size = size_of::<T>() as u64;
        let value = size_of::<<T as Read<W>>::Value>() as u64;
        let planned = plan(columns, [size, value], input.raw()).ok_or(Error::TooLong {
            n: columns.rows.saturating_mul(columns.results()),
            size,
            most: shape::LONGEST,
        })?;
        let kernel = kernel_of::<T, W>(operation);
        let (function, _) = self.known().get(self.queue(), kernel, THREADS)?;
        let stream = self.queue().stream;
        let bytes = planned.bytes(value);
        self.with_messages(bytes, 0, |state| {
            let values = |state: Address<'_>| state.raw() + planned.counters();
            let params = [
                Param::Memory(input),
                Param::Memory(output),
                Param::U64(columns.rows),
                Param::U64(columns.results()),
                Param::U64(columns.inner),
                Param::U64(columns.apart),
                Param::U64(columns.pitch),
                Param::U32(planned.shape.vectors()),
                Param::U32(planned.shape.chunks()),
                Param::U32(planned.shape.threads()),
                Param::U32(planned.split),
                Param::U32(planned.two.into()),
                state.map_or(Param::Null, Param::Memory),
                Param::U64(state.map_or(0, values)),
            ];
            cuda::launch_form(function, stream, [planned.grid, THREADS], params)
        })
    }
}

impl<T: Element> Reducer<T> {
    /// Writes the result of an operation for each column to consecutive elements of another slice
    /// on the device. Each result is bit-identical to that of a slice with the elements of the
    /// column. Does not wait, and can be captured into a graph.
    ///
    /// [`Columns::of_axis`] returns the columns for any axis of a tensor. A column without elements
    /// has the same result as an empty slice.
    ///
    /// # Errors
    /// The operation is not defined for the element type, the columns do not fit the slice or the
    /// result, or a call to the driver failed.
    pub fn reduce_columns_into(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        columns: Columns,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        operation.check::<T>()?;
        columns.check(slice.len() as u64, result.len() as u64)?;
        if columns.results() == 0 {
            return Ok(());
        }
        self.leaving(slice, result, |input, output| {
            let _bound = self.engine().queue().stream.bind()?;
            self.engine().reduce_columns::<Itself>(operation, input, columns, output)
        })
    }
}

/// Writes the result of an operation for each column of a slice to another slice, as
/// [`Reducer::reduce_columns_into`] does. Does not wait.
pub fn reduce_columns_into<T: Element>(
    stream: &Arc<CudaStream>,
    operation: Operation,
    slice: &impl DevicePtr<T>,
    columns: Columns,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.reduce_columns_into(operation, slice, columns, result)
}
