//! A team consists of the blocks of one cluster, which is usually a single block.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::View;
use super::copies::Copies;
use super::env::{Env, Fault};
use super::mbarriers::Mbarriers;
use super::rng::Rng;
use super::warp::Warp;
use crate::flow::Flow;
use crate::inst::{AtomOp, Ty};
use crate::observer::{At, Block, Observer, thread_of};
use crate::tails::Tails;
use crate::{Schedule, Trap};

/// A reduction or a store by one lane that has not happened yet. A store is an exchange.
#[derive(Debug, Clone)]
pub(super) struct Late {
    pub(super) address: u64,
    pub(super) op: AtomOp,
    pub(super) ty: Ty,
    pub(super) ftz: bool,
    pub(super) value: u64,
}

/// The state of a block barrier.
#[derive(Debug, Default, Clone)]
pub(super) struct Bar {
    /// Lanes that wait, for each warp.
    pub(super) waiting: Vec<u32>,
    /// Lanes that have arrived without waiting, for each warp.
    pub(super) arrived: Vec<u32>,
    /// The number of threads that the barrier expects, if the instruction gives this number.
    pub(super) count: Option<u32>,
    pub(super) aligned: bool,
    pub(super) active: bool,
    /// For `bar.red`, the number of predicates that hold and the number of predicates that were
    /// counted.
    pub(super) held: u32,
    pub(super) asked: u32,
}

/// A block and its barriers.
#[derive(Debug)]
pub(super) struct BlockState {
    pub(super) id: Block,
    pub(super) bars: Vec<Bar>,
    pub(super) ended: bool,
}

/// For each warp of each block: the number of instructions that it executed while it was sampled,
/// and the set of these instructions.
#[derive(Clone, Default)]
pub(super) struct Sample {
    pub(super) warps: BTreeMap<(u64, u32), (u64, BTreeSet<u32>)>,
}

/// The blocks of a cluster.
pub(super) struct Team<'e> {
    pub(super) env: &'e Env<'e>,
    pub(super) blocks: Vec<BlockState>,
    pub(super) warps: Vec<Warp>,
    /// Shared memory of all blocks, with `stride` bytes for each block.
    pub(super) shared: Vec<u8>,
    pub(super) stride: usize,
    /// Warps per block.
    per_block: usize,
    pub(super) mbarriers: Mbarriers,
    /// Lanes at the cluster barrier, for each warp.
    pub(super) cluster_arrived: Vec<u32>,
    /// Lanes that have not waited since they last arrived there, for each warp.
    pub(super) cluster_owing: Vec<u32>,
    /// Number of warp instructions executed so far.
    pub(super) executed: u64,
    pub(super) rng: Rng,
    /// Number of rounds in which waits at `mbarrier`s timed out since an `mbarrier` last changed.
    pub(super) vain_waits: u32,
    /// The instructions to sample, if this run serves only to find the team's loop.
    pub(super) sample: Option<Sample>,
    pub(super) copies: Copies,
    /// Reductions that have not happened yet.
    pub(super) late: Vec<Late>,
    /// The times up to which the threads see all writes to global memory.
    pub(super) view: View,
    /// The number of instructions that had run when the team last made progress, and the number
    /// when it last polled. Rereading a polled address does not count as progress.
    pub(super) moved: u64,
    pub(super) looked: u64,
    /// The last addresses that the team polled.
    pub(super) polled: [u64; POLLED],
    /// The tracked registers, if the observer tracks them and the kernel has any.
    pub(super) flow: Option<&'e Flow>,
    pub(super) tails: &'e Tails,
    pub(super) stall: Stall,
}

/// The delay of a team before a write that other blocks may observe.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stall {
    /// Whether the next instruction is such a write.
    pub(super) at_write: bool,
    /// Whether this write is a fence that performs late reductions. The team is then delayed until
    /// the other blocks have ended or are waiting, if possible.
    pub(super) long: bool,
    /// Whether the team may execute its next write that other blocks may observe.
    pub(super) released: bool,
    /// The team runs again when the launch has executed this number of instructions.
    pub(super) until: u64,
}

/// Number of instructions without progress after which a block counts as waiting.
pub(super) const QUIET: u64 = 1 << 11;

/// Number of instructions without progress after which a warp lets the others run.
const SPIN: u64 = 1 << 6;

/// Number of addresses that a block may poll in turn while it waits for others.
pub(super) const POLLED: usize = 1 << 10;

