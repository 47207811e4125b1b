//! Kernel launches.
#![expect(unsafe_code, reason = "kernels are launched with addresses")]

use std::ffi::c_void;

use cudarc::driver::result;

use super::{Address, Function, Stream};
use crate::error::{Result, doing};

/// The arguments of a launch over all elements of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'m> {
    pub(crate) grid: u32,
    pub(crate) threads: u32,
    pub(crate) input: Address<'m>,
    pub(crate) output: Address<'m>,
    pub(crate) vectors: u32,
    pub(crate) chunks: u32,
    pub(crate) epoch: u32,
}

/// Launches a kernel on a stream whose context is current. `state` is zeroed memory with room for
/// the messages, if the kernel uses any.
pub(crate) fn launch(
    function: Function,
    stream: Stream,
    call: Call<'_>,
    state: Option<Address<'_>>,
) -> Result<()> {
    let Call { grid, threads, input, output, mut vectors, mut chunks, mut epoch } = call;
    let (mut input, mut n, mut output) = (input.raw(), input.len(), output.raw());
    let mut state = state.map_or(0, Address::raw);
    let mut params: [*mut c_void; 7] = [
        (&raw mut input).cast(),
        (&raw mut output).cast(),
        (&raw mut n).cast(),
        (&raw mut vectors).cast(),
        (&raw mut chunks).cast(),
        (&raw mut state).cast(),
        (&raw mut epoch).cast(),
    ];
    let (function, stream) = (function.raw(), stream.raw());
    // SAFETY: every entry point has these seven parameters, the addresses point to live memory, and
    // there are `n` elements at `input`.
    unsafe {
        result::launch_kernel(function, (grid, 1, 1), (threads, 1, 1), 0, stream, &mut params)
    }
    .map_err(doing("launching a reduction"))
}

/// Launches a kernel that reads a second input, which has the same number of elements as the first.
pub(crate) fn launch_pair(
    function: Function,
    stream: Stream,
    call: Call<'_>,
    second: Address<'_>,
    state: Option<Address<'_>>,
) -> Result<()> {
    let Call { grid, threads, input, output, mut vectors, mut chunks, mut epoch } = call;
    let (mut input, mut n, mut output) = (input.raw(), input.len().min(second.len()), output.raw());
    let (mut second, mut state) = (second.raw(), state.map_or(0, Address::raw));
    let mut params: [*mut c_void; 8] = [
        (&raw mut input).cast(),
        (&raw mut second).cast(),
        (&raw mut output).cast(),
        (&raw mut n).cast(),
        (&raw mut vectors).cast(),
        (&raw mut chunks).cast(),
        (&raw mut state).cast(),
        (&raw mut epoch).cast(),
    ];
    let (function, stream) = (function.raw(), stream.raw());
    // SAFETY: every entry point for two inputs has these eight parameters, the addresses point to
    // live memory, and there are `n` elements at each of the first two.
    unsafe {
        result::launch_kernel(function, (grid, 1, 1), (threads, 1, 1), 0, stream, &mut params)
    }
    .map_err(doing("launching a dot product"))
}

/// The arguments of a launch over rows; the counterpart of [`Call`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowsCall<'m> {
    pub(crate) grid: u32,
    pub(crate) threads: u32,
    pub(crate) input: Address<'m>,
    pub(crate) output: Address<'m>,
    pub(crate) rows: u64,
    pub(crate) elements: u64,
    pub(crate) pitch: u64,
    pub(crate) shape: [u32; 3],
}

/// Launches a kernel over rows; the counterpart of [`launch`].
pub(crate) fn launch_rows(
    function: Function,
    stream: Stream,
    call: RowsCall<'_>,
    state: Option<Address<'_>>,
) -> Result<()> {
    let RowsCall { grid, threads, input, output, .. } = call;
    let (mut input, mut output) = (input.raw(), output.raw());
    let mut state = state.map_or(0, Address::raw);
    let RowsCall { mut rows, mut elements, mut pitch, shape: [mut a, mut b, mut c], .. } = call;
    let mut params: [*mut c_void; 9] = [
        (&raw mut input).cast(),
        (&raw mut output).cast(),
        (&raw mut rows).cast(),
        (&raw mut elements).cast(),
        (&raw mut pitch).cast(),
        (&raw mut a).cast(),
        (&raw mut b).cast(),
        (&raw mut c).cast(),
        (&raw mut state).cast(),
    ];
    let (function, stream) = (function.raw(), stream.raw());
    // SAFETY: every entry point for rows has these nine parameters, the addresses point to live
    // memory, and the caller has checked that the memory at `input` contains the rows.
    unsafe {
        result::launch_kernel(function, (grid, 1, 1), (threads, 1, 1), 0, stream, &mut params)
    }
    .map_err(doing("launching a sum for each row"))
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Param<'m> {
    Memory(Address<'m>),
    /// A null pointer.
    Null,
    U64(u64),
    U32(u32),
}

/// Launches a kernel with other parameters. The caller passes the parameters of the kernel's entry
/// point.
pub(crate) fn launch_form<const N: usize>(
    function: Function,
    stream: Stream,
    [grid, threads]: [u32; 2],
    params: [Param<'_>; N],
) -> Result<()> {
    // A parameter of 32 bits is in the first half of its word, because all hosts and devices that
    // CUDA supports are little-endian.
    let mut words = params.map(|param| match param {
        Param::Memory(address) => address.raw(),
        Param::Null => 0,
        Param::U64(value) => value,
        Param::U32(value) => value.into(),
    });
    let mut params = words.each_mut().map(|word| std::ptr::from_mut(word).cast::<c_void>());
    let (function, stream) = (function.raw(), stream.raw());
    // SAFETY: the caller passes the parameters of the entry point, and addresses point to live
    // memory.
    unsafe {
        result::launch_kernel(function, (grid, 1, 1), (threads, 1, 1), 0, stream, &mut params)
    }
    .map_err(doing("launching a reduction"))
}
