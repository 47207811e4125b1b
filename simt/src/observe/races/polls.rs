//! Repeated polls of unchanged memory, which need no second check.

use crate::observe::bits::lanes;
use crate::observer::Access;

/// The last poll of each lane of a warp, if the warp polls.
#[derive(Debug, Clone, Default)]
pub(super) struct Polls(Option<Box<[Poll; 32]>>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Poll {
    /// The number of writes and synchronizations in the launch before the poll.
    changes: u64,
    pc: u32,
    address: u64,
}

impl Polls {
    /// Returns the lanes of a strong read that do not merely repeat their last poll. If nothing was
    /// written or synchronized since then, the poll has the same outcome. Checking a spin lock that
    /// a thousand threads poll therefore takes time only when the lock changes.
    pub(super) fn not_repeated(&mut self, changes: u64, pc: u32, access: &Access<'_>) -> u32 {
        let polls = self.0.get_or_insert_default();
        lanes(access.mask).fold(0, |mask, lane| {
            let poll = Poll { changes, pc, address: access.addrs[lane as usize] };
            let repeats = std::mem::replace(&mut polls[lane as usize], poll) == poll;
            mask | u32::from(!repeats) << lane
        })
    }
}
