//! Borrows arrays from other frameworks through DLPack.
//!
//! The structures are those of `dlpack.h` 1.0.

use std::ffi::{CStr, c_void};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyCapsule};

/// The device on which an array is stored.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) kind: i32,
    pub(crate) id: i32,
}

/// DLPack's device type for CUDA.
pub(crate) const CUDA: i32 = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensor {
    pub(crate) data: *mut c_void,
    pub(crate) device: Device,
    pub(crate) ndim: i32,
    pub(crate) dtype: Type,
    pub(crate) shape: *mut i64,
    pub(crate) strides: *mut i64,
    pub(crate) byte_offset: u64,
}

/// A tensor with its owner, in versions of DLPack before 1.
#[repr(C)]
pub(crate) struct Managed {
    pub(crate) tensor: Tensor,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// A tensor with its owner, in DLPack 1 and newer.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const READ_ONLY: u64 = 1;

/// An array that is borrowed from a capsule for as long as this object lives. The capsule is not
/// consumed, so it frees its tensor itself.
#[pyclass(frozen, get_all)]
pub(crate) struct Borrowed {
    address: u64,
    shape: Vec<i64>,
    /// The strides in elements; `None` for contiguous arrays.
    strides: Option<Vec<i64>>,
    /// DLPack's code for the kind of type, such as signed integers or floats.
    code: u8,
    bits: u8,
    lanes: u16,
    device_kind: i32,
    device: i32,
    read_only: bool,
    capsule: Py<PyCapsule>,
}

/// Borrows the array in the capsule that `__dlpack__` returned.
#[pyfunction]
pub(crate) fn import_dlpack(capsule: Bound<'_, PyCapsule>) -> PyResult<Borrowed> {
    // SAFETY: a capsule with this name points to this structure, which lives as long as the
    // capsule.
    let managed =
        unsafe { capsule.pointer_checked(Some(PLAIN)).map(|at| at.cast::<Managed>().as_ref()) };
    if let Ok(managed) = managed {
        return borrowed(&managed.tensor, false, &capsule);
    }
    // SAFETY: as above.
    let versioned = unsafe {
        capsule.pointer_checked(Some(VERSIONED)).map(|at| at.cast::<Versioned>().as_ref())
    };
    match versioned {
        Ok(versioned) if versioned.major == 1 => {
            borrowed(&versioned.tensor, versioned.flags & READ_ONLY != 0, &capsule)
        }
        Ok(versioned) => Err(PyValueError::new_err(format!(
            "the array uses DLPack {}.{}, but samebits supports versions 0 and 1: update samebits, or convert the array to one of another framework",
            versioned.major, versioned.minor
        ))),
        Err(_) => Err(PyValueError::new_err(
            "__dlpack__ returned a capsule without a tensor, or a capsule that was already consumed",
        )),
    }
}

fn borrowed(
    tensor: &Tensor,
    read_only: bool,
    capsule: &Bound<'_, PyCapsule>,
) -> PyResult<Borrowed> {
    let ndim =
        usize::try_from(tensor.ndim).ok().filter(|ndim| *ndim == 0 || !tensor.shape.is_null());
    let ndim = ndim.ok_or_else(|| {
        PyValueError::new_err(format!(
            "the array's DLPack tensor has {} dimensions, but no shape for them: convert the array to one of another framework",
            tensor.ndim
        ))
    })?;
    // SAFETY: each pointer that is not null points to `ndim` numbers, as DLPack specifies.
    let numbers = |at: *mut i64| unsafe { std::slice::from_raw_parts(at, ndim) }.to_vec();
    let shape = if ndim == 0 { Vec::new() } else { numbers(tensor.shape) };
    if let Some(length) = shape.iter().find(|length| **length < 0) {
        return Err(PyValueError::new_err(format!(
            "the array's DLPack tensor has an axis of length {length}: convert the array to one of another framework"
        )));
    }
    let strides = (ndim > 0 && !tensor.strides.is_null()).then(|| numbers(tensor.strides));
    Ok(Borrowed {
        address: (tensor.data as u64).wrapping_add(tensor.byte_offset),
        shape,
        strides,
        code: tensor.dtype.code,
        bits: tensor.dtype.bits,
        lanes: tensor.dtype.lanes,
        device_kind: tensor.device.kind,
        device: tensor.device.id,
        read_only,
        capsule: capsule.clone().unbind(),
    })
}
