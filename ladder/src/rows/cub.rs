//! CUB's sums of rows, behind the C ABI of `peers/rows.cu`, if `cargo x peers` has compiled it.
//!
//! One of the files with `unsafe`: every block calls a function whose signature stands in
//! `peers/rows.cu`; the library says which layout it has, and another one is refused.
#![expect(unsafe_code, reason = "CUB is called through C functions")]

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::Path,
};

use common::{
    Error, Result,
    device::{Address, Cuda, cuda::Memory},
};

use crate::contenders::cub::find;

/// The layout that this file knows.
const ABI: c_int = 1;

/// The file that `cargo x peers` writes.
const FILE: &str = "librows.so";

/// Its ways, in their order there.
pub(super) const WAYS: [&str; 2] = ["cub", "cub-offsets"];

type Number = unsafe extern "C" fn() -> c_int;
type Text = unsafe extern "C" fn() -> *const c_char;
type TextOf = unsafe extern "C" fn(c_int) -> *const c_char;
type Sum = unsafe extern "C" fn(
    c_int,
    c_int,
    *const c_void,
    u64,
    u64,
    *mut c_void,
    *mut c_void,
    *mut usize,
    *mut c_void,
) -> c_int;

/// The loaded library.
#[derive(Debug)]
pub(super) struct Cub {
    sum: Sum,
    error: TextOf,
    /// What it was made from.
    pub(super) version: String,
    // Last: the functions above live as long as it.
    _library: libloading::Library,
}

impl Cub {
    /// Loads the library at a path, or the first that is found.
    pub(super) fn load(path: Option<&Path>) -> Result<Cub, String> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => {
                find(FILE).ok_or(format!("`cargo x peers` has not been run: there is no {FILE}"))?
            }
        };
        let failed = |why: String| format!("{} cannot be used: {why}", path.display());
        // SAFETY: our own library; its initialisers are those of CUDA's runtime.
        let library =
            unsafe { libloading::Library::new(&path) }.map_err(|e| failed(e.to_string()))?;
        let missing = |error: libloading::Error| failed(error.to_string());
        // SAFETY: the signatures are those of peers/rows.cu, once the layout is known to be ours.
        unsafe {
            let abi = library.get::<Number>(b"rows_abi\0").map_err(missing)?();
            if abi != ABI {
                return Err(failed(format!(
                    "its layout is {abi}, this program knows {ABI}: run `cargo x peers` again"
                )));
            }
            let version = library.get::<Text>(b"rows_version\0").map_err(missing)?();
            let version = CStr::from_ptr(version).to_string_lossy().into_owned();
            let sum = *library.get::<Sum>(b"rows_sum\0").map_err(missing)?;
            let error = *library.get::<TextOf>(b"rows_error\0").map_err(missing)?;
            Ok(Cub { sum, error, version, _library: library })
        }
    }

    /// Sums of rows of f32, ready to run.
    pub(super) fn prepare<'c>(
        &'c self,
        cuda: &'c Cuda,
        way: usize,
        (rows, elements): (u64, u64),
        out: Address<'c>,
    ) -> Result<Prepared<'c>> {
        cuda.bind()?;
        let mut prepared = Prepared {
            library: self,
            cuda,
            way,
            rows,
            elements,
            out,
            scratch: None,
            bytes: 0,
            stream: cuda.stream(),
        };
        // With no scratch memory, the call only says how much it needs.
        prepared.bytes = prepared.call(None)?;
        prepared.scratch = Some(cuda.alloc("CUB's scratch memory", prepared.bytes as u64)?);
        Ok(prepared)
    }

    fn check(&self, way: usize, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the text is a constant of CUDA's runtime.
        let text = unsafe {
            let text = (self.error)(code);
            if text.is_null() {
                format!("error {code}")
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        };
        Err(Error::Cuda { doing: format!("summing rows with {}", WAYS[way]), text })
    }
}

/// A way with its buffers.
#[derive(Debug)]
pub(super) struct Prepared<'c> {
    library: &'c Cub,
    cuda: &'c Cuda,
    way: usize,
    rows: u64,
    elements: u64,
    out: Address<'c>,
    scratch: Option<Memory>,
    bytes: usize,
    stream: *mut c_void,
}

impl Prepared<'_> {
    /// Bytes of scratch memory that it takes; launches it, if there is an input, and that memory.
    fn call(&self, input: Option<Address<'_>>) -> Result<usize> {
        let own = |at: Address<'_>, bytes| self.cuda.own(at, bytes).map(|at| at as *mut c_void);
        let none = std::ptr::null_mut;
        let input = input.map(|at| own(at, 4 * self.rows * self.elements)).transpose()?;
        let scratch = self.scratch.as_ref().map(|memory| own(memory.address(), self.bytes as u64));
        let (scratch, out) = (scratch.transpose()?, own(self.out, 4 * self.rows)?);
        let mut bytes = self.bytes;
        // SAFETY: the input has the rows, and the output room for their sums, as was just asked; the
        // scratch memory is live and as large as the library wants it, and without it none is touched.
        let code = unsafe {
            (self.library.sum)(
                self.way as c_int,
                0,
                input.unwrap_or_else(none),
                self.rows,
                self.elements,
                out,
                scratch.unwrap_or_else(none),
                &mut bytes,
                self.stream,
            )
        };
        self.library.check(self.way, code)?;
        Ok(bytes)
    }

    /// Launches the sums of the rows at that address.
    pub(super) fn launch(&self, input: Address<'_>) -> Result<()> {
        self.call(Some(input)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_none_says_so() {
        let reason = Cub::load(Some(Path::new("/nonexistent/librows.so"))).unwrap_err();
        assert!(reason.contains("cannot be used"), "{reason}");
    }
}
