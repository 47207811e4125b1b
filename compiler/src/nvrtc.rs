//! Calls NVRTC, NVIDIA's run-time compiler, if this machine has it.
//!
//! NVRTC is loaded by path, so that neither building nor starting a program requires a CUDA
//! installation. Every `unsafe` block calls a C function in the library. The signatures are those
//! in `nvrtc.h`, which have not changed since CUDA 8.
#![expect(unsafe_code, reason = "NVRTC is called through its C functions")]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::{Path, PathBuf},
};

use crate::{Error, Result, Unit, find, newer, woven::named};

/// The version that compiled the committed PTX, in PyPI's notation.
pub const PINNED: &str = "12.4.127";

/// A loaded NVRTC.
#[derive(Debug)]
pub struct Library {
    library: libloading::Library,
    version: (c_int, c_int),
    path: PathBuf,
}

impl Library {
    /// Tries to load NVRTC from the usual places in order, and uses the first that works.
    pub fn find() -> Option<Library> {
        find::nvrtc().find_map(|path| Library::open(&path).ok())
    }

    /// Loads the library at a path, or under a name that the loader can find.
    pub fn open(path: &Path) -> Result<Library> {
        let failed =
            |text: String| Error::Library { doing: format!("loading {}", path.display()), text };
        // NVRTC looks up its built-in headers by name, and finds them if they are already loaded.
        if let Some(builtins) = find::builtins(path) {
            // SAFETY: this is NVIDIA's library, whose initializers do not access our data. It stays
            // loaded.
            if let Ok(library) = unsafe { libloading::Library::new(builtins) } {
                std::mem::forget(library);
            }
        }
        // SAFETY: as above.
        let library =
            unsafe { libloading::Library::new(path) }.map_err(|e| failed(e.to_string()))?;
        let mut version = (0, 0);
        // SAFETY: `nvrtcVersion(int*, int*)` writes two integers.
        let code = unsafe {
            library
                .get::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>(b"nvrtcVersion\0")
                .map_err(|e| failed(e.to_string()))?(&mut version.0, &mut version.1)
        };
        if code != 0 {
            return Err(failed(format!("nvrtcVersion returned {code}")));
        }
        Ok(Library { library, version, path: path.to_owned() })
    }

    /// Returns the version, such as `12.4`.
    pub fn version(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    /// Returns the path of the library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns NVRTC's options for a unit. The options are part of the committed stamp.
    ///
    /// The architecture is the one that the unit names or, if this NVRTC no longer supports it, the
    /// oldest architecture that this NVRTC supports.
    pub fn options(&self, unit: &Unit<'_>) -> Vec<String> {
        let first = format!("--gpu-architecture=compute_{}", self.architecture(unit));
        [first].into_iter().chain(unit.options.iter().cloned()).collect()
    }

    fn architecture(&self, unit: &Unit<'_>) -> u32 {
        let oldest = match self.version.0 {
            ..=11 => 35,
            12 => 50,
            _ => 75,
        };
        unit.architecture.max(oldest)
    }

    /// Compiles a unit to PTX.
    pub fn compile(&self, unit: &Unit<'_>) -> Result<String> {
        let &Unit { source, file, .. } = unit;
        let failed =
            |text: String| Error::Library { doing: format!("compiling {file} with NVRTC"), text };
        let text =
            CString::new(source).map_err(|_| failed("the source holds a zero byte".into()))?;
        // NVRTC would prefix a relative name with the working folder, which must not occur in the
        // PTX.
        let name = CString::new("/kernel.cu").expect("no zero byte");
        // The folder with the headers is not part of the stamp, because no committed kernel
        // includes a header.
        let headers = find::headers(&self.path);
        let include = headers.iter().map(|folder| format!("--include-path={}", folder.display()));
        let options = self.options(unit).into_iter().chain(include).map(CString::new);
        let options = options
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| failed("an option holds a zero byte".into()))?;
        let mut pointers: Vec<*const c_char> =
            options.iter().map(|option| option.as_ptr()).collect();
        let mut program: *mut c_void = std::ptr::null_mut();
        type Create = unsafe extern "C" fn(
            *mut *mut c_void,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        type Compile = unsafe extern "C" fn(*mut c_void, c_int, *mut *const c_char) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
        // SAFETY: the symbols have these signatures; all pointers outlive the calls; the program is
        // destroyed once, and not used afterwards.
        unsafe {
            let create = self.symbol::<Create>(b"nvrtcCreateProgram\0")?;
            let compile = self.symbol::<Compile>(b"nvrtcCompileProgram\0")?;
            let destroy = self.symbol::<Destroy>(b"nvrtcDestroyProgram\0")?;
            let code = create(
                &mut program,
                text.as_ptr(),
                name.as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            );
            if code != 0 {
                return Err(failed(format!("nvrtcCreateProgram returned {code}")));
            }
            let code = compile(program, pointers.len() as c_int, pointers.as_mut_ptr());
            let result = match code {
                0 => self.text(program, b"nvrtcGetPTXSize\0", b"nvrtcGetPTX\0"),
                _ => self
                    .text(program, b"nvrtcGetProgramLogSize\0", b"nvrtcGetProgramLog\0")
                    .and_then(|log| {
                        let log = with_cure(
                            &named(&log, unit),
                            self.architecture(unit),
                            headers.is_some(),
                        );
                        Err(Error::Compile { file: file.to_owned(), log })
                    }),
            };
            destroy(&mut program);
            Ok(result?.replace("\"/", "\""))
        }
    }

    /// Returns a function of the library.
    ///
    /// # Safety
    /// `F` must be the function's C signature.
    unsafe fn symbol<F>(&self, name: &[u8]) -> Result<libloading::Symbol<'_, F>> {
        // SAFETY: the caller promises that `F` is the signature.
        unsafe { self.library.get(name) }.map_err(|e| Error::Library {
            doing: format!("looking into {}", self.path.display()),
            text: e.to_string(),
        })
    }

