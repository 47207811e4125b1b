//! Calls CUB and Thrust through the C ABI in `peers/cub.cu`, if `cargo x peers` has compiled that
//! file.
//!
//! This file contains `unsafe` code: every `unsafe` block calls a function whose signature is that
//! in `peers/cub.cu`. The library reports the version of its layout, and is refused if this file
//! does not support that version.
#![expect(unsafe_code, reason = "CUB and Thrust are called through C functions")]

use std::{
    cell::RefCell,
    ffi::{CStr, c_char, c_int, c_void},
    path::Path,
};

use common::{
    Element, Result,
    device::{Address, Cuda, cuda::Memory},
};

use super::library::{Built, find};

/// The version of the layout that this file supports.
const ABI: c_int = 2;

/// A reduction, identified by the numbers that `peers/cub.cu` uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    operation: c_int,
    element: c_int,
    /// The size of the result, in bytes.
    size: u64,
}

impl Reduction {
    /// Returns the size of an element, in bytes.
    fn bytes(&self) -> u64 {
        [4, 4, 8, 4, 8, 8, 2, 2][self.element as usize]
    }

    /// Returns the sum reduction for elements of this type, as the ladder uses it.
    fn sum(element: Element) -> Reduction {
        let number = match element {
            Element::F32 => 0,
            Element::I32 => 1,
            Element::F64 => 2,
        };
        Reduction { operation: 0, element: number, size: element.size() }
    }

    /// Returns the reduction with an operation and a type, each given by name. Returns `None` for
    /// an unknown type.
    pub(crate) fn of(operation: ::reduce::Operation, element: &str) -> Option<Reduction> {
        const TYPES: [&str; 8] = ["f32", "i32", "f64", "u32", "i64", "u64", "f16", "bf16"];
        let element = TYPES.iter().position(|name| *name == element)? as c_int;
        Some(Reduction { operation: operation as c_int, element, size: 8 })
    }
}

/// The files that `cargo x peers` writes: one with the newest CUB, and one with the CUB of the
/// pinned toolkit.
pub const FILES: [&str; 2] = ["libpeers.so", "libpeers-toolkit.so"];

type TextOf = unsafe extern "C" fn(c_int) -> *const c_char;
type NumberOf = unsafe extern "C" fn(c_int) -> c_int;
type Reduce = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    *const c_void,
    u64,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut usize,
    *mut c_void,
) -> c_int;

/// The loaded library.
#[derive(Debug)]
pub struct Cub {
    reduce: Reduce,
    /// The versions of CUB and of the compiler.
    pub version: String,
    /// The sums that the library offers.
    pub sums: Vec<Peer>,
    // This field is last, because the function above is valid only while the library is loaded.
    library: Built,
}

/// The names of the sums, used if there is no library.
pub(super) const NAMES: [&str; 4] = ["cub", "cub-atomic", "cub-gpu-to-gpu", "thrust"];

/// A sum that the library offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The sum's name in every table.
    pub name: String,
    /// Whether the sum returns only once the result is on the host.
    pub waits: bool,
    index: c_int,
}

impl Peer {
    /// Returns the reason why sums of this type may be wrong, if it is known; `peers/cub.cu` has
    /// the details.
    pub fn known_fault(name: &str) -> Option<&'static str> {
        (name == "cub-gpu-to-gpu").then_some(
            "a defect in CUB: it combines its threads' accumulators without renormalising them, so they overflow once a thread has added 512 elements",
        )
    }
}

impl Cub {
    /// Loads the library at `path` or, without a path, the first library found.
    pub fn load(path: Option<&Path>) -> Result<Cub, String> {
        let library = Built::load(path, FILES[0], "peers", ABI)?;
        // SAFETY: the layout was checked, and in this layout these functions of `peers/cub.cu` have
        // these signatures.
        unsafe {
            let name = library.function::<TextOf>("name")?;
            let waits = library.function::<NumberOf>("waits")?;
            let mut sums = Vec::new();
            for index in 0.. {
                let text = name(index);
                if text.is_null() {
                    break;
                }
                let name = CStr::from_ptr(text).to_string_lossy().into_owned();
                sums.push(Peer { name, waits: waits(index) != 0, index });
            }
            let reduce = *library.function::<Reduce>("reduce")?;
            Ok(Cub { reduce, version: library.version.clone(), sums, library })
        }
    }

