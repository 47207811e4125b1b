//! What each block begins with: which call of which plan it belongs to.

use crate::Error;

/// The stamp of a call. No call is the 0th, so no stamp is 0.
pub(crate) fn of(plan: u32, call: u32) -> u64 {
    u64::from(plan) << 32 | u64::from(call)
}

/// Whose stamp is another.
pub(crate) fn other(rank: u32) -> Error {
    Error::Gone(format!(
        "rank {rank} is at another call than this one: every rank must sum as often, in the same order"
    ))
}
