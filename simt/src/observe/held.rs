//! Uninitialized bytes that loads have read into registers. They are reported when a value that is
//! computed from them is used.

use rustc_hash::FxHashMap;

use super::bits::lanes;
use super::parts::Parts;
use crate::observer::{At, Space};

#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    /// The bytes that the last load has read, with a bit for each byte of each lane.
    pub(super) last: Option<Box<[u64; 32]>>,
    /// The first byte that each lane has read, by block, warp and load.
    first: FxHashMap<(u64, u32, u32), Bytes>,
}

/// The space and address of a byte, for each lane.
type Bytes = Box<[Option<(Space, u64)>; 32]>;

impl Held {
    /// Records the uninitialized bytes of a lane's load that are not reported until they are used.
    /// Returns the first other uninitialized byte.
    #[cold]
    pub(super) fn carry(
        &mut self,
        at: &At<'_>,
        lane: u32,
        (space, address): (Space, u64),
        parts: Parts,
    ) -> Option<u64> {
        if parts.copied != 0 {
            let lane = lane as usize & 31;
            self.last.get_or_insert_with(|| Box::new([0; 32]))[lane] = parts.copied;
            let first = address + u64::from(parts.copied.trailing_zeros());
            let bytes = self.first.entry((at.block.index, at.warp, at.pc)).or_default();
            bytes[lane] = Some((space, first));
        }
        parts.used
    }

    /// Returns the lane that read the value of a lane, and the byte. After a shuffle, another lane
    /// may have read it.
    pub(super) fn byte(&self, at: &At<'_>, lane: u32, load: u32) -> Option<(u32, (Space, u64))> {
        let bytes = self.first.get(&(at.block.index, at.warp, load))?;
        let mut all = [lane].into_iter().chain(lanes(u32::MAX));
        all.find_map(|lane| bytes[lane as usize & 31].map(|byte| (lane, byte)))
    }

    /// Removes the bytes of a block that has ended.
    pub(super) fn forget(&mut self, block: u64) {
        if !self.first.is_empty() {
            self.first.retain(|(index, _, _), _| *index != block);
        }
    }
}
