//! The `mbarrier` objects of a team.

use std::collections::BTreeMap;

/// One `mbarrier` object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    /// Number of arrivals that complete a phase.
    pub(super) count: u32,
    /// Number of arrivals that the current phase still needs.
    pub(super) pending: u32,
    /// Number of expected bytes that have not arrived.
    pub(super) bytes: i64,
    pub(super) phase: u64,
}

/// The objects of a team, keyed by their index in the team's shared memory.
pub(super) type Mbarriers = BTreeMap<usize, Object>;
