//! Kernels that the driver compiles.
#![expect(
    unsafe_code,
    reason = "the driver accepts PTX as a pointer, and returns functions as handles"
)]

use std::ffi::{CStr, CString, c_int};

use cudarc::driver::{
    result::{device, module},
    sys::{self, CUdevice_attribute as Attribute, CUfunction},
};

use crate::{
    error::{Error, Result, doing, not_compiled},
    kernels::Kernel,
};

/// A kernel that the driver has loaded and that is never unloaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function(CUfunction);

// SAFETY: the driver accepts handles from any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    pub(crate) fn raw(self) -> CUfunction {
        self.0
    }
}

/// Returns the major compute capability of the current context's device.
pub(crate) fn major() -> Result<i32> {
    ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
}

/// Compiles a kernel for the device of the current context. Returns the function, and the maximum
/// number of blocks that can be resident at the same time if each has `threads` threads.
pub(crate) fn compile(kernel: Kernel, threads: u32) -> Result<(Function, u32)> {
    let major = major()?;
    if major < 7 {
        let minor = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        return Err(Error::OldDevice { major, minor });
    }
    let text = |text: &str| CString::new(text).expect("PTX has no zero byte");
    let (ptx, name) = (text(&kernel.ptx(major)), text(&kernel.name()));
    let function = load(&ptx, name)?;
    let (mut each, threads) = (0, threads as c_int);
    // SAFETY: the function was just loaded, and the pointer is valid for the result.
    unsafe { sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut each, function, threads, 0) }
        .result()
        .map_err(doing(ASKING))?;
    let sms = ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    Ok((Function(function), each.max(1) as u32 * sms.max(1) as u32))
}

const ASKING: &str = "reading the device's attributes";

fn ask(what: Attribute) -> Result<i32> {
    let mut device = 0;
    // SAFETY: the pointer is valid for the result.
    unsafe { sys::cuCtxGetDevice(&mut device) }.result().map_err(doing(ASKING))?;
    // SAFETY: the device exists, because the current context belongs to it.
    unsafe { device::get_attribute(device, what) }.map_err(doing(ASKING))
}

fn load(ptx: &CStr, name: CString) -> Result<CUfunction> {
    // SAFETY: the PTX ends with a zero byte, and the driver copies it.
    let module = unsafe { module::load_data(ptx.as_ptr().cast()) }.map_err(not_compiled)?;
    // SAFETY: the module was just loaded, and is never unloaded.
    unsafe { module::get_function(module, name) }.map_err(doing("finding a kernel"))
}
