//! Probes for the CUDA driver and translates its errors.
//!
//! This file contains `unsafe` code, because the library is probed before cudarc loads it: cudarc
//! panics if the library is missing.
#![expect(
    unsafe_code,
    reason = "loading the library is the only way to know whether it can be loaded"
)]

use std::ffi::c_void;

use cudarc::driver::{DriverError, result, sys};
use once_cell::sync::OnceCell;

use crate::{Error, Result, error::DRIVER};

/// Records that the driver is loaded. A failure is not recorded, so the next call tries again.
static STARTED: OnceCell<()> = OnceCell::new();

pub(super) fn start() -> Result<()> {
    STARTED
        .get_or_try_init(|| {
            // This probe precedes every call to cudarc, which panics if the library is missing.
            // SAFETY: this only opens the library by name.
            if !unsafe { sys::is_culib_present() } {
                return Err(Error::NoDriver);
            }
            if let Some(symbol) = missing(DRIVER, &YOUNGEST) {
                return Err(Error::NoSymbol { library: DRIVER.into(), symbol });
            }
            match result::init() {
                Ok(()) => Ok(()),
                Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => Err(Error::NoGpu),
                Err(error) => Err(failed("starting the CUDA driver")(error)),
            }
        })
        .copied()
}

/// The newest of the driver functions that this program and cudarc call. cudarc panics if a
/// function is missing.
const YOUNGEST: [&str; 3] =
    ["cuLaunchKernelEx", "cuOccupancyMaxPotentialClusterSize", "cuStreamWaitValue32_v2"];

/// Returns the first of these functions that a library lacks; `None` if the library has all of them
/// or does not exist.
fn missing(library: &str, symbols: &[&str]) -> Option<String> {
    // SAFETY: this is the driver's library, which cudarc opens next. The library's initializers do
    // not access our data.
    let library = unsafe { libloading::Library::new(library) }.ok()?;
    // SAFETY: the symbols are looked up but not called.
    let has = |symbol: &str| unsafe { library.get::<*const c_void>(symbol.as_bytes()) }.is_ok();
    symbols.iter().find(|symbol| !has(symbol)).map(|symbol| (*symbol).to_owned())
}

/// Converts the driver's error; `doing` names the operation that failed.
pub(super) fn failed(doing: impl Into<String>) -> impl FnOnce(DriverError) -> Error {
    let doing = doing.into();
    move |error| {
        let name = error.error_name().map(|name| name.to_string_lossy().into_owned());
        let text = error.error_string().map(|text| text.to_string_lossy().into_owned());
        Error::Cuda {
            doing,
            text: format!("{} ({})", text.unwrap_or_default(), name.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_library_there_is_no_driver() {
        // SAFETY: this only opens the library by name.
        let present = unsafe { sys::is_culib_present() };
        for _ in 0..2 {
            assert_eq!(matches!(start(), Err(Error::NoDriver)), !present);
        }
    }

    #[test]
    fn a_missing_function_is_named() {
        // The library exists on every system, and so do two of its functions.
        let (library, [one, other]) = match () {
            () if cfg!(windows) => ("kernel32.dll", ["LoadLibraryA", "ExitProcess"]),
            () if cfg!(target_os = "macos") => ("libSystem.B.dylib", ["malloc", "free"]),
            () => ("libc.so.6", ["malloc", "free"]),
        };
        assert_eq!(missing(library, &[one, other]), None);
        let lacks = missing(library, &[one, "cuLaunchKernelEx", other]);
        assert_eq!(lacks.as_deref(), Some("cuLaunchKernelEx"));
        assert_eq!(missing("libnowhere.so", &[one]), None);
        let error = Error::NoSymbol { library: DRIVER.into(), symbol: lacks.unwrap() };
        let start = format!("{DRIVER} has no `cuLaunchKernelEx`");
        assert!(error.to_string().starts_with(&start), "{error}");
    }
}
