//! The events of a kernel. Counters, checks and traces observe these events.
//!
//! The interpreter is generic over its observer, so a hook that is not implemented costs nothing.
//! Blocks run in parallel: each group of consecutive blocks reports to a [`fork`](Observer::fork),
//! and the forks are [merged](Observer::merge) in block order, so the outcome does not depend on
//! the number of threads. Kernels whose blocks may communicate through global memory
//! (atomics, volatile or ordered accesses, fences) run on one thread and report to one observer. The
//! events of such a kernel's blocks, and those of the blocks of any cluster, may interleave, so an
//! observer must keep its state per block, keyed by [`Block::index`].

mod compose;
mod host;
mod stored;
mod unwritten;

use std::ops::Range;

use crate::Trap;
use crate::kernel::Kernel;
pub use crate::model::{AccessKind, Buffer, CopyGroup, Order, Scope, Space};
pub use host::HostEvent;
pub use stored::{Same, Stored};
pub use unwritten::{Unwritten, Use};

/// The properties of a launch that observers receive.
#[derive(Debug, Clone, Copy)]
pub struct LaunchInfo<'a> {
    /// The kernel that runs.
    pub kernel: &'a Kernel,
    /// Number of the launch on its device, from 1.
    pub number: u64,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Blocks per cluster in x, y, z.
    pub cluster: [u32; 3],
    /// Bytes of shared memory per block, static and dynamic.
    pub shared: u32,
    /// The bytes of the parameters, laid out as in memory.
    pub params: &'a [u8],
    /// Allocations into which a parameter points.
    pub buffers: &'a [Buffer],
    /// Address of the module's variables, or 0 if it has none.
    pub module: u64,
    /// Whether events of several blocks may interleave.
    pub interleaved: bool,
}

impl LaunchInfo<'_> {
    /// Returns the number of threads per block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Returns the number of warps per block.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    /// Returns the range of the system's shared memory, which follows the block's own shared memory
    /// on sm_80 and later.
    pub(crate) fn reserved(&self) -> Range<u32> {
        let from = self.shared.next_multiple_of(128);
        from..from + (1 << 10)
    }

    /// Returns the number of bytes of shared memory that a block may access. They include the
    /// system's memory if the kernel uses it.
    pub(crate) fn shared_room(&self) -> u32 {
        if self.kernel.reserved { self.reserved().end } else { self.shared }
    }

    /// Returns the number of blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&d| u64::from(d)).product()
    }
}

/// A block of the running launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Linear index in the grid, x first.
    pub index: u64,
    /// Index in the grid, in x, y, z.
    pub id: [u32; 3],
    /// Linear index of the block's cluster.
    pub cluster: u64,
    /// The rank of the block in its cluster.
    pub rank: u32,
    /// Number of block barriers that have completed in the block, which is the index of its current
    /// round.
    pub round: u32,
}

/// The place of an event, which is one warp at one instruction.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The kernel that runs.
    pub kernel: &'a Kernel,
    /// Threads per block in x, y, z.
    pub shape: [u32; 3],
    /// The block that contains the warp.
    pub block: Block,
    /// Index of the warp in the block.
    pub warp: u32,
    /// Index of the instruction in the kernel.
    pub pc: u32,
    /// Lanes that execute the instruction, which are those whose guard holds.
    pub mask: u32,
}

impl At<'_> {
    /// Returns the line of the CUDA source, or 0 if the PTX has none.
    pub fn line(&self) -> u32 {
        self.kernel.line(self.pc)
    }

    /// Returns the line of the PTX.
    pub fn ptx_line(&self) -> u32 {
        self.kernel.ptx_line(self.pc)
    }

    /// Returns the instruction, as written in the PTX.
    pub fn text(&self) -> &str {
        self.kernel.text(self.pc)
    }

    /// Returns the linear thread index, within the block, of one lane of this warp.
    pub fn linear(&self, lane: u32) -> u32 {
        self.warp * 32 + lane
    }

    /// Returns the thread index, within the block, of one lane of this warp.
    pub fn thread(&self, lane: u32) -> [u32; 3] {
        thread_of(self.shape, self.linear(lane))
    }
}