    /// Reads one of the program's strings: first its size, then its bytes.
    ///
    /// # Safety
    /// `program` must be a live program of this library.
    unsafe fn text(&self, program: *mut c_void, size: &[u8], get: &[u8]) -> Result<String> {
        type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
        type Get = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
        let mut bytes = 0;
        // SAFETY: the buffer has the size that the library reported, and it ends with a zero byte.
        unsafe {
            self.symbol::<Size>(size)?(program, &mut bytes);
            let mut buffer = vec![0u8; bytes + 1];
            self.symbol::<Get>(get)?(program, buffer.as_mut_ptr().cast());
            Ok(CStr::from_ptr(buffer.as_ptr().cast()).to_string_lossy().into_owned())
        }
    }
}

/// Adds a remedy to NVRTC's messages if a header is missing, or if the architecture is too old for a
/// name.
fn with_cure(log: &str, architecture: u32, headers: bool) -> String {
    if let Some(why) = newer(log, architecture) {
        return format!("{log}\n{why}");
    }
    // NVRTC's message says "could not open" if there is no folder of headers, and "cannot open" if
    // there is one.
    if !log.contains(" open source file ") {
        return log.to_owned();
    }
    let cure = match headers {
        false => {
            "`cargo x nvrtc` installs CUDA's headers, such as cuda_fp16.h and cooperative_groups.h, from PyPI (1 MB, into .venv)"
        }
        true => {
            "CUDA's headers are installed, but C++'s are not: `printf` and `assert` are built in, so omit their headers, and declare other names that the kernel needs"
        }
    };
    format!("{log}\n{cure}; a file of your own must be beside the kernel: `#include \"my.cuh\"`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_header_has_its_cure() {
        let log = "my.cu(3): catastrophic error: could not open source file \"cuda_fp16.h\"";
        let said = with_cure(log, 60, false);
        assert!(said.starts_with(log) && said.contains("\n`cargo x nvrtc` installs"), "{said}");
        let said = with_cure(&log.replace("could not", "cannot"), 60, true);
        assert!(said.contains("C++'s are not") && !said.contains("cargo x nvrtc"), "{said}");
        assert_eq!(with_cure("another error", 60, false), "another error");
    }

    #[test]
    fn a_name_of_a_later_architecture_has_its_cure() {
        let log = "my.cu(3): error: identifier \"__match_any_sync\" is undefined";
        let said = with_cure(log, 60, true);
        assert!(said.starts_with(log) && said.contains("`// Needs compute_70: why.`"), "{said}");
    }
}
