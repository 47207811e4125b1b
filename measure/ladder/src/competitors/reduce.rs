//! Measures the crate `reduce` like every other competitor.

use std::{fmt, marker::PhantomData, rc::Rc, sync::Arc};

use common::{
    Error, Result,
    device::{Address, Cuda, cuda::Memory},
};
use cudarc::driver::{
    CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop, sys::CUdeviceptr,
};

/// The crate's name in every table.
pub(super) const NAME: &str = "reduce";

/// A function that reduces the elements at an address.
pub(crate) type Run<'r> = Box<dyn Fn(Address<'_>) -> Result<()> + 'r>;

/// A sum computed by `reduce`, with its buffers.
pub(super) struct Prepared<'b> {
    launch: Run<'b>,
    sum: Run<'b>,
    cuda: &'b Cuda,
    out: Rc<Memory>,
}

impl fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)
    }
}

/// Device memory allocated by the ladder, wrapped as a slice for `reduce`.
pub(crate) struct Borrowed<'m, T> {
    address: CUdeviceptr,
    len: usize,
    stream: &'m Arc<CudaStream>,
    memory: PhantomData<&'m [T]>,
}

impl<'m, T> Borrowed<'m, T> {
    /// Returns a slice of `len` elements at an address. Fails if there are fewer elements, or if
    /// they are on another GPU.
    pub(crate) fn new(cuda: &'m Cuda, at: Address<'m>, len: u64) -> Result<Borrowed<'m, T>> {
        let address = cuda.device_address(at, len * size_of::<T>() as u64)?;
        let (len, stream) = (len as usize, cuda.shared_stream());
        Ok(Borrowed { address, len, stream, memory: PhantomData })
    }
}

impl<T> DeviceSlice<T> for Borrowed<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.stream
    }
}

impl<T> DevicePtr<T> for Borrowed<'_, T> {
    fn device_ptr<'a>(&'a self, _: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        // There is only one stream, so ordering needs no events.
        (self.address, SyncOnDrop::Record(None))
    }
}

impl<T> DevicePtrMut<T> for Borrowed<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, _: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        (self.address, SyncOnDrop::Record(None))
    }
}

impl<'b> Prepared<'b> {
    /// Prepares a sum of `n` elements, with its buffers.
    pub(super) fn new<T: reduce::Element + 'b>(cuda: &'b Cuda, n: u64) -> Result<Prepared<'b>> {
        let out = Rc::new(cuda.alloc("the sum", 8)?);
        let failed = |error: reduce::Error| Error::Cuda {
            doing: "summing with reduce".into(),
            text: error.to_string(),
        };
        let reducer = Rc::new(reduce::Reducer::<T>::new(cuda.shared_stream()).map_err(failed)?);
        let (into, to) = (reducer.clone(), out.clone());
        let launch = move |input: Address<'_>| {
            let mut out = Borrowed::new(cuda, to.address(), 1)?;
            into.sum_into(&Borrowed::new(cuda, input, n)?, &mut out).map_err(failed)
        };
        let sum = move |input: Address<'_>| {
            reducer.sum(&Borrowed::new(cuda, input, n)?).map(drop).map_err(failed)
        };
        Ok(Prepared { launch: Box::new(launch), sum: Box::new(sum), cuda, out })
    }

    /// Computes the sum of the elements at an address with the default call, which returns the sum
    /// to the host.
    pub(super) fn sum(&self, input: Address<'_>) -> Result<()> {
        (self.sum)(input)
    }

    /// Launches the kernel that sums the elements at an address.
    pub(super) fn launch(&self, input: Address<'_>) -> Result<()> {
        (self.launch)(input)
    }

    /// Reads the bytes of the sum, after all launched work has finished.
    pub(super) fn read(&self, sum: &mut [u8]) -> Result<()> {
        self.cuda.read(&self.out, sum)
    }
}
