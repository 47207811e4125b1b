//! A GPU, through the CUDA driver.
//!
//! One of the files with `unsafe`. cudarc's safe layer knows kernels by their Rust types; a plan
//! knows them by numbers, so launches and memory go through its `result` layer here.
#![expect(unsafe_code, reason = "a plan's launches and memory go through the driver's C functions")]

use std::{cell::Cell, ffi::c_void, sync::Arc};

use cudarc::driver::{
    CudaContext, CudaStream, DriverError, result,
    sys::{self, CUdevice_attribute as Attribute},
};

pub use super::program::Program;
use super::{
    address::Address,
    driver::{self, failed},
    facts::Facts,
    program,
    ptx::Ptx,
};
use crate::{
    Error, Result,
    plan::{Call, Chip, Value},
};

/// A GPU with one stream.
#[derive(Debug)]
pub struct Cuda {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    facts: Facts,
    driver: String,
    launched: Cell<u64>,
}

/// Figures of a GPU beyond its [`Facts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The memory's clock at its peak.
    pub memory_mhz: u32,
    /// Bits of the memory bus.
    pub bus_bits: u32,
    /// The SM clock at its peak.
    pub sm_mhz: u32,
    /// The CUDA version of the driver.
    pub cuda: String,
}

/// Device memory; freed when dropped.
#[derive(Debug)]
pub struct Memory {
    address: u64,
    bytes: u64,
    context: Arc<CudaContext>,
}

/// Eight bytes of pinned host memory; freed when dropped.
#[derive(Debug)]
pub struct Pinned(*mut c_void);

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: allocated by `malloc_host`, freed once. An error at the end has no reader.
        let _ = unsafe { result::free_host(self.0) };
    }
}

impl Cuda {
    /// Opens the GPU of that ordinal.
    pub fn open(ordinal: usize) -> Result<Cuda> {
        driver::start()?;
        let count = CudaContext::device_count().map_err(failed("counting the GPUs"))?;
        match usize::try_from(count).unwrap_or(0) {
            0 => return Err(Error::NoGpu),
            count if ordinal >= count => return Err(Error::NoSuchGpu { asked: ordinal, count }),
            _ => {}
        }
        let opening = || failed(format!("opening cuda:{ordinal}"));
        let context = CudaContext::new(ordinal).map_err(opening())?;
        // SAFETY: nothing has been allocated yet, and one stream is used: order needs no events.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(opening())?;
        let mut version = 0;
        // SAFETY: writes one integer.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(opening())?;
        let driver = dotted(version);
        let facts = facts(&context, &driver).map_err(opening())?;
        Ok(Cuda { context, stream, facts, driver, launched: Cell::new(0) })
    }

    /// What it is.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Loads PTX; the driver compiles it for this GPU.
    pub fn load(&self, ptx: &Ptx) -> Result<Program> {
        Program::load(&self.context, &self.driver, ptx)
    }

    /// As `sm_90`.
    pub fn architecture(&self) -> String {
        program::architecture(&self.context)
    }

    /// Its compute capability, as (9, 0).
    pub(super) fn capability(&self) -> (i32, i32) {
        self.context.compute_capability().unwrap_or_default()
    }

    /// The context and the device, for CUPTI, and the device's ordinal.
    pub(super) fn target(&self) -> (*mut c_void, i32, usize) {
        (self.context.cu_ctx().cast(), self.context.cu_device(), self.context.ordinal())
    }

    /// Launches that were made since it was opened.
    pub fn launched(&self) -> u64 {
        self.launched.get()
    }

    /// Allocates memory.
    pub fn alloc(&self, what: &str, bytes: u64) -> Result<Memory> {
        self.context.bind_to_thread().map_err(failed("allocating"))?;
        let (free, _) = self.context.mem_get_info().map_err(failed("asking for free memory"))?;
        let full = || Error::Memory {
            what: what.to_owned(),
            place: "device",
            needed: bytes,
            free: free as u64,
        };
        if bytes > free as u64 {
            return Err(full());
        }
        // SAFETY: the memory is owned by the value returned, which frees it once.
        match unsafe { result::malloc_sync(bytes.max(1) as usize) } {
            Ok(address) => Ok(Memory { address, bytes, context: self.context.clone() }),
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Err(full()),
            Err(error) => Err(failed(format!("allocating {what}"))(error)),
        }
    }

