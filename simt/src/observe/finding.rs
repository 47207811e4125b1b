//! The result of a check: one fault, the places that cause it, and the number of its occurrences.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use crate::model::Space;
use crate::place;
use crate::symbol::plain;

/// The classes of faults that checks find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Two unordered accesses to the same address. At least one of the accesses is a write, and at
    /// least one is weak.
    DataRace,
    /// Two unordered volatile accesses to the same address, at least one of which is a write, unless
    /// the word is a polled flag. PTX defines the value of each access, but not their order.
    UnorderedVolatile,
    /// A store of the same value to one address by several lanes in one instruction. The result
    /// does not depend on which lane stores last.
    SameValue,
    /// A read of memory that was never written.
    Uninitialized,
    /// A use of a variable that is uninitialized in the thread that uses it.
    Unset,
    /// An address that no live allocation, window or variable covers.
    OutOfBounds,
    /// An address in memory that was freed.
    UseAfterFree,
    /// An address that is not a multiple of the access size.
    Misaligned,
    /// A store to read-only memory.
    ReadOnly,
    /// A barrier that some lanes of a warp reach but others do not.
    DivergentBarrier,
    /// A member mask that omits an executing lane, or that names a lane that never arrives.
    BadMask,
    /// A shuffle from a lane that does not take part.
    BadLane,
    /// Threads wait for each other, so none can continue.
    Deadlock,
    /// Invalid use of a barrier, `mbarrier` or bulk copy.
    BadBarrier,
    /// A failed `assert`.
    Assert,
    /// A non-coherent read (`ld.global.nc`) of memory that the same launch writes.
    StaleRead,
    /// An access by the copy engine to memory that threads wrote, without a proxy fence in between.
    ProxyFence,
    /// An access to the shared memory of another block, which may not have started.
    NotStarted,
    /// An access to the shared memory of another block, which may have ended.
    Ended,
    /// Some threads of a warp return before a barrier that other threads of the warp reach. This
    /// fault is only a note, because GPUs from sm_70 on allow such returns.
    EarlyReturn,
    /// State that the previous launch changed and did not reset.
    LeftBehind,
}

impl Fault {
    /// Returns the short name that is printed in reports.
    pub fn name(self) -> &'static str {
        match self {
            Fault::DataRace => "data race",
            Fault::UnorderedVolatile => "unordered volatile pair",
            Fault::SameValue => "same value stored twice",
            Fault::Uninitialized => "read of uninitialized memory",
            Fault::Unset => "use of an uninitialized variable",
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
            Fault::NotStarted => "block not started",
            Fault::Ended => "block ended",
            Fault::EarlyReturn => "early return",
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
    /// Line of the CUDA source, or 0 if the PTX has none.
    pub line: u32,
    /// Line of the PTX.
    pub ptx_line: u32,
    /// A description of the line, which is a line of the source, of a file that the source
    /// includes, or of the PTX.
    pub at: String,
    /// The instruction, as written in the PTX.
    pub text: String,
    /// The kind of access: `write`, `volatile read`, `atomic write` and so on.
    pub what: &'static str,
}

impl Site {
    /// Names the thread and, if `with_block` is set, its block.
    fn who(&self, with_block: bool) -> String {
        let thread = place::thread(self.thread);
        if with_block { format!("{thread} of {}", place::block(self.block)) } else { thread }
    }

    /// Returns a verb for the access, in the third person and in the infinitive.
    fn verbs(&self) -> (&'static str, &'static str) {
        match self.what {
            "write" => ("writes", "write"),
            "volatile write" => ("writes (volatile)", "write"),
            "volatile read" => ("reads (volatile)", "read"),
            "atomic write" => ("changes (atomically)", "change"),
            "atomic read" => ("reads (atomically)", "read"),
            "asynchronous copy" => ("copies to", "copy to"),
            "asynchronous read" => ("copies from", "copy from"),
            _ => ("reads", "read"),
        }
    }
}

/// A fault and its first example. A fault is listed once, even if it occurs in many launches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Class of the fault.
    pub fault: Fault,
    /// Name of the entry.
    pub entry: String,
    /// Number of the first launch in which the fault occurred, from 1.
    pub launch: u64,
    /// Number of launches in which the fault occurred.
    pub launches: u64,
    /// The state space of the address; `None` if no memory is involved.
    pub space: Option<Space>,
    /// Address of the first byte.
    pub address: u64,
    /// The address in the notation of the source, such as `` `shared[3]` ``.
    pub place: String,
    /// The accesses; for a race, the earlier access and then the later one.
    pub sites: Vec<Site>,
    /// For each pair of instructions (or single instruction) that showed the fault, the source
    /// lines; the lines of the example come first. A line is 0 if the PTX has none.
    pub lines: Vec<Vec<u32>>,
    /// Details; for a trap, its whole message; for an access to another block, the name of the block.
    pub detail: String,
    /// The remedy for the fault.
    pub cure: String,
    /// Number of pairs of instructions (or single instructions) that showed the fault.
    pub places: u64,
    /// Number of accesses (lanes) that showed the fault.
    pub times: u64,
}

