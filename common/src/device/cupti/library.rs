//! CUPTI, opened by path when it is asked for, and called by its functions' names.
//!
//! One of the files with `unsafe`: a library's functions are what its headers say.
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

/// A loaded CUPTI. It stays loaded until the program ends: the driver keeps pointers into it.
#[derive(Debug)]
pub struct Library {
    library: libloading::Library,
    path: PathBuf,
    companions: Result<(), &'static str>,
}

/// The youngest of the functions that are called here.
const YOUNGEST: [&str; 2] = ["cuptiProfilerHostInitialize", "cuptiRangeProfilerEnable"];

/// What CUPTI answers where all is well.
const SUCCESS: u32 = 0;

impl Library {
    /// The first CUPTI that can be loaded, of those in all usual places.
    ///
    /// The driver is to be there: without it, some versions do not come back from their first call.
    pub fn find() -> Result<&'static Library, Fault> {
        Library::first(find::cupti())
    }

    pub(super) fn first(places: impl Iterator<Item = PathBuf>) -> Result<&'static Library, Fault> {
        let mut fault = None;
        for path in places {
            match Library::open(&path) {
                Ok(library) => return Ok(library),
                // A file that is there and cannot be loaded is worth a word; a name that the loader
                // does not know is not.
                Err(why) if path.exists() => fault = fault.or(Some(why)),
                Err(_) => {}
            }
        }
        Err(fault.unwrap_or(Fault::NoLibrary))
    }

    /// Loads the library at a path, or of a name that the loader knows.
    pub fn open(path: &Path) -> Result<&'static Library, Fault> {
        let companions = find::COMPANIONS.iter().try_for_each(|name| companion(path, name));
        // SAFETY: NVIDIA's library; its initialisers touch nothing of ours. It stays loaded.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| {
            Fault::Unloadable { library: path.display().to_string(), reason: error.to_string() }
        })?;
        Ok(Box::leak(Box::new(Library { library, path: path.to_owned(), companions })))
    }

    /// Whether what it counts with was beside it.
    pub(super) fn complete(&self) -> Result<(), Fault> {
        let library = self.path.display().to_string();
        self.companions.map_err(|missing| Fault::NoCompanions { library, missing })
    }

    /// Whether it has the functions that count, which came last.
    pub(super) fn young(&self) -> Result<(), Fault> {
        YOUNGEST.iter().try_for_each(|name| {
            // SAFETY: the function is looked up, and not called.
            unsafe { self.function::<*const u8>(name) }.map(drop)
        })
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `F` is its C signature.
    pub(super) unsafe fn function<F: Copy>(&self, name: &'static str) -> Result<F, Fault> {
        // SAFETY: promised by the caller.
        let found = unsafe { self.library.get::<F>(name.as_bytes()) };
        let library = || self.path.display().to_string();
        found.map(|symbol| *symbol).map_err(|_| Fault::TooOld { library: library(), symbol: name })
    }

    /// Calls the function that takes this structure.
    ///
    /// # Safety
    /// What the structure points to is live, and as large as it says.
    pub(super) unsafe fn ask<P: Asked>(&self, params: &mut P) -> Result<(), Fault> {
        // SAFETY: all of these functions take a pointer to their structure and answer a number.
        let code =
            unsafe { self.function::<unsafe extern "C" fn(*mut P) -> u32>(P::CALL)?(params) };
        self.answered(P::CALL, code)
    }

    /// What an answer means.
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

    /// Its version, as `13.0`; before 13, those of CUDA 12 had numbers of their own.
    pub fn version(&self) -> String {
        type Version = unsafe extern "C" fn(*mut u32) -> u32;
        let mut version = 0;
        // SAFETY: `cuptiGetVersion(uint32_t*)` writes one integer.
        let _ = unsafe { self.function::<Version>("cuptiGetVersion") }
            .map(|get| unsafe { get(&mut version) });
        match version {
            0 => "of no version".into(),
            10_000.. => format!("{}.{}", version / 10_000, version / 100 % 100),
            old => format!("API {old}"),
        }
    }

    /// CUPTI's name for an answer.
    fn text(&self, code: u32) -> String {
        type Text = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
        let mut text = std::ptr::null();
        // SAFETY: `cuptiGetResultString(CUptiResult, const char**)` writes one pointer, to a text of
        // the library's own.
        unsafe {
            let get = self.function::<Text>("cuptiGetResultString");
            match get.map(|get| get(code, &mut text)) {
                Ok(SUCCESS) if !text.is_null() => CStr::from_ptr(text).to_string_lossy().into(),
                _ => "no name".into(),
            }
        }
    }
}

/// Opens what the library looks for by name: beside it, or where the loader knows it.
fn companion(library: &Path, name: &'static str) -> Result<(), &'static str> {
    let beside = library.parent().unwrap_or(Path::new("")).join(name);
    let path = if beside.exists() { beside } else { name.into() };
    // SAFETY: NVIDIA's library; its initialisers touch nothing of ours. It stays loaded.
    let opened = unsafe { libloading::Library::new(path) };
    opened.map(std::mem::forget).map_err(|_| name)
}
