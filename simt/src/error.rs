//! All errors. The message of each error is one sentence, which names both sides of the mismatch.

use std::fmt;

use crate::place;
use crate::symbol::plain;

/// The reason why a module cannot be run: its first error, with the position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Line of the PTX, from 1.
    pub line: u32,
    /// Column in that line, from 1.
    pub column: u32,
    /// The error. The message names the opcode or directive.
    pub message: String,
}

/// The reason why a call of a [`Gpu`](crate::Gpu) method failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The launch does not fit the kernel or the device.
    #[error("{0}")]
    Launch(String),
    /// A copy, fill or free by the host at an address outside all live allocations, or past the end
    /// of its allocation.
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
    /// A `.sync` whose member mask lacks a lane that executes it.
    BadMask,
    /// A shuffle that reads a lane that does not take part.
    BadLane,
    /// No thread can run, but some have not exited.
    Deadlock,
    /// An integer division or remainder by zero, for which PTX leaves the result undefined.
    DivideByZero,
    /// Invalid use of a barrier, `mbarrier` or bulk copy.
    BadBarrier,
    /// A branch target or operand that the instruction does not permit.
    BadOperand,
    /// A failed `assert` in the kernel.
    Assert,
    /// The kernel executed `trap`.
    Explicit,
    /// The budget of instructions or time is exhausted.
    Budget,
}

impl TrapKind {
    /// Returns the short name that is printed in reports.
    pub fn name(self) -> &'static str {
        match self {
            TrapKind::OutOfBounds => "out of bounds",
            TrapKind::UseAfterFree => "use after free",
            TrapKind::Misaligned => "misaligned address",
            TrapKind::ReadOnly => "store to read-only memory",
            TrapKind::DivergentBarrier => "divergent barrier",
            TrapKind::BadMask => "bad member mask",
            TrapKind::BadLane => "bad source lane",
            TrapKind::Deadlock => "deadlock",
            TrapKind::DivideByZero => "division by zero",
            TrapKind::BadBarrier => "bad barrier",
            TrapKind::BadOperand => "bad operand",
            TrapKind::Assert => "assertion",
            TrapKind::Explicit => "trap",
            TrapKind::Budget => "budget exhausted",
        }
    }
}

/// A fault in a running kernel, with its kind, its thread and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trap {
    /// The class of the fault.
    pub kind: TrapKind,
    /// Name of the entry.
    pub entry: String,
    /// Number of the launch on its device, from 1.
    pub launch: u64,
    /// Number of blocks in the grid.
    pub blocks: u64,
    /// Number of threads per block.
    pub threads: u32,
    /// Block index in the grid.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// Line of the CUDA source, from `.loc`; 0 if the PTX has none.
    pub line: u32,
    /// Line of the PTX.
    pub ptx_line: u32,
    /// A description of the line, which is a line of the source, of a file that the source
    /// includes, or of the PTX.
    pub at: String,
    /// The instruction, as written in the PTX.
    pub text: String,
    /// Details (such as elements, sizes and the places where threads wait), and the remedy.
    pub detail: String,
    /// Whether the block has recently polled memory that others may change.
    pub polls: bool,
}

impl Trap {
    /// Describes the fault, its line, its thread and the remedy, but not the exact place.
    pub fn sentence(&self) -> String {
        let who = place::thread(self.thread);
        let which = if self.blocks > 1 {
            format!(" of {}", place::block(self.block))
        } else {
            String::new()
        };
        let colon = if self.detail.is_empty() { "" } else { ": " };
        let (kind, at) = (self.kind.name(), &self.at);
        format!("{kind} at {at} by {who}{which}{colon}{}", self.detail)
    }

    /// Describes the exact place: entry, launch, shape, PTX line and instruction.
    pub fn details(&self) -> String {
        format!(
            "`{}`, launch {}, {} of {}; PTX line {}: `{}`",
            plain(&self.entry),
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
