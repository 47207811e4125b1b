//! Dot products on a stream, for raw addresses and for slices from cudarc.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use super::check;
use crate::{
    Element, Error, Kernel, Operation, Reducer, Result, Shape,
    cuda::{self, Address, Call},
    element::{Itself, Read, Wide, WideElement},
    engine::{Engine, state_bytes},
    free::of,
    reducer::no_room,
    shape,
};

/// Returns the kernel for elements that are converted as `W` specifies, and the largest number of
/// threads in its blocks.
#[doc(hidden)]
pub fn kernel_of<T: Read<W>, W>(shape: Shape) -> (Kernel, u32) {
    let of = (Operation::Sum.instructions(), T::TYPES);
    match shape {
        Shape::Chunks { .. } => (Kernel::single("dot_chunks", of, |texts| texts.products[0]), 512),
        _ => (Kernel::single("dot_few", of, |texts| texts.products[1]), 1024),
    }
}

impl<T: Element> Engine<T> {
    /// Queues the dot product of two inputs, which have the same length. The stream's context must
    /// be current. If `epoch` is not 0, the kernel writes the result for a host thread that polls
    /// for it.
    pub(crate) fn dot<W>(
        &self,
        a: Address<'_>,
        b: Address<'_>,
        output: Address<'_>,
        epoch: u32,
    ) -> Result<()>
    where
        T: Read<W>,
    {
        let stream = self.queue().stream;
        let (n, size) = (a.len(), size_of::<T>() as u64);
        let shape = shape::pick(n, size).ok_or(Error::TooLong { n, size, most: shape::LONGEST })?;
        let (kernel, most) = kernel_of::<T, W>(shape);
        let (function, blocks) = self.known().get(self.queue(), kernel, most)?;
        let (chunks, vectors, threads) = (shape.chunks(), shape.vectors(), shape.threads());
        let call =
            Call { grid: chunks.min(blocks), threads, input: a, output, vectors, chunks, epoch };
        let bytes = match shape.values() {
            0 => 0,
            values => state_bytes::<<T as Read<W>>::Value>(values.into()) as u64,
        };
        self.with_messages(bytes, epoch, |state| {
            cuda::launch_pair(function, stream, call, b, state)
        })
    }
}

impl<T: Element> Reducer<T> {
    /// Returns the sum of the products of corresponding elements. Each product and each addition is
    /// rounded; [`exact_dot`](Reducer::exact_dot) rounds only once. Waits for the result.
    ///
    /// This method is fast only if both slices begin at a multiple of 16 bytes.
    ///
    /// # Errors
    /// The slices have different lengths, the elements are integers narrower than 32 bits, or one
    /// of the errors of [`reduce`](Reducer::reduce) occurs.
    pub fn dot(&self, a: &impl DevicePtr<T>, b: &impl DevicePtr<T>) -> Result<T::Output> {
        self.waiting_for_dot::<Itself>(a, b)
    }

    /// Returns the dot product of elements that are converted to a type of twice the size before
    /// they are multiplied: `f32` to `f64`, and `i32` and `u32` to 64-bit integers. Waits for the
    /// result.
    ///
    /// # Errors
    /// The same errors as for [`dot`](Reducer::dot).
    pub fn dot_wide(&self, a: &impl DevicePtr<T>, b: &impl DevicePtr<T>) -> Result<T::Wider>
    where
        T: WideElement,
    {
        self.waiting_for_dot::<Wide>(a, b)
    }

    /// Writes the dot product to the first element of a slice on the device. Does not wait, and can
    /// be captured into a graph.
    ///
    /// # Errors
    /// The same errors as for [`dot`](Reducer::dot), or the slice for the result is empty.
    pub fn dot_into(
        &self,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        check::<T>()?;
        no_room(result.len())?;
        self.same_context("result", result.stream())?;
        let (output, _writes) = Address::of_result(result, self.stream())?;
        let [(a, _reads_a), (b, _reads_b)] = self.pair(a, b)?;
        let _bound = self.engine().queue().stream.bind()?;
        self.engine().dot::<Itself>(a, b, output, 0)
    }

    fn waiting_for_dot<W>(
        &self,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
    ) -> Result<<T as Read<W>>::Value>
    where
        T: Read<W>,
    {
        check::<T>()?;
        self.engine().refuse_capture()?;
        let [(a, _reads_a), (b, _reads_b)] = self.pair(a, b)?;
        self.engine().wait_for(|output, epoch| self.engine().dot::<W>(a, b, output, epoch))
    }
}

/// Returns the dot product of two slices, as [`Reducer::dot`] does. Waits for the result.
///
/// ```no_run
/// # fn main() -> samebits::Result<()> {
/// # let stream = samebits::open(0)?;
/// # let [a, b] = [[1.0f32, 2.0], [3.0, 4.0]].map(|v| stream.clone_htod(&v).unwrap());
/// assert_eq!(samebits::dot(&stream, &a, &b)?, 11.0);
/// # Ok(())
/// # }
/// ```
pub fn dot<T: Element>(
    stream: &Arc<CudaStream>,
    a: &impl DevicePtr<T>,
    b: &impl DevicePtr<T>,
) -> Result<T::Output> {
    of::<T>(stream)?.dot(a, b)
}

/// Returns the dot product of two slices in a type of twice the size, as [`Reducer::dot_wide`]
/// does. Waits for the result.
pub fn dot_wide<T: WideElement>(
    stream: &Arc<CudaStream>,
    a: &impl DevicePtr<T>,
    b: &impl DevicePtr<T>,
) -> Result<T::Wider> {
    of::<T>(stream)?.dot_wide(a, b)
}

/// Writes the dot product of two slices to the first element of another slice, as
/// [`Reducer::dot_into`] does. Does not wait.
pub fn dot_into<T: Element>(
    stream: &Arc<CudaStream>,
    a: &impl DevicePtr<T>,
    b: &impl DevicePtr<T>,
    result: &mut impl DevicePtrMut<T::Output>,
) -> Result<()> {
    of::<T>(stream)?.dot_into(a, b, result)
}
