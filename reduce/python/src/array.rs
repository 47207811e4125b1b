//! Result arrays for frameworks with immutable arrays, such as JAX. samebits allocates the memory,
//! and the framework takes ownership of it through DLPack.

use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::Arc,
};

use pyo3::{
    exceptions::PyBufferError,
    ffi,
    prelude::*,
    types::{PyCapsule, PyDict},
};
use samebits::raw;

use crate::{
    dlpack::{CUDA, Device, Managed, Tensor, Type},
    failure::raised,
};

/// An array of results on a device; samebits owns its memory.
#[pyclass(frozen)]
pub(crate) struct Array {
    memory: Arc<raw::Memory>,
    #[pyo3(get)]
    shape: Vec<i64>,
    /// NumPy's type string, such as `<f4`.
    typestr: String,
    dtype: Type,
    #[pyo3(get)]
    device: i32,
    stream: raw::Stream,
    handle: usize,
}

#[pymethods]
impl Array {
    /// Allocates an array on a device. A stream on the given device will write to the array.
    #[new]
    fn new(
        shape: Vec<i64>,
        typestr: String,
        dtype: (u8, u8),
        device: i32,
        handle: usize,
    ) -> PyResult<Array> {
        let elements: i64 = shape.iter().product();
        let bytes = elements.max(1) as usize * usize::from(dtype.1 / 8);
        // SAFETY: the framework keeps the stream alive.
        let stream =
            unsafe { raw::Stream::of_device(device, handle as *mut c_void) }.map_err(raised)?;
        let memory = raw::Memory::new(stream, bytes).map_err(raised)?;
        let dtype = Type { code: dtype.0, bits: dtype.1, lanes: 1 };
        Ok(Array { memory: Arc::new(memory), shape, typestr, dtype, device, stream, handle })
    }

    /// Returns the device address of the array.
    #[getter]
    fn address(&self) -> u64 {
        self.memory.address()
    }

    fn __repr__(&self) -> String {
        format!(
            "<samebits.Array of shape {:?} and type {} on CUDA device {}>",
            self.shape, self.typestr, self.device
        )
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("shape", pyo3::types::PyTuple::new(py, &self.shape)?)?;
        interface.set_item("typestr", &self.typestr)?;
        interface.set_item("data", (self.memory.address(), false))?;
        interface.set_item("version", 3)?;
        // In the CUDA array interface, the number 1 stands for the default stream.
        interface.set_item("stream", self.handle.max(1))?;
        Ok(interface)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (CUDA, self.device)
    }

    /// Returns the capsule for a consumer. Makes the consumer's stream, which is the default stream
    /// if none is given, wait for this array's stream.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<Bound<'py, PyAny>>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = max_version;
        if copy == Some(true) || dl_device.is_some_and(|device| device != self.__dlpack_device__())
        {
            return Err(PyBufferError::new_err(
                "samebits exports an array only without a copy and only on its own device: omit copy= and dl_device=",
            ));
        }
        // -1 requests no synchronization.
        if stream != Some(-1) {
            let handle = stream.unwrap_or(1) as usize;
            // SAFETY: the consumer keeps its stream alive.
            let theirs = unsafe { raw::Stream::of_device(self.device, handle as *mut c_void) };
            theirs.and_then(|theirs| theirs.wait_for(self.stream)).map_err(raised)?;
        }
        let owner = Box::new(Owner { memory: self.memory.clone(), shape: self.shape.clone() });
        let shape = owner.shape.as_ptr().cast_mut();
        let tensor = Tensor {
            data: owner.memory.address() as *mut c_void,
            device: Device { kind: CUDA, id: self.device },
            ndim: self.shape.len() as i32,
            dtype: self.dtype,
            shape,
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let context = Box::into_raw(owner).cast();
        let managed = Box::into_raw(Box::new(Managed { tensor, context, deleter: Some(delete) }));
        // SAFETY: the capsule owns the tensor until it is consumed.
        unsafe {
            let capsule = ffi::PyCapsule_New(managed.cast(), c"dltensor".as_ptr(), Some(destroy));
            Ok(Bound::from_owned_ptr_or_err(py, capsule)?.cast_into_unchecked())
        }
    }
}

/// The data that an exported tensor keeps alive until the tensor is freed.
struct Owner {
    memory: Arc<raw::Memory>,
    shape: Vec<i64>,
}

/// Frees an exported tensor. The consumer calls this function when it no longer needs the tensor.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: `__dlpack__` created both boxes, and they are freed once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Owner>()));
    }
}

/// Frees the tensor of a capsule that is destroyed before it has been consumed.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    let name = c"dltensor".as_ptr();
    // SAFETY: the capsule still has its name, so it still owns its tensor.
    unsafe {
        let valid: c_int = ffi::PyCapsule_IsValid(capsule, name);
        if valid == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, name).cast());
        }
    }
}
