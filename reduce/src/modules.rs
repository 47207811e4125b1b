//! Kernels that the driver has compiled: once a context and kernel, and for as long as the process
//! lives, because a graph may hold what nobody else does any more.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use cudarc::{
    driver::{
        CudaContext, CudaFunction, DriverError,
        sys::{CUdevice_attribute as Attribute, CUresult},
    },
    nvrtc::Ptx,
};

use crate::{
    cuda,
    error::{Error, Result, doing},
    kernels::Kernel,
};

/// A kernel that can be launched.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The driver's function.
    pub(crate) function: CudaFunction,
    /// The most blocks of a grid: so many run at once.
    pub(crate) blocks: u32,
}

type Key = (usize, &'static str);

/// By context and name. A module keeps its context, so that the handle stays its own.
static LOADED: LazyLock<Mutex<HashMap<Key, Loaded>>> = LazyLock::new(Mutex::default);

/// The kernel, compiled if this context has not seen it, for blocks of that many threads.
pub(crate) fn load(context: &Arc<CudaContext>, kernel: Kernel, threads: u32) -> Result<Loaded> {
    let key = (context.cu_ctx() as usize, kernel.name);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded.get(&key) {
        return Ok(known.clone());
    }
    let new = cuda::outside_of_captures(|| compile(context, kernel, threads))?;
    loaded.insert(key, new.clone());
    Ok(new)
}

fn compile(context: &Arc<CudaContext>, kernel: Kernel, threads: u32) -> Result<Loaded> {
    let asking = || doing("asking what the device has");
    let (major, minor) = context.compute_capability().map_err(asking())?;
    if major < 7 {
        return Err(Error::OldDevice { major, minor });
    }
    let text = kernel.ptx(major);
    let module = context.load_module(Ptx::from_src(text)).map_err(refused)?;
    let function = module.load_function(kernel.name).map_err(doing("finding a kernel"))?;
    let each = function.occupancy_max_active_blocks_per_multiprocessor(threads, 0, None);
    let sms = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let blocks = each.map_err(asking())?.max(1) * sms.map_err(asking())?.max(1) as u32;
    Ok(Loaded { function, blocks })
}

/// Why the driver does not compile a text.
fn refused(error: DriverError) -> Error {
    match error {
        DriverError(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION) => Error::OldDriver,
        error => doing("compiling a kernel")(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_driver_has_a_sentence_of_its_own() {
        let error = refused(DriverError(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
        assert!(error.to_string().contains("CUDA 12.4 (550)"), "{error}");
        let error = refused(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        assert!(matches!(error, Error::Driver { doing: "compiling a kernel", .. }));
    }

    /// The version that the sentence names is that of the texts.
    #[test]
    fn the_texts_are_of_the_ptx_that_the_driver_must_know() {
        for kernel in <f32 as crate::element::Sealed>::KERNELS.into_iter().flatten() {
            assert!(kernel.ptx(9).contains(".version 8.4\n"), "{}", kernel.name);
        }
    }
}
