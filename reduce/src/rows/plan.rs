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

/// Where rows and their sums begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Whether every row begins with a word and has whole ones; of rows shorter than one, whether the
    /// first begins with one.
    pub rows: bool,
    /// Whether the sums do.
    pub sums: bool,
}

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
                shape::Shape::Spread { .. } => Family::Spread { aligned },
                _ => Family::Chunks { aligned },
            };
            let shares = slice.parts().div_ceil(each);
            let items = count.saturating_mul(shares.into());
            // Who waits for others waits for those that run: all do.
            let most = if shares > 1 { u64::from(resident(family).max(1)) } else { MOST };
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

    /// Warps that stay have no more blocks than eight times what runs at once; all others have a block for
    /// every so many rows, however few run.
    #[test]
    fn blocks_that_stay_are_few() {
        let begin = Begin { rows: false, sums: true };
        let grid = |count, elements| {
            let rows = Rows::new(count, elements);
            plan(rows, pick(rows, 4).unwrap(), begin, |_| 100).unwrap().grid
        };
        assert_eq!((grid(10_000_000, 9), grid(10_000_000, 33)), (800, 800));
        assert_eq!(grid(1000, 33), 250);
        assert_eq!((grid(1 << 24, 16), grid(1 << 20, 256)), (1 << 18, 1 << 17));
    }
}
