//! The queue of chunks that a launch adds. A pure function fills it, so that the interpreter can
//! use the same queue.

use crate::{
    Kernel, Operation,
    element::Read,
    shape::{self, Shape},
};

/// The number of 32-bit words in an item. An item has the address, the length and the number of a
/// slice, the slice's first message slot, the number of the chunk, and the slice's shape.
pub const ITEM: usize = 12;

/// A queue of chunks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// The items, of [`ITEM`] words each.
    pub words: Vec<u32>,
    /// The number of messages.
    pub messages: u64,
    /// The total number of elements in all slices.
    pub elements: u64,
}

impl Queued {
    /// Returns the number of items.
    pub fn items(&self) -> u64 {
        (self.words.len() / ITEM) as u64
    }
}

/// Returns the queue for slices of elements of `size` bytes. Each slice is given by its address and
/// length. If a slice is too long, or makes the total too long, returns the slice's length as the
/// error.
pub fn queue(slices: impl IntoIterator<Item = (u64, u64)>, size: u64) -> Result<Queued, u64> {
    let mut all = Queued::default();
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    for ((address, n), index) in slices.into_iter().zip(0u64..) {
        let shape = shape::pick(n, size).ok_or(n)?;
        all.elements = all.elements.checked_add(n).ok_or(n)?;
        for chunk in 0..shape.chunks() {
            all.words.extend([halves(address), halves(n), halves(index)].as_flattened());
            let (slot, vectors) = (all.messages as u32, shape.vectors());
            all.words.extend([slot, chunk, vectors, shape.chunks(), shape.threads(), 0]);
        }
        // In a spread, each warp of a chunk publishes a message.
        all.messages += match shape {
            Shape::Block { .. } => 0,
            _ => u64::from(shape.values()),
        };
        if all.items() > u64::from(u32::MAX) || all.messages > u64::from(u32::MAX) {
            return Err(all.elements);
        }
    }
    Ok(all)
}

/// Returns the maximum number of items and of messages for ragged rows that have `elements`
/// elements in total. Only rows of more than 2 KiB have items, and only rows of more than 48 KiB
/// have eight messages for each item.
pub fn ragged_room(elements: u64, size: u64) -> [u64; 2] {
    let bytes = elements * size;
    [bytes / 2048 + 1, bytes / 768 + 1]
}

/// Returns the kernel that adds the chunks in a queue, and the kernel for ragged rows, with the
/// numbers of threads in their blocks.
#[doc(hidden)]
pub fn kernels_of<T: Read<W>, W>(operation: Operation) -> [(Kernel, u32); 2] {
    let of = (operation.instructions(), T::TYPES);
    [
        (Kernel::single("queue", of, |texts| texts.queue[0]), 512),
        (Kernel::single("ragged", of, |texts| texts.queue[1]), 256),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_has_an_item_for_each_chunk() {
        let all = queue([(16, 5), (0x1_0000_0000, 20_000), (48, 0), (64, 60_000)], 4).unwrap();
        assert_eq!((all.items(), all.messages, all.elements), (1 + 8 + 1 + 32, 64 + 32, 80_005));
        assert_eq!(all.words[..ITEM], [16, 0, 5, 0, 0, 0, 0, 0, 128, 1, 32, 0]);
        assert_eq!(all.words[2 * ITEM..3 * ITEM], [0, 1, 20_000, 0, 1, 0, 0, 1, 632, 8, 256, 0]);
        assert_eq!(
            all.words[10 * ITEM..][..ITEM],
            [64, 0, 60_000, 0, 3, 0, 64, 0, 472, 32, 512, 0]
        );
        assert_eq!(queue([(0, u64::MAX)], 4), Err(u64::MAX));
    }

    #[test]
    fn ragged_rows_have_room() {
        for size in [1, 2, 4, 8] {
            for bytes in
                [2049, 16_385, 49_153, 196_609, 1 << 21, 3 << 20, 9 << 20, 1 << 26, 1 << 31]
            {
                let n = bytes / size + 1;
                let all = queue([(0, n)], size).unwrap();
                let [items, messages] = ragged_room(n, size);
                assert!(all.items() <= items && all.messages <= messages, "{n} of {size}");
            }
        }
    }
}
