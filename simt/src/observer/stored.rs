//! The values that a warp stores.

use std::fmt;

/// The values that the lanes of a warp store.
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a> {
    /// Values that are not recorded, because each lane stores several elements, or because the
    /// access is an atomic.
    Unknown,
    /// The same value for all lanes.
    Same,
    /// One word per lane.
    Words(&'a [u32; 32]),
    /// Two words per lane.
    Doubles(&'a [u64; 32]),
}

impl Stored<'_> {
    /// Returns the value of a lane, if it is known.
    pub fn of(&self, lane: u32) -> Option<u64> {
        match self {
            Stored::Unknown | Stored::Same => None,
            Stored::Words(values) => Some(values[lane as usize & 31].into()),
            Stored::Doubles(values) => Some(values[lane as usize & 31]),
        }
    }
}

/// Compares the bytes that a lane stores with the bytes that another lane of the warp stores with
/// the same instruction, or with the contents of memory before the instruction.
#[derive(Clone, Copy, Default)]
pub struct Same<'a>(pub(crate) Option<Compare<'a>>);

pub(crate) type Compare<'a> = &'a dyn Fn(u32, Option<u32>) -> bool;

impl Same<'_> {
    /// Returns whether a lane is known to store the value that the lane `other` stores or, if
    /// `other` is `None`, the value that memory already has.
    pub fn holds(&self, lane: u32, other: Option<u32>) -> bool {
        self.0.is_some_and(|same| same(lane, other))
    }
}

impl fmt::Debug for Same<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Same").field(&self.0.is_some()).finish()
    }
}
