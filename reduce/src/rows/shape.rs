//! Selects the threads that add a row, as a pure function of the number of rows, their length, and
//! the element size. The threads do not affect the result, because the order of the additions
//! depends on the length alone.

use super::layout::Rows;
use crate::shape;

/// The threads that add a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One thread, for rows shorter than a vector.
    Short,
    /// Several lanes of a warp, for rows of up to 2 KiB.
    Lanes {
        /// The number of lanes that share a row, which is a power of two.
        lanes: u32,
        /// The number of rows that these lanes add at the same time: 1, 2 or 4.
        at_once: u32,
        /// The number of threads in a block.
        threads: u32,
        /// Whether a few blocks loop over all rows; otherwise, there is one block for every few
        /// rows.
        persistent: bool,
    },
    /// One block, for rows of up to 48 KiB.
    Block {
        /// Whether the block adds one row in the order of a block with four times as many threads.
        quarters: bool,
        /// The number of rows that the block adds at the same time: up to 4, or 1 with `quarters`.
        at_once: u32,
    },
    /// One or more blocks, for rows of more than 48 KiB.
    Chunks {
        /// The shape of a slice that is as long as a row.
        slice: shape::Shape,
        /// The number of chunks that one block adds.
        each: u32,
    },
    /// The shape of a slice, because there is only one row.
    One(shape::Shape),
}

/// The number of blocks of the chunk kernels that are resident at the same time on a large device.
const BLOCKS: u64 = 264;

/// The maximum number of values of a row that one block can store.
const ROOM: u32 = 256;

/// Returns the shape for rows whose elements have `size` bytes, or `None` if the rows are too long.
/// The limits were measured on an H200.
pub fn pick(rows: Rows, size: u64) -> Option<Shape> {
    let (count, elements, _) = rows.numbers();
    let slice = shape::pick(elements, size)?;
    if count == 1 {
        return Some(Shape::One(slice));
    }
    let vectors = (elements * size).div_ceil(16);
    Some(match slice {
        _ if elements * size < 16 => Shape::Short,
        shape::Shape::Block { threads: 32 } => {
            let lanes = vectors.next_power_of_two().min(32) as u32;
            let warps = count.saturating_mul(lanes.into()) / 32;
            // Four rows that are added at the same time share their shuffles. If there are few
            // rows, or the rows are long, it is faster to add one row at a time, with more of its
            // vectors in flight.
            let whole = (elements * size).is_multiple_of(16);
            let at_once = match warps {
                _ if vectors > 96 && (whole || warps < 1 << 14) => 1,
                4096.. => 4,
                2048.. => 2,
                _ => 1,
            };
            // If lanes are idle, or if vectors are read element by element, persistent warps are
            // faster than one-shot warps.
            let full = whole && vectors.is_power_of_two();
            let persistent = warps >= 1 << 15 && vectors <= 64 && !full;
            let threads = if persistent || (2048..1 << 15).contains(&warps) { 256 } else { 64 };
            Shape::Lanes { lanes, at_once, threads, persistent }
        }
        shape::Shape::Block { threads } => {
            let quarters = threads == 1024;
            let at_once = match count {
                _ if quarters => 1,
                1024.. => 4,
                512.. => 2,
                _ => 1,
            };
            Shape::Block { quarters, at_once }
        }
        shape::Shape::Spread { chunks, .. } | shape::Shape::Chunks { chunks, .. } => {
            Shape::Chunks { slice, each: each(count, chunks) }
        }
    })
}

