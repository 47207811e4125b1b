//! How rows are shared out: a pure function of how many there are, of their length, and of an
//! element's size. It changes no bit: the order goes by the length alone.

use super::layout::Rows;
use crate::shape;

/// Who adds a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A thread; less than a word.
    Short,
    /// Lanes of a warp; up to 2 KiB.
    Lanes {
        /// Lanes that share a row: a power of two.
        lanes: u32,
        /// Rows that these lanes have at once: 1, 2 or 4.
        turns: u32,
        /// Threads of a block.
        threads: u32,
        /// Whether there are no more blocks than a device has room for a few times.
        stay: bool,
    },
    /// A block; up to 48 KiB.
    Block {
        /// Whether it adds as one of four times as many threads.
        quarters: bool,
        /// Rows that it has at once: up to 4, and one of quarters.
        turns: u32,
    },
    /// A block or several, part by part.
    Parts {
        /// How a slice of that length is cut.
        slice: shape::Shape,
        /// Parts that one block adds.
        each: u32,
    },
    /// As a slice: there is one row.
    One(shape::Shape),
}

/// Blocks that a large device runs at once, of those that add parts.
const BLOCKS: u64 = 264;

/// Values of a row that one block has room for.
const KEPT: u32 = 256;

/// The shape for rows of elements of that size. Measured on an H200.
pub fn pick(rows: Rows, size: u64) -> Option<Shape> {
    let (count, elements, _) = rows.numbers();
    let slice = shape::pick(elements, size)?;
    if count == 1 {
        return Some(Shape::One(slice));
    }
    let words = (elements * size).div_ceil(16);
    Some(match slice {
        _ if elements * size < 16 => Shape::Short,
        shape::Shape::Block { threads: 32 } => {
            let lanes = words.next_power_of_two().min(32) as u32;
            let warps = count.saturating_mul(lanes.into()) / 32;
            // Four rows at once share their shuffles; of few rows, or long ones, one has its words at once.
            let whole = (elements * size).is_multiple_of(16);
            let turns = match warps {
                _ if words > 96 && (whole || warps < 1 << 14) => 1,
                4096.. => 4,
                2048.. => 2,
                _ => 1,
            };
            // Where lanes are idle, or words are read element by element, warps that stay are faster than
            // warps that are replaced.
            let full = whole && words.is_power_of_two();
            let stay = warps >= 1 << 15 && words <= 64 && !full;
            let threads = if stay || (2048..1 << 15).contains(&warps) { 256 } else { 64 };
            Shape::Lanes { lanes, turns, threads, stay }
        }
        shape::Shape::Block { threads } => {
            let quarters = threads == 1024;
            let turns = match count {
                _ if quarters => 1,
                1024.. => 4,
                512.. => 2,
                _ => 1,
            };
            Shape::Block { quarters, turns }
        }
        shape::Shape::Spread { parts, .. } | shape::Shape::Chunks { parts, .. } => {
            Shape::Parts { slice, each: each(count, parts) }
        }
    })
}

