//! Which kernel, in which shape: a pure function of the number of bytes.

/// Threads of every block.
pub const THREADS: u32 = 512;

/// The most chunks that there are; mail for so many has a place on the device.
pub const CHUNKS: u64 = 16384;

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One block, that many words of 16 bytes a thread.
    Block {
        /// Two or eight.
        words: u32,
    },
    /// One cluster.
    Cluster {
        /// Eight or sixteen.
        blocks: u32,
        /// Two or four.
        words: u32,
    },
    /// As many blocks as the device holds, and chunks that they draw.
    Chunks {
        /// Elements of a chunk.
        chunk: u64,
        /// How many there are.
        count: u32,
    },
}

const KIB: u64 = 1 << 10;

/// The shape for `n` elements of `size` bytes, on a device with clusters or without.
///
/// A block loads 64 KiB before a second one would have been started. A cluster of sixteen has eight
/// times that before its blocks would have to be more. Beyond, 64 chunks keep the memory busy until
/// they are 64 KiB; 2048 of them end together; and none is larger than 1 MiB as long as there is mail.
pub fn pick(n: u64, size: u64, clusters: bool) -> Shape {
    let bytes = n * size;
    match bytes.div_ceil(KIB) {
        ..=16 => Shape::Block { words: 2 },
        17..=64 => Shape::Block { words: 8 },
        65..=128 if clusters => Shape::Cluster { blocks: 8, words: 2 },
        129..=256 if clusters => Shape::Cluster { blocks: 16, words: 2 },
        257..=512 if clusters => Shape::Cluster { blocks: 16, words: 4 },
        _ => {
            let few = (bytes / 64).next_power_of_two().clamp(16 * KIB, 64 * KIB);
            let many = (bytes / 2048).next_power_of_two().min(1024 * KIB);
            let most = bytes.div_ceil(CHUNKS).next_power_of_two();
            let chunk = few.max(many).max(most) / size;
            Shape::Chunks { chunk, count: n.div_ceil(chunk) as u32 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sums_take_one_block_or_cluster() {
        assert_eq!(pick(0, 4, true), Shape::Block { words: 2 });
        assert_eq!(pick(4096, 4, true), Shape::Block { words: 2 });
        assert_eq!(pick(4097, 4, false), Shape::Block { words: 8 });
        assert_eq!(pick(1 << 14, 4, true), Shape::Block { words: 8 });
        assert_eq!(pick(1 << 15, 4, true), Shape::Cluster { blocks: 8, words: 2 });
        assert_eq!(pick(1 << 17, 4, true), Shape::Cluster { blocks: 16, words: 4 });
        assert_eq!(pick(1 << 15, 4, false), Shape::Chunks { chunk: 4096, count: 8 });
    }

    #[test]
    fn a_block_or_cluster_holds_all_that_it_is_given() {
        for n in (0..20).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1]) {
            for size in [2, 4, 8] {
                let room = match pick(n, size, true) {
                    Shape::Block { words } => words,
                    Shape::Cluster { blocks, words } => blocks * words,
                    Shape::Chunks { .. } => continue,
                };
                assert!(n * size <= u64::from(room * THREADS) * 16, "{n} of {size}");
            }
        }
    }

    #[test]
    fn there_is_mail_for_all_chunks() {
        for n in (18..40).flat_map(|bits| [1u64 << bits, (1 << bits) + 13]) {
            for size in [2, 4, 8] {
                let Shape::Chunks { chunk, count } = pick(n, size, false) else { continue };
                assert!(
                    u64::from(count) <= CHUNKS && chunk * u64::from(count) >= n,
                    "{n} of {size}"
                );
                assert!(chunk * (u64::from(count) - 1) < n, "{n} of {size}");
                assert!((chunk * size).is_multiple_of(16 * KIB) && chunk <= 1 << 31);
            }
        }
    }
}
