//! Checks that there is a driver with all the functions that this crate calls. cudarc panics if a
//! function is missing.
#![expect(unsafe_code, reason = "the driver's library is opened by name")]

use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    ffi::c_void,
    process,
    sync::OnceLock,
};

use cudarc::driver::result;
use libloading::Library;

use crate::error::{Error, Result, doing};

/// The driver functions that this crate calls, directly or through cudarc.
const SYMBOLS: [&str; 33] = [
    "cuInit",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuCtxGetId",
    "cuCtxSetCurrent",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventDestroy_v2",
    "cuGetErrorString",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuLaunchKernel",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemFreeHost",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemsetD8Async",
    "cuPointerGetAttribute",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamIsCapturing",
    "cuStreamGetCtx",
    "cuStreamGetId",
    "cuStreamWaitEvent",
    "cuThreadExchangeStreamCaptureMode",
];

/// The result of the first probe.
enum Driver {
    Whole(#[expect(dead_code, reason = "it stays open")] Library),
    Lacks(&'static str),
    Absent,
}

/// Checks that the driver's library exists and has all functions. The library is probed once in
/// each process.
pub(crate) fn probe() -> Result<()> {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    match DRIVER.get_or_init(look) {
        Driver::Whole(_) => Ok(()),
        Driver::Lacks(symbol) => Err(Error::NoSymbol { symbol }),
        Driver::Absent => Err(Error::NoDriver),
    }
}

/// Probes the library under the names by which cudarc looks for it.
fn look() -> Driver {
    let plain = ["cuda", "nvcuda"].map(|name| format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"));
    let numbered = format!("{DLL_PREFIX}cuda{DLL_SUFFIX}.1");
    // SAFETY: the driver's initializers are safe to run, and cudarc runs them too.
    let open = |name: &String| unsafe { Library::new(name) }.ok();
    let Some(library) = plain.iter().chain([&numbered]).find_map(open) else {
        return Driver::Absent;
    };
    // SAFETY: the symbol is looked up, but not called.
    let has = |symbol: &str| unsafe { library.get::<*const c_void>(symbol.as_bytes()) }.is_ok();
    match SYMBOLS.into_iter().find(|symbol| !has(symbol)) {
        Some(symbol) => Driver::Lacks(symbol),
        None => Driver::Whole(library),
    }
}

/// The id of the process that initialized the driver.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Initializes the driver, for callers that have only a stream.
pub(crate) fn ready() -> Result<()> {
    if PROCESS.get().is_none() {
        probe()?;
        result::init().map_err(doing("starting the CUDA driver"))?;
        let _ = PROCESS.set(process::id());
    }
    Ok(())
}

/// Returns whether this process was forked from one that had initialized the driver. The driver
/// does not work in a forked process.
pub(crate) fn is_forked() -> bool {
    PROCESS.get().is_some_and(|first| *first != process::id())
}
