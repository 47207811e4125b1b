//! Instructions as the machine runs them: names resolved, types and modifiers understood.

use crate::observer::{AccessKind, Order, Scope};

/// A fundamental type, always that of the instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ty {
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    BF16,
    F16x2,
    BF16x2,
    F32,
    F64,
    Pred,
}

impl Ty {
    pub(crate) fn parse(text: &str) -> Option<Ty> {
        Some(match text {
            "b8" => Ty::B8,
            "b16" => Ty::B16,
            "b32" => Ty::B32,
            "b64" => Ty::B64,
            "u8" => Ty::U8,
            "u16" => Ty::U16,
            "u32" => Ty::U32,
            "u64" => Ty::U64,
            "s8" => Ty::S8,
            "s16" => Ty::S16,
            "s32" => Ty::S32,
            "s64" => Ty::S64,
            "f16" => Ty::F16,
            "bf16" => Ty::BF16,
            "f16x2" => Ty::F16x2,
            "bf16x2" => Ty::BF16x2,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            "pred" => Ty::Pred,
            _ => return None,
        })
    }

    pub(crate) fn bits(self) -> u32 {
        match self {
            Ty::Pred => 1,
            Ty::B8 | Ty::U8 | Ty::S8 => 8,
            Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::BF16 => 16,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 | Ty::F16x2 | Ty::BF16x2 => 32,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 64,
        }
    }

    pub(crate) fn bytes(self) -> u32 {
        self.bits() / 8
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::BF16 | Ty::F16x2 | Ty::BF16x2 | Ty::F32 | Ty::F64)
    }

    /// Two values in one register.
    pub(crate) fn is_packed(self) -> bool {
        matches!(self, Ty::F16x2 | Ty::BF16x2)
    }

    /// Integers that are added, as opposed to mere bits.
    pub(crate) fn is_int(self) -> bool {
        use Ty::*;
        matches!(self, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64)
    }
}

/// A destination register: an index into the planes of its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dst {
    /// A plane of 32 words, for registers of up to 32 bits.
    W(u16),
    /// A plane of 32 double words.
    D(u16),
    /// A lane mask.
    P(u16),
    /// `_`
    Sink,
}

/// A source operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Src {
    W(u16),
    D(u16),
    P(u16),
    NotP(u16),
    Imm(u64),
    Special(Special),
}

/// Special registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    NWarpSize,
    SmId,
    NSmId,
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtaRank,
    ClusterNctaRank,
    IsExplicitCluster,
    DynamicSmemSize,
    TotalSmemSize,
    /// Address of a module variable, at this offset from the first.
    Module(u64),
}

/// Rounding of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Round {
    #[default]
    Near,
    Zero,
    Down,
    Up,
    /// To the nearest, ties away from zero (`.rna`).
    Away,
}

/// Which half of a product is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Lo,
    Hi,
    Wide,
}

/// Comparisons; the `u` ones hold for NaN too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

/// Logic on bits and predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bool {
    And,
    Or,
    Xor,
}

/// What an arithmetic instruction computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum F {
    Mov,
    Add,
    Sub,
    Mul(Half),
    Mad(Half),
    Mul24,
    Mad24,
    Sad,
    Div,
    DivApprox,
    Rem,
    Abs,
    Neg,
    Min,
    Max,
    /// NaN wins.
    MinNan,
    MaxNan,
    And,
    Or,
    Xor,
    Not,
    Cnot,
    Shl,
    Shr,
    /// Funnel shifts: left or right, wrapping or clamping.
    ShfL(bool),
    ShfR(bool),
    Popc,
    Clz,
    Brev,
    Bfind,
    BfindShift,
    Bfe,
    Bfi,
    Fns,
    Prmt(u8),
    Lop3(u8),
    Dp4a,
    Selp,
    Slct(Ty),
    Fma,
    FmaRelu,
    Sqrt,
    Rcp,
    Rsqrt,
    Sin,
    Cos,
    Lg2,
    Ex2,
    Tanh,
    Copysign,
    /// From a type to the type of the instruction; `int` rounds to a whole number.
    Cvt {
        from: Ty,
        int: bool,
    },
    /// Two floats to a packed pair.
    CvtPack,
    /// `set`: a comparison to all ones or 1.0.
    Set(Cmp, Ty),
    Testp(u8),
}

