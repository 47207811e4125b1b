//! The stamp at the beginning of each block: the numbers of the plan and of the call that the block
//! belongs to.

use crate::Error;

/// Returns the stamp of a call. Plans and calls are numbered from 1, so the stamp of a sum is never
/// 0.
pub(crate) fn of(plan: u32, call: u32) -> u64 {
    u64::from(plan) << 32 | u64::from(call)
}

/// Returns an error that names the rank whose stamp differs.
pub(crate) fn other(rank: u32) -> Error {
    Error::Gone(format!(
        "rank {rank} has reached a different call: every rank must make the same calls in the same order"
    ))
}
