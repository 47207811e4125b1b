//! Kernels that the driver has compiled. Each kernel is compiled once in each context. A kernel
//! stays loaded until the process ends, because a graph may still need a kernel when nothing else
//! uses it.

use std::{
    cell::RefCell,
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
    /// The driver's handle for the function.
    pub(crate) function: Function,
    /// The maximum number of blocks in a grid, which is the number of blocks that can be resident
    /// at the same time.
    pub(crate) blocks: u32,
    /// The context, if cudarc owns it. It must live as long as the kernel.
    _context: Option<Arc<CudaContext>>,
}

/// The kernels that a reducer has used. A call finds its kernel here without a lock.
#[derive(Debug, Default)]
pub(crate) struct Known(RefCell<Vec<([usize; 3], Loaded)>>);

impl Known {
    /// Returns the function of a kernel for blocks of `threads` threads, and the size of its
    /// largest grid. The stream's context must be current.
    pub(crate) fn get(
        &self,
        queue: &Queue,
        kernel: Kernel,
        threads: u32,
    ) -> Result<(Function, u32)> {
        let key = kernel.key();
        let find = |known: &Vec<([usize; 3], Loaded)>| {
            let (_, loaded) = known.iter().find(|(other, _)| *other == key)?;
            Some((loaded.function, loaded.blocks))
        };
        if let Some(found) = find(&self.0.borrow()) {
            return Ok(found);
        }
        let loaded = load(queue, kernel, threads)?;
        let found = (loaded.function, loaded.blocks);
        self.0.borrow_mut().push((key, loaded));
        Ok(found)
    }
}

type Key = (u64, [&'static str; 3]);

/// The loaded kernels, keyed by the ids of the context and the kernel. The id of a context is never
/// reused.
static LOADED: LazyLock<Mutex<HashMap<Key, Loaded>>> = LazyLock::new(Mutex::default);

/// Returns a kernel for blocks of `threads` threads, and compiles it if the context does not have
/// it yet. The stream's context must be current.
pub(crate) fn load(queue: &Queue, kernel: Kernel, threads: u32) -> Result<Loaded> {
    let key = (queue.stream.context_id()?, kernel.id());
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
    /// Checks that all kernels have PTX version 8.4, because the error for old drivers names the
    /// CUDA version that supports it.
    #[test]
    fn the_ptx_has_the_version_that_the_driver_must_support() {
        for family in crate::Family::ALL {
            let kernel = crate::kernel::<f32>(crate::Operation::Sum, family);
            assert!(kernel.ptx(9).contains(".version 8.4\n"), "{}", kernel.name());
        }
    }
}