impl<'e> Team<'e> {
    pub(super) fn new(env: &'e Env<'e>) -> Team<'e> {
        Team {
            env,
            blocks: Vec::new(),
            warps: Vec::new(),
            shared: Vec::new(),
            stride: 0,
            per_block: env.info.warps() as usize,
            mbarriers: Mbarriers::default(),
            cluster_arrived: Vec::new(),
            cluster_owing: Vec::new(),
            executed: 0,
            rng: Rng::default(),
            vain_waits: 0,
            sample: None,
            copies: Copies::default(),
            late: Vec::new(),
            view: View::default(),
            moved: 0,
            looked: 0,
            polled: [0; POLLED],
            flow: None,
            tails: env.info.kernel.tails(),
            stall: Stall::default(),
        }
    }

    /// Returns whether the team has recently done nothing but poll.
    pub(super) fn waits(&self) -> bool {
        self.executed - self.moved >= QUIET && self.polls()
    }

    /// Returns whether the team has done nothing but poll for a long time.
    pub(super) fn waits_long(&self) -> bool {
        self.executed - self.moved >= 32 * QUIET && self.polls()
    }

    /// Returns whether the team has done nothing but poll for a short time, so that another warp
    /// should run.
    pub(super) fn spins(&self) -> bool {
        self.executed - self.moved >= SPIN && self.executed - self.looked < SPIN
    }

    /// Returns whether the team has recently polled.
    fn polls(&self) -> bool {
        self.executed - self.looked < QUIET
    }

    /// Records that the team has made progress.
    #[inline]
    pub(super) fn moves(&mut self) {
        self.moved = self.executed;
    }

    /// Records a read of an address that other threads may change. If the address has not been
    /// polled recently, the read counts as progress.
    #[cold]
    pub(super) fn looks(&mut self, address: u64) {
        self.looked = self.executed;
        let place = &mut self.polled[(address / 4) as usize % POLLED];
        if *place != address {
            *place = address;
            self.moves();
        }
    }

    /// Prepares the team for a cluster, and reuses the memory of the previous cluster.
    pub(super) fn start<O: Observer>(&mut self, cluster: u64, obs: &mut O) {
        let info = &self.env.info;
        let size: u32 = info.cluster.iter().product();
        let (threads, per_block) = (info.threads(), info.warps());
        self.blocks.clear();
        let clusters: [u64; 3] = std::array::from_fn(|i| u64::from(info.grid[i] / info.cluster[i]));
        let origin = [
            cluster % clusters[0],
            cluster / clusters[0] % clusters[1],
            cluster / clusters[0] / clusters[1],
        ];
        for rank in 0..size {
            let inner = thread_of(info.cluster, rank);
            let id: [u32; 3] =
                std::array::from_fn(|i| origin[i] as u32 * info.cluster[i] + inner[i]);
            let index = u64::from(id[0])
                + u64::from(info.grid[0])
                    * (u64::from(id[1]) + u64::from(info.grid[1]) * u64::from(id[2]));
            let block = Block { index, id, cluster, rank, round: 0 };
            obs.block_begin(info, &block);
            self.blocks.push(BlockState { id: block, bars: Vec::new(), ended: false });
        }
        let warps = (size * per_block) as usize;
        self.warps.resize_with(warps, Warp::default);
        for (i, warp) in self.warps.iter_mut().enumerate() {
            let index = i as u32 % per_block;
            let lanes = (threads - index * 32).min(32);
            let live = if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 };
            warp.reset(
                i / per_block as usize,
                index,
                live,
                info.kernel.planes,
                info.kernel.local as usize,
            );
        }
        self.stride = (info.shared_room() as usize).next_multiple_of(16);
        self.shared.clear();
        self.shared.resize(self.stride * size as usize, crate::global::POISON);
        self.mbarriers.clear();
        self.cluster_arrived.clear();
        self.cluster_arrived.resize(warps, 0);
        self.cluster_owing.clear();
        self.cluster_owing.resize(warps, 0);
        self.executed = 0;
        self.vain_waits = 0;
        self.stall = Stall::default();
        self.sample = None;
        self.copies.clear();
        self.late.clear();
        self.begin_view();
        (self.moved, self.looked) = (0, 0);
        self.polled = [0; POLLED];
        let seed = if let Schedule::Adversarial(seed) = self.env.schedule { seed } else { 0 };
        self.rng = Rng::new(seed, cluster);
        self.flow =
            if obs.tracks() { self.env.info.kernel.flow().map(|flow| &**flow) } else { None };
        if let Some(flow) = self.flow {
            self.begin_unset(flow);
        }
    }

    #[inline]
    pub(super) fn per_block(&self) -> usize {
        self.per_block
    }

    #[inline]
    pub(super) fn at(&self, w: usize, pc: u32, mask: u32) -> At<'e> {
        let warp = &self.warps[w];
        At {
            kernel: self.env.info.kernel,
            shape: self.env.info.block,
            block: self.blocks[warp.block].id,
            warp: warp.index,
            pc,
            mask,
        }
    }

    #[cold]
    pub(super) fn trap(&self, w: usize, pc: u32, fault: Fault) -> Box<Trap> {
        let at = self.at(w, pc, 0);
        Box::new(Trap {
            kind: fault.kind,
            entry: at.kernel.name.clone(),
            launch: self.env.info.number,
            blocks: self.env.info.blocks(),
            threads: self.env.info.threads(),
            block: at.block.id,
            thread: at.thread(fault.lane),
            line: at.line(),
            ptx_line: at.ptx_line(),
            at: at.kernel.place(pc),
            text: at.text().to_string(),
            detail: fault.detail,
            polls: self.polls(),
        })
    }

    pub(super) fn is_done(&self) -> bool {
        self.blocks.iter().all(|b| b.ended)
    }
}
