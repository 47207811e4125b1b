//! Reductions of lists and of ragged rows of elements at addresses.
#![expect(unsafe_code, reason = "callers guarantee the memory at an address")]

use super::device::{Ragged, Ready, queued, ready};
use crate::{
    Element, Error, Operation, Result,
    cuda::{self, Address, Queue, State, Stream},
    element::Read,
    kept::of,
};

/// A list of slices in device memory. The list keeps the addresses and lengths of the slices on the
/// device, so it can be reduced many times, and in a graph.
#[derive(Debug)]
pub struct List {
    items: State,
    /// The arguments of the launch, except for the address of the items, which is null here.
    ready: Ready<'static>,
    /// The size of an element in bytes.
    size: u64,
}

impl List {
    /// Returns the number of slices.
    pub fn slices(&self) -> u64 {
        self.ready.slices
    }

    /// Copies the addresses and lengths of slices to the stream's device.
    ///
    /// # Errors
    /// There are no slices, a slice has a null or misaligned address or too many elements, or a
    /// call to the driver failed.
    pub fn new<T: Element>(stream: Stream, slices: &[(u64, u64)]) -> Result<List> {
        if slices.is_empty() {
            return Err(Error::NoSlices);
        }
        for (at, n) in slices {
            // SAFETY: the address is only checked, and never used.
            unsafe { Address::promised::<T>("slice", *at, *n)? };
        }
        let queued = queued::<T>(slices.to_vec())?;
        let _bound = stream.bind()?;
        let queue = Queue { stream, owner: None };
        let items = cuda::outside_of_captures(|| State::of(&queue, &queued.words))?;
        // SAFETY: an address without elements is not used.
        let none = unsafe { Address::promised::<u32>("items", 0, 0)? };
        let ready = ready(&queued, none, slices.len() as u64);
        Ok(List { items, ready, size: size_of::<T>() as u64 })
    }
}

/// Writes the result of an operation for each slice of a list to consecutive elements at `output`,
/// and the result for all slices together to `total`. The elements are converted as `W` specifies.
/// One of the two addresses may be null. Does not wait, and can be captured into a graph.
///
/// # Errors
/// The operation is not defined for the element type, the list was made for elements of another
/// size, an address is misaligned, or a call to the driver failed.
///
/// # Safety
/// The slices of the list must be in memory that the stream's device can read, and must have the
/// lengths that were passed to [`List::new`]. There must be room for a result for each slice at
/// `output`, and for one result at `total`. The memory and the list must be live until the stream
/// has passed this point.
pub unsafe fn reduce_list_into<T: Element + Read<W>, W>(
    stream: Stream,
    operation: Operation,
    list: &List,
    output: u64,
    total: u64,
) -> Result<()> {
    operation.check::<T>()?;
    if list.size != size_of::<T>() as u64 {
        return Err(Error::OtherList { list: list.size, elements: size_of::<T>() as u64 });
    }
    if output == 0 && total == 0 {
        return Err(Error::Null { what: "output", n: list.ready.slices });
    }
    // SAFETY: guaranteed by the caller.
    let place = |at: u64, n| unsafe {
        (at != 0).then(|| Address::promised::<<T as Read<W>>::Value>("output", at, n)).transpose()
    };
    let (output, total) = (place(output, list.ready.slices)?, place(total, 1)?);
    let engine = of::<T>(stream)?;
    let _bound = stream.bind()?;
    let ready = Ready { items: list.items.address(), ..list.ready };
    engine.reduce_queue::<W>(operation, ready, output, total)
}

/// The offsets of ragged rows, on the device.
#[derive(Clone, Copy, Debug)]
pub enum Offsets {
    /// The address of offsets of 32 bits.
    U32(u64),
    /// The address of offsets of 64 bits.
    U64(u64),
}

/// Writes the result of an operation for each of `rows` ragged rows of the `n` elements at `input`
/// to consecutive elements at `output`. The elements are converted as `W` specifies. There are
/// `rows` + 1 offsets; row r begins at offset r and ends before offset r + 1. Does not wait, and
/// can be captured into a graph.
///
/// The device checks the offsets. If a row ends before it begins or after the end of the input, its
/// result is that of an empty row, and the number of the first such row is recorded: the 64-bit
/// word at `bad`, which the caller must have set to 0, becomes the complement of this number. If
/// the word stays 0, all offsets are valid.
///
/// # Errors
/// The same errors as for [`reduce_into`](crate::raw::reduce_into).
///
/// # Safety
/// There must be `n` elements at `input`, `rows` + 1 offsets, room for a result for each row at
/// `output`, and a word at `bad`. The requirements for the memory are those of
/// [`reduce_into`](crate::raw::reduce_into).
#[expect(clippy::too_many_arguments, reason = "addresses are numbers")]
pub unsafe fn reduce_ragged_into<T: Element + Read<W>, W>(
    stream: Stream,
    operation: Operation,
    input: u64,
    n: u64,
    offsets: Offsets,
    rows: u64,
    output: u64,
    bad: u64,
) -> Result<()> {
    operation.check::<T>()?;
    let count = rows.saturating_add(1);
    // SAFETY: guaranteed by the caller.
    let (input, output, bad) = unsafe {
        (
            Address::promised::<T>("input", input, n)?,
            Address::promised::<<T as Read<W>>::Value>("output", output, rows)?,
            Address::promised::<u64>("word for bad offsets", bad, 1)?,
        )
    };
    // SAFETY: guaranteed by the caller.
    let (offsets, wide) = unsafe {
        match offsets {
            Offsets::U32(at) => (Address::promised::<u32>("offsets", at, count)?, false),
            Offsets::U64(at) => (Address::promised::<u64>("offsets", at, count)?, true),
        }
    };
    let engine = of::<T>(stream)?;
    let _bound = stream.bind()?;
    engine.reduce_ragged::<W>(operation, Ragged { input, offsets, wide, rows }, output, bad)
}
