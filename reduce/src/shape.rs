//! Which kernel, in which shape: a pure function of the number of bytes.

/// The most chunks that there are; mail for so many has a place on the device.
pub const CHUNKS: u64 = 16384;

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One block, that many words of 16 bytes a thread.
    Block {
        /// Four or eight.
        words: u32,
    },
    /// One cluster.
    Cluster {
        /// Eight or sixteen.
        blocks: u32,
        /// Four or eight.
        words: u32,
    },
    /// As many blocks as the device holds, and chunks that they draw.
    Chunks {
        /// Elements of a chunk.
        chunk: u32,
        /// How many there are.
        count: u32,
    },
}

impl Shape {
    /// Threads of a block. The fewer of them, the sooner the block has started.
    pub fn threads(self) -> u32 {
        match self {
            Shape::Block { words: 4 } | Shape::Cluster { .. } => 256,
            Shape::Block { .. } => 512,
            Shape::Chunks { .. } => CHUNK_THREADS,
        }
    }
}

/// Threads of a block that draws chunks.
pub(crate) const CHUNK_THREADS: u32 = 1024;

const KIB: u64 = 1 << 10;

/// The shape for `n` elements of `size` bytes, on a device with clusters or without.
///
/// A block loads 64 KiB before a second one would have been started. A cluster of sixteen has eight
/// times that before its blocks would have to be more. Beyond, there are at first no more chunks than
/// one warp can add, then as many as a large device runs at once; from 64 MiB on they are so small
/// that blocks end together, and there is mail for all of them.
pub fn pick(n: u64, size: u64, clusters: bool) -> Shape {
    let bytes = n * size;
    let power = |chunks: u64| (bytes / chunks).next_power_of_two() / KIB;
    let kib = match bytes.div_ceil(KIB) {
        0..=16 => return Shape::Block { words: 4 },
        17..=64 => return Shape::Block { words: 8 },
        65..=128 if clusters => return Shape::Cluster { blocks: 8, words: 4 },
        129..=256 if clusters => return Shape::Cluster { blocks: 16, words: 4 },
        257..=512 if clusters => return Shape::Cluster { blocks: 16, words: 8 },
        65..=1024 => power(32).clamp(16, 32),
        1025..=4096 => power(64),
        4097..=8192 => power(128),
        8193..=65536 => power(256),
        _ => power(8192).clamp(64, 256),
    };
    let chunk = (kib * KIB).max(bytes.div_ceil(CHUNKS).next_power_of_two()) / size;
    Shape::Chunks { chunk: chunk as u32, count: n.div_ceil(chunk) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sums_take_one_block_or_cluster() {
        assert_eq!(pick(0, 4, true), Shape::Block { words: 4 });
        assert_eq!(pick(4096, 4, true), Shape::Block { words: 4 });
        assert_eq!(pick(4097, 4, false), Shape::Block { words: 8 });
        assert_eq!(pick(1 << 14, 4, true), Shape::Block { words: 8 });
        assert_eq!(pick(1 << 15, 4, true), Shape::Cluster { blocks: 8, words: 4 });
        assert_eq!(pick(1 << 17, 4, true), Shape::Cluster { blocks: 16, words: 8 });
        assert_eq!(pick(1 << 15, 4, false), Shape::Chunks { chunk: 4096, count: 8 });
    }

    #[test]
    fn a_block_or_cluster_holds_all_that_it_is_given() {
        for n in (0..20).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1]) {
            for size in [2, 4, 8] {
                let shape = pick(n, size, true);
                let room = match shape {
                    Shape::Block { words } => words,
                    Shape::Cluster { blocks, words } => blocks * words,
                    Shape::Chunks { .. } => continue,
                };
                assert!(n * size <= u64::from(room * shape.threads()) * 16, "{n} of {size}");
            }
        }
    }

    #[test]
    fn there_is_mail_for_all_chunks() {
        for n in (18..40).flat_map(|bits| [1u64 << bits, (1 << bits) + 13]) {
            for size in [2, 4, 8] {
                let Shape::Chunks { chunk, count } = pick(n, size, false) else { continue };
                assert!(
                    u64::from(count) <= CHUNKS && u64::from(chunk) * u64::from(count) >= n,
                    "{n} of {size}"
                );
                assert!(u64::from(chunk) * (u64::from(count) - 1) < n, "{n} of {size}");
                assert!((u64::from(chunk) * size).is_multiple_of(16 * KIB) && chunk <= 1 << 31);
            }
        }
    }
}
