//! The `mbarrier` objects that a team has.

use std::collections::BTreeMap;

/// One object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    /// Arrivals that a phase takes.
    pub(super) count: u32,
    /// Those that the current phase still lacks.
    pub(super) pending: u32,
    /// Bytes that are still to come.
    pub(super) bytes: i64,
    pub(super) phase: u64,
}

/// The objects of a team, by their index in its shared memory.
pub(super) type Mbarriers = BTreeMap<usize, Object>;
