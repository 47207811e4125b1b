//! The uninitialized bytes of a load, some of which are only copied.

use std::ops::Range;

use crate::observer::At;

/// The uninitialized bytes of one lane's access.
pub(super) struct Parts {
    /// A mask of the uninitialized bytes that are only copied or dropped, with a bit for each byte
    /// of the access.
    pub(super) copied: u64,
    /// The first uninitialized byte that is used in another way.
    pub(super) used: Option<u64>,
}

impl Parts {
    /// Splits the bytes of an access for which `is_clear` holds; `first` is the first of these
    /// bytes.
    #[cold]
    pub(super) fn of(
        at: &At<'_>,
        first: u64,
        all: Range<u64>,
        is_clear: &dyn Fn(u64) -> bool,
    ) -> Parts {
        let may = at.kernel.flow().map_or(0, |flow| flow.copied[at.pc as usize]);
        if may == 0 {
            return Parts { copied: 0, used: Some(first) };
        }
        let bytes = (0..).zip(first..all.end).map(|(i, byte)| (first - all.start + i, byte));
        let (mut copied, mut used) = (0, None);
        for (i, byte) in bytes.filter(|(_, byte)| is_clear(*byte)) {
            match may >> i & 1 {
                1 => copied |= 1 << i,
                _ => used = used.or(Some(byte)),
            }
        }
        Parts { copied, used }
    }
}
