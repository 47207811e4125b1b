//! The trace, which shows the banks that each lane accesses in each round. The book's figures use
//! it.
//!
//! The trace records every access of a few blocks, as plain data and as JSON.

use rustc_hash::FxHashMap;

use serde::Serialize;

use crate::observer::{
    Access, AccessKind, Arrive, At, Block, Collective, Complete, Copy, LaunchInfo, Level, Mbarrier,
    MbarrierOp, Observer, Space,
};

/// Records the first blocks of each launch, instruction by instruction.
#[derive(Debug, Clone, Serialize)]
pub struct Trace {
    /// Number of blocks to record per launch, starting with the first.
    #[serde(skip)]
    limit: u64,
    /// Whether asynchronous copies are recorded.
    #[serde(skip)]
    copies: bool,
    /// The recorded blocks, in order.
    pub blocks: Vec<BlockTrace>,
    #[serde(skip)]
    open: FxHashMap<u64, usize>,
    #[serde(skip)]
    launch: u32,
}

/// The trace of one block.
#[derive(Debug, Clone, Serialize)]
pub struct BlockTrace {
    /// Number of the launch, from 0.
    pub launch: u32,
    /// Name of the entry.
    pub entry: String,
    /// Linear index of the block.
    pub block: u64,
    /// Number of threads in the block.
    pub threads: u32,
    /// The rounds, which are separated by block barriers.
    pub rounds: Vec<TraceRound>,
}

/// The events from one block barrier to the next.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TraceRound {
    /// The events, in the order of execution.
    pub events: Vec<TraceEvent>,
}

/// One warp instruction that accesses memory or exchanges values between lanes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TraceEvent {
    /// The event: `load`, `store`, `atomic`, `barrier`, `warp barrier`, `cluster barrier`,
    /// `shuffle`, `vote`, `match`, `redux`, `elect` or `activemask`. On request, also `copy`, a
    /// bulk copy to shared memory, `async copy`, an asynchronous copy by one lane, and `wait`, a
    /// test or wait that finds the phase of an `mbarrier` complete.
    pub what: &'static str,
    /// The space: `shared` or `global`.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub space: &'static str,
    /// Index of the warp in the block.
    pub warp: u32,
    /// Line of the CUDA source.
    pub line: u32,
    /// Line of the PTX.
    pub ptx_line: u32,
    /// Lanes that take part.
    pub lanes: Vec<u32>,
    /// Bytes per lane.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u32,
    /// The first byte that each lane accesses, as an offset in shared memory or a global address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<u64>,
    /// The first byte in global memory that a copy reads.
    #[serde(skip)]
    pub source: u64,
    /// The address of the `mbarrier` of a copy.
    #[serde(skip)]
    pub mbarrier: Option<u64>,
    /// In shared memory, the first bank that each lane accesses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub banks: Vec<u32>,
    /// In shared memory, the number of wavefronts (passes over the banks).
    #[serde(skip_serializing_if = "is_zero")]
    pub wavefronts: u32,
    /// The number of wavefronts beyond the minimum for the width.
    pub conflicts: u32,
    /// In global memory, the number of 32-byte sectors.
    #[serde(skip_serializing_if = "is_zero")]
    pub sectors: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde requires a reference.
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Trace {
    /// Creates an observer that records the first `blocks` blocks of every launch.
    pub fn new(blocks: u64) -> Trace {
        Trace {
            limit: blocks,
            copies: false,
            blocks: Vec::new(),
            open: FxHashMap::default(),
            launch: 0,
        }
    }

    /// Creates an observer that also records asynchronous copies. The address of each copy is that
    /// of its first byte in shared memory.
    pub fn with_copies(blocks: u64) -> Trace {
        Trace { copies: true, ..Trace::new(blocks) }
    }

    /// Returns the trace as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data can always be serialized")
    }

    fn push(&mut self, at: &At<'_>, event: TraceEvent) {
        if at.block.index >= self.limit {
            return;
        }
        let Some(&i) = self.open.get(&at.block.index) else { return };
        let rounds = &mut self.blocks[i].rounds;
        let round = at.block.round as usize;
        if rounds.len() <= round {
            rounds.resize_with(round + 1, TraceRound::default);
        }
        rounds[round].events.push(TraceEvent {
            warp: at.warp,
            line: at.line(),
            ptx_line: at.ptx_line(),
            ..event
        });
    }
}

impl Observer for Trace {
    fn fork(&self) -> Self {
        Trace { launch: self.launch, copies: self.copies, ..Trace::new(self.limit) }
    }

    fn merge(&mut self, fork: Self) {
        self.blocks.extend(fork.blocks);
    }

