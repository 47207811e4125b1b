//! What happens in a kernel, as events: counters, checks and traces are observers.
//!
//! The interpreter is generic over its observer, so a hook that is left out costs nothing.
//! Blocks run in parallel: each run of consecutive blocks reports to a [`fork`](Observer::fork),
//! and the forks are [merged](Observer::merge) in block order, so the outcome does not depend on
//! the number of threads. Kernels whose blocks may talk to each other (atomics, volatile or
//! ordered accesses, fences, clusters) run on one thread and report to one observer; there
//! events of several blocks may interleave, so state that belongs to a block must be kept by
//! [`Block::index`].

mod compose;

use std::ops::Range;

use crate::Trap;
use crate::kernel::Kernel;
pub use crate::model::{AccessKind, Buffer, CopyGroup, Order, Scope, Space};

/// A launch as its observers see it.
#[derive(Debug, Clone, Copy)]
pub struct LaunchInfo<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Number of the launch on its device, from 1.
    pub number: u64,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y, z.
    pub cluster: [u32; 3],
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared: u32,
    /// The parameters as they lie in memory.
    pub params: &'a [u8],
    /// Allocations that a parameter points into.
    pub buffers: &'a [Buffer],
    /// Whether events of several blocks may interleave.
    pub interleaved: bool,
}

impl LaunchInfo<'_> {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    /// The system's own shared memory, behind the block's: of GPUs since sm_80.
    pub(crate) fn reserved(&self) -> Range<u32> {
        let from = self.shared.next_multiple_of(128);
        from..from + (1 << 10)
    }

    /// Bytes of shared memory that an access of a block may touch: its own, and those of the system
    /// where the kernel asks for them.
    pub(crate) fn shared_room(&self) -> u32 {
        if self.kernel.reserved { self.reserved().end } else { self.shared }
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&d| u64::from(d)).product()
    }
}

/// A block of the running launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Linear index in the grid, x first.
    pub index: u64,
    /// Index in the grid.
    pub id: [u32; 3],
    /// Linear index of its cluster.
    pub cluster: u64,
    /// Its rank in the cluster.
    pub rank: u32,
    /// Block barriers that have completed in it: the round that it is in.
    pub round: u32,
}

/// Where an event happens: one warp at one instruction.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Threads of a block in x, y, z.
    pub shape: [u32; 3],
    /// The block.
    pub block: Block,
    /// Warp of the block.
    pub warp: u32,
    /// Index of the instruction in the kernel.
    pub pc: u32,
    /// Lanes that execute it: the guard holds.
    pub mask: u32,
}

impl At<'_> {
    /// Line of the CUDA source, 0 where the PTX says none.
    pub fn line(&self) -> u32 {
        self.kernel.line(self.pc)
    }

    /// Line of the PTX text.
    pub fn ptx_line(&self) -> u32 {
        self.kernel.ptx_line(self.pc)
    }

    /// The instruction as the PTX spells it.
    pub fn text(&self) -> &str {
        self.kernel.text(self.pc)
    }

    /// Linear thread index in the block of a lane of this warp.
    pub fn linear(&self, lane: u32) -> u32 {
        self.warp * 32 + lane
    }

    /// Thread index in the block of a lane of this warp.
    pub fn thread(&self, lane: u32) -> [u32; 3] {
        thread_of(self.shape, self.linear(lane))
    }
}

/// Thread index in x, y, z of a linear one.
pub fn thread_of(shape: [u32; 3], linear: u32) -> [u32; 3] {
    let [x, y, _] = shape;
    let (x, y) = (x.max(1), y.max(1));
    [linear % x, linear / x % y, linear / x / y]
}

/// What the lanes of a warp store.
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a> {
    /// Not known here: several elements, or an atomic's.
    Unknown,
    /// The same for all lanes.
    Same,
    /// A word of each lane.
    Words(&'a [u32; 32]),
    /// A double word of each lane.
    Doubles(&'a [u64; 32]),
}

impl Stored<'_> {
    /// That of a lane, where it is known.
    pub fn of(&self, lane: u32) -> Option<u64> {
        match self {
            Stored::Unknown | Stored::Same => None,
            Stored::Words(values) => Some(values[lane as usize & 31].into()),
            Stored::Doubles(values) => Some(values[lane as usize & 31]),
        }
    }

    /// Whether two lanes are known to store the same.
    pub fn same(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize & 31, b as usize & 31);
        match self {
            Stored::Unknown => false,
            Stored::Same => true,
            Stored::Words(values) => values[a] == values[b],
            Stored::Doubles(values) => values[a] == values[b],
        }
    }
}