impl Finding {
    /// Returns whether the results are correct in spite of the fault.
    pub fn is_harmless(&self) -> bool {
        self.fault == Fault::SameValue
    }

    /// Returns whether the fault may cause other faults, such as one that stops the kernel later.
    pub fn is_cause(&self) -> bool {
        matches!(
            self.fault,
            Fault::DataRace
                | Fault::UnorderedVolatile
                | Fault::Uninitialized
                | Fault::Unset
                | Fault::StaleRead
                | Fault::ProxyFence
        )
    }

    /// Returns the name of the array or variable that contains the place.
    pub(crate) fn array(&self) -> &str {
        let name = self.place.split('`').nth(1).unwrap_or(&self.place);
        name.split('[').next().unwrap_or(name)
    }

    /// Returns whether the first access initializes an `mbarrier`.
    fn is_of_mbarrier(&self) -> bool {
        self.sites.first().is_some_and(|site| site.text.contains("mbarrier.init"))
    }

    /// Describes the fault and its remedy in one sentence.
    pub fn sentence(&self) -> String {
        let what = match self.sites.as_slice() {
            [read, write] if self.fault == Fault::StaleRead => format!(
                "{} reads {} at {} with a non-coherent load (`ld.global.nc`), but {} writes it at \
                 {} in the same launch",
                read.who(read.block != write.block),
                self.place,
                read.at,
                write.who(read.block != write.block),
                write.at
            ),
            [init, copy] if self.fault == Fault::ProxyFence && self.is_of_mbarrier() => format!(
                "{} starts a copy at {} that signals the mbarrier {}, which {} initialized at {}, \
                 but no fence makes the initialization visible to the copy engine",
                copy.who(false),
                copy.at,
                self.place,
                init.who(false),
                init.at
            ),
            [write, copy] if self.fault == Fault::ProxyFence => format!(
                "{} starts a copy {} {} at {}, which {} wrote at {}, but no proxy fence makes the \
                 write visible to the copy engine",
                copy.who(false),
                if copy.what == "write" { "to" } else { "of" },
                self.place,
                copy.at,
                write.who(false),
                write.at
            ),
            [a, b] => {
                let apart = a.block != b.block;
                let ((_, may), (does, _)) = (a.verbs(), b.verbs());
                // The read may come too early or too late.
                let still = if may == "read" { "" } else { "still " };
                let there =
                    if a.at == b.at { "at the same line".into() } else { format!("at {}", a.at) };
                format!(
                    "{} {does} {} at {} while {} may {still}{may} it {there}",
                    b.who(apart),
                    self.place,
                    b.at,
                    a.who(apart)
                )
            }
            [one] if self.fault == Fault::Uninitialized => format!(
                "{} {} {} at {}, which was never written",
                one.who(self.space == Some(Space::Global)),
                one.verbs().0,
                self.place,
                one.at
            ),
            [one] if matches!(self.fault, Fault::NotStarted | Fault::Ended) => format!(
                "{} {} {} of {} at {}, but that block may {}",
                one.who(true),
                one.verbs().0,
                self.place,
                self.detail,
                one.at,
                if self.fault == Fault::Ended { "have ended" } else { "not have started" }
            ),
            _ => self.detail.clone(),
        };
        if self.cure.is_empty() { what } else { format!("{what}: {}", self.cure) }
    }

    /// Describes the class of the fault, its place and the number of its occurrences.
    pub fn details(&self) -> String {
        let mut out = format!("{} in `{}`", self.fault.name(), plain(&self.entry));
        if let Some(first) = self.sites.first() {
            let _ = write!(out, ", {}", place::block(first.block));
        }
        let _ = write!(out, ", launch {}", self.launch);
        if self.launches > 1 {
            let _ = write!(out, " and {}", place::count(self.launches - 1, "later one"));
        }
        if self.places > 1 {
            let _ = write!(out, "; {} places", self.places);
            let lines: BTreeSet<u32> =
                self.lines.iter().flatten().copied().filter(|line| *line != 0).collect();
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
