//! The CUDA driver, and all the `unsafe` of this crate.
#![expect(unsafe_code, reason = "kernels are launched on a caller's stream and slices")]

use std::{ffi::c_void, sync::Arc};

use cudarc::{
    driver::{
        CudaFunction, CudaStream,
        result::{self, DriverError},
        sys::{self, CUdevice_attribute as Attribute, CUfunction_attribute_enum as OfFunction},
    },
    nvrtc::Ptx,
};

use crate::{
    error::{Result, doing},
    shape::{CHUNK_THREADS, CHUNKS, Shape, pick},
};

/// Whether there is a CUDA driver: where there is none, everything that cudarc does panics.
pub fn has_driver() -> bool {
    // SAFETY: it only opens the library by name.
    unsafe { sys::is_culib_present() }
}

/// Stops cudarc from putting events between the streams of a context: a wait for an event from
/// outside ends the capture of a graph. For the tests of this crate, which use one stream.
#[doc(hidden)]
pub fn untracked(context: &cudarc::driver::CudaContext) {
    // SAFETY: called before anything is allocated; with one stream, order needs no events.
    unsafe { context.disable_event_tracking() };
}

/// The kernels of one type, loaded for one stream, with the memory that they need.
#[derive(Debug)]
pub(crate) struct Kernels {
    stream: Arc<CudaStream>,
    clusters: bool,
    operations: [Operation; 3],
    /// Blocks that the device holds at once.
    resident: u32,
    /// The next ticket, and a place for the mail of every chunk. Zeros between launches.
    state: u64,
    /// Pinned memory that a kernel can write to, and its address on the device.
    word: *mut u64,
    word_address: u64,
}

/// The entry points of a sum, a minimum or a maximum.
#[derive(Debug)]
struct Operation {
    block: [CudaFunction; 2],
    cluster: Option<[CudaFunction; 2]>,
    chunks: CudaFunction,
}

