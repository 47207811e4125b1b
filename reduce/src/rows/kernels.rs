//! The PTX of the kernels for rows. Each type and shape has one module for aligned rows and another
//! for unaligned rows.

use crate::kernels::Kernel;

/// The kernels of one type, which compute sums only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Rows shorter than a vector.
    Short {
        /// Whether the rows are contiguous, and both the rows and their sums are aligned to vectors.
        aligned: bool,
    },
    /// Rows that are added by lanes of a warp.
    Lanes {
        /// Whether every row is aligned to a vector and has only whole vectors.
        aligned: bool,
    },
    /// Rows that are added by a block.
    Block {
        /// Whether every row is aligned to a vector and has only whole vectors.
        aligned: bool,
    },
    /// Rows of a few chunks.
    Spread {
        /// Whether every row is aligned to a vector and has only whole vectors.
        aligned: bool,
    },
    /// Rows of many chunks.
    Chunks {
        /// Whether every row is aligned to a vector and has only whole vectors.
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

    /// Returns the maximum number of threads in a block.
    pub fn threads(self) -> u32 {
        if matches!(self, Family::Chunks { .. } | Family::Long) { 512 } else { 256 }
    }
}

/// The kernels of one type.
pub(crate) type Kernels = [Kernel; Family::ALL.len()];

/// Lists the kernels of a type, whose name is part of the file names. Unsigned integers share the
/// kernels of signed integers, because both wrap to the same bits. `halves` have no ring, because
/// an asynchronous copy has at least four bytes.
macro_rules! rows {
    (halves $type:literal) => {
        $crate::rows::kernels::rows!($type, $crate::rows::kernels::rows!($type "spread_across"))
    };
    ($kind:ident $type:literal) => {
        $crate::rows::kernels::rows!($type, $crate::rows::kernels::rows!($type "ring_across" 90))
    };
    ($type:literal, $ring:expr) => {
        [
            $crate::rows::kernels::rows!($type "short"),
            $crate::rows::kernels::rows!($type "short_across"),
            $crate::rows::kernels::rows!($type "lanes"),
            $crate::rows::kernels::rows!($type "lanes_across"),
            $crate::rows::kernels::rows!($type "block"),
            $crate::rows::kernels::rows!($type "block_across"),
            $crate::rows::kernels::rows!($type "spread"),
            $crate::rows::kernels::rows!($type "spread_across"),
            $crate::rows::kernels::rows!($type "chunks"),
            $crate::rows::kernels::rows!($type "chunks_across"),
            $crate::rows::kernels::rows!($type "long_across"),
            $ring,
        ]
    };
    ($type:literal $family:literal) => {
        $crate::kernels::Kernel {
            name: concat!($type, "_sum_rows_", $family),
            ptx_70: include_str!(concat!("ptx/", $type, "_sum_rows_", $family, ".70.ptx")),
            ptx_90: "",
        }
    };
    ($type:literal $family:literal 90) => {
        $crate::kernels::Kernel {
            name: concat!($type, "_sum_rows_", $family),
            ptx_70: "",
            ptx_90: include_str!(concat!("ptx/", $type, "_sum_rows_", $family, ".90.ptx")),
        }
    };
}
pub(crate) use rows;

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
