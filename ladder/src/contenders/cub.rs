//! CUB and Thrust, behind the C ABI of `peers/cub.cu`, if `cargo x peers` has compiled it.
//!
//! One of the files with `unsafe`: every block calls a function whose signature stands in
//! `peers/cub.cu`; the library says which layout it has, and another one is refused.
#![expect(unsafe_code, reason = "CUB and Thrust are called through C functions")]

use std::{
    cell::RefCell,
    env,
    ffi::{CStr, c_char, c_int, c_void},
    path::{Path, PathBuf},
};

use common::{
    Element, Error, Result,
    device::{Address, Cuda, cuda::Memory},
};

/// The layout that this file knows.
const ABI: c_int = 2;

/// What is reduced, in the numbers of `peers/cub.cu`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    operation: c_int,
    element: c_int,
    /// Bytes of the result.
    size: u64,
}

impl Reduction {
    /// Bytes of an element.
    fn bytes(&self) -> u64 {
        [4, 4, 8, 4, 8, 8, 2, 2][self.element as usize]
    }

    /// A sum of the ladder.
    fn sum(element: Element) -> Reduction {
        let number = match element {
            Element::F32 => 0,
            Element::I32 => 1,
            Element::F64 => 2,
        };
        Reduction { operation: 0, element: number, size: element.size() }
    }

    /// Any operation on any type, by the name of the type.
    pub(crate) fn of(operation: ::reduce::Operation, element: &str) -> Option<Reduction> {
        const TYPES: [&str; 8] = ["f32", "i32", "f64", "u32", "i64", "u64", "f16", "bf16"];
        let element = TYPES.iter().position(|name| *name == element)? as c_int;
        Some(Reduction { operation: operation as c_int, element, size: 8 })
    }
}

/// The files that `cargo x peers` writes: the newest CUB, and that of the pinned toolkit.
pub const FILES: [&str; 2] = ["libpeers.so", "libpeers-toolkit.so"];

type Number = unsafe extern "C" fn() -> c_int;
type Text = unsafe extern "C" fn() -> *const c_char;
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
    error: TextOf,
    /// What it was made from.
    pub version: String,
    /// Its sums.
    pub sums: Vec<Peer>,
    // Last: the functions above live as long as it.
    _library: libloading::Library,
}

/// The names of its sums, for where there is no library to ask.
pub(super) const NAMES: [&str; 4] = ["cub", "cub-atomic", "cub-gpu-to-gpu", "thrust"];

/// One of its sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name in every table.
    pub name: String,
    /// Whether it returns only when the sum is on the host.
    pub waits: bool,
    index: c_int,
}

impl Peer {
    /// Why its sums may be wrong, where that is known; `peers/cub.cu` says more.
    pub fn known_fault(name: &str) -> Option<&'static str> {
        (name == "cub-gpu-to-gpu").then_some(
            "CUB's own fault: it adds up its threads' accumulators without renormalising them, and they overflow once a thread has added 512 elements",
        )
    }
}

