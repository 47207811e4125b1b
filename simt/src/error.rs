//! Everything that can go wrong, each as one sentence with both sides of the mismatch.

use std::fmt;

/// Why a text cannot be run: its first fault, with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// Column in that line, from 1.
    pub column: u32,
    /// What is wrong, naming the opcode or directive.
    pub message: String,
}

/// Why a call on the [`Gpu`](crate::Gpu) failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The launch does not fit the kernel or the device.
    #[error("{0}")]
    Launch(String),
    /// A host copy, fill or free that names no live allocation, or goes beyond one.
    #[error("{0}")]
    Memory(String),
    /// The kernel did something that has no defined result.
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
    /// An aligned barrier reached by some lanes of a warp only.
    DivergentBarrier,
    /// A `.sync` whose lane is not in its own member mask, or that waits for lanes that differ.
    BadMask,
    /// A shuffle that reads a lane which does not take part.
    BadLane,
    /// Nothing can run any more, yet threads are left.
    Deadlock,
    /// Integer division or remainder by zero: PTX leaves the result open.
    DivideByZero,
    /// A barrier, `mbarrier` or bulk copy used against its rules.
    BadBarrier,
    /// A branch target or operand outside of what the instruction permits.
    BadOperand,
    /// The kernel executed `trap`.
    Explicit,
    /// The instruction budget is used up.
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
            TrapKind::Explicit => "trap",
            TrapKind::Budget => "instruction budget used up",
        }
    }
}

/// A fault of the running kernel: what, who, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trap {
    /// The class of fault.
    pub kind: TrapKind,
    /// Name of the entry.
    pub entry: String,
    /// Block index in the grid.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// Line of the CUDA source, from `.loc`; 0 where the PTX says none.
    pub line: u32,
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// The instruction.
    pub text: String,
    /// The particulars: addresses, sizes, who waits where.
    pub detail: String,
}

impl std::error::Error for Trap {}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        write!(f, "{} in `{}`", self.kind.name(), self.entry)?;
        if self.line != 0 {
            write!(f, " at source line {}", self.line)?;
        }
        write!(f, " (PTX line {}: `{}`)", self.ptx_line, self.text)?;
        write!(f, ", block ({bx},{by},{bz}), thread ({tx},{ty},{tz})")?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}
