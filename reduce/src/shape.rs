//! The shape of a reduction, which is a pure function of the number of elements and their size.

/// The maximum number of chunks of a slice. A reducer has a message slot on the device for each
/// chunk.
pub const CHUNKS: u64 = 16384;

/// The maximum number of bytes in a slice. In a longer slice, a chunk would have more vectors than
/// a kernel can count.
pub const LONGEST: u64 = CHUNKS << (28 + 4);

/// The division of a slice into chunks. A vector is 16 bytes; a chunk is a run of consecutive
/// vectors that one block adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One chunk, which one block adds.
    Block {
        /// The number of threads in the block: 32, 256 or 1024.
        threads: u32,
    },
    /// A few chunks. One warp combines the values of all warps in these chunks.
    Spread {
        /// The number of chunks: 8.
        chunks: u32,
        /// The number of vectors in a chunk; the last chunk may have fewer.
        vectors: u32,
    },
    /// Many chunks. One warp combines the values of up to 128 chunks; a block combines those of
    /// more chunks.
    Chunks {
        /// The number of chunks, at most [`CHUNKS`].
        chunks: u32,
        /// The number of vectors in a chunk; the last chunk may have fewer.
        vectors: u32,
    },
}

impl Shape {
    /// Returns the number of threads in a block. A smaller block starts sooner.
    pub fn threads(self) -> u32 {
        match self {
            Shape::Block { threads } => threads,
            Shape::Spread { .. } => 256,
            Shape::Chunks { .. } => 512,
        }
    }

    /// Returns the number of chunks.
    pub fn chunks(self) -> u32 {
        match self {
            Shape::Block { .. } => 1,
            Shape::Spread { chunks, .. } | Shape::Chunks { chunks, .. } => chunks,
        }
    }

    /// Returns the number of vectors in a chunk. For a single block, returns the maximum number of
    /// vectors in the chunk.
    pub fn vectors(self) -> u32 {
        match self {
            Shape::Block { threads } => threads * 4,
            Shape::Spread { vectors, .. } | Shape::Chunks { vectors, .. } => vectors,
        }
    }

    /// Returns the number of values that blocks publish to the last block.
    pub fn values(self) -> u32 {
        match self {
            Shape::Block { .. } => 0,
            Shape::Spread { chunks, .. } => chunks * self.threads() / 32,
            Shape::Chunks { chunks, .. } => chunks,
        }
    }
}

const KIB: u64 = 1 << 10;

/// The largest size, in KiB, for each shape. The sizes were measured on an H200.
///
/// A single warp needs no barrier. One block is fastest while each thread has few loads. For longer
/// slices, eight blocks are fastest; for still longer slices, the fastest number of chunks is the
/// number that one warp can collect, or the number that a large device runs at the same time. From
/// 16 to 24 MiB, 192 chunks are read faster than 256 chunks, whose addresses would be nearly a
/// power of two apart.
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

/// The size in bytes of a chunk, for slices larger than the sizes in the table.
const LARGE: u64 = 512 * KIB;

/// The number of threads of a single block, or the number of chunks.
#[derive(Clone, Copy)]
enum Cut {
    Block(u32),
    Spread(u64),
    Chunks(u64),
}

/// A chunk's length is a multiple of this number of vectors, which fill a cache line of 128 bytes.
const GRAIN: u64 = 8;

