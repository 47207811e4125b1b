//! `reduce`, the library that the ladder ends in, measured like everything else.

use std::{fmt, sync::Arc};

use common::{
    Error, Result,
    device::{Cuda, cuda::Memory},
};
use cudarc::driver::{
    CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop, sys::CUdeviceptr,
};

/// Its name in every table.
pub const NAME: &str = "reduce";

/// A sum of the library with its buffers.
pub struct Bound<'b> {
    launch: Box<dyn Fn(u64) -> Result<()> + 'b>,
}

impl fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)
    }
}

/// Device memory that somebody else owns, as the library takes it.
struct Borrowed<'c> {
    address: u64,
    len: usize,
    stream: &'c Arc<CudaStream>,
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

impl<'b> Bound<'b> {
    /// A sum of `n` elements into `out`, ready to run.
    pub fn new<T: reduce::Element + 'b>(cuda: &'b Cuda, n: u64, out: u64) -> Result<Bound<'b>> {
        let stream = cuda.shared_stream();
        let failed = |error: reduce::Error| Error::Cuda {
            doing: "summing with the library".into(),
            text: error.to_string(),
        };
        let reducer = reduce::Reducer::<T>::new(stream).map_err(failed)?;
        let launch = move |input| {
            let slice = Borrowed { address: input, len: n as usize, stream };
            let mut out = Borrowed { address: out, len: 1, stream };
            reducer.sum_into(&slice, &mut out).map_err(failed)
        };
        Ok(Bound { launch: Box::new(launch) })
    }

    /// Launches the sum of the elements at that address.
    pub fn launch(&self, input: u64) -> Result<()> {
        (self.launch)(input)
    }
}

/// Room for the sum.
pub fn out(cuda: &Cuda) -> Result<Memory> {
    cuda.alloc("the sum", 8)
}
