//! Loads NCCL at run time. The program calls sixteen of NCCL's C functions.
//!
//! This file contains `unsafe` code.
#![expect(unsafe_code, reason = "NCCL is loaded at run time, and called through its C functions")]

mod comm;
mod places;

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::Arc,
};

use libloading::Library;

pub use comm::{Alive, Comm, Place, connect_early};
pub(crate) use comm::{Kind, grouped};
pub use places::{places, version};

use crate::{Error, Result};

/// The oldest version that has non-blocking communicators and all the functions that the program
/// calls.
pub const OLDEST: u32 = 21_800;

/// The id with which ranks join the same communicator.
#[repr(C)]
#[derive(Clone, Copy)]
struct Id([u8; 128]);

/// The `ncclConfig_t` of version 2.18. Newer libraries treat fields that this version does not have
/// as undefined.
#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
}

/// The value of `NCCL_CONFIG_UNDEF_INT`.
const UNSET: c_int = c_int::MIN;

type Raw = *mut c_void;
type Code = c_int;

const SUCCESS: Code = 0;
const REMOTE: Code = 6;
const IN_PROGRESS: Code = 7;
/// NCCL's numbers for types and operations.
const UINT8: c_int = 1;
const UINT32: c_int = 3;
const UINT64: c_int = 5;
const FLOAT32: c_int = 7;
const SUM: c_int = 0;

macro_rules! functions {
    ($($field:ident $symbol:literal ($($argument:ty),*) -> $result:ty;)+) => {
        /// The NCCL functions that are used, and their library.
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> $result,)+
            _library: Library,
        }

        /// Looks up all functions. If a function is missing, the error is the function's name.
        fn look_up(library: Library) -> Result<Functions, &'static str> {
            Ok(Functions {
                $($field: {
                    let name = concat!($symbol, "\0").as_bytes();
                    // SAFETY: the type is the one in NCCL's header, and the library is stored with
                    // the function.
                    *unsafe { library.get(name) }.map_err(|_| $symbol)?
                },)+
                _library: library,
            })
        }
    };
}
functions! {
    get_unique_id "ncclGetUniqueId" (*mut Id) -> Code;
    error_string "ncclGetErrorString" (Code) -> *const c_char;
    last_error "ncclGetLastError" (Raw) -> *const c_char;
    init "ncclCommInitRankConfig" (*mut Raw, c_int, Id, c_int, *mut Config) -> Code;
    split "ncclCommSplit" (Raw, c_int, c_int, *mut Raw, *mut Config) -> Code;
    async_error "ncclCommGetAsyncError" (Raw, *mut Code) -> Code;
    finalize "ncclCommFinalize" (Raw) -> Code;
    destroy "ncclCommDestroy" (Raw) -> Code;
    abort "ncclCommAbort" (Raw) -> Code;
    group_start "ncclGroupStart" () -> Code;
    group_end "ncclGroupEnd" () -> Code;
    all_gather "ncclAllGather" (*const c_void, *mut c_void, usize, c_int, Raw, Raw) -> Code;
    all_reduce "ncclAllReduce" (*const c_void, *mut c_void, usize, c_int, c_int, Raw, Raw) -> Code;
    send "ncclSend" (*const c_void, usize, c_int, c_int, Raw, Raw) -> Code;
    receive "ncclRecv" (*mut c_void, usize, c_int, c_int, Raw, Raw) -> Code;
}

/// A loaded NCCL library.
#[derive(Clone)]
pub struct Nccl {
    functions: Arc<Functions>,
    path: PathBuf,
    version: u32,
}

impl std::fmt::Debug for Nccl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NCCL {} ({})", version(self.version), self.path.display())
    }
}

impl Nccl {
    /// Loads the library at this path, or searches the usual locations if no path is given.
    pub fn find(named: Option<&Path>) -> Result<Nccl> {
        if let Some(path) = named {
            return Nccl::open(path);
        }
        Nccl::among(&places())
    }