/// An arithmetic operation with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alu {
    pub(crate) f: F,
    pub(crate) ty: Ty,
    pub(crate) round: Round,
    pub(crate) ftz: bool,
    pub(crate) sat: bool,
}

/// Operations that are worth a loop of their own over full planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fast {
    No,
    Mov32,
    Mov64,
    Add32,
    Sub32,
    Mul32,
    Mad32,
    And32,
    Or32,
    Xor32,
    Shl32,
    ShrU32,
    RemU32,
    AddF32,
    SubF32,
    MulF32,
    FmaF32,
    Add64,
    Sub64,
    Shl64,
    AddF64,
    MulF64,
    FmaF64,
    WideU32,
    WideS32,
    ZextU32,
    SextS32,
    Trunc64,
    MinS32,
    MaxS32,
    MinU32,
    MaxU32,
}

/// Where an address points, as the instruction says.
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

/// Base and offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: Src,
    pub(crate) offset: i64,
}

/// A load or store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Memory {
    pub(crate) window: Window,
    pub(crate) ty: Ty,
    pub(crate) addr: Address,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
}

/// What an atomic makes of the old value and its operands.
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

/// An atomic.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Atom {
    pub(crate) memory: Memory,
    pub(crate) kind: AccessKind,
    pub(crate) op: AtomOp,
    pub(crate) ftz: bool,
    pub(crate) dst: Dst,
    pub(crate) b: Src,
    pub(crate) c: Src,
}

/// How lanes find their source.
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
    /// `bar.red`: operation, where to, and the predicate.
    pub(crate) red: Option<(Red, Dst, Src)>,
}

/// What `bar.red` makes of the predicates.
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
    /// By parity, or by the token of an arrival; `wait` may suspend.
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

/// A copy that the hardware runs on its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Async {
    pub(crate) to: Window,
    pub(crate) target: Address,
    pub(crate) from: Window,
    pub(crate) source: Address,
    pub(crate) bytes: Src,
    /// Bytes that are read; the rest are zeros (`cp.async` only).
    pub(crate) read: Option<Src>,
    pub(crate) mbarrier: Option<(Window, Address)>,
    pub(crate) multicast: Option<Src>,
    pub(crate) bulk: bool,
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
    /// A comparison, joined with a predicate where there is one.
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
    /// Logic on lane masks: `not` and `mov` are `Xor` and `Or` with a constant.
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
    Branch(u32),
    Exit,
    Trap,
    Bar(Box<Bar>),
    Sync {
        op: Box<Sync>,
        members: Src,
    },
    ActiveMask(Dst),
    ClusterArrive,
    ClusterWait,
    Fence(Order, Scope),
    Mbar(Box<Mbar>),
    Async(Box<Async>),
    /// `mapa`: the address of the same place in another block of the cluster.
    Mapa {
        dst: Dst,
        addr: Src,
        offset: i64,
        rank: Src,
        generic: bool,
    },
    /// The rank that a shared address belongs to.
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
    /// Between a space and generic addresses.
    Cvta {
        window: Window,
        to: bool,
        dst: Dst,
        src: Src,
        offset: i64,
    },
    /// Nothing that results depend on: hints, waits for what is done already.
    Nop,
}

/// An operation under its guard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inst {
    pub(crate) op: Op,
    /// Predicate, and whether it is negated.
    pub(crate) guard: Option<(u16, bool)>,
    /// Where lanes that part here meet again, for branches.
    pub(crate) join: u32,
}

/// No such place: lanes meet nowhere before they exit.
pub(crate) const NOWHERE: u32 = u32::MAX;
