//! `reduce`, the crate that the ladder ends in, measured like everything else.

use std::{fmt, rc::Rc, sync::Arc};

use common::{
    Error, Result,
    device::{Cuda, cuda::Memory},
};
use cudarc::driver::{
    CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop, sys::CUdeviceptr,
};

/// Its name in every table.
pub(super) const NAME: &str = "reduce";

/// A sum of it with its buffers.
pub(super) struct Prepared<'b> {
    launch: Box<dyn Fn(u64) -> Result<()> + 'b>,
    sum: Box<dyn Fn(u64) -> Result<()> + 'b>,
    cuda: &'b Cuda,
    out: Memory,
}

impl fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)
    }
}

/// Device memory that somebody else owns, as it takes it.
pub(crate) struct Borrowed<'c> {
    /// Its address on the device.
    pub(crate) address: u64,
    /// Elements.
    pub(crate) len: usize,
    /// The stream that it is used on.
    pub(crate) stream: &'c Arc<CudaStream>,
}

impl<T> DeviceSlice<T> for Borrowed<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.stream
    }
}

impl<T> DevicePtr<T> for Borrowed<'_> {
    fn device_ptr<'a>(&'a self, _: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        // One stream is used: order needs no events.
        (self.address, SyncOnDrop::Record(None))
    }
}

impl<T> DevicePtrMut<T> for Borrowed<'_> {
    fn device_ptr_mut<'a>(&'a mut self, _: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        (self.address, SyncOnDrop::Record(None))
    }
}

impl<'b> Prepared<'b> {
    /// A sum of `n` elements, ready to run.
    pub(super) fn new<T: reduce::Element + 'b>(cuda: &'b Cuda, n: u64) -> Result<Prepared<'b>> {
        let out = cuda.alloc("the sum", 8)?;
        let address = out.address();
        let stream = cuda.shared_stream();
        let failed = |error: reduce::Error| Error::Cuda {
            doing: "summing with reduce".into(),
            text: error.to_string(),
        };
        let reducer = Rc::new(reduce::Reducer::<T>::new(stream).map_err(failed)?);
        let slice = move |input| Borrowed { address: input, len: n as usize, stream };
        let into = reducer.clone();
        let launch = move |input| {
            let mut out = Borrowed { address, len: 1, stream };
            into.sum_into(&slice(input), &mut out).map_err(failed)
        };
        let sum = move |input| reducer.sum(&slice(input)).map(drop).map_err(failed);
        Ok(Prepared { launch: Box::new(launch), sum: Box::new(sum), cuda, out })
    }

    /// The sum of the elements at that address, on the host, as its callers ask for it.
    pub(super) fn sum(&self, input: u64) -> Result<()> {
        (self.sum)(input)
    }

    /// Launches the sum of the elements at that address.
    pub(super) fn launch(&self, input: u64) -> Result<()> {
        (self.launch)(input)
    }

    /// The bytes of the sum, after all that was launched.
    pub(super) fn read(&self, sum: &mut [u8]) -> Result<()> {
        self.cuda.read(&self.out, sum)
    }
}