/// Parts that one block adds: so many that blocks end together, whether they run at once or in a few
/// waves, the fewer the better.
fn each(count: u64, parts: u32) -> u32 {
    let (parts, most) = (u64::from(parts), if parts <= KEPT { parts } else { KEPT });
    let each = |waves: u64| {
        let shares = (waves * BLOCKS / count).clamp(1, parts);
        parts.div_ceil(shares).min(most.into())
    };
    // What the busiest place of the device adds, in eighths of a part, and a little for each block: more for
    // one that has mail. Whole rows are given out as blocks end, and few blocks read faster than all: so a
    // last wave of them takes two thirds of a full one, or as much as it has.
    let all = u128::from(BLOCKS);
    let cost = |each: &u64| {
        let (blocks, mail) = (u128::from(count) * u128::from(parts.div_ceil(*each)), *each < parts);
        let last = match blocks % all {
            0 => 0,
            _ if mail || blocks < all => 3 * all,
            rest => (3 * rest).max(2 * all),
        };
        (blocks / all * 3 * all + last) * u128::from(8 * each + if mail { 2 } else { 1 })
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
                    let words = (elements * size).div_ceil(16);
                    match shape {
                        Shape::Short => assert!(elements * size < 16),
                        Shape::Lanes { lanes, turns, threads, .. } => {
                            assert!(lanes.is_power_of_two() && lanes <= 32, "{shape:?}");
                            assert!(words <= u64::from(lanes) || lanes == 32, "{shape:?}");
                            assert!([1, 2, 4].contains(&turns), "{shape:?}");
                            assert!(threads % 32 == 0 && threads <= 256, "{shape:?}");
                        }
                        Shape::Block { quarters, turns } => {
                            assert!(turns == 1 || (!quarters && turns <= 4), "{shape:?}");
                        }
                        Shape::Parts { slice, each } => {
                            assert!(each >= 1 && each <= slice.parts().min(KEPT), "{shape:?}");
                        }
                        Shape::One(_) => panic!("{count} rows"),
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_end_together() {
        let each = |count, parts| super::each(count, parts);
        // At once: as many blocks as a device runs.
        assert_eq!((each(2, 256), each(16, 32), each(256, 160), each(64, 256)), (2, 2, 160, 64));
        // 178 blocks would leave a third of it idle, and 383 half of the second wave.
        assert!(each(178, 160) < 160 && each(383, 160) < 160);
        // Nearly two waves are as good as two.
        assert_eq!(each(480, 48), 48);
        assert_eq!(each(1 << 20, 32), 32);
        // Five blocks for each of 100 rows are two waves of 32 parts; eighteen would be seven of nine, and mail.
        assert_eq!((each(100, 160), each(100, 32)), (32, 7));
    }

    #[test]
    fn a_row_below_a_word_is_a_thread_s_and_one_to_2_kib_a_part_of_a_warp_s() {
        let of = |count, elements| pick(Rows::new(count, elements), 4).unwrap();
        let lanes = |lanes, turns, threads| Shape::Lanes { lanes, turns, threads, stay: false };
        assert_eq!([3, 4].map(|elements| of(33, elements)), [Shape::Short, lanes(1, 1, 64)]);
        // Rows of 8 words: from 2048 warps on two at once, from 4096 on four; larger blocks up to 2^15.
        for (count, turns, threads) in [
            ((1 << 13) - 4, 1, 64),
            (1 << 13, 2, 256),
            ((1 << 14) - 4, 2, 256),
            (1 << 14, 4, 256),
            ((1 << 17) - 4, 4, 256),
            (1 << 17, 4, 64),
        ] {
            assert_eq!(of(count, 32), lanes(8, turns, threads), "{count}");
        }
        // Of more than 96 whole words one row at once; where the last is not whole, of few rows alone.
        assert_eq!([384, 385, 388].map(|n| of(1 << 20, n)), [4, 4, 1].map(|at| lanes(32, at, 64)));
        assert_eq!(
            [(1 << 14) - 1, 1 << 14].map(|m| of(m, 385)),
            [1, 4].map(|at| lanes(32, at, 256))
        );
    }

    #[test]
    fn warps_stay_where_lanes_are_idle_or_a_word_is_not_whole() {
        let stay = |count, elements| {
            let shape = pick(Rows::new(count, elements), 4).unwrap();
            matches!(shape, Shape::Lanes { stay: true, threads: 256, .. })
        };
        // 9 words of 16 lanes; 8 words, the last not whole; 8 whole ones.
        assert_eq!([36, 31, 32].map(|elements| stay(1 << 20, elements)), [true, true, false]);
        // Fewer than 2^15 warps end as soon as others would begin; 65 words are more than two turns.
        assert_eq!([stay((1 << 16) - 2, 36), stay(1 << 16, 36)], [false, true]);
        assert_eq!([stay(1 << 20, 255), stay(1 << 20, 257)], [true, false]);
    }

    #[test]
    fn a_block_has_as_many_rows_at_once_as_there_are_enough_of() {
        let of = |count, elements| pick(Rows::new(count, elements), 4).unwrap();
        for (count, turns) in [(511, 1), (512, 2), (1023, 2), (1024, 4)] {
            assert_eq!(of(count, 1024), Shape::Block { quarters: false, turns }, "{count}");
            assert_eq!(of(count, 5000), Shape::Block { quarters: true, turns: 1 }, "{count}");
        }
    }

    #[test]
    fn one_row_is_a_slice() {
        let slice = shape::pick(1 << 20, 4).unwrap();
        assert_eq!(pick(Rows::new(1, 1 << 20), 4), Some(Shape::One(slice)));
    }
}
