//! The state that all blocks of a launch share, and the faults that stop them.

use std::sync::Mutex;
use std::time::Duration;

use super::changes::Changes;
use crate::arch::Arch;
use crate::global::Global;
use crate::observer::LaunchInfo;
use crate::progress::Progress;
use crate::{Config, Schedule, TrapKind};

/// The state that all blocks of a launch share.
pub(crate) struct Env<'a> {
    pub(crate) info: LaunchInfo<'a>,
    pub(crate) global: &'a Global,
    pub(crate) progress: &'a Progress,
    pub(crate) dynamic_shared: u32,
    pub(crate) schedule: Schedule,
    pub(crate) block_budget: u64,
    /// Whether blocks are delayed before they write memory that other blocks may access.
    pub(crate) stalls: bool,
    /// Whether loads may return older values.
    pub(super) stale: bool,
    /// The last changes of words in global memory, if loads may return older values.
    pub(super) changes: Mutex<Changes>,
    pub(crate) patience: Option<Duration>,
    pub(crate) sm_count: u32,
    pub(crate) arch: Arch,
    /// Whether the PTX requires all lanes of a warp barrier to be at the same instruction.
    pub(crate) in_convergence: bool,
}

impl<'a> Env<'a> {
    pub(crate) fn new(
        info: LaunchInfo<'a>,
        global: &'a Global,
        config: &Config,
        progress: &'a Progress,
        dynamic_shared: u32,
    ) -> Env<'a> {
        let in_convergence = info.kernel.is_before_volta();
        let random = matches!(config.schedule, Schedule::Adversarial(_));
        let stale = random && info.interleaved;
        Env {
            info,
            global,
            progress,
            dynamic_shared,
            schedule: config.schedule,
            block_budget: config.block_budget,
            stalls: config.stalls && random,
            stale,
            changes: Mutex::new(Changes::of(config.schedule)),
            patience: config.patience,
            sm_count: config.sm_count,
            arch: config.arch,
            in_convergence,
        }
    }
}

/// A fault without its place in the code, which the caller adds.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: TrapKind,
    pub(super) lane: u32,
    pub(super) detail: String,
}

impl Fault {
    #[cold]
    pub(super) fn new(kind: TrapKind, lane: usize, detail: impl Into<String>) -> Fault {
        Fault { kind, lane: lane as u32, detail: detail.into() }
    }
}

/// Tags of the windows in generic addresses.
pub(super) mod tag {
    /// Shared memory, of the thread's own block or, by rank, of any block of the cluster.
    pub(crate) const SHARED: u64 = 1 << 56;
    /// A thread's local memory.
    pub(crate) const LOCAL: u64 = 2 << 56;
    /// Kernel parameters.
    pub(crate) const PARAM: u64 = 3 << 56;
}
