//! A ten-line adapter that sums buffers of NVIDIA's cuda-core, and a program that compares the bits
//! of such a sum with those on the host.

use cuda_core::{Context, DeviceBuffer, DeviceCopy, Stream};
use samebits::{Element, Operation, host, raw};

/// Returns the sum of a buffer, computed in stream order on a stream of the buffer's context. Waits
/// for the result.
fn sum<T: Element + DeviceCopy>(stream: &Stream, buffer: &DeviceBuffer<T>) -> samebits::Result<T::Output> {
    // SAFETY: the buffer has `len` elements, and the buffer and the stream outlive the call, which
    // waits for the result.
    unsafe {
        let context = buffer.context().cu_ctx();
        let stream = raw::Stream::new(context.cast(), stream.cu_stream().cast())?;
        raw::reduce::<T>(stream, Operation::Sum, buffer.cu_deviceptr(), buffer.len() as u64)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !samebits::has_driver() {
        println!("there is no CUDA driver, so nothing was summed");
        return Ok(());
    }
    let context = Context::new(0)?;
    let stream = context.new_stream()?;
    let values: Vec<f32> = (0..1 << 20).map(|i| (i % 7) as f32 * 0.1).collect();
    let buffer = DeviceBuffer::from_host(&stream, &values)?;
    let (device, expected) = (sum(&stream, &buffer)?, host::sum(&values));
    println!("the sum of a DeviceBuffer is {device} on the device and {expected} on the host");
    samebits::close();
    if device.to_bits() == expected.to_bits() { Ok(()) } else { Err("the bits differ".into()) }
}