    fn launch_end(&mut self, _: &LaunchInfo<'_>) {
        self.launch += 1;
        self.open.clear();
    }

    fn block_begin(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
        if block.index < self.limit {
            self.open.insert(block.index, self.blocks.len());
            self.blocks.push(BlockTrace {
                launch: self.launch,
                entry: launch.kernel.name().to_owned(),
                block: block.index,
                threads: launch.threads(),
                rounds: Vec::new(),
            });
        }
    }

    #[inline]
    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        let space = match access.space {
            Space::Shared => "shared",
            Space::Global => "global",
            _ => return,
        };
        if at.block.index >= self.limit {
            return;
        }
        let lanes = list(access.mask);
        let addresses: Vec<u64> = lanes.iter().map(|&l| access.addrs[l as usize]).collect();
        let bytes = access.bytes();
        let mut event = TraceEvent {
            what: match access.kind {
                AccessKind::Load => "load",
                AccessKind::Store => "store",
                AccessKind::Atomic | AccessKind::Reduction => "atomic",
            },
            space,
            bytes,
            ..TraceEvent::default()
        };
        if access.space == Space::Shared {
            event.banks = addresses.iter().map(|a| (a / 4 % 32) as u32).collect();
            (event.wavefronts, event.conflicts) = wavefronts(access);
        } else {
            event.sectors = sectors(&addresses, u64::from(bytes));
        }
        self.push(at, TraceEvent { lanes, addresses, ..event });
    }

    fn copy(&mut self, at: &At<'_>, copy: &Copy) {
        if !self.copies || copy.to != Space::Shared {
            return;
        }
        let event = TraceEvent {
            what: if copy.bulk { "copy" } else { "async copy" },
            space: "shared",
            bytes: copy.bytes,
            lanes: vec![copy.lane],
            addresses: vec![copy.target],
            source: copy.source,
            mbarrier: copy.mbarrier,
            ..TraceEvent::default()
        };
        self.push(at, event);
    }

    fn mbarrier(&mut self, at: &At<'_>, mbarrier: &Mbarrier) {
        if self.copies && mbarrier.op == MbarrierOp::TestPasses {
            let (lanes, addresses) = (list(mbarrier.mask), vec![mbarrier.addr]);
            let what = "wait";
            self.push(at, TraceEvent { what, lanes, addresses, ..TraceEvent::default() });
        }
    }

    fn arrive(&mut self, at: &At<'_>, arrive: &Arrive) {
        let what = match arrive.level {
            Level::Warp => "warp barrier",
            Level::Block => "barrier",
            Level::Cluster => "cluster barrier",
        };
        self.push(at, TraceEvent { what, lanes: list(arrive.mask), ..TraceEvent::default() });
    }

    fn complete(&mut self, _: &Complete<'_>) {}

    fn collective(&mut self, at: &At<'_>, kind: Collective, _: u32) {
        let what = match kind {
            Collective::Shuffle => "shuffle",
            Collective::Vote => "vote",
            Collective::Match => "match",
            Collective::Redux => "redux",
            Collective::Elect => "elect",
            Collective::ActiveMask => "activemask",
        };
        self.push(at, TraceEvent { what, lanes: list(at.mask), ..TraceEvent::default() });
    }
}

fn list(mask: u32) -> Vec<u32> {
    (0..32).filter(|l| mask >> l & 1 == 1).collect()
}

/// Returns the number of wavefronts over the 32 banks, and the number beyond the minimum. A group
/// of lanes accesses at most 128 bytes. An access takes one wavefront for each word in its busiest
/// bank.
fn wavefronts(access: &Access<'_>) -> (u32, u32) {
    let words = access.bytes().div_ceil(4).max(1);
    let group = 32 / words.min(8);
    let (mut passes, mut needed) = (0, 0);
    for first in (0..32).step_by(group as usize) {
        let mut banks: [Vec<u64>; 32] = Default::default();
        for lane in first..first + group {
            if access.mask >> lane & 1 == 0 {
                continue;
            }
            let word = access.addrs[lane as usize] / 4;
            for w in word..word + u64::from(words) {
                let bank = &mut banks[(w % 32) as usize];
                if !bank.contains(&w) {
                    bank.push(w);
                }
            }
        }
        let most = banks.iter().map(Vec::len).max().unwrap_or(0) as u32;
        passes += most;
        needed += u32::from(most > 0);
    }
    (passes, passes - needed)
}

/// Returns the number of distinct 32-byte sectors.
fn sectors(addresses: &[u64], bytes: u64) -> u32 {
    let mut all: Vec<u64> =
        addresses.iter().flat_map(|a| a / 32..=(a + bytes.max(1) - 1) / 32).collect();
    all.sort_unstable();
    all.dedup();
    all.len() as u32
}
