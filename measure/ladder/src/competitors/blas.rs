//! Calls cuBLAS, if the loader finds it. `asum` adds absolute values; `dot` with a vector of ones
//! adds values.
//!
//! This file contains `unsafe` code: every `unsafe` block calls a C function in the library. The
//! signatures are those in `cublas_v2.h`, which have not changed since CUDA 12.
#![expect(unsafe_code, reason = "cuBLAS is called through its C functions")]

use std::{
    ffi::{c_int, c_void},
    path::PathBuf,
};

use common::{
    Element, Error, Result,
    device::{Address, Cuda, cuda::Memory},
};

type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type WithHandle = unsafe extern "C" fn(*mut c_void) -> c_int;
type SetStream = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type SetMode = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type GetVersion = unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int;
type Asum = unsafe extern "C" fn(*mut c_void, i64, *const c_void, i64, *mut c_void) -> c_int;
type Dot = unsafe extern "C" fn(
    *mut c_void,
    i64,
    *const c_void,
    i64,
    *const c_void,
    i64,
    *mut c_void,
) -> c_int;

/// The mode in which scalars are written to device memory, so that no call synchronizes
/// (`CUBLAS_POINTER_MODE_DEVICE`).
const ON_DEVICE: c_int = 1;

/// The loaded cuBLAS library, with a handle for the GPU's stream.
#[derive(Debug)]
pub struct Blas {
    handle: *mut c_void,
    asum: [Asum; 2],
    dot: [Dot; 2],
    destroy: WithHandle,
    /// The version, such as `13.0.2`.
    pub version: String,
    // This field is last, because the functions above are valid only while the library is loaded.
    _library: libloading::Library,
}

/// A cuBLAS routine that computes a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routine {
    /// The routine that adds absolute values.
    Asum,
    /// The dot product with a vector of ones.
    Dot,
}

impl Routine {
    /// Both routines.
    pub const ALL: [Routine; 2] = [Routine::Asum, Routine::Dot];

    /// Returns the routine's name in every table.
    pub fn name(self) -> &'static str {
        match self {
            Routine::Asum => "cublas-asum",
            Routine::Dot => "cublas-dot",
        }
    }
}

impl Blas {
    /// Loads the library and creates a handle.
    pub fn load(cuda: &Cuda) -> Result<Blas, String> {
        cuda.bind().map_err(|error| error.to_string())?;
        let names = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"].map(PathBuf::from);
        let usual = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"]
            .map(|name| PathBuf::from("/usr/local/cuda/lib64").join(name));
        // SAFETY: this is NVIDIA's library, whose initializers access no memory of this program.
        let library = names
            .iter()
            .chain(&usual)
            .find_map(|path| unsafe { libloading::Library::new(path) }.ok())
            .ok_or(
                "the loader cannot find libcublas.so (LD_LIBRARY_PATH, /usr/local/cuda/lib64)",
            )?;
        let missing = |error: libloading::Error| format!("libcublas cannot be used: {error}");
        let answer = |doing: &str, code: c_int| match code {
            0 => Ok(()),
            code => Err(format!("{doing} returned {code}")),
        };
        // SAFETY: the signatures are those in the header, and the handle is created before it is
        // used.
        unsafe {
            let mut handle = std::ptr::null_mut();
            let create = library.get::<Create>(b"cublasCreate_v2\0").map_err(missing)?;
            answer("cublasCreate", create(&mut handle))?;
            let destroy = *library.get::<WithHandle>(b"cublasDestroy_v2\0").map_err(missing)?;
            let set_stream = library.get::<SetStream>(b"cublasSetStream_v2\0").map_err(missing)?;
            answer("cublasSetStream", set_stream(handle, cuda.stream()))?;
            let set_mode = library.get::<SetMode>(b"cublasSetPointerMode_v2\0").map_err(missing)?;
            answer("cublasSetPointerMode", set_mode(handle, ON_DEVICE))?;
            let mut version = 0;
            let get_version =
                library.get::<GetVersion>(b"cublasGetVersion_v2\0").map_err(missing)?;
            answer("cublasGetVersion", get_version(handle, &mut version))?;
            let asum = [
                *library.get::<Asum>(b"cublasSasum_v2_64\0").map_err(missing)?,
                *library.get::<Asum>(b"cublasDasum_v2_64\0").map_err(missing)?,
            ];
            let dot = [
                *library.get::<Dot>(b"cublasSdot_v2_64\0").map_err(missing)?,
                *library.get::<Dot>(b"cublasDdot_v2_64\0").map_err(missing)?,
            ];
            let version =
                format!("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
            Ok(Blas { handle, asum, dot, destroy, version, _library: library })
        }
    }

    /// Prepares a sum of `n` elements, with its buffers.
    pub(super) fn prepare<'b>(
        &'b self,
        cuda: &'b Cuda,
        routine: Routine,
        element: Element,
        n: u64,
    ) -> Result<Prepared<'b>> {
        let index = match element {
            Element::F32 => 0,
            Element::F64 => 1,
            Element::I32 => {
                return Err(Error::Usage("cuBLAS adds floating-point numbers only".into()));
            }
        };
        let ones = match routine {
            Routine::Asum => None,
            Routine::Dot => Some(cuda.alloc("a vector of ones", n * element.size())?),
        };
        if let Some(memory) = &ones {
            ones_into(cuda, memory, element, n)?;
        }
        let out = cuda.alloc("the sum", element.size())?;
        Ok(Prepared { blas: self, cuda, routine, index, n: n as i64, ones, out })
    }
}

