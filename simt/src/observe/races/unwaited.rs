//! Copies that their threads have not waited for, and writes without a later proxy fence.

use rustc_hash::FxHashMap;

use super::shadow::Entry;
use crate::inst::{Inst, Op};

/// The copies that a warp's threads have started but not waited for.
#[derive(Debug, Clone, Default)]
pub(super) struct Unwaited {
    pub(super) copies: Vec<One>,
    /// Number of groups that each lane has committed.
    pub(super) groups: [u32; 32],
}

#[derive(Debug, Clone, Copy)]
pub(super) struct One {
    pub(super) lane: u32,
    pub(super) group: u32,
    pub(super) target: u64,
    pub(super) bytes: u64,
    pub(super) entry: Entry,
}

/// Accesses without a later fence that makes them visible to the copy engine, by slot of the
/// cluster, rank of the block, and word.
#[derive(Debug, Clone, Default)]
pub(super) struct Unfenced {
    /// Writes of threads to shared memory.
    pub(super) writes: FxHashMap<(usize, usize, u64), Entry>,
    /// Initializations of mbarriers.
    pub(super) inits: FxHashMap<(usize, usize, u64), Entry>,
}

/// Returns whether a kernel uses the copy engine.
pub(super) fn uses_engine(insts: &[Inst]) -> bool {
    insts.iter().any(|inst| matches!(&inst.op, Op::Async(copy) if copy.bulk))
}