/// Returns the shape for `n` elements of `size` bytes, or `None` for more than [`LONGEST`] bytes.
///
/// Chunks have equal sizes, so that all blocks end at about the same time. The longest slices have
/// more chunks than a device can have resident blocks; a block then draws a ticket for each further
/// chunk.
pub fn pick(n: u64, size: u64) -> Option<Shape> {
    let bytes = n.checked_mul(size).filter(|bytes| *bytes <= LONGEST)?;
    let vectors = bytes.div_ceil(16);
    let even = |chunks: u64| vectors.div_ceil(chunks).next_multiple_of(GRAIN);
    let chunks = |each: u64| vectors.div_ceil(each) as u32;
    let line = TABLE.iter().find(|(kib, _)| bytes <= kib * KIB);
    Some(match line.map(|(_, cut)| *cut) {
        Some(Cut::Block(threads)) => Shape::Block { threads },
        Some(Cut::Spread(count)) => {
            Shape::Spread { chunks: chunks(even(count)), vectors: even(count) as u32 }
        }
        Some(Cut::Chunks(count)) => {
            Shape::Chunks { chunks: chunks(even(count)), vectors: even(count) as u32 }
        }
        None => {
            let each = LARGE.max(bytes.div_ceil(CHUNKS).next_power_of_two()) / 16;
            Shape::Chunks { chunks: chunks(each), vectors: each as u32 }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns sizes around every boundary of the table and around every power of two, in bytes.
    fn bytes() -> impl Iterator<Item = u64> {
        let powers = (0..46).map(|bits| 1u64 << bits);
        let edges = TABLE.iter().map(|(kib, _)| kib * KIB);
        let around = |at: u64| [-2040, -16, -8, -2, 0, 2, 8, 16, 104].map(|by| at as i64 + by);
        powers.chain(edges).flat_map(around).filter(|bytes| *bytes >= 0).map(|bytes| bytes as u64)
    }

    #[test]
    fn small_slices_take_one_block() {
        assert_eq!(pick(0, 4), Some(Shape::Block { threads: 32 }));
        assert_eq!(pick(512, 4), Some(Shape::Block { threads: 32 }));
        assert_eq!(pick(513, 4), Some(Shape::Block { threads: 256 }));
        assert_eq!(pick(4096, 4), Some(Shape::Block { threads: 256 }));
        assert_eq!(pick(4097, 4), Some(Shape::Block { threads: 1024 }));
        assert_eq!(pick(12 << 10, 4), Some(Shape::Block { threads: 1024 }));
        assert_eq!(pick(1 << 14, 4), Some(Shape::Spread { chunks: 8, vectors: 512 }));
        assert_eq!(pick(48 << 10, 4), Some(Shape::Spread { chunks: 8, vectors: 1536 }));
    }

    #[test]
    fn chunks_are_even_between_powers_of_two() {
        assert_eq!(pick(1 << 18, 4), Some(Shape::Chunks { chunks: 32, vectors: 2048 }));
        assert_eq!(pick(1_400_000, 4), Some(Shape::Chunks { chunks: 160, vectors: 2192 }));
        assert_eq!(pick(1 << 24, 4), Some(Shape::Chunks { chunks: 256, vectors: 16384 }));
        assert_eq!(pick(1 << 28, 4), Some(Shape::Chunks { chunks: 256, vectors: 262_144 }));
        assert_eq!(pick(1 << 30, 4), Some(Shape::Chunks { chunks: 8192, vectors: 32768 }));
        assert_eq!(pick(1 << 32, 4), Some(Shape::Chunks { chunks: 16384, vectors: 65536 }));
    }

    #[test]
    fn each_warp_of_a_spread_and_each_of_many_chunks_has_a_value() {
        assert_eq!(Shape::Block { threads: 1024 }.values(), 0);
        assert_eq!(Shape::Spread { chunks: 8, vectors: 512 }.values(), 64);
        assert_eq!(Shape::Chunks { chunks: 160, vectors: 2192 }.values(), 160);
    }

    #[test]
    fn every_chunk_has_vectors_and_all_are_added() {
        for (bytes, size) in bytes().flat_map(|bytes| [2, 4, 8].map(|size| (bytes, size))) {
            let shape = pick(bytes / size, size).unwrap();
            let all = (bytes / size * size).div_ceil(16);
            let (chunks, vectors) = (u64::from(shape.chunks()), u64::from(shape.vectors()));
            assert!(chunks * vectors >= all, "{bytes} bytes: {shape:?}");
            assert!(chunks == 1 || (chunks - 1) * vectors < all, "{bytes} bytes: {shape:?}");
            assert!(chunks <= CHUNKS && vectors <= 1 << 28, "{bytes} bytes: {shape:?}");
        }
    }

    #[test]
    fn all_loads_of_small_shapes_are_in_flight_at_once() {
        for bytes in bytes() {
            match pick(bytes, 1) {
                Some(Shape::Block { threads }) => assert!(bytes <= u64::from(threads) * 4 * 16),
                Some(Shape::Spread { chunks, vectors }) => {
                    assert!(
                        chunks == 8 && vectors <= 256 * 8,
                        "{bytes} bytes: {chunks} of {vectors}"
                    )
                }
                _ => {}
            }
        }
    }

    #[test]
    fn too_many_elements_have_no_shape() {
        assert!(pick(LONGEST / 4, 4).is_some());
        assert_eq!(pick(LONGEST / 4 + 1, 4), None);
        assert_eq!(pick(u64::MAX, 8), None);
        for power in 31..34 {
            for n in [(1u64 << power) - 1, 1 << power, (1 << power) + 1, (1 << power) + 13] {
                let Some(Shape::Chunks { chunks, vectors }) = pick(n, 2) else { panic!("{n}") };
                assert!(u64::from(chunks) * u64::from(vectors) * 8 >= n, "{n}");
            }
        }
    }
}
