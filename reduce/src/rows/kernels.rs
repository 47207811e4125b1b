//! The kernels' PTX: a text for each type and shape, and another for rows that begin between words.

use crate::kernels::Kernel;

/// Kernels of one type: sums alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Rows shorter than a word.
    Short {
        /// Whether they lie one behind the other, and they and their sums begin with words.
        aligned: bool,
    },
    /// Rows of lanes.
    Lanes {
        /// Whether every row begins with a word.
        aligned: bool,
    },
    /// Rows of a block.
    Block {
        /// As above.
        aligned: bool,
    },
    /// Rows of a few parts.
    Spread {
        /// As above.
        aligned: bool,
    },
    /// Rows of many parts.
    Chunks {
        /// As above.
        aligned: bool,
    },
    /// Rows of many long parts, which do not begin with words.
    Long,
    /// Rows of a few parts, which do not begin with words, where memory is copied in the background.
    Ring,
}

impl Family {
    /// All of them.
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

    /// Its place among all.
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

    /// The most threads of a block.
    pub fn threads(self) -> u32 {
        if matches!(self, Family::Chunks { .. } | Family::Long) { 512 } else { 256 }
    }
}

/// The kernels of one type.
pub(crate) type Kernels = [Kernel; Family::ALL.len()];

/// The kernels of a type, by the name of its texts. Unsigned integers have those of signed ones: both
/// wrap, to the same bits. `halves` have no ring: two bytes are too few to be copied.
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
    fn each_family_has_its_place() {
        for (at, family) in Family::ALL.into_iter().enumerate() {
            assert_eq!(family.index(), at);
        }
    }
}
