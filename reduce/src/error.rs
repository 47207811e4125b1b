//! What can go wrong, each in a sentence.

use cudarc::driver::DriverError;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call of the CUDA driver that failed.
    #[error("{doing}: {source}")]
    Driver {
        /// What was being done.
        doing: &'static str,
        /// The driver's answer.
        source: DriverError,
    },
    /// There is no library of the driver.
    #[error(
        "no CUDA driver: neither libcuda.so nor nvcuda.dll can be loaded; install NVIDIA's driver, or use reduce::host"
    )]
    NoDriver,
    /// The library is not a whole driver.
    #[error(
        "the CUDA driver lacks {symbol}, which those of CUDA 12.0 (525) and newer have: update it"
    )]
    NoSymbol {
        /// A function that it does not have.
        symbol: &'static str,
    },
    /// There is no such device.
    #[error("no CUDA device {ordinal}: the driver knows {count}, counted from 0")]
    NoDevice {
        /// The one that was asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The device is older than every kernel.
    #[error("the device has compute capability {major}.{minor}, and the kernels need 7.0 or newer")]
    OldDevice {
        /// Its compute capability.
        major: i32,
        /// Its minor part.
        minor: i32,
    },
    /// The driver is older than the kernels.
    #[error(
        "the CUDA driver is older than the kernels' PTX, which CUDA 12.4 (550) and newer compile: update it"
    )]
    OldDriver,
    /// The output has no room.
    #[error("the result needs a slice of one element to go to, and this one has none")]
    NoRoom,
    /// A slice lies in another context than the stream.
    #[error(
        "the {what} lies in a context of device {theirs}, and the stream in another one, of device {ours}: use a stream of the slice's context"
    )]
    OtherContext {
        /// The slice, or the result.
        what: &'static str,
        /// The ordinal of its device.
        theirs: usize,
        /// That of the stream.
        ours: usize,
    },
    /// An element lies across its own size.
    #[error(
        "the {what} begins at address {address:#x}, which is no multiple of its element's {size} bytes"
    )]
    Misaligned {
        /// The slice, or the result.
        what: &'static str,
        /// Where it begins.
        address: u64,
        /// Bytes of an element.
        size: u64,
    },
    /// The slice is longer than what a kernel counts.
    #[error(
        "{n} elements of {size} bytes are more than the {most} bytes that are reduced in one call"
    )]
    TooLong {
        /// How many there are.
        n: u64,
        /// Bytes of each.
        size: u64,
        /// The most bytes.
        most: u64,
    },
    /// There is no row, or nothing in one.
    #[error("a sum for each row needs rows and elements: these are {rows} rows of {elements}")]
    NoRows {
        /// How many rows there are.
        rows: u64,
        /// Elements of each.
        elements: u64,
    },
    /// Rows are longer than what a kernel counts.
    #[error("rows of {elements} elements are longer than the {most} that a row may have")]
    LongRows {
        /// Elements of each.
        elements: u64,
        /// The most.
        most: u64,
    },
    /// Rows overlap.
    #[error(
        "rows of {elements} elements cannot begin {pitch} elements apart: the pitch is at least {elements}"
    )]
    Pitch {
        /// Elements of each row.
        elements: u64,
        /// Elements from one beginning to the next.
        pitch: u64,
    },
    /// The rows end behind the slice.
    #[error(
        "the slice has {slice} elements, and {rows} rows of {elements}, {pitch} apart, end at element {span}"
    )]
    ShortSlice {
        /// Elements of the slice.
        slice: u64,
        /// How many rows there are.
        rows: u64,
        /// Elements of each.
        elements: u64,
        /// Elements from one beginning to the next.
        pitch: u64,
        /// Elements that they take.
        span: u128,
    },
    /// There are more rows than room for sums.
    #[error("the result has room for {room} sums, and there are {rows} rows")]
    NoRoomForRows {
        /// Elements of the result.
        room: u64,
        /// How many rows there are.
        rows: u64,
    },
    /// A captured stream has no result yet.
    #[error(
        "the stream is being captured into a graph, which has no result to wait for: capture sum_into, min_into or max_into"
    )]
    Capturing,
    /// The stream is done, and the result has not come.
    #[error("the stream has ended, and left no result: was its device reset?")]
    Lost,
}

/// Says what was being done when the driver failed.
pub(crate) fn doing(doing: &'static str) -> impl FnOnce(DriverError) -> Error {
    move |source| Error::Driver { doing, source }
}
