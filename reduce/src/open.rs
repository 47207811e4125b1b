//! Opens a device.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaStream, DriverError,
    sys::{CUdevice_attribute as Attribute, CUresult},
};

use crate::{
    cuda,
    error::{Error, Result, doing},
};

/// Returns whether there is a CUDA driver with every function that this crate calls. Without one,
/// cudarc panics.
pub fn has_driver() -> bool {
    cuda::probe().is_ok()
}

/// Opens a device, numbered from 0, and returns its default stream.
///
/// # Errors
/// There is no driver (`CudaContext::new` would panic) or no such device, the device is too old for
/// the kernels, or a call to the driver failed.
pub fn open(ordinal: usize) -> Result<Arc<CudaStream>> {
    cuda::probe()?;
    let count = match CudaContext::device_count() {
        Ok(count) => count.max(0) as usize,
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => 0,
        Err(error) => return Err(doing("starting the CUDA driver")(error)),
    };
    if ordinal >= count {
        return Err(Error::NoDevice { ordinal, count });
    }
    let context = CudaContext::new(ordinal).map_err(doing("opening the device"))?;
    let ask = |what| context.attribute(what).map_err(doing("reading the device's attributes"));
    let major = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    if major < 7 {
        return Err(Error::OldDevice { major, minor });
    }
    Ok(context.default_stream())
}
