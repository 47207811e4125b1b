//! Defines the counts that a budget can limit, and the advice for each.

use simt::Counts;

/// A kind of count, with advice on how to reduce the count.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The counted event, in the plural.
    pub what: &'static str,
    /// Reads the count.
    pub of: fn(&Counts) -> u64,
    /// Whether the count grows with the number of elements.
    pub grows: bool,
    /// Advice for reducing the count, which applies to every exercise.
    pub advice: &'static str,
}

pub(crate) const BARRIERS: Cost = Cost {
    what: "barriers",
    of: |c| c.barriers,
    grows: false,
    advice: "A barrier counts once for every warp that reaches it. A round needs one barrier, after its stores; omitted rounds, and rounds within a single warp, need none.",
};

pub(crate) const WARP_BARRIERS: Cost = Cost {
    what: "warp barriers",
    of: |c| c.warp_barriers,
    grows: false,
    advice: "A shuffle already synchronizes its lanes: `__syncwarp()` is needed only to exchange values through shared memory.",
};

pub(crate) const SHARED: Cost = Cost {
    what: "shared accesses",
    of: |c| c.shared_ld + c.shared_st,
    grows: false,
    advice: "A warp's load or store counts once, however many of its lanes take part: let whole warps idle, and keep values in a register that the same thread uses again.",
};

pub(crate) const CONFLICTS: Cost = Cost {
    what: "shared conflicts",
    of: |c| c.shared_ld_conflicts + c.shared_st_conflicts,
    grows: false,
    advice: "Lanes of a warp that access different words of the same bank are served one after another: let neighbouring lanes access neighbouring words.",
};

pub(crate) const DIVERGENT: Cost = Cost {
    what: "divergent branches",
    of: |c| c.divergent_branches,
    grows: false,
    advice: "A branch counts if the lanes of a warp diverge at it: let whole warps take the same side.",
};

pub(crate) const INSTRUCTIONS: Cost = Cost {
    what: "instructions",
    of: |c| c.warp_insts,
    grows: true,
    advice: "Instructions that every warp executes in every round count most: keep remainders, divisions and tests out of the rounds.",
};

pub(crate) const REQUESTS: Cost = Cost {
    what: "global load requests",
    of: |c| c.global_ld_requests,
    grows: true,
    advice: "A warp's load is one request, whether each lane loads four bytes or sixteen: load each element once, with as few loads as possible.",
};

pub(crate) const SECTORS: Cost = Cost {
    what: "global load sectors",
    of: |c| c.global_ld_sectors,
    grows: true,
    advice: "A sector is 32 bytes of memory. If neighbouring lanes load neighbouring elements with one instruction, that instruction uses every byte of each sector that it reads.",
};

pub(crate) const SHUFFLES: Cost = Cost {
    what: "shuffles",
    of: |c| c.shuffles,
    grows: false,
    advice: "Five shuffles add the values of 32 lanes. Let the first warp alone add the values that the warps have stored.",
};

pub(crate) const ATOMICS: Cost = Cost {
    what: "atomics",
    of: |c| c.atomics,
    grows: false,
    advice: "One ticket per block is enough, and one thread takes it.",
};