impl Kernels {
    /// Loads PTX: without clusters, and with.
    pub(crate) fn new(stream: &Arc<CudaStream>, ptx: [&'static str; 2]) -> Result<Kernels> {
        let context = stream.context();
        let asking = || doing("asking what the device has");
        let clusters = context.compute_capability().map_err(asking())?.0 >= 9;
        let sms = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        let module = context
            .load_module(Ptx::from_src(ptx[usize::from(clusters)]))
            .map_err(doing("loading the kernels"))?;
        let find = |name: String| module.load_function(&name).map_err(doing("finding a kernel"));
        let wide = OfFunction::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        let operation = |name: &str| -> Result<Operation> {
            let mut cluster = None;
            if clusters {
                let found =
                    [find(format!("cluster_{name}_4"))?, find(format!("cluster_{name}_8"))?];
                for function in &found {
                    function.set_attribute(wide, 1).map_err(doing("allowing clusters of 16"))?;
                }
                cluster = Some(found);
            }
            Ok(Operation {
                block: [find(format!("block_{name}_4"))?, find(format!("block_{name}_8"))?],
                cluster,
                chunks: find(format!("chunks_{name}"))?,
            })
        };
        let operations = [operation("sum")?, operation("min")?, operation("max")?];
        let mut resident = u32::MAX;
        for Operation { chunks, .. } in &operations {
            let blocks =
                chunks.occupancy_max_active_blocks_per_multiprocessor(CHUNK_THREADS, 0, None);
            resident = resident.min(blocks.map_err(asking())?);
        }
        let resident = resident.max(1) * sms.map_err(asking())?.max(1) as u32;
        let (portable, mapped) = (sys::CU_MEMHOSTALLOC_PORTABLE, sys::CU_MEMHOSTALLOC_DEVICEMAP);
        let bytes = (2 + 2 * CHUNKS as usize) * 8;
        let mut kernels = Kernels {
            stream: stream.clone(),
            clusters,
            operations,
            resident,
            state: 0,
            word: std::ptr::null_mut(),
            word_address: 0,
        };
        let allocating = || doing("allocating the state of a reducer");
        // SAFETY: the context is current since the module was loaded. Both pieces of memory are
        // owned by the value, which frees what is not null; the state is zeroed before any launch.
        unsafe {
            kernels.state = result::malloc_sync(bytes).map_err(allocating())?;
            result::memset_d8_sync(kernels.state, 0, bytes).map_err(allocating())?;
            kernels.word = result::malloc_host(8, portable | mapped).map_err(allocating())?.cast();
            sys::cuMemHostGetDevicePointer_v2(&mut kernels.word_address, kernels.word.cast(), 0)
                .result()
                .map_err(allocating())?;
        }
        Ok(kernels)
    }

    /// The stream that they run on.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Launches operation 0 (sum), 1 (minimum) or 2 (maximum) on `n` elements of `size` bytes.
    ///
    /// The caller has `input` and `output` from live slices that are long enough.
    pub(crate) fn launch(
        &self,
        operation: usize,
        input: u64,
        n: u64,
        size: u64,
        output: u64,
    ) -> Result<()> {
        let Operation { block, cluster, chunks } = &self.operations[operation];
        let (mut input, mut output, mut n, mut state) = (input, output, n, self.state);
        let shape = pick(n, size, self.clusters);
        let (mut chunk, mut chunk_count) = (0u32, 0u32);
        let (function, grid, blocks) = match (shape, cluster) {
            (Shape::Block { words }, _) => (&block[usize::from(words > 4)], 1, 1),
            (Shape::Cluster { blocks, words }, Some(cluster)) => {
                (&cluster[usize::from(words > 4)], blocks, blocks)
            }
            (Shape::Chunks { chunk: elements, count }, _) => {
                (chunk, chunk_count) = (elements, count);
                (chunks, count.min(self.resident), 1)
            }
            (Shape::Cluster { .. }, None) => {
                unreachable!("no cluster is picked where there is none")
            }
        };
        let mut params: [*mut c_void; 6] = [
            (&raw mut input).cast(),
            (&raw mut output).cast(),
            (&raw mut n).cast(),
            (&raw mut chunk).cast(),
            (&raw mut chunk_count).cast(),
            (&raw mut state).cast(),
        ];
        // SAFETY: the three or six parameters are those of the entry point; input and output are of
        // live memory, as the caller says; the state has a place for every chunk that can be picked.
        unsafe { launch(function, [grid, shape.threads()], blocks, &self.stream, &mut params) }
            .map_err(doing("launching a reduction"))
    }

    /// Where a result can go that the host reads.
    pub(crate) fn word_address(&self) -> u64 {
        self.word_address
    }

    /// The result, after everything on the stream.
    pub(crate) fn word(&self) -> Result<u64> {
        self.stream.synchronize().map_err(doing("waiting for a reduction"))?;
        // SAFETY: pinned memory of eight bytes, which no kernel writes any more.
        Ok(unsafe { self.word.read_volatile() })
    }
}

/// # Safety
/// The parameters are those of the function.
unsafe fn launch(
    function: &CudaFunction,
    [grid, threads]: [u32; 2],
    cluster: u32,
    stream: &CudaStream,
    params: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
    value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: cluster, y: 1, z: 1 };
    let mut attribute = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        pad: [0; 4],
        value,
    };
    let function = function.cu_function();

    if cluster == 1 {
        // SAFETY: promised by the caller.
        return unsafe {
            result::launch_kernel(
                function,
                (grid, 1, 1),
                (threads, 1, 1),
                0,
                stream.cu_stream(),
                params,
            )
        };
    }
    let config = sys::CUlaunchConfig {
        gridDimX: grid,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: stream.cu_stream(),
        attrs: &mut attribute,
        numAttrs: 1,
    };
    // SAFETY: promised by the caller; the attribute outlives the call.
    unsafe {
        sys::cuLaunchKernelEx(&config, function, params.as_mut_ptr(), std::ptr::null_mut()).result()
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let _ = self.stream.context().bind_to_thread();
        // A launch may still use the state. An error at the end has no reader.
        let _ = self.stream.synchronize();
        // SAFETY: allocated by `new`, freed once.
        unsafe {
            if self.state != 0 {
                let _ = result::free_sync(self.state);
            }
            if !self.word.is_null() {
                let _ = result::free_host(self.word.cast());
            }
        }
    }
}