    /// Bytes of device memory that are free.
    pub fn free_bytes(&self) -> u64 {
        self.context.mem_get_info().map_or(0, |(free, _)| free as u64)
    }

    /// Copies bytes from the host, to so many bytes behind the start of the memory, and waits for them.
    pub fn write(&self, memory: &Memory, at: u64, bytes: &[u8]) -> Result<()> {
        let to = self.own(memory.address().behind(at), bytes.len() as u64)?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the destination is live and large enough; the source outlives the wait.
        unsafe { result::memcpy_htod_async(to, bytes, self.stream.cu_stream()) }
            .map_err(failed("copying to the device"))?;
        self.finish()
    }

    /// Copies bytes to the host, after all that was launched.
    pub fn read(&self, memory: &Memory, bytes: &mut [u8]) -> Result<()> {
        let from = self.own(memory.address(), bytes.len() as u64)?;
        // SAFETY: the source is live and large enough; the destination outlives the wait.
        unsafe { result::memcpy_dtoh_async(bytes, from, self.stream.cu_stream()) }
            .map_err(failed("copying from the device"))?;
        self.finish()
    }

    /// As [`read`](Cuda::read), the first eight bytes or fewer, into pinned memory.
    pub fn read_pinned(&self, memory: &Memory, to: &Pinned) -> Result<()> {
        let bytes = memory.bytes.min(8);
        let from = self.own(memory.address(), bytes)?;
        // SAFETY: the source is live and that large; the destination has eight bytes, which nobody
        // looks at before the wait.
        unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.0, from, bytes as usize, self.stream.cu_stream()).result()
        }
        .map_err(failed("copying from the device"))?;
        self.finish()
    }

    /// Eight bytes of host memory that the GPU copies to without the driver's help.
    pub fn pinned(&self) -> Result<Pinned> {
        self.bind()?;
        // SAFETY: owned by the value returned, which frees it once.
        let memory = unsafe { result::malloc_host(8, sys::CU_MEMHOSTALLOC_PORTABLE) };
        memory.map(Pinned).map_err(failed("allocating pinned memory"))
    }

    /// Sets every byte.
    pub fn fill(&self, memory: &Memory, byte: u8) -> Result<()> {
        let to = self.own(memory.address(), memory.bytes)?;
        // SAFETY: the memory is live and that large.
        unsafe {
            result::memset_d8_async(to, byte, memory.bytes as usize, self.stream.cu_stream())
        }
        .map_err(failed("filling device memory"))?;
        self.finish()
    }

    /// Fills memory with its own first bytes, again and again, and waits for it.
    pub fn repeat(&self, memory: &Memory, bytes: u64) -> Result<()> {
        let (whole, mut filled) = (memory.address(), bytes);
        // Each copy doubles what is there, so all that follows begins where a repetition does.
        while 0 < filled && filled < whole.bytes() {
            let more = filled.min(whole.bytes() - filled);
            self.copy(whole.first(more)?, whole.behind(filled))?;
            filled += more;
        }
        self.finish()
    }

    /// Copies bytes on the device. This does not wait.
    pub fn copy(&self, from: Address<'_>, to: Address<'_>) -> Result<()> {
        let bytes = from.bytes();
        let (from, to) = (self.own(from, bytes)?, self.own(to, bytes)?);
        // SAFETY: both are live, and large enough; memory that is freed waits for the device.
        unsafe { result::memcpy_dtod_async(to, from, bytes as usize, self.stream.cu_stream()) }
            .map_err(failed("copying on the device"))
    }

    /// The address of so many bytes, if they are there and this GPU's: for libraries that take numbers.
    pub fn own(&self, address: Address<'_>, bytes: u64) -> Result<u64> {
        address.first(bytes)?.on(identity(&self.context))
    }

    /// The context, for events.
    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The stream, for Rust libraries that take one.
    pub fn shared_stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// The stream, for C libraries that take one.
    pub fn stream(&self) -> *mut c_void {
        self.stream.cu_stream().cast()
    }

    /// Makes this GPU the one that libraries on top of CUDA's runtime use in this thread.
    pub fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(failed("taking the GPU"))
    }

    /// The name by which NVML knows this GPU, as `GPU-…`.
    pub fn uuid(&self) -> Result<String> {
        let bytes = self.context.uuid().map_err(failed("asking for the GPU's UUID"))?.bytes;
        let hex: String = bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Ok(format!("GPU-{}", parts.join("-")))
    }

    /// A property; what is below zero is none.
    pub(super) fn number(&self, attribute: Attribute) -> Result<u64> {
        let value = self.context.attribute(attribute).map_err(failed("asking the GPU"))?;
        Ok(value.max(0) as u64)
    }

    /// Figures that no report prints, and that a measurement records.
    pub fn hardware(&self) -> Result<Hardware> {
        let number = |attribute| self.number(attribute).map(|value| value as u32);
        let (_, memory_bytes) = self.context.mem_get_info().map_err(failed("asking the GPU"))?;
        Ok(Hardware {
            memory_bytes: memory_bytes as u64,
            memory_mhz: number(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)? / 1000,
            bus_bits: number(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
            sm_mhz: number(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? / 1000,
            cuda: self.driver.clone(),
        })
    }

    /// Launches a kernel.
    pub fn launch(&self, program: &Program, call: &Call<'_>) -> Result<()> {
        let doing = || {
            format!("launching {} with {} blocks of {} threads", call.entry, call.grid, call.block)
        };
        let function = program.function(&self.context, call)?;
        let number = |value: &Value<'_>| match *value {
            Value::U32(value) => Ok(u64::from(value)),
            Value::U64(value) => Ok(value),
            Value::Address(address) => address.on(identity(&self.context)),
        };
        let mut numbers = call.args.iter().map(number).collect::<Result<Vec<u64>>>()?;
        // A 32-bit argument is read from the first four bytes, where little-endian hosts have it.
        let mut params: Vec<*mut c_void> =
            numbers.iter_mut().map(|number| std::ptr::from_mut(number).cast()).collect();
        // SAFETY: the plan's arguments are those of the entry point, which a test holds against
        // the PTX; addresses are of live buffers of this GPU, of the sizes that the plan states.
        let launched = unsafe {
            let mut attributes = attributes(call);
            if !attributes.is_empty() {
                let config = sys::CUlaunchConfig {
                    gridDimX: call.grid,
                    gridDimY: 1,
                    gridDimZ: 1,
                    blockDimX: call.block,
                    blockDimY: 1,
                    blockDimZ: 1,
                    sharedMemBytes: call.shared,
                    hStream: self.stream.cu_stream(),
                    attrs: attributes.as_mut_ptr(),
                    numAttrs: attributes.len() as u32,
                };
                sys::cuLaunchKernelEx(&config, function, params.as_mut_ptr(), std::ptr::null_mut())
                    .result()
            } else {
                let (grid, block) = ((call.grid, 1, 1), (call.block, 1, 1));
                result::launch_kernel(
                    function,
                    grid,
                    block,
                    call.shared,
                    self.stream.cu_stream(),
                    &mut params,
                )
            }
        };
        launched.map_err(|error| failed(doing())(error))?;
        self.launched.set(self.launched.get() + 1);
        Ok(())
    }

    /// Waits until everything launched has finished.
    pub fn finish(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed("waiting for the GPU"))
    }
}

