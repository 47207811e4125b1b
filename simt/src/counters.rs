//! Counts the work of each launch, line and round of a kernel.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use crate::Trap;
use crate::observer::{Access, Arrive, At, Collective, Copy, LaunchInfo, Level, Observer, Space};

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Counts, summed over warps.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl Counts {
            /// Returns the name and value of each count, in a fixed order.
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
    /// Number of instructions that warps issued.
    warp_insts,
    /// Number of thread instructions: each warp instruction counts once for each active lane.
    thread_insts,
    /// Conditional branches at which the lanes of a warp diverge.
    divergent_branches,
    /// Loads from shared memory with at least one active lane.
    shared_ld,
    /// Stores to shared memory with at least one active lane.
    shared_st,
    /// Wavefronts (passes over the banks) of loads from shared memory.
    shared_ld_wavefronts,
    /// Wavefronts (passes over the banks) of stores to shared memory.
    shared_st_wavefronts,
    /// Wavefronts of loads from shared memory beyond the minimum for their width.
    shared_ld_conflicts,
    /// Wavefronts of stores to shared memory beyond the minimum for their width.
    shared_st_conflicts,
    /// Loads from global memory with at least one active lane.
    global_ld_requests,
    /// 32-byte sectors that loads from global memory access; a sector counts once per request.
    global_ld_sectors,
    /// Stores to global memory with at least one active lane.
    global_st_requests,
    /// 32-byte sectors that stores to global memory access; a sector counts once per request.
    global_st_sectors,
    /// Block barriers that warps executed.
    barriers,
    /// Warp barriers (`__syncwarp`) that warps executed.
    warp_barriers,
    /// Shuffles that warps executed.
    shuffles,
    /// Atomics and reductions on memory.
    atomics,
    /// Bytes that asynchronous copies moved.
    copied_bytes,
}

/// The counts of one launch.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LaunchCounts {
    /// Name of the entry.
    pub entry: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Counts of the whole launch.
    pub counts: Counts,
    /// Counts per line of the CUDA source. Line 0 holds the counts of instructions that have no
    /// source line.
    pub lines: BTreeMap<u32, Counts>,
    /// Counts per line of the PTX, with the corresponding line of the CUDA source.
    pub ptx: BTreeMap<u32, (u32, Counts)>,
    /// Counts per round, which is the interval between two block barriers.
    pub rounds: Vec<Counts>,
    /// Counts per block, if [`Counters::per_block`] was used.
    pub blocks: BTreeMap<u64, Counts>,
}

/// Counts the work per launch, line, round and (on request) block.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// Sum over all launches.
    pub total: Counts,
    /// One entry for each launch.
    pub launches: Vec<LaunchCounts>,
    by_block: bool,
    /// Counts of the running launch, per instruction, round and block.
    insts: Vec<Counts>,
    rounds: Vec<Counts>,
    blocks: BTreeMap<u64, Counts>,
    running: Option<Box<LaunchCounts>>,
    /// For each instruction of the running launch, the lines of the source and of the PTX that
    /// contain it.
    source: Vec<(u32, u32)>,
}

/// Number of rounds that are counted separately. The counts of all later rounds are added to the
/// counts of the last round that is counted separately.
const MOST_ROUNDS: usize = 4096;

impl Counters {
    /// Creates an observer that also counts each block. The memory of this observer grows with the
    /// grid.
    pub fn per_block() -> Counters {
        Counters { by_block: true, ..Counters::default() }
    }

    /// Adds to the counts of an event's instruction, round and block.
    #[inline]
    fn add(&mut self, at: &At<'_>, f: impl Fn(&mut Counts)) {
        let round = (at.block.round as usize).min(MOST_ROUNDS - 1);
        if round >= self.rounds.len() {
            self.rounds.resize(round + 1, Counts::default());
        }
        f(&mut self.rounds[round]);
        if let Some(counts) = self.insts.get_mut(at.pc as usize) {
            f(counts);
        }
        if self.by_block {
            f(self.blocks.entry(at.block.index).or_default());
        }
    }

    /// Adds the counts of the running launch to the total, even if the launch was stopped.
    fn finish(&mut self) {
        let Some(mut launch) = self.running.take() else { return };
        for (counts, (line, ptx_line)) in self.insts.iter().zip(&self.source) {
            if *counts != Counts::default() {
                *launch.lines.entry(*line).or_default() += counts;
                let (_, there) = launch.ptx.entry(*ptx_line).or_insert((*line, Counts::default()));
                *there += counts;
            }
        }
        for counts in &self.rounds {
            launch.counts += counts;
        }
        launch.rounds = std::mem::take(&mut self.rounds);
        launch.blocks = std::mem::take(&mut self.blocks);
        self.insts.clear();
        self.total += &launch.counts;
        self.launches.push(*launch);
    }
}

impl Observer for Counters {
    fn fork(&self) -> Self {
        Counters {
            by_block: self.by_block,
            insts: vec![Counts::default(); self.insts.len()],
            ..Counters::default()
        }
    }

    fn merge(&mut self, fork: Self) {
        for (mine, theirs) in self.insts.iter_mut().zip(&fork.insts) {
            *mine += theirs;
        }
        if self.rounds.len() < fork.rounds.len() {
            self.rounds.resize(fork.rounds.len(), Counts::default());
        }
        for (mine, theirs) in self.rounds.iter_mut().zip(&fork.rounds) {
            *mine += theirs;
        }
        for (block, theirs) in fork.blocks {
            *self.blocks.entry(block).or_default() += &theirs;
        }
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        self.finish();
        let kernel = launch.kernel;
        self.insts = vec![Counts::default(); kernel.len()];
        let lines = |pc| (kernel.line(pc), kernel.ptx_line(pc));
        self.source = (0..kernel.len() as u32).map(lines).collect();
        self.running = Some(Box::new(LaunchCounts {
            entry: kernel.name().to_string(),
            grid: launch.grid,
            block: launch.block,
            ..LaunchCounts::default()
        }));
    }

