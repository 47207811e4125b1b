//! All errors. Each is one sentence that names both sides of the mismatch.

use std::fmt;

use crate::place;

/// Why a module cannot be run: its first error, with the position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Line of the PTX, from 1.
    pub line: u32,
    /// Column in that line, from 1.
    pub column: u32,
    /// The error. It names the opcode or directive.
    pub message: String,
}

/// Why a call of a [`Gpu`](crate::Gpu) method failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The launch does not fit the kernel or the device.
    #[error("{0}")]
    Launch(String),
    /// A host copy, fill or free of no live allocation, or one that goes beyond its end.
    #[error("{0}")]
    Memory(String),
    /// The kernel's behaviour is undefined.
    #[error(transparent)]
    Trap(#[from] Box<Trap>),
}

/// The classes of faults that stop a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrapKind {
    /// An address that no live allocation, window or variable covers.
    OutOfBounds,
    /// An address inside an allocation that was freed.
    UseAfterFree,
    /// An address that is not a multiple of the access size.
    Misaligned,
    /// A store to constant or parameter space.
    ReadOnly,
    /// An aligned barrier that only some lanes of a warp reached.
    DivergentBarrier,
    /// A `.sync` whose member mask lacks its own lane, or whose members name different masks.
    BadMask,
    /// A shuffle that reads a lane which does not take part.
    BadLane,
    /// No thread can run, but some have not exited.
    Deadlock,
    /// Integer division or remainder by zero: PTX leaves the result undefined.
    DivideByZero,
    /// Invalid use of a barrier, `mbarrier` or bulk copy.
    BadBarrier,
    /// A branch target or operand that the instruction does not permit.
    BadOperand,
    /// A failed `assert` of the kernel.
    Assert,
    /// The kernel executed `trap`.
    Explicit,
    /// The budget of instructions or time is exhausted.
    Budget,
}

impl TrapKind {
    /// A short name, as reports print it.
    pub fn name(self) -> &'static str {
        match self {
            TrapKind::OutOfBounds => "out of bounds",
            TrapKind::UseAfterFree => "use after free",
            TrapKind::Misaligned => "misaligned address",
            TrapKind::ReadOnly => "store to read-only space",
            TrapKind::DivergentBarrier => "divergent barrier",
            TrapKind::BadMask => "bad member mask",
            TrapKind::BadLane => "bad source lane",
            TrapKind::Deadlock => "deadlock",
            TrapKind::DivideByZero => "division by zero",
            TrapKind::BadBarrier => "bad barrier",
            TrapKind::BadOperand => "bad operand",
            TrapKind::Assert => "assertion",
            TrapKind::Explicit => "trap",
            TrapKind::Budget => "no end in sight",
        }
    }
}

/// A fault of a running kernel: its kind, the thread, and the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trap {
    /// The class of fault.
    pub kind: TrapKind,
    /// Name of the entry.
    pub entry: String,
    /// Number of the launch on its device, from 1.
    pub launch: u64,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Threads per block.
    pub threads: u32,
    /// Block index in the grid.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// Line of the CUDA source, from `.loc`; 0 if the PTX has none.
    pub line: u32,
    /// Line of the PTX.
    pub ptx_line: u32,
    /// The instruction.
    pub text: String,
    /// Details and the cure: elements, sizes, and where threads wait.
    pub detail: String,
}

impl Trap {
    /// The fault and the thread, with its cure, but without the exact place.
    pub fn sentence(&self) -> String {
        let who = place::thread(self.thread);
        let which = if self.blocks > 1 {
            format!(" of {}", place::block(self.block))
        } else {
            String::new()
        };
        let at = place::line(self.line, self.ptx_line);
        let colon = if self.detail.is_empty() { "" } else { ": " };
        format!("{} at {at} by {who}{which}{colon}{}", self.kind.name(), self.detail)
    }

    /// The exact place.
    pub fn details(&self) -> String {
        format!(
            "`{}`, launch {}, {} of {}; PTX line {}: `{}`",
            self.entry,
            self.launch,
            place::count(self.blocks, "block"),
            place::count(self.threads.into(), "thread"),
            self.ptx_line,
            self.text
        )
    }
}

impl std::error::Error for Trap {}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.sentence(), self.details())
    }
}
