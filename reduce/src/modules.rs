//! Kernels that the driver has compiled. Each kernel is compiled once in each context. It stays
//! loaded until the process ends, because a graph may still need a kernel when nothing else uses
//! it.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use cudarc::driver::CudaContext;

use crate::{
    cuda::{self, Function, Queue},
    error::Result,
    kernels::Kernel,
};

/// A kernel that can be launched.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The driver's handle of the function.
    pub(crate) function: Function,
    /// The size of the largest grid: the number of blocks that can be resident at the same time.
    pub(crate) blocks: u32,
    /// The context, if it is cudarc's. It must live as long as the kernel.
    _context: Option<Arc<CudaContext>>,
}

type Key = (u64, &'static str);

/// The loaded kernels, by the kernel's name and the context's id, which is never reused.
static LOADED: LazyLock<Mutex<HashMap<Key, Loaded>>> = LazyLock::new(Mutex::default);

/// Returns a kernel for blocks of `threads` threads. The stream's context must be current; if it
/// does not have the kernel yet, the kernel is compiled.
pub(crate) fn load(queue: &Queue, kernel: Kernel, threads: u32) -> Result<Loaded> {
    let key = (queue.stream.context_id()?, kernel.name);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded.get(&key) {
        return Ok(known.clone());
    }
    let (function, blocks) = cuda::outside_of_captures(|| cuda::compile(kernel, threads))?;
    let context = queue.owner.as_ref().map(|stream| stream.context().clone());
    let new = Loaded { function, blocks, _context: context };
    loaded.insert(key, new.clone());
    Ok(new)
}

#[cfg(test)]
mod tests {
    /// Checks that the error for drivers that are too old names the CUDA version whose PTX version
    /// is 8.4.
    #[test]
    fn the_ptx_has_the_version_that_the_driver_must_support() {
        for kernel in <f32 as crate::element::Sealed>::KERNELS.into_iter().flatten() {
            assert!(kernel.ptx(9).contains(".version 8.4\n"), "{}", kernel.name);
        }
    }
}
