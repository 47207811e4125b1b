//! The machine: teams of blocks, their warps, one instruction at a time.

mod access;
mod atomic;
mod barrier;
mod bulk;
mod collect;
mod grid;
mod mbarrier;
mod rng;
mod schedule;
mod special;
mod step;
mod team;
mod warp;

pub(crate) use grid::run;

use crate::global::Global;
use crate::observer::LaunchInfo;
use crate::{Config, Schedule, TrapKind};

/// What all blocks of a launch share.
pub(crate) struct Env<'a> {
    pub(crate) info: LaunchInfo<'a>,
    pub(crate) global: &'a Global,
    pub(crate) params: Vec<u8>,
    pub(crate) module_base: u64,
    pub(crate) dynamic_shared: u32,
    pub(crate) schedule: Schedule,
    pub(crate) block_budget: u64,
    pub(crate) sm_count: u32,
}

impl<'a> Env<'a> {
    pub(crate) fn new(
        info: LaunchInfo<'a>,
        global: &'a Global,
        config: &Config,
        params: Vec<u8>,
        module_base: u64,
        dynamic_shared: u32,
    ) -> Env<'a> {
        Env {
            info,
            global,
            params,
            module_base,
            dynamic_shared,
            schedule: config.schedule,
            block_budget: config.block_budget,
            sm_count: config.sm_count,
        }
    }
}

/// A trap in the making: the place is known to the caller.
#[derive(Debug)]
pub(super) struct Fault {
    kind: TrapKind,
    lane: u32,
    detail: String,
}

impl Fault {
    #[cold]
    fn new(kind: TrapKind, lane: usize, detail: impl Into<String>) -> Fault {
        Fault { kind, lane: lane as u32, detail: detail.into() }
    }
}

/// Where the windows of generic addresses begin.
mod tag {
    /// Shared memory: the own block's and, by rank, those of the cluster.
    pub(super) const SHARED: u64 = 1 << 56;
    /// A thread's own memory.
    pub(super) const LOCAL: u64 = 2 << 56;
    /// Kernel parameters.
    pub(super) const PARAM: u64 = 3 << 56;
}
