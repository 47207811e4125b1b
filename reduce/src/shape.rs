//! Which kernel, in which shape: a pure function of how many elements there are and of their size.

/// The most parts that there are; mail for so many has a place on the device.
pub const PARTS: u64 = 16384;

/// The most bytes that are reduced: beyond, a part would have more words than a kernel counts.
pub const LONGEST: u64 = PARTS << (28 + 4);

/// How a slice is cut. A word is 16 bytes, a part a run of words that one block adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One part, one block.
    Block {
        /// Threads of the block: 32, 256 or 1024.
        threads: u32,
    },
    /// A few parts, whose warps' values one warp joins.
    Spread {
        /// How many parts there are: 8.
        parts: u32,
        /// Words of a part; the last one may have fewer.
        words: u32,
    },
    /// Many parts, whose values a warp joins if they are at most 128, or else a block.
    Chunks {
        /// How many parts there are: at most [`PARTS`].
        parts: u32,
        /// Words of a part; the last one may have fewer.
        words: u32,
    },
}

impl Shape {
    /// Threads of a block. The fewer of them, the sooner the block has started.
    pub fn threads(self) -> u32 {
        match self {
            Shape::Block { threads } => threads,
            Shape::Spread { .. } => 256,
            Shape::Chunks { .. } => 512,
        }
    }

    /// How many parts there are.
    pub fn parts(self) -> u32 {
        match self {
            Shape::Block { .. } => 1,
            Shape::Spread { parts, .. } | Shape::Chunks { parts, .. } => parts,
        }
    }

    /// Words of a part; of one block, all that there can be.
    pub fn words(self) -> u32 {
        match self {
            Shape::Block { threads } => threads * 4,
            Shape::Spread { words, .. } | Shape::Chunks { words, .. } => words,
        }
    }

    /// Values that blocks hand to one of them.
    pub fn values(self) -> u32 {
        match self {
            Shape::Block { .. } => 0,
            Shape::Spread { parts, .. } => parts * self.threads() / 32,
            Shape::Chunks { parts, .. } => parts,
        }
    }
}

const KIB: u64 = 1 << 10;

/// What is cut how: KiB up to which a line holds, and its shape. Measured on an H200.
///
/// One warp need not meet others. One block is the soonest to have it while its loads are few; eight have it before one more warp
/// would have been joined; then there are as many parts as one warp can collect, and as many as a
/// large device runs at once. From 16 to 24 MiB 192 parts read faster than 256, whose distances are
/// near powers of two there.
const TABLE: [(u64, Cut); 10] = [
    (2, Cut::Block(32)),
    (16, Cut::Block(256)),
    (48, Cut::Block(1024)),
    (192, Cut::Spread(8)),
    (1536, Cut::Chunks(32)),
    (2560, Cut::Chunks(48)),
    (8192, Cut::Chunks(160)),
    (16384, Cut::Chunks(256)),
    (24576, Cut::Chunks(192)),
    (1280 << 10, Cut::Chunks(256)),
];

/// Bytes of a part where the table ends.
const LARGE: u64 = 512 * KIB;

/// Threads of a block, or how many parts there are.
#[derive(Clone, Copy)]
enum Cut {
    Block(u32),
    Spread(u64),
    Chunks(u64),
}

/// Parts begin at multiples of so many words: 128 bytes, what memory is read by.
const GRAIN: u64 = 8;