    /// Loads the first of these libraries that exists.
    fn among(places: &[PathBuf]) -> Result<Nccl> {
        for path in places {
            if !path.has_root() || path.exists() {
                match Nccl::open(path) {
                    Err(Error::Nccl(why)) if why.starts_with("NCCL was not found") => {}
                    other => return other,
                }
            }
        }
        let all: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        Err(Error::Nccl(format!(
            "NCCL was not found: looked for {}; `cargo x nccl` installs NCCL, or give its path with --nccl",
            all.join(", ")
        )))
    }

    fn open(path: &Path) -> Result<Nccl> {
        let place = path.display();
        // SAFETY: NCCL's initializers have no requirements.
        let library = unsafe { Library::new(path) }.map_err(|error| {
            Error::Nccl(format!(
                "NCCL was not found at {place} ({error}); `cargo x nccl` installs NCCL, or give another path with --nccl"
            ))
        })?;
        // The version is checked before the other functions are looked up, because an old version
        // lacks some of them.
        let mut code = 0;
        {
            type Version = unsafe extern "C" fn(*mut c_int) -> Code;
            // SAFETY: the type is the one in NCCL's header, and the pointer is valid for the
            // result.
            let asked = unsafe {
                library.get::<Version>(b"ncclGetVersion\0").map(|version| version(&mut code))
            };
            if asked.is_err() {
                return Err(Error::Nccl(format!(
                    "{place} has no ncclGetVersion, so it is not NCCL: give the path of NCCL with --nccl"
                )));
            }
        }
        let code = code.max(0) as u32;
        if code < OLDEST {
            return Err(Error::Nccl(format!(
                "{place} is NCCL {}, but {} or newer is needed: `cargo x nccl` installs a suitable version, or give the path of one with --nccl",
                version(code),
                version(OLDEST)
            )));
        }
        let functions = look_up(library).map_err(|symbol| {
            Error::Nccl(format!(
                "{place} reports NCCL {} but has no {symbol}: give the path of a complete library with --nccl",
                version(code)
            ))
        })?;
        Ok(Nccl { functions: Arc::new(functions), path: path.to_owned(), version: code })
    }

    /// Returns the version in NCCL's encoding.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Creates the id of a new communicator, which all its ranks need.
    pub fn id(&self) -> Result<Vec<u8>> {
        let mut id = Id([0; 128]);
        // SAFETY: the pointer is valid for the result.
        let code = unsafe { (self.functions.get_unique_id)(&mut id) };
        self.check("making NCCL's id", code, ptr::null_mut())?;
        Ok(id.0.to_vec())
    }

    fn check(&self, doing: &str, code: Code, comm: Raw) -> Result<()> {
        if code == SUCCESS || code == IN_PROGRESS {
            return Ok(());
        }
        // NCCL's messages live as long as its library.
        let text = |text: *const c_char| match text.is_null() {
            true => String::new(),
            false => {
                // SAFETY: the pointer is not null, and the text ends with a zero byte.
                unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
            }
        };
        // SAFETY: the function accepts any code.
        let name = text(unsafe { (self.functions.error_string)(code) });
        // SAFETY: the function accepts a communicator or a null pointer.
        let last = text(unsafe { (self.functions.last_error)(comm) });
        let last = if last.is_empty() { last } else { format!(": {last}") };
        Err(Error::Nccl(format!("{doing}: NCCL reports {name:?}{last}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_lists_all_places_searched() {
        let nowhere = ["/nowhere/a/libnccl.so.2", "libnccl-nowhere.so.2"].map(PathBuf::from);
        let error = Nccl::among(&nowhere).unwrap_err().to_string();
        assert_eq!(
            error,
            "NCCL was not found: looked for /nowhere/a/libnccl.so.2, libnccl-nowhere.so.2; `cargo x nccl` installs NCCL, or give its path with --nccl"
        );
    }

    #[test]
    fn a_missing_library_is_an_error() {
        let error = Nccl::find(Some(Path::new("/nowhere/libnccl.so.2"))).unwrap_err().to_string();
        assert!(error.starts_with("NCCL was not found at /nowhere/libnccl.so.2"), "{error}");
        assert!(
            error.ends_with("`cargo x nccl` installs NCCL, or give another path with --nccl"),
            "{error}"
        );
    }
}
