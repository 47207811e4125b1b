//! Decoded instructions: names, types and modifiers are resolved.

mod arith;
mod operand;
mod registers;
mod ty;

pub(crate) use arith::{Alu, Bool, Carry, CarryOp, Cmp, F, Fast, Half, Rounding};
pub(crate) use operand::{Dst, Special, Src};
pub(crate) use registers::Role;
pub(crate) use ty::Ty;

use crate::model::{AccessKind, CopyGroup, Order, Scope};

/// The state space of an address, as the instruction names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    Generic,
    Global,
    Shared,
    SharedCluster,
    Local,
    Const,
    Param,
}

/// An address, which is the sum of a base and an offset in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: Src,
    pub(crate) offset: i64,
}

/// The range of shared memory that an access may touch, as offsets in bytes. If the array that the
/// access belongs to is known, this is the range of the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl Bounds {
    /// The value of `to` for an array whose size the launch sets. Such an array ends where the
    /// block's own shared memory ends; the system's reserved memory may follow.
    pub(crate) const DYNAMIC: u32 = u32::MAX - 1;
}

impl Default for Bounds {
    /// Returns the range of all shared memory.
    fn default() -> Bounds {
        Bounds { from: 0, to: u32::MAX }
    }
}

/// A load or store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Memory {
    pub(crate) window: Window,
    pub(crate) ty: Ty,
    pub(crate) addr: Address,
    pub(crate) bounds: Bounds,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    /// Whether the access is a load with `.nc`, whose memory must not be written while the kernel
    /// runs.
    pub(crate) constant: bool,
}

/// The operation that an atomic applies to the old value and its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

/// An atomic operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Atom {
    pub(crate) memory: Memory,
    pub(crate) kind: AccessKind,
    pub(crate) op: AtomOp,
    pub(crate) ftz: bool,
    pub(crate) dst: Dst,
    /// Whether no instruction reads the result.
    pub(crate) unread: bool,
    pub(crate) b: Src,
    pub(crate) c: Src,
}

/// The mode of a shuffle, which determines the source lane of each lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shfl {
    Up,
    Down,
    Bfly,
    Idx,
}

/// A warp-wide operation under a member mask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sync {
    Barrier,
    Shuffle { mode: Shfl, dst: Dst, p: Dst, a: Src, b: Src, c: Src },
    VoteAll { dst: Dst, a: Src },
    VoteAny { dst: Dst, a: Src },
    VoteUni { dst: Dst, a: Src },
    Ballot { dst: Dst, a: Src },
    MatchAny { dst: Dst, a: Src },
    MatchAll { dst: Dst, p: Dst, a: Src },
    Redux { op: AtomOp, ty: Ty, abs: bool, nan: bool, dst: Dst, a: Src },
    Elect { dst: Dst, p: Dst },
}

/// A block barrier.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    pub(crate) aligned: bool,
    pub(crate) arrive: bool,
    pub(crate) id: Src,
    pub(crate) count: Option<Src>,
    /// For `bar.red`, the operation, the destination and the predicate.
    pub(crate) red: Option<(Red, Dst, Src)>,
}

/// The operation by which `bar.red` combines the predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Red {
    Popc,
    And,
    Or,
}

/// An operation on an `mbarrier`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mbar {
    pub(crate) window: Window,
    pub(crate) addr: Address,
    pub(crate) op: MbarOp,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MbarOp {
    Init {
        count: Src,
    },
    Invalidate,
    Arrive {
        dst: Dst,
        count: Src,
        expect: Option<Src>,
        drop: bool,
    },
    Expect {
        bytes: Src,
    },
    Complete {
        bytes: Src,
    },
    /// Tests whether a phase has completed, by its parity or by the token of an arrival. With
    /// `wait`, the instruction may suspend the thread.
    Test {
        dst: Dst,
        parity: bool,
        state: Src,
        wait: bool,
    },
    Pending {
        dst: Dst,
        state: Src,
    },
}

/// A copy that the hardware performs asynchronously.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Async {
    pub(crate) to: Window,
    pub(crate) target: Address,
    pub(crate) from: Window,
    pub(crate) source: Address,
    pub(crate) bytes: Src,
    /// For `st.async`, the register whose value is written; no memory is read.
    pub(crate) value: Option<Src>,
    /// Number of bytes to read; the rest are zeros (`cp.async` only).
    pub(crate) read: Option<Src>,
    pub(crate) mbarrier: Option<(Window, Address)>,
    pub(crate) multicast: Option<Src>,
    pub(crate) bulk: bool,
}

/// A function that the driver provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// `vprintf`: addresses of the format and of the packed values.
    Print,
    /// `__assertfail`: message, file, line, function, and the bytes per character.
    Assert,
}