    /// Loads the toolkit's CUB, if it was compiled too. Only the toolkit's default sum is measured,
    /// under a name that includes the version. The toolkit's CUB is sometimes faster than the
    /// newest CUB.
    pub fn of_the_toolkit() -> Option<Cub> {
        let mut cub = Cub::load(Some(&find(FILES[1])?)).ok()?;
        let version: String =
            cub.version.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
        let short: Vec<&str> = version.split('.').take(2).collect();
        cub.sums.truncate(1);
        cub.sums[0].name = format!("cub-{}", short.join("."));
        Some(cub)
    }

    /// Returns CUB's default sum, which does not guarantee reproducible bits.
    pub(crate) fn default_sum(&self) -> &Peer {
        &self.sums[0]
    }

    /// Prepares a sum of `n` elements, with its buffers.
    pub(super) fn prepare<'p>(
        &'p self,
        cuda: &'p Cuda,
        peer: &'p Peer,
        element: Element,
        n: u64,
    ) -> Result<Prepared<'p>> {
        self.prepare_any(cuda, peer, Reduction::sum(element), n)
    }

    /// Prepares a reduction of `n` elements, with its buffers.
    pub(crate) fn prepare_any<'p>(
        &'p self,
        cuda: &'p Cuda,
        peer: &'p Peer,
        what: Reduction,
        n: u64,
    ) -> Result<Prepared<'p>> {
        cuda.bind()?;
        let mut prepared = Prepared {
            library: self,
            cuda,
            peer,
            what,
            n,
            out: cuda.alloc("the sum", what.size)?,
            host: RefCell::new([0]),
            scratch: None,
            bytes: 0,
            stream: cuda.stream(),
        };
        // Without scratch memory, the call only returns the size that it needs.
        prepared.bytes = prepared.call(None)?;
        prepared.scratch = Some(cuda.alloc("a peer's scratch memory", prepared.bytes as u64)?);
        Ok(prepared)
    }
}

/// A peer's sum with its buffers.
#[derive(Debug)]
pub(crate) struct Prepared<'p> {
    library: &'p Cub,
    cuda: &'p Cuda,
    /// The sum that is run.
    pub(super) peer: &'p Peer,
    what: Reduction,
    n: u64,
    out: Memory,
    host: RefCell<[u64; 1]>,
    scratch: Option<Memory>,
    bytes: usize,
    stream: *mut c_void,
}

impl Prepared<'_> {
    /// Returns the number of bytes of scratch memory that the sum needs. If the caller passes an
    /// input and scratch memory, the library launches the kernels.
    fn call(&self, input: Option<Address<'_>>) -> Result<usize> {
        let own = |at: Address<'_>, bytes| {
            self.cuda.device_address(at, bytes).map(|at| at as *mut c_void)
        };
        let none = std::ptr::null_mut;
        let input = input.map(|at| own(at, self.n * self.what.bytes())).transpose()?;
        let scratch = self.scratch.as_ref().map(|memory| own(memory.address(), self.bytes as u64));
        let (scratch, out) = (scratch.transpose()?, own(self.out.address(), self.what.size)?);
        let (mut host, mut bytes) = (self.host.borrow_mut(), self.bytes);
        // SAFETY: the input has `n` elements, as was just checked. The other buffers are live and
        // as large as the library needs. Without scratch memory, the library accesses no buffer.
        let code = unsafe {
            (self.library.reduce)(
                self.peer.index,
                self.what.operation,
                self.what.element,
                input.unwrap_or_else(none),
                self.n,
                out,
                host.as_mut_ptr().cast(),
                scratch.unwrap_or_else(none),
                &mut bytes,
                self.stream,
            )
        };
        self.library.library.check(code, || format!("summing with {}", self.peer.name))?;
        Ok(bytes)
    }

    /// Launches the kernels that sum the elements at an address. A blocking sum is complete when
    /// this function returns.
    pub(crate) fn launch(&self, input: Address<'_>) -> Result<()> {
        self.call(Some(input)).map(drop)
    }

    /// Returns the device memory that holds the result.
    pub(crate) fn out(&self) -> &Memory {
        &self.out
    }

    /// Reads the bytes of the sum, after all launched work has finished.
    pub(crate) fn read(&self, sum: &mut [u8]) -> Result<()> {
        if !self.peer.waits {
            return self.cuda.read(&self.out, sum);
        }
        sum.copy_from_slice(&self.host.borrow()[0].to_ne_bytes()[..sum.len()]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_an_error() {
        let reason = Cub::load(Some(Path::new("Cargo.toml"))).unwrap_err();
        assert!(reason.contains("Cargo.toml cannot be used"), "{reason}");
        let reason = Cub::load(Some(Path::new("/nonexistent/libpeers.so"))).unwrap_err();
        assert!(reason.contains("cannot be used"), "{reason}");
    }
}