impl Cub {
    /// Loads the library at a path, or the first that is found.
    pub fn load(path: Option<&Path>) -> Result<Cub, String> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => {
                find(FILES[0]).ok_or("`cargo x peers` has not been run: there is no libpeers.so")?
            }
        };
        let failed = |why: String| format!("{} cannot be used: {why}", path.display());
        // SAFETY: our own library; its initialisers are those of CUDA's runtime.
        let library =
            unsafe { libloading::Library::new(&path) }.map_err(|e| failed(e.to_string()))?;
        let missing = |error: libloading::Error| failed(error.to_string());
        // SAFETY: the signatures are those of peers/cub.cu, once the layout is known to be ours.
        unsafe {
            let abi = library.get::<Number>(b"peers_abi\0").map_err(missing)?();
            if abi != ABI {
                return Err(failed(format!(
                    "its layout is {abi}, this program knows {ABI}: run `cargo x peers` again"
                )));
            }
            let name = library.get::<TextOf>(b"peers_name\0").map_err(missing)?;
            let waits = library.get::<NumberOf>(b"peers_waits\0").map_err(missing)?;
            let mut sums = Vec::new();
            for index in 0.. {
                let text = name(index);
                if text.is_null() {
                    break;
                }
                let name = CStr::from_ptr(text).to_string_lossy().into_owned();
                sums.push(Peer { name, waits: waits(index) != 0, index });
            }
            let version = library.get::<Text>(b"peers_version\0").map_err(missing)?();
            let version = CStr::from_ptr(version).to_string_lossy().into_owned();
            let reduce = *library.get::<Reduce>(b"peers_reduce\0").map_err(missing)?;
            let error = *library.get::<TextOf>(b"peers_error\0").map_err(missing)?;
            Ok(Cub { reduce, error, version, sums, _library: library })
        }
    }

    /// The CUB of the toolkit, if it is there too: its default sum alone takes part, named by its
    /// version. It is sometimes the faster one.
    pub fn of_the_toolkit() -> Option<Cub> {
        let mut cub = Cub::load(Some(&find(FILES[1])?)).ok()?;
        let version: String =
            cub.version.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
        let short: Vec<&str> = version.split('.').take(2).collect();
        cub.sums.truncate(1);
        cub.sums[0].name = format!("cub-{}", short.join("."));
        Some(cub)
    }

    fn check(&self, peer: &Peer, code: c_int) -> Result<()> {
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
        Err(Error::Cuda { doing: format!("summing with {}", peer.name), text })
    }

    /// Its sum with no further promise: the one that its users call.
    pub(crate) fn default_sum(&self) -> &Peer {
        &self.sums[0]
    }

    /// A sum of `n` elements, ready to run.
    pub(super) fn prepare<'p>(
        &'p self,
        cuda: &'p Cuda,
        peer: &'p Peer,
        element: Element,
        n: u64,
    ) -> Result<Prepared<'p>> {
        self.prepare_any(cuda, peer, Reduction::sum(element), n)
    }

    /// Any reduction of `n` elements, ready to run.
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
        // With no scratch memory, the call only says how much it needs.
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
    /// Which one.
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
    /// Bytes of scratch memory that it takes; launches it, if there is an input, and that memory.
    fn call(&self, input: Option<Address<'_>>) -> Result<usize> {
        let own = |at: Address<'_>, bytes| self.cuda.own(at, bytes).map(|at| at as *mut c_void);
        let none = std::ptr::null_mut;
        let input = input.map(|at| own(at, self.n * self.what.bytes())).transpose()?;
        let scratch = self.scratch.as_ref().map(|memory| own(memory.address(), self.bytes as u64));
        let (scratch, out) = (scratch.transpose()?, own(self.out.address(), self.what.size)?);
        let (mut host, mut bytes) = (self.host.borrow_mut(), self.bytes);
        // SAFETY: the input has n elements, as was just asked; the other buffers are live and as
        // large as the library wants them; with no scratch memory it touches none.
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
        self.library.check(self.peer, code)?;
        Ok(bytes)
    }

    /// Launches the sum of the elements at that address; one that waits has finished after it.
    pub(crate) fn launch(&self, input: Address<'_>) -> Result<()> {
        self.call(Some(input)).map(drop)
    }

    /// Where its result is on the device.
    pub(crate) fn out(&self) -> &Memory {
        &self.out
    }

    /// The bytes of the sum, after all that was launched.
    pub(crate) fn read(&self, sum: &mut [u8]) -> Result<()> {
        if !self.peer.waits {
            return self.cuda.read(&self.out, sum);
        }
        sum.copy_from_slice(&self.host.borrow()[0].to_ne_bytes()[..sum.len()]);
        Ok(())
    }
}

/// Beside this program, or where `cargo x peers` puts it in the source tree.
pub(crate) fn find(file: &str) -> Option<PathBuf> {
    let beside = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(file)));
    let built = Path::new("target/peers").join(file);
    beside.into_iter().chain([built]).find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_none_says_so() {
        let reason = Cub::load(Some(Path::new("Cargo.toml"))).unwrap_err();
        assert!(reason.contains("Cargo.toml cannot be used"), "{reason}");
        let reason = Cub::load(Some(Path::new("/nonexistent/libpeers.so"))).unwrap_err();
        assert!(reason.contains("cannot be used"), "{reason}");
    }

    #[test]
    fn a_library_is_looked_for_beside_this_program() {
        let program = env::current_exe().unwrap();
        let name = program.file_name().unwrap().to_str().unwrap();
        assert_eq!(find(name).as_ref(), Some(&program));
        assert_eq!(find("no library of this name"), None);
    }
}
