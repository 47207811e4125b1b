//! Calls CUB's row sums through the C ABI in `peers/rows.cu`, if `cargo x peers` has compiled that
//! file.
//!
//! This file contains `unsafe` code: every `unsafe` block calls a function whose signature is that
//! in `peers/rows.cu`. The library reports the version of its layout, and is refused if this file
//! does not support that version.
#![expect(unsafe_code, reason = "CUB is called through C functions")]

use std::{
    ffi::{c_int, c_void},
    path::Path,
};

use common::{
    Result,
    device::{Address, Cuda, cuda::Memory},
};

use crate::competitors::Built;

/// The version of the layout that this file supports.
const ABI: c_int = 1;

/// The file that `cargo x peers` writes.
const FILE: &str = "librows.so";

/// The names of CUB's two APIs, in the order used in `peers/rows.cu`.
pub(super) const WAYS: [&str; 2] = ["cub", "cub-offsets"];

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
    /// The versions of CUB and of the compiler.
    pub(super) version: String,
    // This field is last, because the function above is valid only while the library is loaded.
    library: Built,
}

impl Cub {
    /// Loads the library at `path` or, without a path, the first library found.
    pub(super) fn load(path: Option<&Path>) -> Result<Cub, String> {
        let library = Built::load(path, FILE, "rows", ABI)?;
        // SAFETY: the layout was checked, and in this layout the function in `peers/rows.cu` has
        // this signature.
        let sum = unsafe { *library.function::<Sum>("sum")? };
        Ok(Cub { sum, version: library.version.clone(), library })
    }

    /// Prepares sums of `f32` rows.
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
        // Without scratch memory, the call only returns the size that it needs.
        prepared.bytes = prepared.call(None)?;
        prepared.scratch = Some(cuda.alloc("CUB's scratch memory", prepared.bytes as u64)?);
        Ok(prepared)
    }
}

/// A prepared call of one of the APIs, with its buffers.
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
    /// Returns the number of bytes of scratch memory that the call needs. If the caller passes an
    /// input and scratch memory, the library launches the kernels.
    fn call(&self, input: Option<Address<'_>>) -> Result<usize> {
        let own = |at: Address<'_>, bytes| {
            self.cuda.device_address(at, bytes).map(|at| at as *mut c_void)
        };
        let none = std::ptr::null_mut;
        let input = input.map(|at| own(at, 4 * self.rows * self.elements)).transpose()?;
        let scratch = self.scratch.as_ref().map(|memory| own(memory.address(), self.bytes as u64));
        let (scratch, out) = (scratch.transpose()?, own(self.out, 4 * self.rows)?);
        let mut bytes = self.bytes;
        // SAFETY: the input has the rows and the output has room for their sums, as was just
        // checked. The scratch memory is live and as large as the library needs. Without scratch
        // memory, the library accesses no buffer.
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
        self.library.library.check(code, || format!("summing rows with {}", WAYS[self.way]))?;
        Ok(bytes)
    }

    /// Launches the kernels that sum the rows at an address.
    pub(super) fn launch(&self, input: Address<'_>) -> Result<()> {
        self.call(Some(input)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_an_error() {
        let reason = Cub::load(Some(Path::new("/nonexistent/librows.so"))).unwrap_err();
        assert!(reason.contains("cannot be used"), "{reason}");
    }
}
