//! Operands, which are registers, constants and special registers.

/// A destination register, as an index into the planes of its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dst {
    /// A plane of 32 words, for registers of up to 32 bits.
    W(u16),
    /// A plane of 32 double words.
    D(u16),
    /// A predicate, as a lane mask.
    P(u16),
    /// The destination `_`, which discards the result.
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
    /// A constant of the kernel, expanded to a plane for fast loops.
    ConstW(u16),
    ConstD(u16),
    Special(Special),
}

/// A special register.
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
    AggrSmemSize,
    ReservedBegin,
    ReservedEnd,
    ReservedCap,
    /// The address of a module variable, as an offset in bytes from the first module variable.
    Module(u64),
}