/// Converts a linear thread index to an index in x, y and z.
pub fn thread_of(shape: [u32; 3], linear: u32) -> [u32; 3] {
    let [x, y, _] = shape;
    let (x, y) = (x.max(1), y.max(1));
    [linear % x, linear / x % y, linear / x / y]
}

/// One warp's access to memory.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// The state space.
    pub space: Space,
    /// The kind of access.
    pub kind: AccessKind,
    /// Bytes per element: 1, 2, 4, 8 or 16.
    pub width: u32,
    /// Elements per lane: 1, 2, 4 or 8.
    pub vector: u32,
    /// Memory order.
    pub order: Order,
    /// The scope of a strong access.
    pub scope: Scope,
    /// The mask of the lanes that take part, which is never 0.
    pub mask: u32,
    /// Lanes of `mask` that write. No lane of a load writes, and a compare-and-swap writes only in
    /// lanes in which it succeeds.
    pub wrote: u32,
    /// The stored values, if each lane stores one element.
    pub stored: Stored<'a>,
    /// The values that an atomic reads in each lane; unknown for other accesses.
    pub found: Stored<'a>,
    /// The first operand of an atomic in each lane; unknown for other accesses.
    pub operand: Stored<'a>,
    /// Compares the values that a store writes.
    pub same: Same<'a>,
    /// Address of the first byte for each lane that takes part; unspecified for other lanes.
    pub addrs: &'a [u64; 32],
    /// In global space, the allocation that the first participating lane accesses.
    pub alloc: Option<u32>,
}

impl Access<'_> {
    /// Returns the number of bytes that each lane accesses, starting at its address.
    pub fn bytes(&self) -> u32 {
        self.width * self.vector
    }

    /// Splits a shared address into the rank of the block that owns it, within the cluster, and the
    /// offset in that block's shared memory. The rank is `None` if the address is in the thread's
    /// own block.
    pub fn peer(addr: u64) -> (Option<u32>, u32) {
        let rank = (addr >> 24) as u32;
        (rank.checked_sub(1), addr as u32 & 0x00ff_ffff)
    }
}

/// An asynchronous copy by one lane: `cp.async` or `cp.async.bulk`.
#[derive(Debug, Clone, Copy)]
pub struct Copy {
    /// Lane that issued the copy.
    pub lane: u32,
    /// Space of the source.
    pub from: Space,
    /// Address of the first source byte.
    pub source: u64,
    /// Space of the destination.
    pub to: Space,
    /// Address of the first destination byte; a shared address as in [`Space::Shared`].
    pub target: u64,
    /// Number of bytes that are written.
    pub bytes: u32,
    /// Number of bytes that are read; the remaining bytes are written as zeros.
    pub read: u32,
    /// Shared address of the `mbarrier` that counts the bytes.
    pub mbarrier: Option<u64>,
    /// Whether the instruction is `cp.async.bulk`.
    pub bulk: bool,
}

/// The participants of a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// `bar.warp.sync`.
    Warp,
    /// `bar.sync`, `barrier.sync`, `bar.arrive`, `bar.red`.
    Block,
    /// `barrier.cluster`.
    Cluster,
}

/// The arrival of lanes of a warp at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrive {
    /// The participants of the barrier.
    pub level: Level,
    /// Index of the block barrier, from 0 to 15; 0 for other barriers.
    pub id: u32,
    /// Lanes that arrive.
    pub mask: u32,
    /// Lanes that must arrive before the barrier completes. For a warp barrier, these are the lanes
    /// in the member mask; for other barriers, they are the warp's live lanes.
    pub members: u32,
    /// Number of threads that must arrive, if the instruction gives this number.
    pub count: Option<u32>,
    /// Whether the lanes continue without waiting (`arrive`).
    pub arrive_only: bool,
    /// Whether all lanes of the warp must execute the barrier together.
    pub aligned: bool,
    /// Whether the arrival orders no memory accesses (`.relaxed`).
    pub relaxed: bool,
}

