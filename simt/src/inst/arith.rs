//! Arithmetic operations.

use super::operand::{Dst, Src};
use super::ty::Ty;

/// The rounding mode of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Rounding {
    #[default]
    Near,
    Zero,
    Down,
    Up,
    /// To the nearest value, with ties away from zero (`.rna`).
    Away,
}

/// The part of a product that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Lo,
    Hi,
    Wide,
}

/// Comparisons. The variants whose names end in `u` also hold if an operand is NaN.
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

/// Logical operations on bits and predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bool {
    And,
    Or,
    Xor,
}

impl Bool {
    /// Applies the operation to lane masks.
    pub(crate) fn of(self, a: u32, b: u32) -> u32 {
        match self {
            Bool::And => a & b,
            Bool::Or => a | b,
            Bool::Xor => a ^ b,
        }
    }
}

/// An arithmetic operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum F {
    Mov,
    Add,
    Sub,
    Mul(Half),
    Mad(Half),
    /// The low or high 32 bits of the 48-bit product of two 24-bit numbers.
    Mul24(Half),
    Mad24(Half),
    Sad,
    Div,
    DivApprox,
    Rem,
    Abs,
    Neg,
    /// The smaller or the larger operand. `nan` states whether the result is NaN if an operand is
    /// NaN; with `xorsign`, magnitudes are compared, and the result has the product of the signs.
    Min {
        nan: bool,
        xorsign: bool,
    },
    Max {
        nan: bool,
        xorsign: bool,
    },
    And,
    Or,
    Xor,
    Not,
    Cnot,
    Shl,
    Shr,
    /// Funnel shifts to the left and to the right; the flag states whether the count wraps or is
    /// clamped.
    ShfL(bool),
    ShfR(bool),
    Popc,
    Clz,
    Brev,
    /// Extends a narrower number; the flag states whether the number of bits is clamped.
    Szext(bool),
    /// A mask of consecutive bits; the flag states whether the operands are clamped or wrap.
    Bmsk(bool),
    Bfind,
    BfindShift,
    Bfe,
    Bfi,
    Fns,
    Prmt(u8),
    Lop3(u8),
    /// Dot products of four pairs of bytes, or of two pairs of a 16-bit number and a byte. `a` and
    /// `b` state whether the operands are signed; `hi` states whether the upper two bytes of `b`
    /// are used.
    Dp4a {
        a: bool,
        b: bool,
    },
    Dp2a {
        a: bool,
        b: bool,
        hi: bool,
    },
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
    /// Converts from a type to the type of the instruction; `int` states whether the value is
    /// rounded to an integer.
    Cvt {
        from: Ty,
        int: bool,
    },
    /// Converts from `f32`; negative numbers become zero.
    CvtRelu,
    /// Packs two floats into a pair.
    CvtPack,
    /// Saturates two integers to this type, and packs them into the bits below those of the third
    /// operand.
    CvtSatPack(Ty),
    /// `set` compares values of this type; the result is all ones or 1.0 if the comparison holds,
    /// and 0 otherwise.
    Set(Cmp, Ty),
    /// `set` that combines the comparison with the third operand, which is a predicate.
    SetWith(Cmp, Ty, Bool),
    Testp(u8),
}

impl F {
    pub(crate) const MIN: F = F::Min { nan: false, xorsign: false };
    pub(crate) const MAX: F = F::Max { nan: false, xorsign: false };

    /// Returns whether the result is a copy of operand `i`, or of a part of it.
    pub(crate) fn copies(self, i: usize) -> bool {
        match self {
            F::Mov => i == 0,
            F::Selp => i < 2,
            F::Cvt { from, .. } => i == 0 && !from.is_float(),
            _ => false,
        }
    }
}

/// Operations of multi-word arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarryOp {
    Add,
    Sub,
    Mad(Half),
    /// The operation `lop3` with this truth table. It also writes a predicate, which states whether
    /// the result is nonzero, combined with the source predicate.
    Lop3(u8, Bool),
}

/// One word of a longer sum, difference or product, or another operation that writes a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carry {
    pub(crate) op: CarryOp,
    pub(crate) ty: Ty,
    pub(crate) dst: Dst,
    pub(crate) src: [Src; 3],
    /// The carry flag to add or subtract, if there is one.
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

impl Alu {
    /// Returns whether the operation computes 64 bits from 32-bit integers, or divides them, if its
    /// operands are suitable.
    pub(crate) fn may_widen(&self) -> bool {
        match self.f {
            F::Mul(Half::Wide) | F::Mad(Half::Wide) => matches!(self.ty, Ty::U32 | Ty::S32),
            F::Cvt { from, .. } => {
                matches!((from, self.ty), (Ty::U32 | Ty::S32, Ty::U64 | Ty::S64))
            }
            F::And => self.ty.bits() == 64,
            F::Div | F::Rem => matches!(self.ty, Ty::U32 | Ty::S32),
            _ => false,
        }
    }
}

/// The fast loop that computes an operation for full planes.
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