/// One warp's access to memory.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Where.
    pub space: Space,
    /// What.
    pub kind: AccessKind,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub width: u32,
    /// Elements of a lane: 1, 2, 4 or 8.
    pub vector: u32,
    /// Memory order.
    pub order: Order,
    /// Scope, of strong accesses.
    pub scope: Scope,
    /// Lanes that take part: never 0.
    pub mask: u32,
    /// Lanes of them that write: none of a load, and not those whose compare-and-swap fails.
    pub wrote: u32,
    /// What is stored, where that is one element a lane.
    pub stored: Stored<'a>,
    /// What an atomic finds, lane by lane; unknown for other accesses.
    pub found: Stored<'a>,
    /// First byte of each lane that takes part; other lanes hold anything.
    pub addrs: &'a [u64; 32],
    /// Allocation of the first lane that takes part, in global space.
    pub alloc: Option<u32>,
}

impl Access<'_> {
    /// Bytes that each lane touches, from its address on.
    pub fn bytes(&self) -> u32 {
        self.width * self.vector
    }

    /// Splits a shared address into the block that owns it, as a rank in the cluster, and the
    /// offset there. The rank is `None` for the own block.
    pub fn peer(addr: u64) -> (Option<u32>, u32) {
        let rank = (addr >> 24) as u32;
        (rank.checked_sub(1), addr as u32 & 0x00ff_ffff)
    }
}

/// A copy that runs on its own: `cp.async` and `cp.async.bulk`, of one lane.
#[derive(Debug, Clone, Copy)]
pub struct Copy {
    /// Lane that issued it.
    pub lane: u32,
    /// Space that is read.
    pub from: Space,
    /// First byte that is read.
    pub source: u64,
    /// Space that is written.
    pub to: Space,
    /// First byte that is written; a shared address as in [`Space::Shared`].
    pub target: u64,
    /// Bytes that are written.
    pub bytes: u32,
    /// Bytes that are read; those beyond them are written as zeros.
    pub read: u32,
    /// Shared address of the `mbarrier` that counts them.
    pub mbarrier: Option<u64>,
    /// Whether it is a `cp.async.bulk`.
    pub bulk: bool,
}

/// Who meets at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// `bar.warp.sync`.
    Warp,
    /// `bar.sync`, `barrier.sync`, `bar.arrive`, `bar.red`.
    Block,
    /// `barrier.cluster`.
    Cluster,
}

/// Lanes of a warp reach a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrive {
    /// Who meets.
    pub level: Level,
    /// Which of the 16 block barriers; 0 otherwise.
    pub id: u32,
    /// Lanes that arrive.
    pub mask: u32,
    /// Lanes that are asked to meet: the member mask of a warp barrier, the warp's live lanes
    /// otherwise.
    pub members: u32,
    /// Threads that are asked to meet, where the instruction says so.
    pub count: Option<u32>,
    /// Whether the lanes go on at once (`arrive`).
    pub arrive_only: bool,
    /// Whether all lanes of the warp must execute it together.
    pub aligned: bool,
}

/// Which members of a warp barrier are not at the instruction that it is reported for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parted {
    /// Lanes that the mask names.
    pub members: u32,
    /// Those of them that came to another barrier; the rest have exited.
    pub elsewhere: u32,
    /// The instruction that these came to.
    pub other: Option<u32>,
}

/// A barrier opens.
#[derive(Debug, Clone, Copy)]
pub struct Complete<'a> {
    /// Who meets.
    pub level: Level,
    /// Which of the 16 block barriers; 0 otherwise.
    pub id: u32,
    /// The block; of a cluster barrier, one event for each block.
    pub block: Block,
    /// Lanes that took part, a mask for each warp of the block; of a warp barrier, those of the
    /// other warps are 0.
    pub lanes: &'a [u32],
}

/// Warp-wide exchanges of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collective {
    /// `shfl.sync`.
    Shuffle,
    /// `vote.sync`.
    Vote,
    /// `match.sync`.
    Match,
    /// `redux.sync`.
    Redux,
    /// `elect.sync`.
    Elect,
    /// `activemask`: what it yields depends on the schedule.
    ActiveMask,
}

/// What is done to an `mbarrier`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MbarrierOp {
    /// Made, for so many arrivals a phase.
    Init(u32),
    /// Unmade.
    Invalidate,
    /// So many arrivals.
    Arrive(u32),
    /// So many more bytes are awaited.
    ExpectTx(u32),
    /// So many bytes have come.
    CompleteTx(u32),
    /// A test or wait that fails.
    TestFails,
    /// A test or wait that finds its phase complete: the lanes now see what came before it.
    TestPasses,
}

