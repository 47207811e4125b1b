//! What a kernel can spend too much of, and what is said to one that does.

use simt::Counts;

/// A kind of count, and its advice.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// What is counted, in the plural.
    pub what: &'static str,
    /// How.
    pub of: fn(&Counts) -> u64,
    /// What there is to spare, in any exercise.
    pub advice: &'static str,
}

pub(crate) const BARRIERS: Cost = Cost {
    what: "barriers",
    of: |c| c.barriers,
    advice: "Every warp that comes to a barrier counts. A round takes one, behind what it writes; a round that is not there takes none, nor does one that a single warp makes alone.",
};

pub(crate) const WARP_BARRIERS: Cost = Cost {
    what: "warp barriers",
    of: |c| c.warp_barriers,
    advice: "A shuffle waits for its lanes itself: `__syncwarp()` is for what they hand over through shared memory.",
};

pub(crate) const SHARED: Cost = Cost {
    what: "shared accesses",
    of: |c| c.shared_ld + c.shared_st,
    advice: "A load or store of a warp counts once, however many of its lanes take part: let whole warps rest, and keep in a register what the same thread goes on with.",
};

pub(crate) const CONFLICTS: Cost = Cost {
    what: "shared conflicts",
    of: |c| c.shared_ld_conflicts + c.shared_st_conflicts,
    advice: "Lanes of a warp that meet in a bank wait for each other: let neighbouring lanes take neighbouring places.",
};

pub(crate) const DIVERGENT: Cost = Cost {
    what: "divergent branches",
    of: |c| c.divergent_branches,
    advice: "A branch counts where it parts the lanes of a warp: let whole warps take the same side.",
};

pub(crate) const INSTRUCTIONS: Cost = Cost {
    what: "instructions",
    of: |c| c.warp_insts,
    advice: "What every warp does in every round counts most: keep remainders, divisions and tests out of the rounds.",
};

pub(crate) const REQUESTS: Cost = Cost {
    what: "global load requests",
    of: |c| c.global_ld_requests,
    advice: "A load of a warp is one request, of four bytes a lane or of sixteen: load each element once, and in as few loads as are allowed for.",
};

pub(crate) const SECTORS: Cost = Cost {
    what: "global load sectors",
    of: |c| c.global_ld_sectors,
    advice: "A sector is 32 bytes of memory. Where neighbouring lanes take neighbouring elements in the same load, it uses all of each sector that it touches.",
};

pub(crate) const SHUFFLES: Cost = Cost {
    what: "shuffles",
    of: |c| c.shuffles,
    advice: "Five shuffles add what 32 lanes have. What the warps have stored is added by the first warp alone.",
};

pub(crate) const ATOMICS: Cost = Cost {
    what: "atomics",
    of: |c| c.atomics,
    advice: "One ticket a block is enough, and one thread takes it.",
};