    fn launch_end(&mut self, _launch: &LaunchInfo<'_>) {
        self.finish();
    }

    fn trap(&mut self, _trap: &Trap) {
        self.finish();
    }

    #[inline]
    fn inst(&mut self, at: &At<'_>) {
        let lanes = u64::from(at.mask.count_ones());
        self.add(at, |c| {
            c.warp_insts += 1;
            c.thread_insts += lanes;
        });
    }

    #[inline]
    fn branch(&mut self, at: &At<'_>, taken: u32, not_taken: u32) {
        if taken != 0 && not_taken != 0 {
            self.add(at, |c| c.divergent_branches += 1);
        }
    }

    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        match access.space {
            _ if access.kind.is_atomic() => self.add(at, |c| c.atomics += 1),
            Space::Shared => {
                let (waves, least) = wavefronts(access);
                if access.kind.writes() {
                    self.add(at, |c| {
                        c.shared_st += 1;
                        c.shared_st_wavefronts += waves;
                        c.shared_st_conflicts += waves - least;
                    });
                } else {
                    self.add(at, |c| {
                        c.shared_ld += 1;
                        c.shared_ld_wavefronts += waves;
                        c.shared_ld_conflicts += waves - least;
                    });
                }
            }
            Space::Global => {
                let sectors = sectors(access);
                if access.kind.writes() {
                    self.add(at, |c| {
                        c.global_st_requests += 1;
                        c.global_st_sectors += sectors;
                    });
                } else {
                    self.add(at, |c| {
                        c.global_ld_requests += 1;
                        c.global_ld_sectors += sectors;
                    });
                }
            }
            _ => {}
        }
    }

    fn copy(&mut self, at: &At<'_>, copy: &Copy) {
        self.add(at, |c| c.copied_bytes += u64::from(copy.bytes));
    }

    fn arrive(&mut self, at: &At<'_>, arrive: &Arrive) {
        match arrive.level {
            Level::Block => self.add(at, |c| c.barriers += 1),
            Level::Warp => self.add(at, |c| c.warp_barriers += 1),
            Level::Cluster => {}
        }
    }

    #[inline]
    fn collective(&mut self, at: &At<'_>, kind: Collective, _members: u32) {
        if kind == Collective::Shuffle {
            self.add(at, |c| c.shuffles += 1);
        }
    }
}

/// Returns the number of wavefronts of a shared access, and the minimum for its width.
///
/// At best, an access of up to 4 bytes per lane takes one wavefront, an access of 8 bytes takes one
/// for each half of the warp, and an access of 16 bytes takes one for each quarter. A wavefront
/// accesses one word in each bank, for any number of lanes.
fn wavefronts(access: &Access<'_>) -> (u64, u64) {
    let bytes = access.bytes();
    if bytes <= 4 {
        return (passes(access, 0..32, 1), 1);
    }
    let lanes = (128 / bytes).max(1) as usize;
    let (mut waves, mut least) = (0, 0);
    for first in (0..32).step_by(lanes) {
        let group = passes(access, first..first + lanes, bytes / 4);
        waves += group;
        least += u64::from(group != 0);
    }
    (waves, least)
}

/// Returns the largest number of distinct words in one bank.
fn passes(access: &Access<'_>, lanes: std::ops::Range<usize>, words: u32) -> u64 {
    // Most accesses touch each bank at most once.
    let (mut seen, mut twice) = (0u32, false);
    for lane in lanes.clone() {
        if access.mask >> lane & 1 == 1 {
            for i in 0..words {
                let bank = 1 << ((access.addrs[lane] as u32 / 4 + i) & 31);
                twice |= seen & bank != 0;
                seen |= bank;
            }
        }
    }
    if !twice {
        return u64::from(seen != 0);
    }
    // The words of each bank, as linked lists in one table.
    let mut heads = [u8::MAX; 32];
    let mut counts = [0u8; 32];
    let mut table = [(0u32, 0u8); 64];
    let mut used = 0u8;
    for lane in lanes.filter(|lane| access.mask >> lane & 1 == 1) {
        for i in 0..words {
            let word = (access.addrs[lane] / 4) as u32 + i;
            let bank = (word & 31) as usize;
            let mut at = heads[bank];
            while at != u8::MAX && table[at as usize].0 != word {
                at = table[at as usize].1;
            }
            if at == u8::MAX && usize::from(used) < table.len() {
                table[used as usize] = (word, heads[bank]);
                heads[bank] = used;
                used += 1;
                counts[bank] += 1;
            }
        }
    }
    u64::from(counts.into_iter().max().unwrap_or(0))
}

/// Returns the number of distinct 32-byte sectors. The access of a lane is aligned, so it lies in
/// one sector.
fn sectors(access: &Access<'_>) -> u64 {
    let (mut count, mut last, mut ordered) = (0, None, true);
    let mut all = [0u64; 32];
    for lane in (0..32).filter(|lane| access.mask >> lane & 1 == 1) {
        let sector = access.addrs[lane] / 32;
        if last == Some(sector) {
            continue;
        }
        ordered &= last < Some(sector);
        all[count] = sector;
        count += 1;
        last = Some(sector);
    }
    if !ordered {
        let all = &mut all[..count];
        all.sort_unstable();
        return 1 + all.windows(2).filter(|w| w[0] != w[1]).count() as u64;
    }
    count as u64
}