/// The range of a thread's local memory that holds an argument or a result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

/// A call to a function that the driver provides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostCall {
    pub(crate) host: Host,
    pub(crate) args: Vec<Slot>,
    pub(crate) result: Option<Slot>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    Alu {
        alu: Alu,
        fast: Fast,
        dst: Dst,
        src: [Src; 4],
    },
    /// A comparison, combined with a predicate if there is one.
    Setp {
        cmp: Cmp,
        ty: Ty,
        ftz: bool,
        join: Option<(Bool, Src)>,
        p: Dst,
        q: Dst,
        a: Src,
        b: Src,
    },
    /// Logic on lane masks; `not` and `mov` are encoded as `Xor` and `Or` with a constant.
    Pred {
        op: Bool,
        dst: Dst,
        a: Src,
        b: Src,
    },
    Special {
        dst: Dst,
        special: Special,
    },
    Pack {
        dst: Dst,
        parts: Box<[Src]>,
        bits: u32,
    },
    Unpack {
        dsts: Box<[Dst]>,
        src: Src,
        bits: u32,
    },
    Load {
        memory: Box<Memory>,
        dsts: Box<[Dst]>,
    },
    Store {
        memory: Box<Memory>,
        srcs: Box<[Src]>,
    },
    Atomic(Box<Atom>),
    Host(Box<HostCall>),
    Branch(u32),
    Exit,
    Trap,
    Bar(Box<Bar>),
    Sync {
        op: Box<Sync>,
        members: Src,
    },
    ActiveMask(Dst),
    /// `vote.ballot` over the active lanes.
    Ballot {
        dst: Dst,
        a: Src,
    },
    Carry(Box<Carry>),
    /// `barrier.cluster.arrive`; `relaxed` if it orders no memory accesses.
    ClusterArrive {
        relaxed: bool,
    },
    ClusterWait,
    Fence(Order, Scope),
    /// `fence.mbarrier_init`, which releases only initializations of `mbarrier`s.
    InitFence,
    Mbar(Box<Mbar>),
    Async(Box<Async>),
    CopyGroup(CopyGroup),
    /// `cp.async.mbarrier.arrive`: an arrival once the thread's copies have completed. If `counts`
    /// is false, the expected count increases by one too, so the only effect of the arrival is to
    /// delay the phase.
    CopyArrive {
        mbar: Box<Mbar>,
        counts: bool,
    },
    /// Orders ordinary accesses with respect to those of the copy engine.
    ProxyFence,
    /// `griddepcontrol.launch_dependents`.
    LaunchDependents,
    /// `griddepcontrol.wait`.
    LaunchWait,
    /// `mapa`: the corresponding address in another block of the cluster.
    Mapa {
        dst: Dst,
        addr: Src,
        offset: i64,
        rank: Src,
        generic: bool,
    },
    /// `getctarank`: the rank of the block that a shared address belongs to.
    GetRank {
        dst: Dst,
        addr: Src,
        generic: bool,
    },
    IsSpace {
        dst: Dst,
        window: Window,
        addr: Src,
    },
    /// Converts between a state space and generic addresses.
    Cvta {
        window: Window,
        to: bool,
        dst: Dst,
        src: Src,
        offset: i64,
    },
    /// Instructions that do not affect results: hints, and waits for operations that have
    /// completed.
    Nop,
}

impl Op {
    /// Returns the number of bytes per element of the access; 1 if the operation accesses no
    /// memory.
    pub(crate) fn width(&self) -> u32 {
        match self {
            Op::Load { memory, .. } | Op::Store { memory, .. } => memory.ty.bytes(),
            Op::Atomic(atom) => atom.memory.ty.bytes(),
            Op::Mbar(_) | Op::CopyArrive { .. } => 8,
            _ => 1,
        }
    }

    /// Returns the number of bytes that a load or store of a vector accesses.
    pub(crate) fn vector(&self) -> Option<u32> {
        let parts = match self {
            Op::Load { dsts, .. } => dsts.len() as u32,
            Op::Store { srcs, .. } => srcs.len() as u32,
            _ => 1,
        };
        (parts > 1).then(|| parts * self.width())
    }
}

/// An operation with its guard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inst {
    pub(crate) op: Op,
    /// The predicate, and whether it is negated.
    pub(crate) guard: Option<(u16, bool)>,
    /// For a branch, the index of the instruction at which diverged lanes reconverge.
    pub(crate) join: u32,
}

/// The value of [`Inst::join`] if the lanes do not reconverge before they exit.
pub(crate) const NOWHERE: u32 = u32::MAX;
