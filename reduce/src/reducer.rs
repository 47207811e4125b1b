//! Sums, minima and maxima on a stream, for slices from cudarc.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};

use crate::{
    Element, Error, ExactAccumulator, ExactElement, Operation, Result, Rows,
    cuda::{Address, Queue},
    element::{Itself, Truth, Wide, WideElement},
    engine::Engine,
    error::{doing, same_length},
};

/// Reduces slices of one type on one stream.
///
/// A kernel is compiled when it is first needed, once in each context;
/// [`prepare`](Reducer::prepare) compiles kernels in advance. The reducer owns a small amount of
/// device memory, which its launches share. These launches run one after another, in stream order,
/// and each leaves the memory as it was before. Work that is captured into a graph has its own
/// memory, so the graph may outlive the reducer and run concurrently with it.
///
/// A reducer can be moved to another thread, but two threads cannot share it:
///
/// ```compile_fail
/// fn is_shared<T: Sync>() {}
/// is_shared::<samebits::Reducer<f32>>();
/// ```
#[derive(Debug)]
pub struct Reducer<T> {
    stream: Arc<CudaStream>,
    engine: Engine<T>,
}

impl<T: Element> Reducer<T> {
    /// Creates a reducer for a stream. The first calls compile the kernels and allocate memory.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Reducer<T>> {
        Ok(Reducer { stream: stream.clone(), engine: Engine::new(Queue::owned(stream)) })
    }

    /// Compiles the kernels of these operations for all shapes, and allocates their memory, so that
    /// the first call is as fast as later ones.
    pub fn prepare(&self, operations: &[Operation]) -> Result<()> {
        self.engine.prepare(operations)
    }

    /// Returns the result of an operation over a slice. Waits for the result.
    ///
    /// # Errors
    /// The operation is not defined for the element type, the slice is in another context, or a
    /// call to the driver failed.
    pub fn reduce(&self, operation: Operation, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        operation.check::<T>()?;
        self.waiting(slice, |input| self.engine.wait::<Itself>(operation, input))
    }

    /// Writes the result of an operation over a slice to the first element of another slice on the
    /// device. Does not wait, and can be captured into a graph.
    ///
    /// # Errors
    /// The same errors as for [`reduce`](Reducer::reduce), or the slice for the result is empty.
    pub fn reduce_into(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        operation.check::<T>()?;
        self.leaving(slice, result, |input, output| {
            self.engine.leave::<Itself>(operation, input, output)
        })
    }

    /// Returns the result of an operation over elements that are combined in a type of twice the
    /// size: `f32` as `f64`, and `i32` and `u32` as 64-bit integers. Squares and sums that overflow
    /// in the type of the elements do not overflow here. Waits for the result.
    ///
    /// # Errors
    /// The same errors as for [`reduce`](Reducer::reduce).
    pub fn reduce_wide(&self, operation: Operation, slice: &impl DevicePtr<T>) -> Result<T::Wider>
    where
        T: WideElement,
    {
        operation.check::<T>()?;
        self.waiting(slice, |input| self.engine.wait::<Wide>(operation, input))
    }

    /// Writes the result of [`reduce_wide`](Reducer::reduce_wide) to the first element of another
    /// slice on the device. Does not wait, and can be captured into a graph.
    ///
    /// # Errors
    /// The same errors as for [`reduce_into`](Reducer::reduce_into).
    pub fn reduce_wide_into(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Wider>,
    ) -> Result<()>
    where
        T: WideElement,
    {
        operation.check::<T>()?;
        let leave = |input: Address<'_>, output: Address<'_>| {
            self.engine.leave::<Wide>(operation, input, output)
        };
        self.leaving(slice, result, leave)
    }

    /// Returns the number of elements that are not zero. NaN counts as nonzero, and -0 as zero.
    /// Waits for the result.
    ///
    /// # Errors
    /// The slice is in another context, or a call to the driver failed.
    pub fn count(&self, slice: &impl DevicePtr<T>) -> Result<u64> {
        let count = |input: Address<'_>| self.engine.wait::<Truth>(Operation::Sum, input);
        Ok(self.waiting(slice, count)?.unsigned_abs())
    }

    /// Returns whether any element is not zero; for an empty slice, returns `false`. Waits for the
    /// result.
    ///
    /// # Errors
    /// The same errors as for [`count`](Reducer::count).
    pub fn any(&self, slice: &impl DevicePtr<T>) -> Result<bool> {
        let any = |input: Address<'_>| self.engine.wait::<Truth>(Operation::Max, input);
        Ok(self.waiting(slice, any)? > 0)
    }

    /// Returns whether no element is zero; for an empty slice, returns `true`. Waits for the
    /// result.
    ///
    /// # Errors
    /// The same errors as for [`count`](Reducer::count).
    pub fn every(&self, slice: &impl DevicePtr<T>) -> Result<bool> {
        let every = |input: Address<'_>| self.engine.wait::<Truth>(Operation::Min, input);
        Ok(self.waiting(slice, every)? > 0)
    }

    /// Writes the result of [`count`](Reducer::count) (for the sum), [`any`](Reducer::any) (for the
    /// maximum) or [`every`](Reducer::every) (for the minimum) to the first element of a slice on
    /// the device; the last two are written as 0 or 1. Does not wait, and can be captured into a
    /// graph.
    ///
    /// # Errors
    /// The operation is not the sum, the maximum or the minimum, or one of the errors of
    /// [`reduce_into`](Reducer::reduce_into) occurs.
    pub fn reduce_truth_into(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<i64>,
    ) -> Result<()> {
        operation.check_truth()?;
        let leave = |input: Address<'_>, output: Address<'_>| {
            self.engine.leave::<Truth>(operation, input, output)
        };
        self.leaving(slice, result, leave)
    }

    /// Returns the sum of a slice, which is 0 for an empty slice. Waits for the result.
    pub fn sum(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.reduce(Operation::Sum, slice)
    }

    /// Returns the smallest element, ignoring NaNs, or NaN if all elements are NaN. For an empty
    /// slice, returns the largest value of the type: infinity or `MAX`. -0 is less than +0. Waits
    /// for the result.
    pub fn min(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.reduce(Operation::Min, slice)
    }

    /// Returns the largest element, ignoring NaNs, or NaN if all elements are NaN. For an empty
    /// slice, returns the smallest value of the type: minus infinity or `MIN`. -0 is less than +0.
    /// Waits for the result.
    pub fn max(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.reduce(Operation::Max, slice)
    }

    /// Writes the sum to the first element of another slice on the device. Does not wait, and can
    /// be captured into a graph.
    pub fn sum_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.reduce_into(Operation::Sum, slice, result)
    }

    /// Like [`sum_into`](Reducer::sum_into), but writes the result of [`min`](Reducer::min).
    pub fn min_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.reduce_into(Operation::Min, slice, result)
    }

    /// Like [`sum_into`](Reducer::sum_into), but writes the result of [`max`](Reducer::max).
    pub fn max_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.reduce_into(Operation::Max, slice, result)
    }

    /// Returns the exact sum, rounded once. The result is bit-identical to that of
    /// [`host::exact_sum`](crate::host::exact_sum), and does not depend on the order of the
    /// elements. Waits for the result.
    pub fn exact_sum(&self, slice: &impl DevicePtr<T>) -> Result<T::Output>
    where
        T: ExactElement,
    {
        self.waiting(slice, |input| self.engine.wait_exact(input))
    }

    /// Writes the exact sum to the first element of a slice on the device. Does not wait, and can
    /// be captured into a graph.
    pub fn exact_sum_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()>
    where
        T: ExactElement,
    {
        self.leaving(slice, result, |input, output| self.engine.leave_exact(input, output))
    }

    /// Returns the exact sum of the products of corresponding elements in two slices, rounded once.
    /// The result is bit-identical to that of [`host::exact_dot`](crate::host::exact_dot). Waits
    /// for the result.
    pub fn exact_dot(&self, a: &impl DevicePtr<T>, b: &impl DevicePtr<T>) -> Result<T::Output>
    where
        T: ExactElement,
    {
        self.engine.refuse_capture()?;
        let [(a, _reads_a), (b, _reads_b)] = self.pair(a, b)?;
        self.engine.wait_dot(a, b)
    }

    /// Writes the exact dot product to the first element of a slice on the device. Does not wait,
    /// and can be captured into a graph.
    pub fn exact_dot_into(
        &self,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()>
    where
        T: ExactElement,
    {
        no_room(result.len())?;
        self.same_context("result", result.stream())?;
        let (output, _writes) = Address::of_result(result, &self.stream)?;
        let [(a, _reads_a), (b, _reads_b)] = self.pair(a, b)?;
        self.engine.leave_dot(a, b, output)
    }

    /// Returns an accumulator that holds the elements of a slice. The accumulator is byte-identical
    /// to one that the host computes. Waits for the result.
    ///
    /// ```no_run
    /// # fn main() -> samebits::Result<()> {
    /// # let stream = samebits::open(0)?;
    /// # let slices = [stream.clone_htod(&[1.0f32]).unwrap()];
    /// let reducer = samebits::Reducer::<f32>::new(&stream)?;
    /// let mut sum = samebits::ExactAccumulator::new();
    /// for slice in &slices {
    ///     sum.merge(&reducer.exact_accumulator(slice)?)?;
    /// }
    /// println!("{}", sum.round());
    /// # Ok(())
    /// # }
    /// ```
    pub fn exact_accumulator(
        &self,
        slice: &impl DevicePtr<T>,
    ) -> Result<ExactAccumulator<T::Output>>
    where
        T: ExactElement,
    {
        self.waiting(slice, |input| self.engine.wait_accumulator(input))
    }

    /// Returns an accumulator that holds the products of corresponding elements in two slices. The
    /// accumulator is byte-identical to one that the host computes. Waits for the result.
    pub fn exact_dot_accumulator(
        &self,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
    ) -> Result<ExactAccumulator<T::Output>>
    where
        T: ExactElement,
    {
        self.engine.refuse_capture()?;
        let [(a, _reads_a), (b, _reads_b)] = self.pair(a, b)?;
        self.engine.wait_dot_accumulator(a, b)
    }

    /// Returns the square root of the exact sum of the squares of a slice's elements, rounded once,
    /// with the same bits as [`host::exact_norm`](crate::host::exact_norm). Waits for the sum of
    /// the squares; the host then takes its square root.
    pub fn exact_norm(&self, slice: &impl DevicePtr<T>) -> Result<T::Output>
    where
        T: ExactElement,
    {
        Ok(self.exact_dot_accumulator(slice, slice)?.round_sqrt())
    }

    /// Writes the sums of rows to consecutive elements of another slice on the device. Each sum is
    /// bit-identical to the [`sum`](Reducer::sum) of that row alone. Does not wait, and can be
    /// captured into a graph.
    pub fn sum_rows_into(
        &self,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.reduce_rows_into(Operation::Sum, slice, rows, result)
    }

    /// Writes the result of an operation for each row to consecutive elements of another slice on
    /// the device, like [`sum_rows_into`](Reducer::sum_rows_into).
    ///
    /// # Errors
    /// The operation is not defined for the element type, the rows do not fit the slice or the
    /// result, or a call to the driver failed.
    pub fn reduce_rows_into(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        operation.check::<T>()?;
        self.leaving_rows(slice, rows, result, |input, output| {
            self.engine.reduce_rows::<Itself>(operation, input, rows, output)
        })
    }

    /// Writes the exact sums of rows to consecutive elements of another slice on the device, with
    /// the same bits as [`host::exact_sum_rows`](crate::host::exact_sum_rows). Does not wait, and
    /// can be captured into a graph.
    pub fn exact_sum_rows_into(
        &self,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()>
    where
        T: ExactElement,
    {
        self.leaving_rows(slice, rows, result, |input, output| {
            self.engine.exact_rows(input, rows, output)
        })
    }

    pub(crate) fn engine(&self) -> &Engine<T> {
        &self.engine
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    fn leaving_rows(
        &self,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        result: &mut impl DevicePtrMut<T::Output>,
        leave: impl FnOnce(Address<'_>, Address<'_>) -> Result<()>,
    ) -> Result<()> {
        // The rows are checked before the stream is made to wait for other work.
        rows.check(slice.len() as u64, result.len() as u64)?;
        self.same_context("result", result.stream())?;
        self.same_context("slice", slice.stream())?;
        let (output, _writes) = Address::of_result(result, &self.stream)?;
        let (input, _reads) = Address::of(slice, &self.stream)?;
        self.ordered()?;
        leave(input, output)
    }

    pub(crate) fn leaving<A>(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<A>,
        leave: impl FnOnce(Address<'_>, Address<'_>) -> Result<()>,
    ) -> Result<()> {
        no_room(result.len())?;
        self.same_context("result", result.stream())?;
        self.same_context("slice", slice.stream())?;
        let (output, _writes) = Address::of_result(result, &self.stream)?;
        let (input, _reads) = Address::of(slice, &self.stream)?;
        self.ordered()?;
        leave(input, output)
    }

    pub(crate) fn waiting<A>(
        &self,
        slice: &impl DevicePtr<T>,
        wait: impl FnOnce(Address<'_>) -> Result<A>,
    ) -> Result<A> {
        self.engine.refuse_capture()?;
        self.same_context("slice", slice.stream())?;
        let (input, _reads) = Address::of(slice, &self.stream)?;
        self.ordered()?;
        wait(input)
    }

    pub(crate) fn pair<'m>(
        &'m self,
        a: &'m impl DevicePtr<T>,
        b: &'m impl DevicePtr<T>,
    ) -> Result<[(Address<'m>, SyncOnDrop<'m>); 2]> {
        same_length(a.len(), b.len())?;
        self.same_context("first slice", a.stream())?;
        self.same_context("second slice", b.stream())?;
        let pair = [Address::of(a, &self.stream)?, Address::of(b, &self.stream)?];
        self.ordered()?;
        Ok(pair)
    }

    /// Fails if cudarc could not make the stream wait for the work of other streams on the borrowed
    /// slices. cudarc stores such an error until it is read.
    pub(crate) fn ordered(&self) -> Result<()> {
        self.stream
            .context()
            .check_err()
            .map_err(doing("ordering the stream after other work on the slice"))
    }

    pub(crate) fn same_context(&self, what: &'static str, stream: &CudaStream) -> Result<()> {
        let (theirs, ours) = (stream.context(), self.stream.context());
        if theirs.cu_ctx() == ours.cu_ctx() {
            return Ok(());
        }
        Err(Error::OtherContext { what, theirs: theirs.ordinal(), ours: ours.ordinal() })
    }
}

/// Fails if a slice for a result is empty.
pub(crate) fn no_room(room: usize) -> Result<()> {
    if room > 0 { Ok(()) } else { Err(Error::NoRoom) }
}
