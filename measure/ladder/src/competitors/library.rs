//! Finds and loads a library that `cargo x peers` compiles from `peers/*.cu`, and checks the
//! library's layout and version.
//!
//! This file contains `unsafe` code: symbols are called with the signatures in `peers/*.cu`, after
//! the layout has been checked.
#![expect(unsafe_code, reason = "CUB and Thrust are called through C functions")]

use std::{
    env,
    ffi::{CStr, c_char, c_int},
    path::{Path, PathBuf},
};

use common::{Error, Result};
use libloading::{Library, Symbol};

type Number = unsafe extern "C" fn() -> c_int;
type Text = unsafe extern "C" fn() -> *const c_char;
type TextOf = unsafe extern "C" fn(c_int) -> *const c_char;

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Built {
    error: TextOf,
    /// The versions of CUB and of the compiler.
    pub(crate) version: String,
    /// The prefix of the names of the library's functions.
    prefix: &'static str,
    name: String,
    // This field is last, because the functions above are valid only while the library is loaded.
    library: Library,
}

impl Built {
    /// Loads the library at `path` or, without a path, the first library found under this file
    /// name. The names of its functions must begin with `prefix`, and the version of its layout
    /// must be `abi`.
    ///
    /// # Errors
    /// Returns the reason why the library cannot be used.
    pub(crate) fn load(
        path: Option<&Path>,
        file: &str,
        prefix: &'static str,
        abi: c_int,
    ) -> Result<Built, String> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => find(file).ok_or(format!("there is no {file}: run `cargo x peers`"))?,
        };
        let name = path.display().to_string();
        let failed = |why: String| format!("{name} cannot be used: {why}");
        // SAFETY: this is the project's own library, whose only initializers are those of the CUDA
        // runtime.
        let library = unsafe { Library::new(&path) }.map_err(|error| failed(error.to_string()))?;
        let symbol = |name: &str| format!("{prefix}_{name}\0").into_bytes();
        let missing = |error: libloading::Error| failed(error.to_string());
        // SAFETY: these three functions have these signatures in every layout, and the version is a
        // constant string.
        let (version, error) = unsafe {
            let found = library.get::<Number>(symbol("abi").as_slice()).map_err(missing)?();
            if found != abi {
                return Err(failed(format!(
                    "its layout has version {found}, but this program needs version {abi}: run `cargo x peers` again"
                )));
            }
            let version = library.get::<Text>(symbol("version").as_slice()).map_err(missing)?();
            let version = CStr::from_ptr(version).to_string_lossy().into_owned();
            (version, *library.get::<TextOf>(symbol("error").as_slice()).map_err(missing)?)
        };
        Ok(Built { error, version, prefix, name, library })
    }

    /// Returns a function of the library.
    ///
    /// # Safety
    /// `T` must be the type of the function in the layout that was checked.
    pub(crate) unsafe fn function<T>(&self, name: &str) -> Result<Symbol<'_, T>, String> {
        let symbol = format!("{}_{name}\0", self.prefix);
        // SAFETY: the caller guarantees that `T` is the type of the function.
        unsafe { self.library.get(symbol.as_bytes()) }
            .map_err(|error| format!("{} cannot be used: {error}", self.name))
    }

    /// Converts the code that a function returned into an error, with the message from the CUDA
    /// runtime.
    pub(crate) fn check(&self, code: c_int, doing: impl FnOnce() -> String) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the function has this signature, and it returns null or a constant string of the
        // CUDA runtime.
        let text = unsafe {
            let text = (self.error)(code);
            if text.is_null() {
                format!("error {code}")
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        };
        Err(Error::Cuda { doing: doing(), text })
    }
}

/// Returns the path of a file in this program's folder or, in the source tree, in the folder to
/// which `cargo x peers` writes.
pub(super) fn find(file: &str) -> Option<PathBuf> {
    let beside = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(file)));
    let built = Path::new("target/peers").join(file);
    beside.into_iter().chain([built]).find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_searched_beside_this_program() {
        let program = env::current_exe().unwrap();
        let name = program.file_name().unwrap().to_str().unwrap();
        assert_eq!(find(name).as_ref(), Some(&program));
        assert_eq!(find("no library of this name"), None);
    }
}
