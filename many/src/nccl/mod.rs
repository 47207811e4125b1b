//! NCCL, found at run time and called through sixteen of its C functions.
//!
//! One of the files with `unsafe`.
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

/// The first version whose communicators need not block, and have what is called here.
pub const OLDEST: u32 = 21_800;

/// What hands a communicator's ranks to each other.
#[repr(C)]
#[derive(Clone, Copy)]
struct Id([u8; 128]);

/// `ncclConfig_t` as of 2.18: newer libraries take what it lacks as not given.
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

/// What `NCCL_CONFIG_UNDEF_INT` is.
const UNSET: c_int = c_int::MIN;

type Raw = *mut c_void;
type Code = c_int;

const SUCCESS: Code = 0;
const REMOTE: Code = 6;
const IN_PROGRESS: Code = 7;
/// Types and operations of NCCL: bytes travel as they are, words are added.
const UINT8: c_int = 1;
const UINT32: c_int = 3;
const FLOAT32: c_int = 7;
const SUM: c_int = 0;

macro_rules! functions {
    ($($field:ident $symbol:literal ($($argument:ty),*) -> $result:ty;)+) => {
        /// The functions that are called, and the library that they live in.
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> $result,)+
            _library: Library,
        }

        /// Looks all of them up, or says which one is not there.
        fn look_up(library: Library) -> Result<Functions, &'static str> {
            Ok(Functions {
                $($field: {
                    let name = concat!($symbol, "\0").as_bytes();
                    // SAFETY: the type is that of NCCL's header, and the library is kept beside it.
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

/// NCCL.
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
    /// The library at this path, or wherever it is found.
    pub fn find(named: Option<&Path>) -> Result<Nccl> {
        if let Some(path) = named {
            return Nccl::open(path);
        }
        Nccl::among(&places())
    }

    /// The first of these that is there.
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
            "NCCL was not found: looked for {}; `cargo x nccl` brings it, or name it with --nccl",
            all.join(", ")
        )))
    }

    fn open(path: &Path) -> Result<Nccl> {
        let place = path.display();
        // SAFETY: NCCL's initialisers ask nothing of us.
        let library = unsafe { Library::new(path) }.map_err(|error| {
            Error::Nccl(format!(
                "NCCL was not found at {place} ({error}); `cargo x nccl` brings it, or name another with --nccl"
            ))
        })?;
        // Before anything that an old one lacks.
        let mut code = 0;
        {
            type Version = unsafe extern "C" fn(*mut c_int) -> Code;
            // SAFETY: the type is that of NCCL's header; the answer has a place.
            let asked = unsafe {
                library.get::<Version>(b"ncclGetVersion\0").map(|version| version(&mut code))
            };
            if asked.is_err() {
                return Err(Error::Nccl(format!(
                    "{place} has no ncclGetVersion: it is not NCCL; name it with --nccl"
                )));
            }
        }
        let code = code.max(0) as u32;
        if code < OLDEST {
            return Err(Error::Nccl(format!(
                "{place} is NCCL {}, and {} or newer is needed: `cargo x nccl` brings one, or name it with --nccl",
                version(code),
                version(OLDEST)
            )));
        }
        let functions = look_up(library).map_err(|symbol| {
            Error::Nccl(format!(
                "{place} says that it is NCCL {} and has no {symbol}: name a whole one with --nccl",
                version(code)
            ))
        })?;
        Ok(Nccl { functions: Arc::new(functions), path: path.to_owned(), version: code })
    }

    /// As NCCL counts it.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// What all ranks of a new communicator need.
    pub fn id(&self) -> Result<Vec<u8>> {
        let mut id = Id([0; 128]);
        // SAFETY: the answer has a place.
        let code = unsafe { (self.functions.get_unique_id)(&mut id) };
        self.check("making NCCL's id", code, ptr::null_mut())?;
        Ok(id.0.to_vec())
    }

    fn check(&self, doing: &str, code: Code, comm: Raw) -> Result<()> {
        if code == SUCCESS || code == IN_PROGRESS {
            return Ok(());
        }
        // NCCL's texts live as long as its library.
        let text = |text: *const c_char| match text.is_null() {
            true => String::new(),
            false => {
                // SAFETY: it is no null pointer, and ends with a zero.
                unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
            }
        };
        // SAFETY: any code has a text.
        let name = text(unsafe { (self.functions.error_string)(code) });
        // SAFETY: the last error of a communicator, or of this thread.
        let last = text(unsafe { (self.functions.last_error)(comm) });
        let last = if last.is_empty() { last } else { format!(": {last}") };
        Err(Error::Nccl(format!("{doing}: NCCL says {name:?}{last}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_looks_everywhere_says_where() {
        let nowhere = ["/nowhere/a/libnccl.so.2", "libnccl-nowhere.so.2"].map(PathBuf::from);
        let error = Nccl::among(&nowhere).unwrap_err().to_string();
        assert_eq!(
            error,
            "NCCL was not found: looked for /nowhere/a/libnccl.so.2, libnccl-nowhere.so.2; `cargo x nccl` brings it, or name it with --nccl"
        );
    }

    #[test]
    fn a_library_that_is_not_there_has_a_sentence() {
        let error = Nccl::find(Some(Path::new("/nowhere/libnccl.so.2"))).unwrap_err().to_string();
        assert!(error.starts_with("NCCL was not found at /nowhere/libnccl.so.2"), "{error}");
        assert!(
            error.ends_with("`cargo x nccl` brings it, or name another with --nccl"),
            "{error}"
        );
    }
}
