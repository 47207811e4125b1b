//! Sums DLPack tensors on any device. A Rust extension can sum the arrays of any framework in this
//! way.

use std::ffi::c_void;

use dlpark::{
    allocation::dynamic,
    ffi::{DLDeviceType, DLManagedTensorVersioned},
    tensor::TensorRef,
    versioned,
};
use samebits::{Operation, host, raw};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Returns the sum of a compact `f32` tensor, computed in stream order on a stream of the device's
/// primary context. Waits for the result.
///
/// # Safety
/// The tensor's memory and the stream must be valid.
unsafe fn sum(tensor: &TensorRef<'_>, stream: *mut c_void) -> Result<f32> {
    if !tensor.is_compact()? {
        return Err("the tensor is not compact: copy it first".into());
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        match tensor.device().device_type {
            DLDeviceType::CUDA => {
                let stream = raw::Stream::of_device(tensor.device().device_id, stream)?;
                let (input, n) = (tensor.offset_data_ptr::<f32>()? as u64, tensor.num_elements() as u64);
                Ok(raw::reduce::<f32>(stream, Operation::Sum, input, n)?)
            }
            _ => Ok(host::sum(tensor.cpu_slice::<f32>()?)),
        }
    }
}

fn main() -> Result<()> {
    let values: Vec<f32> = (0..1 << 20).map(|i| (i % 7) as f32 * 0.1).collect();
    let expected = host::sum(&values);
    let tensor: dynamic::Initialized<DLManagedTensorVersioned> = Box::new(ndarray::Array1::from(values)).try_into()?;
    // SAFETY: the tensor owns the vector, whose elements it describes.
    let tensor: versioned::Dlpack = unsafe { tensor.finish() };
    // SAFETY: the tensor is live and on the host, so no stream is needed.
    let lent = unsafe { sum(&tensor.validate()?, std::ptr::null_mut()) }?;
    println!("the sum of the borrowed tensor is {lent}");
    if lent.to_bits() != expected.to_bits() {
        return Err(format!("expected {expected}").into());
    }
    Ok(())
}