/// Fills device memory with ones. The first part is copied from the host, and then doubled
/// repeatedly on the device.
fn ones_into(cuda: &Cuda, memory: &Memory, element: Element, n: u64) -> Result<()> {
    let first = n.min(1 << 16);
    let one: Vec<u8> = match element {
        Element::F64 => 1f64.to_ne_bytes().to_vec(),
        _ => 1f32.to_ne_bytes().to_vec(),
    };
    cuda.write(memory, 0, &one.repeat(first as usize))?;
    cuda.repeat(memory, first * element.size())
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle was created once and is destroyed once. The error is ignored, because
        // nothing can handle it here.
        let _ = unsafe { (self.destroy)(self.handle) };
    }
}

/// A cuBLAS sum with its buffers.
#[derive(Debug)]
pub(super) struct Prepared<'b> {
    blas: &'b Blas,
    cuda: &'b Cuda,
    routine: Routine,
    index: usize,
    n: i64,
    ones: Option<Memory>,
    out: Memory,
}

impl Prepared<'_> {
    /// Launches the routine that sums the elements at an address.
    pub(super) fn launch(&self, input: Address<'_>) -> Result<()> {
        let Prepared { blas, n, .. } = self;
        let size = self.out.address().bytes();
        let own = |at, bytes| self.cuda.device_address(at, bytes).map(|at| at as *mut c_void);
        let (input, out) = (own(input, *n as u64 * size)?, own(self.out.address(), size)?);
        let ones =
            self.ones.as_ref().map(|ones| own(ones.address(), *n as u64 * size)).transpose()?;
        // SAFETY: both vectors have `n` elements, as was just checked. The scalar is in device
        // memory, as the pointer mode requires.
        let code = unsafe {
            match ones {
                None => blas.asum[self.index](blas.handle, *n, input, 1, out),
                Some(ones) => blas.dot[self.index](blas.handle, *n, input, 1, ones, 1, out),
            }
        };
        match code {
            0 => Ok(()),
            code => Err(Error::Cuda {
                doing: format!("summing with {}", self.routine.name()),
                text: format!("cuBLAS returned {code}"),
            }),
        }
    }

    /// Reads the bytes of the sum, after all launched work has finished.
    pub(super) fn read(&self, sum: &mut [u8]) -> Result<()> {
        self.cuda.read(&self.out, sum)
    }
}
