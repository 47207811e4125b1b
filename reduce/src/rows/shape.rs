//! How rows are shared out: a pure function of how many there are, of their length, and of an
//! element's size. It changes no bit: the order goes by the length alone.

use super::Rows;
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

/// Warps that keep a large device busy, and blocks that it runs at once.
const WARPS: u64 = 132 * 32;
const BLOCKS: u64 = 264;

/// Values of a row that one block has room for.
const KEPT: u32 = 256;

/// The shape for rows of elements of that size.
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
            let warps = (count * u64::from(lanes)).div_ceil(32);
            // With few rows, more warps have one each; with fewer still, more blocks have a warp.
            let turns = [4, 2].into_iter().find(|turns| warps / turns >= WARPS).unwrap_or(1);
            let threads = if warps / turns >= 4 * WARPS { 256 } else { 64 };
            Shape::Lanes { lanes, turns: turns as u32, threads }
        }
        shape::Shape::Block { threads } => {
            let quarters = threads == 1024;
            // So many words of a thread as four rows of one word have.
            let most = if quarters { 1 } else { 4 / words.div_ceil(256).next_power_of_two() };
            let turns =
                [4, 2].into_iter().find(|turns| *turns <= most && count / turns >= 4 * BLOCKS);
            Shape::Block { quarters, turns: turns.unwrap_or(1) as u32 }
        }
        shape::Shape::Spread { parts, .. } | shape::Shape::Chunks { parts, .. } => {
            Shape::Parts { slice, each: each(count, parts) }
        }
    })
}

/// Parts that one block adds: as many blocks as run at once, if there are not more rows.
fn each(count: u64, parts: u32) -> u32 {
    let shares = (BLOCKS / count).clamp(1, u64::from(parts)) as u32;
    parts.div_ceil(shares).min(KEPT)
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
                        Shape::Lanes { lanes, turns, threads } => {
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
    fn one_row_is_a_slice() {
        let slice = shape::pick(1 << 20, 4).unwrap();
        assert_eq!(pick(Rows::new(1, 1 << 20), 4), Some(Shape::One(slice)));
    }
}
