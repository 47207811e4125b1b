//! Sums, minima and maxima on a stream, for slices from cudarc.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};

use crate::{
    Element, Error, ExactAccumulator, ExactElement, ExactProduct, Operation, Result, Rows,
    cuda::{Address, Queue},
    engine::Engine,
    error::{doing, same_length},
    exact::launch,
};

/// Reduces slices of one type on one stream.
///
/// A kernel is compiled when it is first needed, once in each context;
/// [`prepare`](Reducer::prepare) compiles kernels in advance. The reducer owns a little device
/// memory, which its launches share. They run one after another, in stream order, and each leaves
/// the memory as it was before. Work that is captured into a graph has its own memory, so the graph
/// may outlive the reducer and run concurrently with it.
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

    /// Compiles the kernels of these operations for all shapes, and allocates their memory, so that the
    /// first call is as fast as later ones.
    pub fn prepare(&self, operations: &[Operation]) -> Result<()> {
        self.engine.prepare(operations)
    }

    /// Returns the sum of a slice, which is 0 for an empty slice. Waits for the result.
    pub fn sum(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.wait(Operation::Sum, slice)
    }

    /// Returns the smallest element, ignoring NaNs, or NaN if all elements are NaN. For an empty
    /// slice, returns the largest value of the type: infinity or `MAX`. -0 is less than +0. Waits
    /// for the result.
    pub fn min(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.wait(Operation::Min, slice)
    }

    /// Returns the largest element, ignoring NaNs, or NaN if all elements are NaN. For an empty
    /// slice, returns the smallest value of the type: minus infinity or `MIN`. -0 is less than +0.
    /// Waits for the result.
    pub fn max(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.wait(Operation::Max, slice)
    }

    /// Writes the sum to the first element of another slice on the device. Does not wait, and can be
    /// captured into a graph.
    pub fn sum_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.leave(Operation::Sum, slice, result)
    }

    /// Writes the result of [`min`](Reducer::min), as [`sum_into`](Reducer::sum_into) writes the sum.
    pub fn min_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.leave(Operation::Min, slice, result)
    }

    /// Writes the result of [`max`](Reducer::max), as [`sum_into`](Reducer::sum_into) writes the sum.
    pub fn max_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.leave(Operation::Max, slice, result)
    }

    /// Returns the exact sum, rounded once. It has the bits of
    /// [`host::exact_sum`](crate::host::exact_sum), in any order of the elements. Waits for the
    /// result.
    pub fn exact_sum(&self, slice: &impl DevicePtr<T>) -> Result<T::Output>
    where
        T: ExactElement,
    {
        self.waiting(slice, |input| self.engine.wait_exact(input))
    }

    /// Writes the exact sum to the first element of a slice on the device. Does not wait, and can be captured into
    /// a graph.
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
    /// It has the bits of [`host::exact_dot`](crate::host::exact_dot). Waits for the result.
    pub fn exact_dot(&self, a: &impl DevicePtr<T>, b: &impl DevicePtr<T>) -> Result<f32>
    where
        T: ExactProduct,
    {
        self.engine.refuse_capture()?;
        let [(a, _reads_a), (b, _reads_b)] = self.pair(a, b)?;
        self.engine.wait_dot(a, b)
    }

    /// Writes the exact dot product to the first element of a slice on the device. Does not wait, and can be
    /// captured into a graph.
    pub fn exact_dot_into(
        &self,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<f32>,
    ) -> Result<()>
    where
        T: ExactProduct,
    {
        if result.is_empty() {
            return Err(Error::NoRoom);
        }
        self.same_context("result", result.stream())?;
        let (output, _writes) = Address::of_result(result, &self.stream)?;
        let [(a, _reads_a), (b, _reads_b)] = self.pair(a, b)?;
        self.engine.leave_dot(a, b, output)
    }

    /// Returns an accumulator that holds the elements of a slice. It is byte-identical to an
    /// accumulator computed on the host. Waits for the result.
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
        let words = launch::RAW_WORDS[size_of::<T::Output>() / 8];
        self.accumulated(words, slice.len() as u64, |output| {
            self.same_context("slice", slice.stream())?;
            let (input, _reads) = Address::of(slice, &self.stream)?;
            self.ordered()?;
            self.engine.leave_raw(input, output)
        })
    }

    /// An accumulator with the products of two slices, element by element: the bytes of one on the host. Waits for
    /// it.
    pub fn exact_dot_accumulator(
        &self,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
    ) -> Result<ExactAccumulator<f32>>
    where
        T: ExactProduct,
    {
        self.accumulated(launch::RAW_WORDS[1], a.len() as u64, |output| {
            let [(a, _reads_a), (b, _reads_b)] = self.pair(a, b)?;
            self.engine.leave_raw_dot(a, b, output)
        })
    }

    /// The square root of the exact sum of the squares of a slice, rounded once: the bits of
    /// [`host::exact_norm`](crate::host::exact_norm). Waits for it; the host takes the root.
    pub fn exact_norm(&self, slice: &impl DevicePtr<T>) -> Result<f32>
    where
        T: ExactProduct,
    {
        Ok(self.exact_dot_accumulator(slice, slice)?.round_sqrt())
    }

    /// The accumulator of `n` elements whose flags and digits a launch stores in a number of words.
    fn accumulated(
        &self,
        words: usize,
        n: u64,
        leave: impl FnOnce(Address<'_>) -> Result<()>,
    ) -> Result<ExactAccumulator<T::Output>>
    where
        T: ExactElement,
    {
        self.engine.refuse_capture()?;
        let reading = || doing("reading an exact sum's digits");
        let mut raw = self.stream.alloc_zeros::<u64>(words).map_err(reading())?;
        {
            let (output, _writes) = Address::of_result(&mut raw, &self.stream)?;
            leave(output)?;
        }
        let raw = self.stream.clone_dtoh(&raw).map_err(reading())?;
        Ok(launch::accumulator(&raw, n))
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
        self.leaving_rows(slice, rows, result, |input, output| {
            self.engine.sum_rows(input, rows, output)
        })
    }

    /// Writes the exact sums of rows to consecutive elements of another slice on the device: the bits of
    /// [`host::exact_sum_rows`](crate::host::exact_sum_rows). Does not wait, and can be captured into a graph.
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

    fn leave(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.leaving(slice, result, |input, output| self.engine.leave(operation, input, output))
    }

    fn leaving(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
        leave: impl FnOnce(Address<'_>, Address<'_>) -> Result<()>,
    ) -> Result<()> {
        if result.is_empty() {
            return Err(Error::NoRoom);
        }
        self.same_context("result", result.stream())?;
        self.same_context("slice", slice.stream())?;
        let (output, _writes) = Address::of_result(result, &self.stream)?;
        let (input, _reads) = Address::of(slice, &self.stream)?;
        self.ordered()?;
        leave(input, output)
    }

    fn wait(&self, operation: Operation, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.waiting(slice, |input| self.engine.wait(operation, input))
    }

    fn waiting(
        &self,
        slice: &impl DevicePtr<T>,
        wait: impl FnOnce(Address<'_>) -> Result<T::Output>,
    ) -> Result<T::Output> {
        self.engine.refuse_capture()?;
        self.same_context("slice", slice.stream())?;
        let (input, _reads) = Address::of(slice, &self.stream)?;
        self.ordered()?;
        wait(input)
    }

    fn pair<'m>(
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

    /// Fails if the stream could not be made to wait for other streams' work on the borrowed
    /// slices. cudarc stores such an error until it is read.
    fn ordered(&self) -> Result<()> {
        self.stream
            .context()
            .check_err()
            .map_err(doing("ordering the stream after other work on the slice"))
    }

    fn same_context(&self, what: &'static str, stream: &CudaStream) -> Result<()> {
        let (theirs, ours) = (stream.context(), self.stream.context());
        if theirs.cu_ctx() == ours.cu_ctx() {
            return Ok(());
        }
        Err(Error::OtherContext { what, theirs: theirs.ordinal(), ours: ours.ordinal() })
    }
}