/// Members of a warp barrier that are not at the reported instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parted {
    /// Lanes that the barrier's mask names.
    pub members: u32,
    /// Lanes of `members` that reached another barrier; the rest have exited.
    pub elsewhere: u32,
    /// The instruction that the lanes of `elsewhere` reached.
    pub other: Option<u32>,
}

/// The completion of a barrier.
#[derive(Debug, Clone, Copy)]
pub struct Complete<'a> {
    /// The participants of the barrier.
    pub level: Level,
    /// Index of the block barrier, from 0 to 15; 0 for other barriers.
    pub id: u32,
    /// The block. A cluster barrier has one event for each of its blocks.
    pub block: Block,
    /// A mask of the lanes that took part, for each warp of the block. For a warp barrier, the
    /// masks of the other warps are 0.
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
    /// `activemask`; its result depends on the schedule.
    ActiveMask,
}

/// An operation on an `mbarrier`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MbarrierOp {
    /// An initialization with this number of arrivals per phase.
    Init(u32),
    /// An invalidation of the object.
    Invalidate,
    /// An arrival that counts as this many arrivals.
    Arrive(u32),
    /// An increase of the number of expected bytes by this amount.
    ExpectTx(u32),
    /// The arrival of this many bytes.
    CompleteTx(u32),
    /// A test or wait that fails.
    TestFails,
    /// A test or wait that finds its phase complete, so that the accesses before the end of that
    /// phase are visible to the lanes.
    TestPasses,
}

/// One operation on an `mbarrier`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mbarrier {
    /// The operation that the lanes perform.
    pub op: MbarrierOp,
    /// Shared address of the object, as in [`Space::Shared`].
    pub addr: u64,
    /// Lanes that perform the operation.
    pub mask: u32,
    /// The phase of the object, counted from 0 at `init`. For a test, this is the phase that the
    /// test queries.
    pub phase: u64,
    /// Whether the operation completes that phase.
    pub completes: bool,
    /// Memory order.
    pub order: Order,
    /// Scope of the operation.
    pub scope: Scope,
}

/// Receives the events of a kernel. Every hook does nothing by default.
///
/// An observer that starts between two launches has missed earlier writes. Such an observer should
/// treat memory as initialized if it did not receive the [`HostEvent::Alloc`] of that memory.
#[allow(unused_variables)]
pub trait Observer: Send + Sized {
    /// Creates an empty observer for a range of blocks of the same launch. Called after
    /// [`launch_begin`](Observer::launch_begin).
    fn fork(&self) -> Self;

    /// Merges the results of a fork. Forks are merged in block order.
    fn merge(&mut self, fork: Self);

    /// Called when the host accesses global memory. The event is reported before the next launch.
    fn host(&mut self, event: HostEvent) {}

    /// Called when a launch begins.
    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {}

