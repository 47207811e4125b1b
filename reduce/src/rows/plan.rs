//! The launch for rows. A pure function computes the launch, so that the interpreter can use the
//! same launch.

use super::{kernels::Family, layout::Rows, shape::Shape};
use crate::shape;

/// A launch of a kernel for rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The family of the kernel.
    pub family: Family,
    /// The number of blocks.
    pub grid: u32,
    /// The number of threads in a block.
    pub threads: u32,
    /// The kernel's arguments for the shape.
    pub shape: [u32; 3],
    /// The number of values that blocks publish to each other.
    pub values: u64,
}

/// The size of the largest grid. If there are more rows, each block adds several.
const MOST: u64 = 1 << 30;

/// The alignment of rows and sums, and whether elements can be copied asynchronously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Whether every row is aligned to a vector and consists of whole vectors; for rows shorter
    /// than a vector, whether the first row is aligned.
    pub rows: bool,
    /// Whether the sums are aligned to a vector.
    pub sums: bool,
    /// Whether elements can be copied asynchronously to shared memory, which devices of compute
    /// capability 9 and newer can do for elements of at least 4 bytes.
    pub copied: bool,
}

/// The smallest number of vectors in a chunk that lets a thread have the maximum number of loads in
/// flight within that chunk.
const LONG: u32 = 2560;

/// Returns the launch for a shape on a device where at most `resident(family)` blocks of a kernel
/// are resident at the same time. Returns `None` for a single row, which is launched as a slice.
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
            // Each thread adds about four rows, or the rows in about four vectors.
            grid: grid(1024),
            threads: 256,
            shape: [0; 3],
            values: 0,
        },
        Shape::Lanes { lanes, at_once, threads, persistent } => {
            let family = Family::Lanes { aligned };
            let all = grid(u64::from(threads / lanes * at_once));
            let most = if persistent { resident(family).max(1).saturating_mul(8) } else { all };
            Plan { family, grid: all.min(most), threads, shape: [lanes, at_once, 0], values: 0 }
        }
        Shape::Block { quarters, at_once } => Plan {
            family: Family::Block { aligned },
            grid: grid(at_once.into()),
            threads: 256,
            shape: [quarters.into(), at_once, 0],
            values: 0,
        },
        Shape::Chunks { slice, each } => {
            let family = match slice {
                shape::Shape::Spread { .. } if begin.copied && !aligned => Family::Ring,
                shape::Shape::Spread { .. } => Family::Spread { aligned },
                _ if !aligned && (slice.vectors() >= LONG || each == 1) => Family::Long,
                _ => Family::Chunks { aligned },
            };
            let groups = slice.chunks().div_ceil(each);
            let items = count.saturating_mul(groups.into());
            // Blocks that wait for each other must all be resident, and the blocks of a ring
            // continue with the next row.
            let few = groups > 1 || family == Family::Ring;
            let most = if few { u64::from(resident(family).max(1)) } else { MOST };
            Plan {
                family,
                grid: items.min(most) as u32,
                threads: slice.threads(),
                shape: [slice.vectors(), slice.chunks(), each],
                values: if groups > 1 { count * u64::from(slice.values()) } else { 0 },
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
    fn a_block_has_as_many_rows_as_its_lanes_hold() {
        let rows = Rows::new(1000, 32);
        let lanes = Shape::Lanes { lanes: 8, at_once: 4, threads: 64, persistent: false };
        // Each warp adds rows with eight lanes each, four rows at a time.
        assert_eq!(planned(rows, lanes, 1).grid, 1000u32.div_ceil(32));
        let block = Shape::Block { quarters: false, at_once: 4 };
        assert_eq!((planned(rows, block, 1).grid, planned(rows, Shape::Short, 1).grid), (250, 1));
    }

    #[test]
    fn only_blocks_that_share_a_row_wait_and_publish_values() {
        let rows = Rows::new(1000, 1 << 18);
        let slice = shape::pick(1 << 18, 4).unwrap();
        let chunks = |each| Shape::Chunks { slice, each };
        assert_eq!((slice.chunks(), slice.values()), (32, 32));
        // With one block for each row, no block waits for another, so all are launched.
        let alone = planned(rows, chunks(32), 264);
        assert_eq!((alone.grid, alone.values), (1000, 0));
        // With two blocks for each row, the grid is limited to the number of resident blocks.
        let shared = planned(rows, chunks(16), 264);
        assert_eq!((shared.grid, shared.values), (264, 32_000));
        assert_eq!(planned(rows, chunks(16), 4000).grid, 2000);
    }

    /// Checks that unaligned rows of a few chunks use a ring if elements can be copied
    /// asynchronously, and that long chunks of unaligned rows are added one at a time.
    #[test]
    fn unaligned_rows_have_their_own_kernels() {
        let of = |elements, each, copied| {
            let slice = shape::pick(elements, 4).unwrap();
            let begin = Begin { rows: false, copied, ..BEGIN };
            let each = if each == 0 { slice.chunks() } else { each };
            let rows = Rows::new(1000, elements);
            let planned = plan(rows, Shape::Chunks { slice, each }, begin, |_| 300).unwrap();
            (planned.family, planned.grid)
        };
        assert_eq!(of(20_001, 0, true), (Family::Ring, 300));
        assert_eq!(of(20_001, 0, false), (Family::Spread { aligned: false }, 1000));
        // The first row has 32 chunks of 2559 vectors, and the second has 32 chunks of 2560
        // vectors.
        assert_eq!(of(32 * 2552 * 4, 0, true).0, Family::Chunks { aligned: false });
        assert_eq!(of(32 * 2552 * 4 + 1, 0, true), (Family::Long, 1000));
        // Each block adds one chunk.
        assert_eq!(of(100_001, 1, true), (Family::Long, 300));
    }

    #[test]
    fn one_row_has_no_launch_for_rows() {
        let one = Shape::One(shape::pick(1 << 18, 4).unwrap());
        assert_eq!(plan(Rows::new(1, 1 << 18), one, BEGIN, |_| 1), None);
    }

    /// Checks that with persistent warps, there are at most eight times as many blocks as can be
    /// resident, and that otherwise the grid does not depend on the number of resident blocks.
    #[test]
    fn the_number_of_persistent_blocks_is_bounded() {
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
