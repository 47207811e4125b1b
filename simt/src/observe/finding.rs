//! What a check has to say: one fault, the places that made it, and how often.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use crate::model::Space;
use crate::place;

/// The classes of faults that checks find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Two unordered accesses to one place, one a write, at least one of them weak.
    DataRace,
    /// Two unordered volatile accesses to one place, one a write. PTX gives each of them a
    /// meaning, but not an order.
    UnorderedVolatile,
    /// Lanes of one warp that store the same value to one place by one instruction: which of them
    /// is last does not show.
    SameValue,
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
    /// An `assert` that does not hold.
    Assert,
    /// A read past what keeps caches coherent (`ld.global.nc`) of memory that the launch writes.
    StaleRead,
    /// A copy engine's access to memory that threads wrote, and no proxy fence in between.
    ProxyFence,
    /// State that a launch finds as the one before it left it, and not as that one found it.
    LeftBehind,
}

impl Fault {
    /// A short name, as reports print it.
    pub fn name(self) -> &'static str {
        match self {
            Fault::DataRace => "data race",
            Fault::UnorderedVolatile => "unordered volatile pair",
            Fault::SameValue => "same value stored twice",
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
            Fault::Assert => "assertion",
            Fault::StaleRead => "non-coherent read",
            Fault::ProxyFence => "missing proxy fence",
            Fault::LeftBehind => "state left behind",
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
    /// What it does: `write`, `volatile read`, `atomic write` and so on.
    pub what: &'static str,
}

impl Site {
    /// The thread, with its block where that tells it from another one.
    fn who(&self, with_block: bool) -> String {
        let thread = place::thread(self.thread);
        if with_block { format!("{thread} of {}", place::block(self.block)) } else { thread }
    }

    pub(super) fn at(&self) -> String {
        place::line(self.line, self.ptx_line)
    }

    /// What it does, as a verb for one who does it, and for one who may.
    fn verbs(&self) -> (&'static str, &'static str) {
        match self.what {
            "write" => ("writes", "write"),
            "volatile write" => ("writes (volatile)", "write"),
            "volatile read" => ("reads (volatile)", "read"),
            "atomic write" => ("changes (atomically)", "change"),
            "atomic read" => ("reads (atomically)", "read"),
            "asynchronous copy" => ("copies to", "copy to"),
            _ => ("reads", "read"),
        }
    }
}

/// A fault, with the first example of it: found once, however many launches show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The class.
    pub fault: Fault,
    /// Name of the entry.
    pub entry: String,
    /// Number of the first launch that showed it, from 1.
    pub launch: u64,
    /// How many launches showed it.
    pub launches: u64,
    /// Where the address lies; `None` where no memory is involved.
    pub space: Option<Space>,
    /// The first byte in question.
    pub address: u64,
    /// That address as the source has it, such as `` `shared[3]` ``.
    pub place: String,
    /// Who: two places for a race, the earlier first.
    pub sites: Vec<Site>,
    /// Source lines of all the pairs (or places) that showed it, the first example's first; 0
    /// where the PTX says none.
    pub lines: Vec<Vec<u32>>,
    /// Particulars; of a trap, all that it says.
    pub detail: String,
    /// What to do about it.
    pub cure: String,
    /// How many pairs of instructions (or instructions) showed it.
    pub places: u64,
    /// How many accesses (lanes) showed it.
    pub times: u64,
}

impl Finding {
    /// What is wrong and what to do, in one sentence.
    pub fn sentence(&self) -> String {
        let what = match self.sites.as_slice() {
            [read, write] if self.fault == Fault::StaleRead => format!(
                "{} reads {} at {} as memory that no thread writes (`ld.global.nc`), and {} writes it \
                 at {} in the same launch",
                read.who(read.block != write.block),
                self.place,
                read.at(),
                write.who(read.block != write.block),
                write.at()
            ),
            [write, copy] if self.fault == Fault::ProxyFence => format!(
                "{} starts a copy of {} at {}, which {} has written at {}, and no proxy fence makes the \
                 copy engine see that",
                copy.who(false),
                self.place,
                copy.at(),
                write.who(false),
                write.at()
            ),
            [a, b] => {
                let apart = a.block != b.block;
                let ((_, may), (does, _)) = (a.verbs(), b.verbs());
                let there =
                    if a.at() == b.at() { "there too".into() } else { format!("at {}", a.at()) };
                format!(
                    "{} {does} {} at {} while {} may still {may} it {there}",
                    b.who(apart),
                    self.place,
                    b.at(),
                    a.who(apart)
                )
            }
            [one] if self.fault == Fault::Uninitialised => format!(
                "{} {} {} at {}, which nobody has written",
                one.who(self.space == Some(Space::Global)),
                one.verbs().0,
                self.place,
                one.at()
            ),
            [one] if self.fault == Fault::BadLane => {
                format!("{} at {}: {}", one.who(false), one.at(), self.detail)
            }
            _ => self.detail.clone(),
        };
        if self.cure.is_empty() { what } else { format!("{what}: {}", self.cure) }
    }

    /// Its class, where it is and how often.
    pub fn details(&self) -> String {
        let mut out = format!("{} in `{}`", self.fault.name(), self.entry);
        if let Some(first) = self.sites.first() {
            let _ = write!(out, ", {}", place::block(first.block));
        }
        let _ = write!(out, ", launch {}", self.launch);
        if self.launches > 1 {
            let _ = write!(out, " and {}", place::count(self.launches - 1, "later one"));
        }
        if self.places > 1 {
            let _ = write!(out, "; {} places", self.places);
            let lines: BTreeSet<u32> = self.lines.iter().flatten().copied().collect();
            if lines.len() > self.sites.len() {
                let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
                let _ = write!(out, " at lines {}", lines.join(", "));
            }
        }
        if self.times > 1 {
            let _ = write!(out, "; {} times", self.times);
        }
        let lines: Vec<String> = self.sites.iter().map(|s| s.ptx_line.to_string()).collect();
        let s = if lines.len() == 1 { "" } else { "s" };
        let _ = write!(out, "; PTX line{s} {}", lines.join(" and "));
        out
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.sentence(), self.details())
    }
}
