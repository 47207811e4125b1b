//! Loads CUPTI from a path on demand, and looks up its functions by name.
//!
//! This file contains `unsafe` code, because nothing checks the signatures of a library's
//! functions.
#![expect(unsafe_code, reason = "CUPTI is loaded at run time, and called through its C functions")]

use std::{
    ffi::{CStr, c_char},
    path::{Path, PathBuf},
};

use compiler::find;

use super::{
    fault::Fault,
    structs::{Asked, HostInitialize},
};

/// A loaded CUPTI library. CUPTI stays loaded until the program ends, because the driver keeps
/// pointers into it.
#[derive(Debug)]
pub struct Library {
    library: libloading::Library,
    path: PathBuf,
    companions: Result<(), &'static str>,
}

/// The newest CUPTI functions that this program calls.
const YOUNGEST: [&str; 2] = ["cuptiProfilerHostInitialize", "cuptiRangeProfilerEnable"];

/// The result code for success.
const SUCCESS: u32 = 0;

impl Library {
    /// Tries to load CUPTI from the usual places in order, and uses the first library that can be
    /// loaded.
    ///
    /// The driver must be installed. Without a driver, the first call into some versions of CUPTI
    /// never returns.
    pub fn find() -> Result<&'static Library, Fault> {
        Library::first(find::cupti())
    }

    pub(super) fn first(places: impl Iterator<Item = PathBuf>) -> Result<&'static Library, Fault> {
        let mut fault = None;
        for path in places {
            match Library::open(&path) {
                Ok(library) => return Ok(library),
                // A file that exists but cannot be loaded is reported. A name that the loader
                // cannot find is not reported.
                Err(why) if path.exists() => fault = fault.or(Some(why)),
                Err(_) => {}
            }
        }
        Err(fault.unwrap_or(Fault::NoLibrary))
    }

    /// Loads the library with this path, or with a name that the loader can find.
    pub fn open(path: &Path) -> Result<&'static Library, Fault> {
        let companions = find::COMPANIONS.iter().try_for_each(|name| companion(path, name));
        // SAFETY: this is NVIDIA's library, whose initializers do not access our data. The library
        // stays loaded.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| {
            Fault::Unloadable { library: path.display().to_string(), reason: error.to_string() }
        })?;
        Ok(Box::leak(Box::new(Library { library, path: path.to_owned(), companions })))
    }

    /// Checks that the libraries that CUPTI needs to count events can be opened.
    pub(super) fn complete(&self) -> Result<(), Fault> {
        let library = self.path.display().to_string();
        self.companions.map_err(|missing| Fault::NoCompanions { library, missing })
    }

    /// Checks that CUPTI has the functions that count events, which are the newest that this
    /// program calls.
    pub(super) fn young(&self) -> Result<(), Fault> {
        YOUNGEST.iter().try_for_each(|name| {
            // SAFETY: the function is looked up but not called.
            unsafe { self.function::<*const u8>(name) }.map(drop)
        })
    }

    /// Returns a function of the library.
    ///
    /// # Safety
    /// `F` must be the function's C signature.
    pub(super) unsafe fn function<F: Copy>(&self, name: &'static str) -> Result<F, Fault> {
        // SAFETY: the caller promises that `F` is the signature.
        let found = unsafe { self.library.get::<F>(name.as_bytes()) };
        let library = || self.path.display().to_string();
        found.map(|symbol| *symbol).map_err(|_| Fault::TooOld { library: library(), symbol: name })
    }

    /// Calls the CUPTI function that takes this structure as its argument.
    ///
    /// # Safety
    /// All pointers in the structure must point to live data of the stated sizes.
    pub(super) unsafe fn ask<P: Asked>(&self, params: &mut P) -> Result<(), Fault> {
        // SAFETY: each of these functions accepts a pointer to its structure and returns a number.
        let code =
            unsafe { self.function::<unsafe extern "C" fn(*mut P) -> u32>(P::CALL)?(params) };
        self.answered(P::CALL, code)
    }

    /// Converts a result code to an error.
    pub(super) fn answered(&self, call: &'static str, code: u32) -> Result<(), Fault> {
        Err(match code {
            SUCCESS => return Ok(()),
            15 if call == HostInitialize::CALL => {
                let library = self.path.display().to_string();
                Fault::NoCompanions { library, missing: find::COMPANIONS[1] }
            }
            26 | 39 => Fault::Held { call, code },
            35 => Fault::Permission,
            33 | 40 => Fault::Virtual,
            41 => Fault::Confidential,
            43 => Fault::Mig,
            _ => Fault::Other { version: self.version(), call, code, text: self.text(code) },
        })
    }

    /// Returns the version, such as `13.0`. Up to CUDA 12, CUPTI had its own version numbers.
    pub fn version(&self) -> String {
        type Version = unsafe extern "C" fn(*mut u32) -> u32;
        let mut version = 0;
        // SAFETY: `cuptiGetVersion(uint32_t*)` writes one integer.
        let _ = unsafe { self.function::<Version>("cuptiGetVersion") }
            .map(|get| unsafe { get(&mut version) });
        match version {
            0 => "of an unknown version".into(),
            10_000.. => format!("{}.{}", version / 10_000, version / 100 % 100),
            old => format!("API {old}"),
        }
    }

    /// Returns CUPTI's name for a result code.
    fn text(&self, code: u32) -> String {
        type Text = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
        let mut text = std::ptr::null();
        // SAFETY: `cuptiGetResultString(CUptiResult, const char**)` writes one pointer, to a string
        // that the library owns.
        unsafe {
            let get = self.function::<Text>("cuptiGetResultString");
            match get.map(|get| get(code, &mut text)) {
                Ok(SUCCESS) if !text.is_null() => CStr::from_ptr(text).to_string_lossy().into(),
                _ => "no name".into(),
            }
        }
    }
}

/// Opens a library that CUPTI looks up by name, either in CUPTI's folder or where the loader finds
/// it.
fn companion(library: &Path, name: &'static str) -> Result<(), &'static str> {
    let beside = library.parent().unwrap_or(Path::new("")).join(name);
    let path = if beside.exists() { beside } else { name.into() };
    // SAFETY: this is NVIDIA's library, whose initializers do not access our data. The library
    // stays loaded.
    let opened = unsafe { libloading::Library::new(path) };
    opened.map(std::mem::forget).map_err(|_| name)
}