/// One operation on an `mbarrier`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mbarrier {
    /// What.
    pub op: MbarrierOp,
    /// Shared address of the object, as in [`Space::Shared`].
    pub addr: u64,
    /// Lanes that do it.
    pub mask: u32,
    /// The phase that it belongs to, counted from 0 at `init`; of a test, the one asked for.
    pub phase: u64,
    /// Whether it completes that phase.
    pub completes: bool,
    /// Memory order.
    pub order: Order,
    /// Scope.
    pub scope: Scope,
}

/// What the host does to global memory between launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEvent {
    /// New memory, not initialised.
    Alloc {
        /// Number of the allocation.
        alloc: u32,
        /// First address.
        base: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Memory given back.
    Free {
        /// Number of the allocation.
        alloc: u32,
        /// First address.
        base: u64,
        /// Bytes.
        bytes: u64,
    },
    /// A copy to the device, or a fill.
    Write {
        /// First address.
        base: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Memory that holds nothing any more.
    Forget {
        /// First address.
        base: u64,
        /// Bytes.
        bytes: u64,
        /// The allocation that it is in.
        of: Buffer,
    },
    /// A copy from the device.
    Read {
        /// First address.
        base: u64,
        /// Bytes.
        bytes: u64,
    },
}

/// Sees what a kernel does. All hooks do nothing unless written.
///
/// An observer that starts between two launches has missed what was written before: it should
/// take memory whose [`HostEvent::Alloc`] it never saw for initialised.
#[allow(unused_variables)]
pub trait Observer: Send + Sized {
    /// An empty observer for a run of blocks of the same launch. Called after
    /// [`launch_begin`](Observer::launch_begin).
    fn fork(&self) -> Self;

    /// Takes in what a fork saw. Forks come in block order.
    fn merge(&mut self, fork: Self);

    /// The host touched global memory; reported before the next launch.
    fn host(&mut self, event: HostEvent) {}

    /// A launch begins.
    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {}

    /// A launch ended; not called after a trap.
    fn launch_end(&mut self, launch: &LaunchInfo<'_>) {}

    /// A block begins.
    fn block_begin(&mut self, launch: &LaunchInfo<'_>, block: &Block) {}

    /// All threads of a block have exited.
    fn block_end(&mut self, launch: &LaunchInfo<'_>, block: &Block) {}

    /// A warp executes an instruction; `at.mask` may be 0, where the guard holds for no lane.
    /// A `.sync` that has to wait is reported once, when it is issued.
    #[inline]
    fn inst(&mut self, at: &At<'_>) {}

    /// A branch with a guard: `taken` lanes jump, `not_taken` lanes fall through. It diverges
    /// where neither is 0.
    #[inline]
    fn branch(&mut self, at: &At<'_>, taken: u32, not_taken: u32) {}

    /// A warp reads or writes memory. A generic access to several spaces is one event for each.
    #[inline]
    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {}

    /// A copy of its own pace begins.
    fn copy(&mut self, at: &At<'_>, copy: &Copy) {}

    /// Threads put their copies into a group, or wait for groups.
    fn copy_group(&mut self, at: &At<'_>, group: CopyGroup) {}

    /// A fence between ordinary accesses and those of the copy engine.
    fn proxy_fence(&mut self, at: &At<'_>) {}

    /// Lanes reach a barrier.
    fn arrive(&mut self, at: &At<'_>, arrive: &Arrive) {}

    /// A barrier opens.
    fn complete(&mut self, complete: &Complete<'_>) {}

    /// A warp-wide exchange takes place among `members`; reported once for each instruction that
    /// took part, `at.mask` holding its lanes.
    #[inline]
    fn collective(&mut self, at: &At<'_>, kind: Collective, members: u32) {}

    /// `lanes` of a shuffle read a lane that does not take part: what they get is undefined.
    fn undefined_lanes(&mut self, at: &At<'_>, lanes: u32) {}

    /// A warp barrier opens whose members are not all at one instruction, as the text's target asks.
    fn parted(&mut self, at: &At<'_>, parted: &Parted) {}

    /// Lanes come to the wait of a cluster barrier at which they have arrived before.
    fn cluster_wait(&mut self, at: &At<'_>) {}

    /// A fence.
    fn fence(&mut self, at: &At<'_>, order: Order, scope: Scope) {}

    /// An operation on an `mbarrier`. For bytes that a bulk copy brings, `at` is the copy.
    fn mbarrier(&mut self, at: &At<'_>, mbarrier: &Mbarrier) {}

    /// A thread prints.
    fn print(&mut self, at: &At<'_>, lane: u32, text: &str) {}

    /// Lanes exit.
    fn exit(&mut self, at: &At<'_>, mask: u32) {}

    /// The kernel is stopped.
    fn trap(&mut self, trap: &Trap) {}
}
