//! The launch for columns. A pure function computes the launch, so that the interpreter can use the
//! same launch.

use super::layout::Columns;
use crate::{
    Kernel, Operation,
    element::Read,
    shape::{self, Shape},
};

/// The number of threads in a block.
pub const THREADS: u32 = 512;

/// The number of warps that a large device runs at the same time.
const WARPS: u64 = 4096;

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The number of blocks.
    pub grid: u32,
    /// The shape of a slice that is as long as a column.
    pub shape: Shape,
    /// Whether a lane reduces two neighbouring columns.
    pub two: bool,
    /// The number of warps that share the work of one warp of the tree.
    pub split: u32,
    /// The number of counters, and the number of chunk values.
    pub state: [u64; 2],
}

impl Plan {
    /// Returns the number of bytes of the counters, which precede the values.
    pub fn counters(&self) -> u64 {
        (4 * self.state[0]).next_multiple_of(16)
    }

    /// Returns the number of bytes of the counters and of the values, where each value has `value`
    /// bytes.
    pub fn bytes(&self, value: u64) -> u64 {
        if self.state[1] == 0 { 0 } else { self.counters() + self.state[1] * value }
    }
}

/// Returns the kernel of an operation for elements that are converted as `W` specifies.
#[doc(hidden)]
pub fn kernel_of<T: Read<W>, W>(operation: Operation) -> Kernel {
    Kernel::single("columns", (operation.instructions(), T::TYPES), |texts| texts.columns)
}

/// Returns whether a lane can load the elements of two columns as one word. An element has `size`
/// bytes, and a value of the tree has `value` bytes.
pub fn allow_two(columns: Columns, [size, value]: [u64; 2], address: u64) -> bool {
    let even = [columns.inner, columns.pitch, columns.apart].iter().all(|n| n.is_multiple_of(2));
    [size, value] == [2, 4] && even && address.is_multiple_of(4)
}

/// Returns the launch over columns of elements at an address, or `None` if there are too many
/// elements. If there are few columns, each lane reduces only one, so that more multiprocessors
/// have work.
pub fn plan(columns: Columns, sizes: [u64; 2], address: u64) -> Option<Plan> {
    let two = allow_two(columns, sizes, address).then(|| plan_of(columns, sizes[0], true));
    two.flatten().filter(|plan| plan.grid >= 256).or_else(|| plan_of(columns, sizes[0], false))
}

/// Returns the launch in which each lane reduces two columns if `two` is true, and one otherwise.
pub fn plan_of(columns: Columns, size: u64, two: bool) -> Option<Plan> {
    let shape = shape::pick(columns.rows, size)?;
    let results = columns.batches.checked_mul(columns.inner)?;
    let each = if two { 64 } else { 32 };
    let (sets, warps) = (results.div_ceil(each), u64::from(THREADS / 32));
    let (chunks, tree) = (u64::from(shape.chunks()), u64::from(shape.threads() / 32));
    let groups: u64 = match size {
        1 => 32,
        2 => 16,
        _ => 8,
    };
    let split = if chunks > 1 {
        (warps / tree).max(1)
    } else {
        // Uses as many warps as the device can run, but at most as many as there are values in
        // shared memory.
        let enough = WARPS.div_ceil(sets.max(1) * tree).next_power_of_two();
        enough.min(groups).min(64 / tree).max(1)
    };
    let each = (warps / (tree * split)).max(1);
    let grid = sets.div_ceil(each).checked_mul(chunks)?;
    let values = if chunks > 1 { results.checked_mul(shape.values().into())? } else { 0 };
    let grid = u32::try_from(grid).ok().filter(|grid| *grid < 1 << 31)?;
    Some(Plan { grid, shape, two, split: split as u32, state: [sets, values] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_matrices_have_more_warps_for_a_column() {
        let of = |rows, columns, size| {
            let plan = plan(Columns::new(rows, columns), [size, 8], 0).unwrap();
            (plan.grid, plan.split)
        };
        // Shared memory has room for 64 values: two for each of 32 warps of the tree, or eight for
        // each of 8 warps.
        assert_eq!([of(10_000, 32, 4), of(1000, 32, 4)], [(1, 2), (1, 8)]);
        assert_eq!([of(100, 1 << 20, 4), of(100, 32, 4)], [(2048, 1), (1, 8)]);
        assert_eq!(of(1 << 20, 64, 4), (2 * 160, 1));
        assert_eq!(of(40_000, 64, 4).1, 2);
    }

    #[test]
    fn too_many_columns_have_no_launch() {
        assert_eq!(plan(Columns::new(2, u64::MAX), [1, 8], 0), None);
        assert!(plan(Columns::new(2, 1 << 34), [1, 8], 0).is_some());
    }
}