/// Returns the number of chunks that one block adds, chosen so that the blocks end at about the
/// same time, after as few waves as possible.
fn each(count: u64, chunks: u32) -> u32 {
    let (chunks, most) = (u64::from(chunks), if chunks <= ROOM { chunks } else { ROOM });
    let each = |waves: u64| {
        let groups = (waves * BLOCKS / count).clamp(1, chunks);
        chunks.div_ceil(groups).min(most.into())
    };
    // The cost is the work of the block slot that ends last, in eighths of a chunk, plus a small
    // cost for each block. This small cost is larger if the block publishes messages. A new block
    // starts as soon as another ends, and each block reads faster if only a few blocks are
    // resident. A last wave of whole rows therefore costs two thirds of a full wave, or the
    // fraction that it fills if that is larger.
    let all = u128::from(BLOCKS);
    let cost = |each: &u64| {
        let (blocks, messages) =
            (u128::from(count) * u128::from(chunks.div_ceil(*each)), *each < chunks);
        let last = match blocks % all {
            0 => 0,
            _ if messages || blocks < all => 3 * all,
            rest => (3 * rest).max(2 * all),
        };
        (blocks / all * 3 * all + last) * u128::from(8 * each + if messages { 2 } else { 1 })
    };
    (1..=16).map(each).min_by_key(cost).unwrap_or(1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_lost() {
        for size in [2, 4, 8] {
            for elements in [1, 2, 3, 5, 33, 513, 5000, 20_000, 200_001, 1 << 20, 1 << 32] {
                for count in [2, 3, 33, 1025, 1 << 20, 1 << 31] {
                    let shape = pick(Rows::new(count, elements), size).unwrap();
                    let vectors = (elements * size).div_ceil(16);
                    match shape {
                        Shape::Short => assert!(elements * size < 16),
                        Shape::Lanes { lanes, at_once, threads, .. } => {
                            assert!(lanes.is_power_of_two() && lanes <= 32, "{shape:?}");
                            assert!(vectors <= u64::from(lanes) || lanes == 32, "{shape:?}");
                            assert!([1, 2, 4].contains(&at_once), "{shape:?}");
                            assert!(threads % 32 == 0 && threads <= 256, "{shape:?}");
                        }
                        Shape::Block { quarters, at_once } => {
                            assert!(at_once == 1 || (!quarters && at_once <= 4), "{shape:?}");
                        }
                        Shape::Chunks { slice, each } => {
                            assert!(each >= 1 && each <= slice.chunks().min(ROOM), "{shape:?}");
                        }
                        Shape::One(_) => panic!("{count} rows"),
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_end_together() {
        let each = |count, chunks| super::each(count, chunks);
        // One wave: as many blocks as can be resident.
        assert_eq!((each(2, 256), each(16, 32), each(256, 160), each(64, 256)), (2, 2, 160, 64));
        // With one block per row, 178 rows would leave a third of a wave idle, and 383 rows would
        // leave half of the second wave idle.
        assert!(each(178, 160) < 160 && each(383, 160) < 160);
        // Nearly two waves are as good as two full waves.
        assert_eq!(each(480, 48), 48);
        assert_eq!(each(1 << 20, 32), 32);
        // Five blocks for each of 100 rows make two waves of 32 chunks; eighteen blocks would make
        // seven waves of nine chunks, and would need messages.
        assert_eq!((each(100, 160), each(100, 32)), (32, 7));
    }

    #[test]
    fn a_thread_adds_rows_below_a_vector_and_lanes_those_to_2_kib() {
        let of = |count, elements| pick(Rows::new(count, elements), 4).unwrap();
        let lanes =
            |lanes, at_once, threads| Shape::Lanes { lanes, at_once, threads, persistent: false };
        assert_eq!([3, 4].map(|elements| of(33, elements)), [Shape::Short, lanes(1, 1, 64)]);
        // For rows of 8 vectors, two rows are added at a time if there are at least 2048 warps, and
        // four if there are at least 4096. From 2048 warps to 2^15 - 1 warps, the blocks are larger.
        for (count, at_once, threads) in [
            ((1 << 13) - 4, 1, 64),
            (1 << 13, 2, 256),
            ((1 << 14) - 4, 2, 256),
            (1 << 14, 4, 256),
            ((1 << 17) - 4, 4, 256),
            (1 << 17, 4, 64),
        ] {
            assert_eq!(of(count, 32), lanes(8, at_once, threads), "{count}");
        }
        // Rows of more than 96 whole vectors are added one at a time. If the last vector of such
        // long rows is incomplete, the rows are added one at a time only if there are few of them.
        assert_eq!([384, 385, 388].map(|n| of(1 << 20, n)), [4, 4, 1].map(|at| lanes(32, at, 64)));
        assert_eq!(
            [(1 << 14) - 1, 1 << 14].map(|m| of(m, 385)),
            [1, 4].map(|at| lanes(32, at, 256))
        );
    }

    #[test]
    fn warps_are_persistent_where_lanes_are_idle_or_a_vector_is_incomplete() {
        let persistent = |count, elements| {
            let shape = pick(Rows::new(count, elements), 4).unwrap();
            matches!(shape, Shape::Lanes { persistent: true, threads: 256, .. })
        };
        // The three lengths are 9 vectors for 16 lanes, 8 vectors of which the last is incomplete,
        // and 8 whole vectors.
        assert_eq!([36, 31, 32].map(|elements| persistent(1 << 20, elements)), [true, true, false]);
        // Persistent warps are not used for fewer than 2^15 warps, which end at about the time at
        // which further warps would begin, or for 65 vectors, which take more than two iterations.
        assert_eq!([persistent((1 << 16) - 2, 36), persistent(1 << 16, 36)], [false, true]);
        assert_eq!([persistent(1 << 20, 255), persistent(1 << 20, 257)], [true, false]);
    }

    #[test]
    fn a_block_adds_more_rows_at_once_if_there_are_many() {
        let of = |count, elements| pick(Rows::new(count, elements), 4).unwrap();
        for (count, at_once) in [(511, 1), (512, 2), (1023, 2), (1024, 4)] {
            assert_eq!(of(count, 1024), Shape::Block { quarters: false, at_once }, "{count}");
            assert_eq!(of(count, 5000), Shape::Block { quarters: true, at_once: 1 }, "{count}");
        }
    }

    #[test]
    fn one_row_is_a_slice() {
        let slice = shape::pick(1 << 20, 4).unwrap();
        assert_eq!(pick(Rows::new(1, 1 << 20), 4), Some(Shape::One(slice)));
    }
}
