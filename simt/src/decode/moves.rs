//! Moves, and the fast loops of operations.

use crate::alu::fast::classify;
use crate::inst::{Alu, Bool, Dst, F, Fast, Op, Rounding, Src, Ty};

/// Returns the fast loop for an operation if its operands are in the planes that the loop uses.
pub(super) fn fast(alu: &Alu, dst: Dst, src: &[Src; 4]) -> Fast {
    let fast = classify(alu);
    let word = |s: &Src| matches!(s, Src::W(_) | Src::Imm(_));
    let double = |s: &Src| matches!(s, Src::D(_) | Src::Imm(_));
    use Fast::*;
    let fits = match fast {
        No => false,
        Mov64 | Add64 | Sub64 | AddF64 | MulF64 | FmaF64 => {
            matches!(dst, Dst::D(_)) && src.iter().all(double)
        }
        Shl64 => matches!(dst, Dst::D(_)) && double(&src[0]) && word(&src[1]),
        WideU32 | WideS32 | ZextU32 | SextS32 => matches!(dst, Dst::D(_)) && src.iter().all(word),
        Trunc64 => matches!(dst, Dst::W(_)) && src.iter().all(double),
        _ => matches!(dst, Dst::W(_)) && src.iter().all(word),
    };
    if fits { fast } else { No }
}

/// Returns a move of a register or constant.
pub(super) fn copy(src: Src, dst: Dst, ty: Ty) -> Op {
    if ty == Ty::Pred {
        return Op::Pred { op: Bool::Or, dst, a: src, b: Src::Imm(0) };
    }
    let src = [src, Src::Imm(0), Src::Imm(0), Src::Imm(0)];
    let alu = Alu { f: F::Mov, ty, round: Rounding::Near, ftz: false, sat: false };
    Op::Alu { alu, fast: fast(&alu, dst, &src), dst, src }
}
