//! One launch for rows: a pure function, so that the interpreter has the same one.

use super::{kernels::Family, layout::Rows, shape::Shape};
use crate::shape;

/// A launch of a kernel of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Which kernel.
    pub family: Family,
    /// Blocks, where as many can run at once as it asks for.
    pub grid: u32,
    /// Threads of a block.
    pub threads: u32,
    /// What the kernel is told of the shape.
    pub told: [u32; 3],
    /// Values that blocks hand to each other.
    pub values: u64,
}

/// More blocks than this are not launched: each has several rows then.
const MOST: u64 = 1 << 30;

/// Where rows and their sums begin, and how elements can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Whether every row begins with a word and has whole ones; of rows shorter than one, whether the
    /// first begins with one.
    pub rows: bool,
    /// Whether the sums do.
    pub sums: bool,
    /// Whether elements can be copied to shared memory in the background: on devices of compute
    /// capability 9 and newer, those of 4 bytes or more.
    pub copied: bool,
}

/// Words of a part from which on a thread has as many loads at once as it can of one part.
const LONG: u32 = 2560;

/// The launch of a shape, of a device that runs at most `resident` blocks of that kernel at once. None
/// for one row.
pub fn plan(
    rows: Rows,
    shape: Shape,
    begin: Begin,
    resident: impl FnOnce(Family) -> u32,
) -> Option<Plan> {
    let (count, elements, pitch) = rows.numbers();
    let aligned = begin.rows;
    let grid = |each: u64| count.div_ceil(each).min(MOST) as u32;
    Some(match shape {
        Shape::Short => Plan {
            family: Family::Short { aligned: begin.rows && begin.sums && pitch == elements },
            // Each thread has about four rows, or four words.
            grid: grid(1024),
            threads: 256,
            told: [0; 3],
            values: 0,
        },
        Shape::Lanes { lanes, turns, threads, stay } => {
            let family = Family::Lanes { aligned };
            let all = grid(u64::from(threads / lanes * turns));
            let most = if stay { resident(family).max(1).saturating_mul(8) } else { all };
            Plan { family, grid: all.min(most), threads, told: [lanes, turns, 0], values: 0 }
        }
        Shape::Block { quarters, turns } => Plan {
            family: Family::Block { aligned },
            grid: grid(turns.into()),
            threads: 256,
            told: [quarters.into(), turns, 0],
            values: 0,
        },
        Shape::Parts { slice, each } => {
            let family = match slice {
                shape::Shape::Spread { .. } if begin.copied && !aligned => Family::Ring,
                shape::Shape::Spread { .. } => Family::Spread { aligned },
                _ if !aligned && (slice.words() >= LONG || each == 1) => Family::Long,
                _ => Family::Chunks { aligned },
            };
            let shares = slice.parts().div_ceil(each);
            let items = count.saturating_mul(shares.into());
            // Who waits for others waits for those that run: all do. And a ring goes on to the next row.
            let few = shares > 1 || family == Family::Ring;
            let most = if few { u64::from(resident(family).max(1)) } else { MOST };
            Plan {
                family,
                grid: items.min(most) as u32,
                threads: slice.threads(),
                told: [slice.words(), slice.parts(), each],
                values: if shares > 1 { count * u64::from(slice.values()) } else { 0 },
            }
        }
        Shape::One(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::pick;

    const BEGIN: Begin = Begin { rows: true, sums: true, copied: true };

    fn planned(rows: Rows, shape: Shape, resident: u32) -> Plan {
        plan(rows, shape, BEGIN, |_| resident).unwrap()
    }

    #[test]
    fn a_block_has_as_many_rows_as_its_lanes_and_turns_hold() {
        let rows = Rows::new(1000, 32);
        let lanes = Shape::Lanes { lanes: 8, turns: 4, threads: 64, stay: false };
        // Eight rows of eight lanes, four times.
        assert_eq!(planned(rows, lanes, 1).grid, 1000u32.div_ceil(32));
        let block = Shape::Block { quarters: false, turns: 4 };
        assert_eq!((planned(rows, block, 1).grid, planned(rows, Shape::Short, 1).grid), (250, 1));
    }

    #[test]
    fn only_blocks_that_share_a_row_wait_and_have_values() {
        let rows = Rows::new(1000, 1 << 18);
        let slice = shape::pick(1 << 18, 4).unwrap();
        let parts = |each| Shape::Parts { slice, each };
        assert_eq!((slice.parts(), slice.values()), (32, 32));
        // One block a row waits for nobody: all are launched.
        let alone = planned(rows, parts(32), 264);
        assert_eq!((alone.grid, alone.values), (1000, 0));
        // Two blocks a row, of which no more than can run at once.
        let shared = planned(rows, parts(16), 264);
        assert_eq!((shared.grid, shared.values), (264, 32_000));
        assert_eq!(planned(rows, parts(16), 4000).grid, 2000);
    }

    /// Between words: rows of a few parts go round in a ring where elements can be copied, and of many
    /// parts long ones are added one by one.
    #[test]
    fn rows_between_words_have_kernels_of_their_own() {
        let of = |elements, each, copied| {
            let slice = shape::pick(elements, 4).unwrap();
            let begin = Begin { rows: false, copied, ..BEGIN };
            let each = if each == 0 { slice.parts() } else { each };
            let rows = Rows::new(1000, elements);
            let planned = plan(rows, Shape::Parts { slice, each }, begin, |_| 300).unwrap();
            (planned.family, planned.grid)
        };
        assert_eq!(of(20_001, 0, true), (Family::Ring, 300));
        assert_eq!(of(20_001, 0, false), (Family::Spread { aligned: false }, 1000));
        // 32 parts of 2559 words, or 2560.
        assert_eq!(of(32 * 2552 * 4, 0, true).0, Family::Chunks { aligned: false });
        assert_eq!(of(32 * 2552 * 4 + 1, 0, true), (Family::Long, 1000));
        // One part a block.
        assert_eq!(of(100_001, 1, true), (Family::Long, 300));
    }

    #[test]
    fn one_row_has_no_launch_of_rows() {
        let one = Shape::One(shape::pick(1 << 18, 4).unwrap());
        assert_eq!(plan(Rows::new(1, 1 << 18), one, BEGIN, |_| 1), None);
    }

    /// Warps that stay have no more blocks than eight times what runs at once; all others have a block for
    /// every so many rows, however few run.
    #[test]
    fn blocks_that_stay_are_few() {
        let begin = Begin { rows: false, sums: true, copied: true };
        let grid = |count, elements| {
            let rows = Rows::new(count, elements);
            plan(rows, pick(rows, 4).unwrap(), begin, |_| 100).unwrap().grid
        };
        assert_eq!((grid(10_000_000, 9), grid(10_000_000, 33)), (800, 800));
        assert_eq!(grid(1000, 33), 250);
        assert_eq!((grid(1 << 24, 16), grid(1 << 20, 256)), (1 << 18, 1 << 17));
    }
}
