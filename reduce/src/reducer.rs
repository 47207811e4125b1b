//! Sums, minima and maxima on a stream.

use std::{
    any::TypeId, cell::RefCell, collections::HashMap, marker::PhantomData, rc::Rc, sync::Arc,
};

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use crate::{Element, Error, Result, cuda::Kernels, element::Sealed};

/// Reduces slices of one type on one stream.
///
/// It owns a little device memory, which its launches leave as they found it; so they must run one
/// after the other, as those on one stream do. A graph that has captured them must not run beside
/// them, nor beside itself.
#[derive(Debug)]
pub struct Reducer<T> {
    kernels: Kernels,
    element: PhantomData<T>,
}

/// What is wanted; the index of its kernels.
#[derive(Clone, Copy)]
enum Operation {
    Sum,
    Min,
    Max,
}

impl<T: Element> Reducer<T> {
    /// Loads the kernels and allocates. Everything after this only launches.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Reducer<T>> {
        Ok(Reducer { kernels: Kernels::new(stream, <T as Sealed>::PTX)?, element: PhantomData })
    }

    /// The sum, 0 of nothing. Waits for it.
    pub fn sum(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.here(Operation::Sum, slice)
    }

    /// The smallest element that is a number; of nothing, the largest value of the type. Waits for it.
    pub fn min(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.here(Operation::Min, slice)
    }

    /// The largest element that is a number; of nothing, the smallest value of the type. Waits for it.
    pub fn max(&self, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.here(Operation::Max, slice)
    }

    /// Leaves the sum in the first element of a slice on the device. Does not wait, and can be
    /// captured into a graph.
    pub fn sum_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.there(Operation::Sum, slice, result)
    }

    /// As [`sum_into`](Reducer::sum_into), the minimum.
    pub fn min_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.there(Operation::Min, slice, result)
    }

    /// As [`sum_into`](Reducer::sum_into), the maximum.
    pub fn max_into(
        &self,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        self.there(Operation::Max, slice, result)
    }

    fn there(
        &self,
        operation: Operation,
        slice: &impl DevicePtr<T>,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        if result.is_empty() {
            return Err(Error::NoRoom);
        }
        let (output, _writes) = result.device_ptr_mut(self.kernels.stream());
        self.launch(operation, slice, output)
    }

    fn here(&self, operation: Operation, slice: &impl DevicePtr<T>) -> Result<T::Output> {
        self.launch(operation, slice, self.kernels.word_address())?;
        Ok(T::from_word(self.kernels.word()?))
    }

    fn launch(&self, operation: Operation, slice: &impl DevicePtr<T>, output: u64) -> Result<()> {
        let (input, _reads) = slice.device_ptr(self.kernels.stream());
        let (len, size) = (slice.len() as u64, size_of::<T>() as u64);
        self.kernels.launch(operation as usize, input, len, size, output)
    }
}

thread_local! {
    /// The reducers of the free functions: one for each stream and type that a thread has used.
    static REDUCERS: RefCell<HashMap<(usize, TypeId), Rc<dyn std::any::Any>>> = RefCell::default();
}

/// The reducer of a stream and type, made at the first call. It keeps the stream alive, so that its
/// address stays its own.
fn of<T: Element>(stream: &Arc<CudaStream>) -> Result<Rc<Reducer<T>>> {
    let key = (Arc::as_ptr(stream) as usize, TypeId::of::<T>());
    let known = REDUCERS.with_borrow(|reducers| reducers.get(&key).cloned());
    if let Some(reducer) = known.and_then(|any| any.downcast().ok()) {
        return Ok(reducer);
    }
    let reducer = Rc::new(Reducer::<T>::new(stream)?);
    REDUCERS.with_borrow_mut(|reducers| reducers.insert(key, reducer.clone()));
    Ok(reducer)
}

/// The sum of a slice, 0 of nothing. Waits for it.
pub fn sum<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.sum(slice)
}

/// The smallest element of a slice that is a number. Waits for it.
pub fn min<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.min(slice)
}

/// The largest element of a slice that is a number. Waits for it.
pub fn max<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.max(slice)
}