    /// Called when a launch ends, but not after a trap.
    fn launch_end(&mut self, launch: &LaunchInfo<'_>) {}

    /// Called when a block begins.
    fn block_begin(&mut self, launch: &LaunchInfo<'_>, block: &Block) {}

    /// Called when all threads of a block have exited.
    fn block_end(&mut self, launch: &LaunchInfo<'_>, block: &Block) {}

    /// Called when a warp issues an instruction; `at.mask` is 0 if the guard holds for no lane.
    #[inline]
    fn inst(&mut self, at: &At<'_>) {}

    /// Called for a guarded branch. The lanes `taken` jump, and the lanes `not_taken` fall through.
    /// The branch diverges if neither mask is 0.
    #[inline]
    fn branch(&mut self, at: &At<'_>, taken: u32, not_taken: u32) {}

    /// Called when a warp reads or writes memory. A generic access to several spaces is one event
    /// per space.
    #[inline]
    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {}

    /// Called when lanes compute 64 bits from 32-bit integers. `of` returns an operand of a lane.
    #[inline]
    fn widened(&mut self, at: &At<'_>, of: impl Fn(usize, usize) -> u64) {}

    /// Returns whether to track uninitialized registers.
    fn tracks(&self) -> bool {
        false
    }

    /// Returns the uninitialized bytes of the last load that are only copied, as a mask for each
    /// lane; each mask has one bit per byte, starting at the lane's address. Called once per load,
    /// if the observer [tracks](Observer::tracks).
    #[inline]
    fn missing(&mut self) -> Option<Box<[u64; 32]>> {
        None
    }

    /// Called when the last store wrote uninitialized bytes. `bytes` has a bit for each byte,
    /// starting at `address`.
    fn carried(&mut self, at: &At<'_>, lane: u32, space: Space, address: u64, bytes: u8) {}

    /// Called when `lanes` use an uninitialized value.
    fn unset(&mut self, at: &At<'_>, lanes: u32, of: Use) {}

    /// Called when an asynchronous copy begins.
    fn copy(&mut self, at: &At<'_>, copy: &Copy) {}

    /// Called when threads commit copies to a group, or wait for groups.
    fn copy_group(&mut self, at: &At<'_>, group: CopyGroup) {}

    /// Called when an `mbarrier` begins to count a lane's copies, whether or not the lane waits for
    /// them.
    fn copy_arrive(&mut self, at: &At<'_>, lane: u32, mbarrier: u64) {}

    /// Called when lanes execute a fence between ordinary accesses and those of the copy engine.
    fn proxy_fence(&mut self, at: &At<'_>) {}

    /// A warp has waited for the previous launch (`griddepcontrol.wait`).
    fn launch_wait(&mut self, at: &At<'_>) {}

    /// Called when lanes arrive at a barrier.
    fn arrive(&mut self, at: &At<'_>, arrive: &Arrive) {}

    /// Called when a barrier completes.
    fn complete(&mut self, complete: &Complete<'_>) {}

    /// Called when lanes of `members` exchange values. The event is reported once for each
    /// instruction that took part, with its lanes in `at.mask`.
    #[inline]
    fn collective(&mut self, at: &At<'_>, kind: Collective, members: u32) {}

    /// Called when a warp barrier completes although its members are not all at the same
    /// instruction, which PTX for this target forbids.
    fn parted(&mut self, at: &At<'_>, parted: &Parted) {}

    /// Called when lanes begin to wait at a cluster barrier, at which they arrived earlier.
    fn cluster_wait(&mut self, at: &At<'_>) {}

    /// Called when a block barrier completes after the lanes in `exited` have returned. This
    /// behaviour is portable from sm_70 on.
    fn returned_early(&mut self, at: &At<'_>, exited: u32) {}

    /// Called when lanes execute a fence.
    fn fence(&mut self, at: &At<'_>, order: Order, scope: Scope) {}

    /// Called when lanes execute `fence.mbarrier_init`.
    fn init_fence(&mut self, at: &At<'_>) {}

    /// Called when lanes perform an operation on an `mbarrier`. When bytes of a bulk copy arrive,
    /// `at` is the place of the copy.
    fn mbarrier(&mut self, at: &At<'_>, mbarrier: &Mbarrier) {}

    /// Called when a strong load returned an older value of a word, which PTX allows. `place` names
    /// the word in the notation of the source.
    fn older(&mut self, at: &At<'_>, place: &str) {}

    /// Called when a thread prints.
    fn print(&mut self, at: &At<'_>, lane: u32, text: &str) {}

    /// Called when lanes exit.
    fn exit(&mut self, at: &At<'_>, mask: u32) {}

    /// Called when a fault stops the kernel.
    fn trap(&mut self, trap: &Trap) {}
}
