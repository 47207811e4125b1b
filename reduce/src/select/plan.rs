//! The launch for indices and extremes. A pure function computes the launch, so that the
//! interpreter can use the same launch.

use crate::{
    Element, Kernel, Operation, Rows,
    element::{Itself, Read},
    shape,
};

/// The kernels of one type and operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Indices, for slices and long rows.
    ArgChunks,
    /// Indices, for short rows.
    ArgLanes,
    /// The minimum and the maximum, for slices and long rows.
    ExtremesChunks,
    /// The minimum and the maximum, for short rows.
    ExtremesLanes,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 4] =
        [Family::ArgChunks, Family::ArgLanes, Family::ExtremesChunks, Family::ExtremesLanes];

    fn name(self) -> &'static str {
        match self {
            Family::ArgChunks => "arg_chunks",
            Family::ArgLanes => "arg_lanes",
            Family::ExtremesChunks => "extremes_chunks",
            Family::ExtremesLanes => "extremes_lanes",
        }
    }

    /// Returns the number of threads in a block.
    pub fn threads(self) -> u32 {
        match self {
            Family::ArgChunks | Family::ExtremesChunks => 512,
            Family::ArgLanes | Family::ExtremesLanes => 256,
        }
    }

    /// Returns the number of 32-bit words of a published value. `value` is the number of bytes of
    /// an extreme.
    fn words(self, value: u64) -> u64 {
        match self {
            Family::ArgChunks | Family::ArgLanes => value / 4 + 2,
            Family::ExtremesChunks | Family::ExtremesLanes => value / 2,
        }
    }
}

/// Returns the kernel of an operation for a type.
#[doc(hidden)]
pub fn kernel<T: Element>(operation: Operation, family: Family) -> Kernel {
    let of = (operation.instructions(), <T as Read<Itself>>::TYPES);
    Kernel::single(family.name(), of, |texts| texts.selections[family as usize])
}

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The family of the kernel.
    pub family: Family,
    /// The number of blocks.
    pub grid: u32,
    /// The number of lanes that read a row, or the number of vectors in a chunk.
    pub each: u32,
    /// The number of chunks of a row.
    pub chunks: u32,
    /// The number of bytes of the ticket and of the messages.
    pub state: u64,
}

/// The number of blocks that are resident at the same time on a large device.
const BLOCKS: u64 = 264;

/// The size of the largest grid. If there are more rows, each block reads several.
const MOST: u64 = 1 << 30;

/// Returns the launch over rows of elements of `size` bytes, which searches for an index if `arg`
/// is true, and otherwise for both extremes. A value has `value` bytes. At most `resident(family)`
/// blocks of a kernel are resident at the same time. Returns `None` if the rows are too long.
pub fn plan(
    rows: Rows,
    [size, value]: [u64; 2],
    arg: bool,
    resident: impl FnOnce(Family) -> u32,
) -> Option<Plan> {
    let (count, elements, _) = rows.numbers();
    // An unaligned row may have one vector more than an aligned one.
    let longest = elements.checked_add(16 / size - 1)?;
    let slice = shape::pick(longest, size)?;
    let (bytes, vectors) = (elements * size, (longest * size).div_ceil(16));
    if bytes <= 2 << 10 || (bytes <= 16 << 10 && count >= 2048) {
        let lanes = vectors.next_power_of_two().clamp(1, 32);
        let family = if arg { Family::ArgLanes } else { Family::ExtremesLanes };
        let rows = u64::from(family.threads()) / lanes;
        let grid = count.div_ceil(rows).min(MOST) as u32;
        return Some(Plan { family, grid, each: lanes as u32, chunks: 1, state: 0 });
    }
    let family = if arg { Family::ArgChunks } else { Family::ExtremesChunks };
    let groups = match count {
        1 => slice.chunks().into(),
        _ => (BLOCKS / count).clamp(1, slice.chunks().into()),
    };
    let each = u32::try_from(vectors.div_ceil(groups).next_multiple_of(8)).ok()?;
    let chunks = vectors.div_ceil(each.into()) as u32;
    let items = count.saturating_mul(chunks.into());
    // Blocks that wait for each other must all be resident.
    let most = if chunks > 1 { u64::from(resident(family).max(1)) } else { MOST };
    let state = if chunks > 1 { 16 + items * family.words(value) * 8 } else { 0 };
    Some(Plan { family, grid: items.min(most) as u32, each, chunks, state })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_vectors_are_read_at_every_alignment() {
        for size in [1, 2, 4, 8] {
            for elements in [1, 2, 3, 15, 33, 513, 5000, 20_000, 200_001, 1 << 20, 1 << 32] {
                for count in [1, 2, 33, 1025, 2048, 1 << 20] {
                    let rows = Rows::new(count, elements);
                    let plan = plan(rows, [size, 8], true, |_| 264).unwrap();
                    let vectors = (elements * size + 16 - size).div_ceil(16);
                    let name = format!("{count} rows of {elements}: {plan:?}");
                    if plan.family == Family::ArgLanes {
                        assert!(u64::from(plan.each) >= vectors.min(32), "{name}");
                        assert!(plan.state == 0, "{name}");
                    } else {
                        assert!(u64::from(plan.each) * u64::from(plan.chunks) >= vectors, "{name}");
                        assert!(plan.chunks == 1 || plan.grid <= 264, "{name}");
                    }
                }
            }
        }
        assert_eq!(plan(Rows::new(1, u64::MAX), [1, 8], true, |_| 1), None);
        assert_eq!(plan(Rows::new(1, shape::LONGEST), [1, 8], true, |_| 1), None);
    }

    #[test]
    fn a_few_rows_are_divided_among_blocks() {
        let of = |count, elements| {
            let plan = plan(Rows::new(count, elements), [4, 4], false, |_| 264).unwrap();
            (plan.grid, plan.chunks)
        };
        assert_eq!(of(1, 1 << 24), (256, 256));
        assert_eq!(of(4, 1 << 24), (264, 66));
        assert_eq!(of(1000, 1 << 20), (1000, 1));
        assert_eq!(of(1 << 20, 512), (1 << 17, 1));
    }
}
