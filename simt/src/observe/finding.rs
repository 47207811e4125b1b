//! What a check has to say: one fault, the places that made it, and how often.

use std::fmt;

use crate::kernel::Kernel;
use crate::observer::{Block, HostEvent, LaunchInfo, Space, thread_of};

/// The classes of faults that checks find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Two unordered accesses to one place, one a write, at least one of them weak.
    DataRace,
    /// Two unordered volatile accesses to one place, one a write. PTX gives each of them a
    /// meaning, but not an order.
    UnorderedVolatile,
    /// A read of memory that nobody wrote.
    Uninitialised,
    /// An address beyond every allocation.
    OutOfBounds,
    /// An address in memory that was given back.
    UseAfterFree,
    /// An address that is not a multiple of the access size.
    Misaligned,
    /// A store to memory that is read only.
    ReadOnly,
    /// A barrier that some lanes of a warp reach and others do not.
    DivergentBarrier,
    /// A member mask that leaves out a lane which executes, or names one that never comes.
    BadMask,
    /// A shuffle from a lane that takes no part.
    BadLane,
    /// Threads wait for each other, and none can go on.
    Deadlock,
    /// A barrier, `mbarrier` or bulk copy against its rules.
    BadBarrier,
}

impl Fault {
    /// A short name, as reports print it.
    pub fn name(self) -> &'static str {
        match self {
            Fault::DataRace => "data race",
            Fault::UnorderedVolatile => "unordered volatile pair",
            Fault::Uninitialised => "read of uninitialised memory",
            Fault::OutOfBounds => "out of bounds",
            Fault::UseAfterFree => "use after free",
            Fault::Misaligned => "misaligned address",
            Fault::ReadOnly => "store to read-only memory",
            Fault::DivergentBarrier => "divergent barrier",
            Fault::BadMask => "bad member mask",
            Fault::BadLane => "bad source lane",
            Fault::Deadlock => "deadlock",
            Fault::BadBarrier => "bad barrier",
        }
    }
}

/// One access of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Block index in the grid.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// Line of the CUDA source, 0 where the PTX says none.
    pub line: u32,
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// The instruction as the PTX spells it.
    pub text: String,
    /// What it does: `write`, `volatile read`, `atomic` and so on.
    pub what: &'static str,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(f, "{} by thread ({tx},{ty},{tz}) of block ({bx},{by},{bz})", self.what)?;
        if self.line != 0 {
            write!(f, " at source line {}", self.line)?;
        }
        write!(f, " (PTX line {}: `{}`)", self.ptx_line, self.text)
    }
}

/// A fault, with the first example of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The class.
    pub fault: Fault,
    /// Name of the entry.
    pub entry: String,
    /// Where the address lies; `None` where no memory is involved.
    pub space: Option<Space>,
    /// The first byte in question.
    pub address: u64,
    /// That address in words: allocation and offset.
    pub place: String,
    /// Who: two places for a race, the earlier first.
    pub sites: Vec<Site>,
    /// Particulars.
    pub detail: String,
    /// How many accesses (lanes) showed it at the same instructions.
    pub times: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in `{}`", self.fault.name(), self.entry)?;
        if !self.place.is_empty() {
            write!(f, " at {}", self.place)?;
        }
        for (i, site) in self.sites.iter().enumerate() {
            write!(f, "{} {site}", if i == 0 { ":" } else { ", and" })?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        if self.times > 1 {
            write!(f, " ({} times)", self.times)?;
        }
        Ok(())
    }
}

/// The launch in hand, as far as reports need it after its end.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) kernel: Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
}

impl Scene {
    pub(super) fn new(launch: &LaunchInfo<'_>) -> Scene {
        Scene {
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
        }
    }

    /// Index in the grid of the block that has a given rank in the cluster of another one.
    pub(super) fn peer(&self, block: &Block, rank: u32) -> u64 {
        let [cx, cy, _] = self.cluster.map(|c| c.max(1));
        let at = [rank % cx, rank / cx % cy, rank / cx / cy];
        let [x, y, z] = [0, 1, 2].map(|i| {
            let size = self.cluster[i].max(1);
            u64::from(block.id[i] / size * size + at[i])
        });
        x + u64::from(self.grid[0]) * (y + u64::from(self.grid[1]) * z)
    }

    pub(super) fn site(&self, block: u64, linear: u32, pc: u32, what: &'static str) -> Site {
        let (x, y) = (u64::from(self.grid[0].max(1)), u64::from(self.grid[1].max(1)));
        Site {
            block: [(block % x) as u32, (block / x % y) as u32, (block / x / y) as u32],
            thread: thread_of(self.block, linear),
            line: self.kernel.line(pc),
            ptx_line: self.kernel.ptx_line(pc),
            text: self.kernel.text(pc).to_owned(),
            what,
        }
    }
}

/// The allocations that the host made, to name addresses by.
#[derive(Debug, Clone, Default)]
pub(super) struct Allocations {
    /// Number, base, bytes; live ones, sorted by base.
    live: Vec<(u32, u64, u64)>,
}

impl Allocations {
    pub(super) fn host(&mut self, event: HostEvent) {
        match event {
            HostEvent::Alloc { alloc, base, bytes } => {
                let at = self.live.partition_point(|&(_, b, _)| b < base);
                self.live.insert(at, (alloc, base, bytes));
            }
            HostEvent::Free { base, .. } => self.live.retain(|&(_, b, _)| b != base),
            HostEvent::Write { .. } | HostEvent::Read { .. } => {}
        }
    }

    /// An address of a state space in words.
    pub(super) fn place(&self, space: Space, address: u64) -> String {
        match space {
            Space::Global => {
                let at = self.live.partition_point(|&(_, b, _)| b <= address);
                match at.checked_sub(1).map(|i| self.live[i]) {
                    Some((n, base, bytes)) if address < base + bytes.max(1) => {
                        format!(
                            "global {address:#x}, byte {} of allocation {n} ({bytes} bytes)",
                            address - base
                        )
                    }
                    _ => format!("global {address:#x}"),
                }
            }
            Space::Shared => format!("shared {address:#x}"),
            Space::Local => format!("local {address:#x}"),
            Space::Const => format!("constant {address:#x}"),
            Space::Param => format!("parameter {address:#x}"),
        }
    }
}
