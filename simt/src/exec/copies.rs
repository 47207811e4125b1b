//! What is on its way to shared memory.

/// What has yet to be copied to shared memory.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// Where it goes: an index into the team's shared memory.
    pub(super) to: usize,
    pub(super) bytes: usize,
    pub(super) from: From,
}

/// Where the bytes come from.
#[derive(Debug, Clone)]
pub(super) enum From {
    /// So many bytes at an address of global memory, and zeros behind them.
    Global(u64, usize),
    /// Bytes at an index of shared memory.
    Shared(usize),
    /// A register, as it was.
    Value(Vec<u8>),
}

/// Copies of `cp.async` that a thread has not waited for.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub(super) warp: usize,
    pub(super) lane: usize,
    /// The group that it is, or will be, in.
    pub(super) group: u32,
    pub(super) copy: Pending,
}

/// A copy of the engine, which an `mbarrier` counts.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) warp: usize,
    pub(super) pc: u32,
    pub(super) lane: usize,
    pub(super) bytes: u32,
    /// The `mbarrier`'s address.
    pub(super) mbarrier: Option<u64>,
    pub(super) copy: Pending,
}

/// All that a team has on its way.
#[derive(Debug, Clone, Default)]
pub(super) struct Copies {
    pub(super) own: Vec<Own>,
    pub(super) engine: Vec<Engine>,
    /// Groups that each lane of each warp has made; empty where none has.
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
