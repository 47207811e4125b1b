//! NVRTC, NVIDIA's run-time compiler, if this machine has one.
//!
//! Loaded by path, so that no CUDA installation is needed to build or to start. One of the files
//! with `unsafe`: every block here calls a C function of the library, whose signatures are those
//! of `nvrtc.h` and have not changed since CUDA 8.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::{Path, PathBuf},
};

use crate::{Element, Error, Result};

/// The version whose PTX is committed, as PyPI names it.
pub const PINNED: &str = "12.4.127";

/// A loaded NVRTC.
#[derive(Debug)]
pub struct Library {
    library: libloading::Library,
    version: (c_int, c_int),
    path: PathBuf,
}

impl Library {
    /// The first NVRTC found: in `.venv` (where `cargo x nvrtc` puts the pinned one), where the
    /// toolkit's variables point, by the loader (`LD_LIBRARY_PATH`), in the toolkit's usual place.
    pub fn find() -> Option<Library> {
        let candidates = in_venv().into_iter().chain(in_toolkits()).filter(|path| path.exists());
        let by_loader = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"].map(PathBuf::from);
        let usual = libraries_in(Path::new("/usr/local/cuda/lib64"));
        candidates.chain(by_loader).chain(usual).find_map(|path| Library::open(&path).ok())
    }

    /// Loads the library at a path, or of a name that the loader knows.
    pub fn open(path: &Path) -> Result<Library> {
        let failed =
            |text: String| Error::Cuda { doing: format!("loading {}", path.display()), text };
        // NVRTC opens its built-in headers by name: they are found if they were opened before.
        if let Some(builtins) =
            path.parent().and_then(|folder| find_in(folder, "libnvrtc-builtins.so"))
        {
            // SAFETY: NVIDIA's library; its initialisers touch nothing of ours. It stays loaded.
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
            return Err(failed(format!("nvrtcVersion answers {code}")));
        }
        Ok(Library { library, version, path: path.to_owned() })
    }

    /// As `12.4`.
    pub fn version(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The options that a kernel is compiled with. They are part of the committed stamp.
    pub fn options(&self, source: &str, element: Element) -> Vec<String> {
        vec![
            format!("--gpu-architecture=compute_{}", self.architecture(source)),
            format!("--define-macro=Element={}", element.cuda_name()),
            "--generate-line-info".into(),
            "--std=c++17".into(),
        ]
    }

    /// The lowest architecture that the kernel can run on, or the lowest that this NVRTC still
    /// compiles for, if that is newer.
    fn architecture(&self, source: &str) -> u32 {
        let oldest = match self.version.0 {
            ..=11 => 35,
            12 => 50,
            _ => 75,
        };
        needs(source).max(oldest)
    }

    /// Compiles a kernel to PTX.
    pub fn compile(&self, source: &str, file: &str, element: Element) -> Result<String> {
        self.compile_with(source, file, &self.options(source, element))
    }

    /// Compiles a source to PTX with these options.
    pub fn compile_with(&self, source: &str, file: &str, options: &[String]) -> Result<String> {
        let failed =
            |text: String| Error::Cuda { doing: format!("compiling {file} with NVRTC"), text };
        let text =
            CString::new(source).map_err(|_| failed("the source holds a zero byte".into()))?;
        // Relative names are completed with the working folder, which has no place in the PTX.
        let name = CString::new("/kernel.cu").expect("no zero byte");
        let options: Vec<CString> = options
            .iter()
            .map(|option| CString::new(option.as_str()).expect("no zero byte"))
            .collect();
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
        // SAFETY: the symbols have these signatures; all pointers outlive the calls; the program
        // is destroyed once, and not used after.
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
                return Err(failed(format!("nvrtcCreateProgram answers {code}")));
            }
            let code = compile(program, pointers.len() as c_int, pointers.as_mut_ptr());
            let result = match code {
                0 => self.text(program, b"nvrtcGetPTXSize\0", b"nvrtcGetPTX\0"),
                _ => self
                    .text(program, b"nvrtcGetProgramLogSize\0", b"nvrtcGetProgramLog\0")
                    .and_then(|log| {
                        let log = log.replace("/kernel.cu", file).trim_end().to_owned();
                        Err(Error::Compile { file: file.to_owned(), log })
                    }),
            };
            destroy(&mut program);
            Ok(result?.replace("\"/kernel.cu\"", "\"kernel.cu\""))
        }
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `F` is its C signature.
    unsafe fn symbol<F>(&self, name: &[u8]) -> Result<libloading::Symbol<'_, F>> {
        // SAFETY: promised by the caller.
        unsafe { self.library.get(name) }.map_err(|e| Error::Cuda {
            doing: format!("looking into {}", self.path.display()),
            text: e.to_string(),
        })
    }

    /// Reads a text of the program: its size first, then its bytes.
    ///
    /// # Safety
    /// `program` is a live program of this library.
    unsafe fn text(&self, program: *mut c_void, size: &[u8], get: &[u8]) -> Result<String> {
        type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
        type Get = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
        let mut bytes = 0;
        // SAFETY: the buffer has the size that the library asked for, and a zero byte at its end.
        unsafe {
            self.symbol::<Size>(size)?(program, &mut bytes);
            let mut buffer = vec![0u8; bytes + 1];
            self.symbol::<Get>(get)?(program, buffer.as_mut_ptr().cast());
            Ok(CStr::from_ptr(buffer.as_ptr().cast()).to_string_lossy().into_owned())
        }
    }
}

/// The architecture that a kernel asks for in a line `// Needs compute_70: why.`; 60 if it has none.
pub fn needs(source: &str) -> u32 {
    let line = source.lines().find_map(|line| line.strip_prefix("// Needs compute_"));
    let digits = line.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(60)
}

/// The wheel's library, in a `.venv` of this folder or one above it.
fn in_venv() -> Vec<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let venvs = here.ancestors().map(|folder| folder.join(".venv/lib"));
    let pythons = venvs.filter_map(|lib| std::fs::read_dir(lib).ok()).flatten().flatten();
    let packages = pythons.map(|python| python.path().join("site-packages/nvidia"));
    packages
        .flat_map(|nvidia| ["cuda_nvrtc/lib", "cu13/lib"].map(|lib| nvidia.join(lib)))
        .flat_map(|lib| libraries_in(&lib))
        .collect()
}

/// The library of a toolkit that a variable points to.
fn in_toolkits() -> Vec<PathBuf> {
    let roots = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"].into_iter().filter_map(std::env::var_os);
    roots.flat_map(|root| libraries_in(&PathBuf::from(root).join("lib64"))).collect()
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    find_in(folder, "libnvrtc.so").into_iter().collect()
}

/// The first file of a folder, by name, that starts so.
fn find_in(folder: &Path, start: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_names_the_architecture_that_it_needs() {
        assert_eq!(needs("// What.\n// Costs.\nextern"), 60);
        assert_eq!(needs("// What.\n// Costs.\n// Needs compute_70: acquire and release.\n"), 70);
        assert_eq!(needs("// Needs compute_90\n"), 90);
        assert_eq!(needs("// Needs compute_xx\n"), 60);
    }
}
