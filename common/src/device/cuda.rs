//! A GPU, accessed through the CUDA driver.
//!
//! This file contains `unsafe` code. cudarc's safe layer fixes the types of a kernel's arguments at
//! compile time, but the arguments in a plan are known only at run time. Launches and memory
//! operations therefore use cudarc's `result` layer.
#![expect(
    unsafe_code,
    reason = "a plan's launches and memory operations call the driver's C functions"
)]

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

/// Properties of a GPU that are not in [`Facts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The size of the device memory, in bytes.
    pub memory_bytes: u64,
    /// The peak memory clock, in MHz.
    pub memory_mhz: u32,
    /// The width of the memory bus, in bits.
    pub bus_bits: u32,
    /// The peak SM clock, in MHz.
    pub sm_mhz: u32,
    /// The newest CUDA version that the driver supports.
    pub cuda: String,
}

/// Device memory, which is freed when dropped.
#[derive(Debug)]
pub struct Memory {
    address: u64,
    bytes: u64,
    context: Arc<CudaContext>,
}

/// Eight bytes of pinned host memory, which are freed when dropped.
#[derive(Debug)]
pub struct Pinned(*mut c_void);

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: `malloc_host` allocated the memory, and it is freed only here. A destructor
        // cannot return the error.
        let _ = unsafe { result::free_host(self.0) };
    }
}

impl Cuda {
    /// Opens the GPU with this ordinal.
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
        // SAFETY: nothing has been allocated yet, and operations on a single stream are ordered
        // without events.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(opening())?;
        let mut version = 0;
        // SAFETY: the driver writes one integer to `version`, which outlives the call.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(opening())?;
        let driver = dotted(version);
        let facts = facts(&context, &driver).map_err(opening())?;
        Ok(Cuda { context, stream, facts, driver, launched: Cell::new(0) })
    }

    /// Returns the properties that plans and reports use.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Loads PTX, which the driver compiles for this GPU.
    pub fn load(&self, ptx: &Ptx) -> Result<Program> {
        Program::load(&self.context, &self.driver, ptx)
    }

    /// Returns the architecture, such as `sm_90`.
    pub fn architecture(&self) -> String {
        program::architecture(&self.context)
    }

    /// Returns the compute capability, such as (9, 0).
    pub(super) fn capability(&self) -> (i32, i32) {
        self.context.compute_capability().unwrap_or_default()
    }

    /// Returns the context, the device and its ordinal, for CUPTI.
    pub(super) fn target(&self) -> (*mut c_void, i32, usize) {
        (self.context.cu_ctx().cast(), self.context.cu_device(), self.context.ordinal())
    }

    /// Returns the number of launches since the GPU was opened.
    pub fn launched(&self) -> u64 {
        self.launched.get()
    }

    /// Allocates `bytes` bytes; `what` describes their purpose in error messages.
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
        // SAFETY: the returned value owns the memory, and frees it once.
        match unsafe { result::malloc_sync(bytes.max(1) as usize) } {
            Ok(address) => Ok(Memory { address, bytes, context: self.context.clone() }),
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Err(full()),
            Err(error) => Err(failed(format!("allocating {what}"))(error)),
        }
    }

    /// Returns the number of free bytes in device memory.
    pub fn free_bytes(&self) -> u64 {
        self.context.mem_get_info().map_or(0, |(free, _)| free as u64)
    }

    /// Copies bytes from the host into `memory`, starting at byte `at`, and waits for the
    /// copy.
    pub fn write(&self, memory: &Memory, at: u64, bytes: &[u8]) -> Result<()> {
        let to = self.device_address(memory.address().skip(at), bytes.len() as u64)?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the destination is live and has room for `bytes`; the source outlives the wait.
        unsafe { result::memcpy_htod_async(to, bytes, self.stream.cu_stream()) }
            .map_err(failed("copying to the device"))?;
        self.finish()
    }

    /// Copies bytes to the host after all earlier launches have finished, and waits for the copy.
    pub fn read(&self, memory: &Memory, bytes: &mut [u8]) -> Result<()> {
        let from = self.device_address(memory.address(), bytes.len() as u64)?;
        // SAFETY: the source is live and has at least as many bytes as the destination, which
        // outlives the wait.
        unsafe { result::memcpy_dtoh_async(bytes, from, self.stream.cu_stream()) }
            .map_err(failed("copying from the device"))?;
        self.finish()
    }

    /// Like [`read`](Cuda::read), but copies at most eight bytes, into pinned memory.
    pub fn read_pinned(&self, memory: &Memory, to: &Pinned) -> Result<()> {
        let bytes = memory.bytes.min(8);
        let from = self.device_address(memory.address(), bytes)?;
        // SAFETY: the source is live and has `bytes` bytes. The destination has eight bytes, which
        // are not read before the wait.
        unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.0, from, bytes as usize, self.stream.cu_stream()).result()
        }
        .map_err(failed("copying from the device"))?;
        self.finish()
    }

    /// Allocates eight bytes of host memory that the GPU can write directly.
    pub fn pinned(&self) -> Result<Pinned> {
        self.bind()?;
        // SAFETY: the returned value owns the memory, and frees it once.
        let memory = unsafe { result::malloc_host(8, sys::CU_MEMHOSTALLOC_PORTABLE) };
        memory.map(Pinned).map_err(failed("allocating pinned memory"))
    }

    /// Sets every byte of the memory to `byte`.
    pub fn fill(&self, memory: &Memory, byte: u8) -> Result<()> {
        let to = self.device_address(memory.address(), memory.bytes)?;
        // SAFETY: the memory is live and has `memory.bytes` bytes.
        unsafe {
            result::memset_d8_async(to, byte, memory.bytes as usize, self.stream.cu_stream())
        }
        .map_err(failed("filling device memory"))?;
        self.finish()
    }

    /// Fills memory by repeating its first `bytes` bytes, and waits for the copies.
    pub fn repeat(&self, memory: &Memory, bytes: u64) -> Result<()> {
        let (whole, mut filled) = (memory.address(), bytes);
        // Each copy doubles the filled part, so the filled part always ends with a complete
        // repetition.
        while 0 < filled && filled < whole.bytes() {
            let more = filled.min(whole.bytes() - filled);
            self.copy(whole.first(more)?, whole.skip(filled))?;
            filled += more;
        }
        self.finish()
    }

    /// Copies bytes from one range of device memory to another, without waiting.
    pub fn copy(&self, from: Address<'_>, to: Address<'_>) -> Result<()> {
        let bytes = from.bytes();
        let (from, to) = (self.device_address(from, bytes)?, self.device_address(to, bytes)?);
        // SAFETY: both ranges are live and have `bytes` bytes; freeing memory waits for the device.
        unsafe { result::memcpy_dtod_async(to, from, bytes as usize, self.stream.cu_stream()) }
            .map_err(failed("copying on the device"))
    }

    /// Returns the device address as a number, for libraries. Fails if there are fewer than `bytes`
    /// bytes, or if the memory belongs to another device.
    pub fn device_address(&self, address: Address<'_>, bytes: u64) -> Result<u64> {
        address.first(bytes)?.on(identity(&self.context))
    }

    /// Returns the CUDA context, from which events are created.
    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Returns the stream in the form that Rust libraries accept.
    pub fn shared_stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Returns the stream in the form that C libraries accept.
    pub fn stream(&self) -> *mut c_void {
        self.stream.cu_stream().cast()
    }

    /// Makes this GPU the current device of this thread, for libraries that use the CUDA runtime.
    pub fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(failed("making the GPU the current one"))
    }

    /// Returns the GPU's UUID in the form that NVML uses, such as `GPU-…`.
    pub fn uuid(&self) -> Result<String> {
        let bytes = self.context.uuid().map_err(failed("asking for the GPU's UUID"))?.bytes;
        let hex: String = bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Ok(format!("GPU-{}", parts.join("-")))
    }

    /// Returns an attribute; a negative value is returned as 0.
    pub(super) fn number(&self, attribute: Attribute) -> Result<u64> {
        let value = self.context.attribute(attribute).map_err(failed("asking the GPU"))?;
        Ok(value.max(0) as u64)
    }

    /// Returns the properties that measurements record but reports do not print.
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
        // A 32-bit argument is read from the first four bytes, which hold its value on
        // little-endian hosts.
        let mut params: Vec<*mut c_void> =
            numbers.iter_mut().map(|number| std::ptr::from_mut(number).cast()).collect();
        // SAFETY: the plan's arguments match the parameters of the entry point; a test checks this
        // against the PTX. The addresses are those of live buffers on this GPU, whose sizes the
        // plan states.
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

    /// Waits until everything launched so far has finished.
    pub fn finish(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed("waiting for the GPU"))
    }
}