impl Memory {
    /// Where all of it lies.
    pub fn address(&self) -> Address<'_> {
        Address::of(self, self.address, self.bytes, identity(&self.context))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = self.context.bind_to_thread();
        // SAFETY: allocated by `malloc_sync`, freed once. An error at the end has no reader.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// What tells a GPU's memory from all other: GPUs that were opened twice share it.
fn identity(context: &CudaContext) -> usize {
    context.cu_ctx().addr()
}

/// The launch attributes of a call that is more than a grid of blocks: clusters of them, or a start
/// before the call in front has ended.
fn attributes(call: &Call<'_>) -> Vec<sys::CUlaunchAttribute> {
    use sys::CUlaunchAttributeID as Id;
    let mut attributes = Vec::new();
    if call.cluster > 1 {
        let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
        value.clusterDim =
            sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: call.cluster, y: 1, z: 1 };
        let id = Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes.push(sys::CUlaunchAttribute { id, pad: [0; 4], value });
    }
    if call.early {
        let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
        value.programmaticStreamSerializationAllowed = 1;
        let id = Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes.push(sys::CUlaunchAttribute { id, pad: [0; 4], value });
    }
    attributes
}

fn facts(context: &Arc<CudaContext>, driver: &str) -> Result<Facts, DriverError> {
    let name = context.name()?;
    let number = |attribute| context.attribute(attribute).map(|value| value.max(0) as u64);
    let chip = Chip {
        sms: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        threads: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)? as u32,
        blocks: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)? as u32,
        shared: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)? as u32,
        shared_block: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?
            as u32,
        cluster: program::largest_cluster(context, driver),
    };
    let l2 = number(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
    let kilohertz = number(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?;
    let bits = number(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?;
    let bus = bus(kilohertz, bits);
    let line = line(&name, chip.sms, l2, bus, driver);
    Ok(Facts { name, chip, l2, bus, line })
}

/// Bytes a second of a memory bus; none where the driver does not tell of it.
fn bus(kilohertz: u64, bits: u64) -> Option<f64> {
    // Memory moves data on both edges of its clock.
    let bus = 2.0 * kilohertz as f64 * 1e3 * bits as f64 / 8.0;
    (bus > 0.0).then_some(bus)
}

fn line(name: &str, sms: u32, l2: u64, bus: Option<f64>, driver: &str) -> String {
    let speed = bus.map_or(String::new(), |bus| format!(", {:.0} GB/s bus", bus / 1e9));
    format!("{name}, {sms} SMs, {} MB L2{speed}, CUDA {driver} driver", l2 >> 20)
}

/// CUDA's version of a number such as 12040.
fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the vendor's pages say of three GPUs.
    #[test]
    fn a_bus_is_twice_its_clock_times_its_width() {
        for (megahertz, bits, gigabytes) in
            [(3201, 6144, 4917), (2619, 5120, 3352), (10_501, 384, 1008)]
        {
            let bus = bus(megahertz * 1000, bits).unwrap();
            assert_eq!((bus / 1e9).round(), f64::from(gigabytes));
        }
        assert_eq!([bus(0, 6144), bus(3_201_000, 0)], [None, None]);
    }

    #[test]
    fn a_gpu_says_what_it_is_in_one_line() {
        let said = line("NVIDIA H200", 132, 60 << 20, Some(4.9167e12), &dotted(12040));
        assert_eq!(said, "NVIDIA H200, 132 SMs, 60 MB L2, 4917 GB/s bus, CUDA 12.4 driver");
        let said = line("a GPU", 7, 0, None, &dotted(13000));
        assert_eq!(said, "a GPU, 7 SMs, 0 MB L2, CUDA 13.0 driver");
    }

    #[test]
    fn a_call_says_more_than_its_grid_only_where_there_is_more() {
        use sys::CUlaunchAttributeID as Id;
        let (clusters, starts) = (
            Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        );
        let asked = |cluster, early| {
            let entry = "reduce".into();
            let call = Call { entry, grid: 8, block: 64, cluster, shared: 0, early, args: vec![] };
            attributes(&call).iter().map(|attribute| attribute.id).collect::<Vec<_>>()
        };
        assert_eq!(asked(1, false), []);
        assert_eq!(asked(2, false), [clusters]);
        assert_eq!(asked(1, true), [starts]);
        assert_eq!(asked(16, true), [clusters, starts]);
    }
}
