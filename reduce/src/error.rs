//! Errors. Each message names both sides of the mismatch and the remedy.

use std::fmt;

use cudarc::driver::{DriverError, sys::CUresult};

use crate::cuda::is_forked;

/// The result of a fallible function in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate. Its `Debug` output is also the message, so both `unwrap` and a `main`
/// that returns the error print it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call to the CUDA driver failed.
    #[error("{doing}: {source}")]
    Driver {
        /// The operation that failed.
        doing: &'static str,
        /// The driver's error.
        source: DriverError,
    },
    /// The driver's library is missing.
    #[error(
        "there is no CUDA driver: neither libcuda.so nor nvcuda.dll can be loaded; install NVIDIA's driver, or reduce on the host (in Rust: samebits::host)"
    )]
    NoDriver,
    /// The driver's library lacks a function.
    #[error(
        "the CUDA driver has no {symbol}, which drivers for CUDA 12.0 (525) and newer have: update the driver"
    )]
    NoSymbol {
        /// The missing function.
        symbol: &'static str,
    },
    /// The requested device does not exist.
    #[error(
        "there is no CUDA device {ordinal}: the driver reports {count} devices, numbered from 0"
    )]
    NoDevice {
        /// The requested device.
        ordinal: usize,
        /// The number of devices.
        count: usize,
    },
    /// The device is too old for the kernels.
    #[error(
        "the device has compute capability {major}.{minor}, but the kernels need 7.0 or newer: use a newer GPU, or reduce on the host (in Rust: samebits::host)"
    )]
    OldDevice {
        /// The major compute capability.
        major: i32,
        /// The minor compute capability.
        minor: i32,
    },
    /// The driver is too old to compile the kernels' PTX.
    #[error(
        "the CUDA driver is too old to compile the kernels' PTX, which needs CUDA 12.4 (550) or newer: update the driver"
    )]
    OldDriver,
    /// The process was forked from one that had initialized CUDA.
    #[error(
        "CUDA was initialized before this process was forked, so it does not work in the child: spawn processes instead (in Python: multiprocessing.set_start_method(\"spawn\"))"
    )]
    Forked,
    /// A default stream was passed, but no context is current.
    #[error(
        "no CUDA context is current in this thread, so the default stream has no device: call cudaSetDevice first, or pass a stream that you created"
    )]
    NoContext,
    /// A stream was passed together with a context to which it does not belong.
    #[error(
        "the stream does not belong to the context that was passed with it: pass the context in which the stream was created"
    )]
    OtherStream,
    /// An address is a null pointer.
    #[error(
        "the {what} is a null pointer, but {n} elements are needed: pass the address of device memory"
    )]
    Null {
        /// The argument, which is either the input or the output.
        what: &'static str,
        /// The number of elements.
        n: u64,
    },
    /// No CUDA allocation contains an address.
    #[error(
        "the address {address:#x} is not in memory that CUDA allocated or registered: pass the address of device memory"
    )]
    NoAllocation {
        /// The address.
        address: u64,
    },
    /// The slice for the result is empty.
    #[error(
        "the slice for the result is empty, but it needs at least one element: pass a longer slice"
    )]
    NoRoom,
    /// A slice belongs to a context other than the stream's.
    #[error(
        "the {what} belongs to a context of device {theirs}, but the stream belongs to another context, of device {ours}: use a stream of the slice's context"
    )]
    OtherContext {
        /// The argument, which is either the slice or the result.
        what: &'static str,
        /// The ordinal of the slice's device.
        theirs: usize,
        /// The ordinal of the stream's device.
        ours: usize,
    },
    /// An address is not a multiple of the element size.
    #[error(
        "the {what} begins at address {address:#x}, which is not a multiple of the {size} bytes of an element: pass an aligned address"
    )]
    Misaligned {
        /// The argument, which is either the slice or the result.
        what: &'static str,
        /// The address.
        address: u64,
        /// The size of an element in bytes.
        size: u64,
    },
    /// The slice is too long for the kernels.
    #[error(
        "{n} elements of {size} bytes exceed the {most} bytes that one call can reduce: split the slice"
    )]
    TooLong {
        /// The number of elements.
        n: u64,
        /// The number of bytes of each element.
        size: u64,
        /// The maximum number of bytes.
        most: u64,
    },
    /// There are no rows, or the rows have no elements.
    #[error(
        "sums of rows need at least one row and one element: there are {rows} rows of {elements}"
    )]
    NoRows {
        /// The number of rows.
        rows: u64,
        /// The number of elements in each row.
        elements: u64,
    },
    /// Rows are too long for the kernels.
    #[error("rows have {elements} elements each, but the maximum is {most}: split the rows")]
    LongRows {
        /// The number of elements in each row.
        elements: u64,
        /// The maximum number of elements in a row.
        most: u64,
    },
    /// Rows overlap.
    #[error(
        "rows of {elements} elements cannot begin {pitch} elements apart: the pitch must be at least {elements}"
    )]
    Pitch {
        /// The number of elements in each row.
        elements: u64,
        /// The distance between the starts of neighbouring rows, in elements.
        pitch: u64,
    },
    /// The rows extend beyond the slice.
    #[error(
        "the slice has {slice} elements, but {rows} rows of {elements}, {pitch} apart, end at element {span}: pass a longer slice, or fewer rows"
    )]
    ShortSlice {
        /// The number of elements in the slice.
        slice: u64,
        /// The number of rows.
        rows: u64,
        /// The number of elements in each row.
        elements: u64,
        /// The distance between the starts of neighbouring rows, in elements.
        pitch: u64,
        /// The number of elements from the start of the first row to the end of the last.
        span: u128,
    },
    /// The columns extend beyond the slice.
    #[error(
        "the slice has {slice} elements, but the columns end at element {span} ({columns}): pass a longer slice, or fewer columns"
    )]
    ShortColumns {
        /// The number of elements in the slice.
        slice: u64,
        /// The columns.
        columns: String,
        /// The number of elements from the first to the last element of the columns.
        span: u128,
    },
    /// A list has no slices.
    #[error("the list has no slices: pass at least one, which may be empty")]
    NoSlices,
    /// A list was made for elements of another size.
    #[error(
        "the list was made for elements of {list} bytes, but these elements have {elements} bytes: make a list for their type"
    )]
    OtherList {
        /// The element size for which the list was made, in bytes.
        list: u64,
        /// The size of the elements that were passed, in bytes.
        elements: u64,
    },
    /// There are no offsets.
    #[error("there are no offsets: pass one more offset than there are rows, and so at least one")]
    NoOffsets,
    /// The offsets of a ragged row are invalid.
    #[error(
        "row {row} has offsets {begin} to {end}, but the slice has {len} elements: offsets must neither decrease nor exceed the number of elements"
    )]
    Offsets {
        /// The number of the row.
        row: u64,
        /// The index of the row's first element.
        begin: u64,
        /// The index after the row's last element.
        end: u64,
        /// The number of elements.
        len: u64,
    },
    /// The tensor lacks an axis.
    #[error("there is no axis {axis}: the shape has {rank} axes, numbered from 0")]
    NoAxis {
        /// The axis.
        axis: usize,
        /// The number of axes.
        rank: usize,
    },
    /// A tensor has more elements than a `u64` can count.
    #[error("a tensor of shape {shape:?} has more than 2^64 elements: reduce parts of it")]
    LargeShape {
        /// The shape.
        shape: Vec<u64>,
    },
    /// There are more rows than the result has room for.
    #[error(
        "the result has room for {room} sums, but there are {rows} rows or columns: pass a longer slice for the result"
    )]
    NoRoomForRows {
        /// The number of elements for which the result has room.
        room: u64,
        /// The number of rows.
        rows: u64,
    },
    /// The operation is not defined for the type of the elements.
    #[error(
        "{operation} is only for floats, but the elements are {elements}: convert them to floats first"
    )]
    OnlyFloats {
        /// The operation.
        operation: &'static str,
        /// The type of the elements.
        elements: &'static str,
    },
    /// The operation is not defined for truth values.
    #[error(
        "{operation} is not defined for truth values: use the sum to count those that are true, the maximum to test whether any is true, or the minimum to test whether all are true"
    )]
    NotLogical {
        /// The operation.
        operation: &'static str,
    },
    /// The result of the operation is not one of the elements, so it has no index.
    #[error(
        "the result of {operation} is not an element, so it has no index: use the minimum, the maximum or the largest magnitude"
    )]
    NoIndex {
        /// The operation.
        operation: &'static str,
    },
    /// The slice has no elements, so there is no smallest or largest element.
    #[error(
        "there are no elements, so there is no smallest or largest element: pass at least one element"
    )]
    NoElements,
    /// The operation cannot be computed by several GPUs together.
    #[error(
        "{operation} of {elements} cannot be divided among several GPUs: reduce on one GPU, or divide a sum of f32, f64, f16, bf16, or integers of 32 or 64 bits"
    )]
    NoStages {
        /// The operation.
        operation: &'static str,
        /// The type of the elements.
        elements: &'static str,
    },
    /// There are no kernels for products of integers narrower than 32 bits.
    #[error(
        "dot products are only for f32, f64, f16, bf16, and integers of 32 or 64 bits, but the elements are {elements}: convert them to one of these types first"
    )]
    NoProducts {
        /// The type of the elements.
        elements: &'static str,
    },
    /// Two slices have different lengths.
    #[error(
        "a dot product needs slices of the same length: the first has {first} elements, but the second has {second}; cut them to the same length"
    )]
    Lengths {
        /// The number of elements in the first slice.
        first: u64,
        /// The number of elements in the second slice.
        second: u64,
    },
    /// Two accumulators together have too many elements.
    #[error(
        "an exact accumulator takes at most 2^62 elements, but an accumulator of {ours} elements was merged with one of {theirs}: round them separately"
    )]
    TooManyElements {
        /// The number of elements in the accumulator into which the other one is merged.
        ours: u64,
        /// The number of elements in the accumulator that is merged.
        theirs: u64,
    },
    /// The bytes are not an exact accumulator of the requested type.
    #[error(
        "these bytes are not an exact accumulator of {name}: {what}; pass the bytes that ExactAccumulator::to_bytes returned"
    )]
    NotAnAccumulator {
        /// The name of the accumulator's element type.
        name: &'static str,
        /// The mismatch, in words.
        what: String,
    },
    /// The words are not those of an exact sum of the requested type.
    #[error(
        "these words are not an exact sum of {name}: {what}; pass the words that raw::exact_words_into stored, and the number of elements"
    )]
    NotWords {
        /// The type of the sum.
        name: &'static str,
        /// The mismatch, in words.
        what: String,
    },
    /// The stream is being captured, so there is no result to wait for.
    #[error(
        "the stream is being captured into a graph, which has no result to wait for: capture a call that leaves its result on the device (sum_into, min_into, max_into, reduce_into)"
    )]
    Capturing,
    /// The stream is idle, but the result was not written.
    #[error("the stream is idle, but the result was not written: was the device reset?")]
    Lost,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns an error unless two slices have the same length.