impl Memory {
    /// Returns the address of the entire allocation.
    pub fn address(&self) -> Address<'_> {
        Address::of(self, self.address, self.bytes, identity(&self.context))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = self.context.bind_to_thread();
        // SAFETY: `malloc_sync` allocated the memory, and it is freed only here. A destructor
        // cannot return the error.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// Identifies a GPU's memory. A GPU that is opened twice has the same identity both times.
fn identity(context: &CudaContext) -> usize {
    context.cu_ctx().addr()
}

/// Returns the launch attributes of a call that launches clusters or may start before the previous
/// call has ended.
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

/// Returns the peak bandwidth of the memory bus, in bytes per second; `None` if the driver does not
/// report it.
fn bus(kilohertz: u64, bits: u64) -> Option<f64> {
    // The data rate is twice the clock rate, because the memory transfers data on both edges of its
    // clock.
    let bus = 2.0 * kilohertz as f64 * 1e3 * bits as f64 / 8.0;
    (bus > 0.0).then_some(bus)
}

fn line(name: &str, sms: u32, l2: u64, bus: Option<f64>, driver: &str) -> String {
    let speed = bus.map_or(String::new(), |bus| format!(", {:.0} GB/s bus", bus / 1e9));
    format!("{name}, {sms} SMs, {} MB L2{speed}, CUDA {driver} driver", l2 >> 20)
}

/// Formats a CUDA version number, such as 12040 as `12.4`.
fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected figures are the vendor's, for three GPUs.
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
    fn a_gpu_is_described_in_one_line() {
        let said = line("NVIDIA H200", 132, 60 << 20, Some(4.9167e12), &dotted(12040));
        assert_eq!(said, "NVIDIA H200, 132 SMs, 60 MB L2, 4917 GB/s bus, CUDA 12.4 driver");
        let said = line("a GPU", 7, 0, None, &dotted(13000));
        assert_eq!(said, "a GPU, 7 SMs, 0 MB L2, CUDA 13.0 driver");
    }

    #[test]
    fn a_plain_grid_has_no_launch_attributes() {
        use sys::CUlaunchAttributeID as Id;
        let (clusters, starts) = (
            Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        );
        let asked = |cluster, early| {
            let entry = "reduce".into();
            let call = Call { entry, grid: 8, block: 64, cluster, early, ..Call::default() };
            attributes(&call).iter().map(|attribute| attribute.id).collect::<Vec<_>>()
        };
        assert_eq!(asked(1, false), []);
        assert_eq!(asked(2, false), [clusters]);
        assert_eq!(asked(1, true), [starts]);
        assert_eq!(asked(16, true), [clusters, starts]);
    }
}
