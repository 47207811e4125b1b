//! Asynchronous copies to shared memory that have not completed.

/// A copy to shared memory that has not completed.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// The destination, as an index into the team's shared memory.
    pub(super) to: usize,
    pub(super) bytes: usize,
    pub(super) from: From,
}

/// The source of a copy.
#[derive(Debug, Clone)]
pub(super) enum From {
    /// This many bytes at an address in global memory, followed by zeros.
    Global(u64, usize),
    /// Bytes at an index of shared memory.
    Shared(usize),
    /// The value of a register when the copy was issued.
    Value(Vec<u8>),
}

/// A `cp.async` copy that its thread has not waited for.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub(super) warp: usize,
    pub(super) lane: usize,
    /// Number of the copy's group; until the copy is committed, this is the current group.
    pub(super) group: u32,
    pub(super) copy: Pending,
}

/// A copy by the copy engine, whose bytes an `mbarrier` counts.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) warp: usize,
    pub(super) pc: u32,
    pub(super) lane: usize,
    pub(super) bytes: u32,
    /// Shared address of the `mbarrier`.
    pub(super) mbarrier: Option<u64>,
    pub(super) copy: Pending,
    /// For a `cp.async` copy that an `mbarrier` counts, the group of the copy, because the thread
    /// may wait for the group too.
    pub(super) group: Option<u32>,
}

/// All copies of a team that have not completed.
#[derive(Debug, Clone, Default)]
pub(super) struct Copies {
    pub(super) own: Vec<Own>,
    pub(super) engine: Vec<Engine>,
    /// The number of groups that each lane of each warp has committed; empty if no lane has
    /// committed a group.
    pub(super) groups: Vec<[u32; 32]>,
}

impl Copies {
    pub(super) fn clear(&mut self) {
        self.own.clear();
        self.engine.clear();
        self.groups.clear();
    }

    pub(super) fn group(&self, warp: usize, lane: usize) -> u32 {
        self.groups.get(warp).map_or(0, |lanes| lanes[lane])
    }
}