pub(crate) fn same_length(first: usize, second: usize) -> Result<()> {
    let (first, second) = (first as u64, second as u64);
    if first == second { Ok(()) } else { Err(Error::Lengths { first, second }) }
}

/// Returns a function that adds the name of the failed operation to a driver error.
pub(crate) fn doing(doing: &'static str) -> impl FnOnce(DriverError) -> Error {
    move |source| match source.0 {
        CUresult::CUDA_ERROR_NOT_INITIALIZED if is_forked() => Error::Forked,
        _ => Error::Driver { doing, source },
    }
}

/// Returns the error for a kernel that the driver cannot compile.
pub(crate) fn not_compiled(error: DriverError) -> Error {
    match error.0 {
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => Error::OldDriver,
        _ => doing("compiling a kernel")(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_returns_an_error_prints_its_message() {
        let error = format!("{:?}", Error::NoDevice { ordinal: 7, count: 1 });
        assert!(error.starts_with("there is no CUDA device 7"), "{error}");
    }

    #[test]
    fn a_driver_that_is_too_old_has_an_error_of_its_own() {
        let error = not_compiled(DriverError(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
        assert!(error.to_string().contains("CUDA 12.4 (550)"), "{error}");
        let error = not_compiled(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        assert!(matches!(error, Error::Driver { doing: "compiling a kernel", .. }));
    }
}
