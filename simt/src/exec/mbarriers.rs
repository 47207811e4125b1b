//! The `mbarrier` objects of a team, and the phases that never end.

use std::collections::BTreeMap;

use super::team::Team;
use super::warp::{State, Warp};
use crate::model::Space;
use crate::place::count as count_of;

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

/// Begins the advice for a wait that may test the wrong parity.
pub(crate) const IF_MEANT: &str = "if the threads mean the phase that has completed";

/// The objects of a team, keyed by their index in the team's shared memory.
pub(super) type Mbarriers = BTreeMap<usize, Object>;

impl Team<'_> {
    /// Names the `mbarrier` at a shared address, as in the source.
    pub(super) fn mbarrier_name(&self, addr: u64) -> String {
        self.places().name(Space::Shared, addr, 8, None)
    }

    /// For a team in which no thread can run, describes the phase that threads wait for, and what
    /// it lacks; `None` if no thread waits at an `mbarrier`.
    #[cold]
    pub(super) fn no_phase_ends(&self) -> Option<String> {
        let waits = |(w, warp): (usize, &Warp)| {
            warp.splits.iter().find_map(|split| match split.state {
                State::Mbarrier { addr, .. } => Some((w, u64::from(addr))),
                _ => None,
            })
        };
        let (w, addr) = self.warps.iter().enumerate().find_map(waits)?;
        let object = self.mbarriers.get(&self.shared_index(w, addr))?;
        let Object { count, pending, bytes, phase } = *object;
        let ended = match phase {
            0 => "has completed no phase".into(),
            n => format!("has completed {}", count_of(n, "phase")),
        };
        let lacks = match bytes {
            0 => format!("lacks {pending} of {}", count_of(count.into(), "arrival")),
            1.. if pending == 0 => format!("lacks {}", count_of(bytes as u64, "byte")),
            1.. => format!(
                "lacks {pending} of {} and {}",
                count_of(count.into(), "arrival"),
                count_of(bytes as u64, "byte")
            ),
            _ => {
                format!("was sent {} more than it expects", count_of(bytes.unsigned_abs(), "byte"))
            }
        };
        let cure = if bytes < 0 {
            "let it expect all bytes that copies write".into()
        } else if phase > 0 && pending == count && bytes == 0 {
            format!(
                "{IF_MEANT}, let the wait test the parity {}; otherwise, let the threads and copies \
                 of this phase arrive",
                1 - (phase & 1)
            )
        } else if pending == 0 {
            "let copies write all bytes that it expects, or let it expect fewer".into()
        } else if pending == count {
            "let the threads and copies that it counts arrive at it".into()
        } else {
            "compare the number in its initialization with the arrivals that take place".to_owned()
        };
        Some(format!(
            "nothing can complete the phase that the threads at the mbarrier wait for: {} {ended}, \
             and its current phase, which has the parity {}, {lacks}; {cure}",
            self.mbarrier_name(addr),
            phase & 1
        ))
    }
}
