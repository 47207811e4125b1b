//! The kernels for rows. Each shape has one template for aligned and another for unaligned rows.

/// The kernels of one type and operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Rows shorter than a vector.
    Short {
        /// Whether the rows are contiguous, and both the rows and their sums are aligned to
        /// vectors.
        aligned: bool,
    },
    /// Rows that are added by lanes of a warp.
    Lanes {
        /// Whether every row is aligned to a vector and consists of whole vectors.
        aligned: bool,
    },
    /// Rows that are added by a block.
    Block {
        /// Whether every row is aligned to a vector and consists of whole vectors.
        aligned: bool,
    },
    /// Rows of a few chunks.
    Spread {
        /// Whether every row is aligned to a vector and consists of whole vectors.
        aligned: bool,
    },
    /// Rows of many chunks.
    Chunks {
        /// Whether every row is aligned to a vector and consists of whole vectors.
        aligned: bool,
    },
    /// Unaligned rows of many long chunks.
    Long,
    /// Unaligned rows of a few chunks, on devices with asynchronous copies to shared memory.
    Ring,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 12] = [
        Family::Short { aligned: true },
        Family::Short { aligned: false },
        Family::Lanes { aligned: true },
        Family::Lanes { aligned: false },
        Family::Block { aligned: true },
        Family::Block { aligned: false },
        Family::Spread { aligned: true },
        Family::Spread { aligned: false },
        Family::Chunks { aligned: true },
        Family::Chunks { aligned: false },
        Family::Long,
        Family::Ring,
    ];

    /// Returns the family's index in `ALL`.
    pub(crate) fn index(self) -> usize {
        match self {
            Family::Short { aligned } => usize::from(!aligned),
            Family::Lanes { aligned } => 2 + usize::from(!aligned),
            Family::Block { aligned } => 4 + usize::from(!aligned),
            Family::Spread { aligned } => 6 + usize::from(!aligned),
            Family::Chunks { aligned } => 8 + usize::from(!aligned),
            Family::Long => 10,
            Family::Ring => 11,
        }
    }

    /// Returns the part of a kernel's name that stands for this family.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Family::Short { aligned: true } => "rows_short",
            Family::Short { aligned: false } => "rows_short_across",
            Family::Lanes { aligned: true } => "rows_lanes",
            Family::Lanes { aligned: false } => "rows_lanes_across",
            Family::Block { aligned: true } => "rows_block",
            Family::Block { aligned: false } => "rows_block_across",
            Family::Spread { aligned: true } => "rows_spread",
            Family::Spread { aligned: false } => "rows_spread_across",
            Family::Chunks { aligned: true } => "rows_chunks",
            Family::Chunks { aligned: false } => "rows_chunks_across",
            Family::Long => "rows_long_across",
            Family::Ring => "rows_ring_across",
        }
    }

    /// Returns the maximum number of threads in a block.
    pub fn threads(self) -> u32 {
        if matches!(self, Family::Chunks { .. } | Family::Long) { 512 } else { 256 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_its_index() {
        for (at, family) in Family::ALL.into_iter().enumerate() {
            assert_eq!(family.index(), at);
        }
    }
}
