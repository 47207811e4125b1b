//! What arithmetic instructions compute.

use super::operand::{Dst, Src};
use super::ty::Ty;

/// Rounding of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Rounding {
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

impl Bool {
    /// On lane masks.
    pub(crate) fn of(self, a: u32, b: u32) -> u32 {
        match self {
            Bool::And => a & b,
            Bool::Or => a | b,
            Bool::Xor => a ^ b,
        }
    }
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
    /// A mask of bits, clamped or wrapping.
    Bmsk(bool),
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

/// What is computed in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarryOp {
    Add,
    Sub,
    Mad(Half),
}

/// A part of a longer sum, difference or product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carry {
    pub(crate) op: CarryOp,
    pub(crate) ty: Ty,
    pub(crate) dst: Dst,
    pub(crate) src: [Src; 3],
    /// The flag, where it is added or taken away.
    pub(crate) takes: Option<Src>,
    pub(crate) leaves: Dst,
}

/// An arithmetic operation with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alu {
    pub(crate) f: F,
    pub(crate) ty: Ty,
    pub(crate) round: Rounding,
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