/// The shape for `n` elements of `size` bytes; none beyond [`LONGEST`].
///
/// Parts are even, so that blocks end together. Of the longest slices there are more than a device
/// runs at once, and blocks draw them.
pub fn pick(n: u64, size: u64) -> Option<Shape> {
    let bytes = n.checked_mul(size).filter(|bytes| *bytes <= LONGEST)?;
    let words = bytes.div_ceil(16);
    let even = |parts: u64| words.div_ceil(parts).next_multiple_of(GRAIN);
    let parts = |each: u64| words.div_ceil(each) as u32;
    let line = TABLE.iter().find(|(kib, _)| bytes <= kib * KIB);
    Some(match line.map(|(_, cut)| *cut) {
        Some(Cut::Block(threads)) => Shape::Block { threads },
        Some(Cut::Spread(count)) => {
            Shape::Spread { parts: parts(even(count)), words: even(count) as u32 }
        }
        Some(Cut::Chunks(count)) => {
            Shape::Chunks { parts: parts(even(count)), words: even(count) as u32 }
        }
        None => {
            let each = LARGE.max(bytes.div_ceil(PARTS).next_power_of_two()) / 16;
            Shape::Chunks { parts: parts(each), words: each as u32 }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes around every line of the table and every power of two, in bytes.
    fn bytes() -> impl Iterator<Item = u64> {
        let powers = (0..46).map(|bits| 1u64 << bits);
        let edges = TABLE.iter().map(|(kib, _)| kib * KIB);
        let around = |at: u64| [-2040, -16, -8, -2, 0, 2, 8, 16, 104].map(|by| at as i64 + by);
        powers.chain(edges).flat_map(around).filter(|bytes| *bytes >= 0).map(|bytes| bytes as u64)
    }

    #[test]
    fn small_sums_take_one_block() {
        assert_eq!(pick(0, 4), Some(Shape::Block { threads: 32 }));
        assert_eq!(pick(512, 4), Some(Shape::Block { threads: 32 }));
        assert_eq!(pick(513, 4), Some(Shape::Block { threads: 256 }));
        assert_eq!(pick(4096, 4), Some(Shape::Block { threads: 256 }));
        assert_eq!(pick(4097, 4), Some(Shape::Block { threads: 1024 }));
        assert_eq!(pick(12 << 10, 4), Some(Shape::Block { threads: 1024 }));
        assert_eq!(pick(1 << 14, 4), Some(Shape::Spread { parts: 8, words: 512 }));
        assert_eq!(pick(48 << 10, 4), Some(Shape::Spread { parts: 8, words: 1536 }));
    }

    #[test]
    fn parts_are_even_between_powers_of_two() {
        assert_eq!(pick(1 << 18, 4), Some(Shape::Chunks { parts: 32, words: 2048 }));
        assert_eq!(pick(1_400_000, 4), Some(Shape::Chunks { parts: 160, words: 2192 }));
        assert_eq!(pick(1 << 24, 4), Some(Shape::Chunks { parts: 256, words: 16384 }));
        assert_eq!(pick(1 << 28, 4), Some(Shape::Chunks { parts: 256, words: 262_144 }));
        assert_eq!(pick(1 << 30, 4), Some(Shape::Chunks { parts: 8192, words: 32768 }));
        assert_eq!(pick(1 << 32, 4), Some(Shape::Chunks { parts: 16384, words: 65536 }));
    }

    #[test]
    fn a_warp_of_a_spread_has_a_value_and_so_has_a_part_of_chunks() {
        assert_eq!(Shape::Block { threads: 1024 }.values(), 0);
        assert_eq!(Shape::Spread { parts: 8, words: 512 }.values(), 64);
        assert_eq!(Shape::Chunks { parts: 160, words: 2192 }.values(), 160);
    }

    #[test]
    fn every_part_has_something_to_add_and_all_is_added() {
        for (bytes, size) in bytes().flat_map(|bytes| [2, 4, 8].map(|size| (bytes, size))) {
            let shape = pick(bytes / size, size).unwrap();
            let all = (bytes / size * size).div_ceil(16);
            let (parts, words) = (u64::from(shape.parts()), u64::from(shape.words()));
            assert!(parts * words >= all, "{bytes} bytes: {shape:?}");
            assert!(parts == 1 || (parts - 1) * words < all, "{bytes} bytes: {shape:?}");
            assert!(parts <= PARTS && words <= 1 << 28, "{bytes} bytes: {shape:?}");
        }
    }

    #[test]
    fn what_is_in_flight_at_once_is_all_there_is() {
        for bytes in bytes() {
            match pick(bytes, 1) {
                Some(Shape::Block { threads }) => assert!(bytes <= u64::from(threads) * 4 * 16),
                Some(Shape::Spread { parts, words }) => {
                    assert!(parts == 8 && words <= 256 * 8, "{bytes} bytes: {parts} of {words}")
                }
                _ => {}
            }
        }
    }

    #[test]
    fn what_no_kernel_can_count_has_no_shape() {
        assert!(pick(LONGEST / 4, 4).is_some());
        assert_eq!(pick(LONGEST / 4 + 1, 4), None);
        assert_eq!(pick(u64::MAX, 8), None);
        for power in 31..34 {
            for n in [(1u64 << power) - 1, 1 << power, (1 << power) + 1, (1 << power) + 13] {
                let Some(Shape::Chunks { parts, words }) = pick(n, 2) else { panic!("{n}") };
                assert!(u64::from(parts) * u64::from(words) * 8 >= n, "{n}");
            }
        }
    }
}
