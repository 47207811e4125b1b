//! Decodes comparisons that return values, and conversions.

use super::Decoder;
use super::arith::{UNKNOWN, comparison, logic};
use super::mods::{Decoded, Mods};
use super::moves::fast;
use crate::inst::{Alu, F, Fast, Op, Rounding, Src, Ty};
use crate::parse::ast::Operand;

impl Decoder<'_, '_> {
    pub(super) fn set(&self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let (Some(from), Some(ty)) = (mods.ty(), mods.ty()) else { return Err(UNKNOWN.into()) };
        let masks = from.is_packed() && matches!(ty, Ty::U32 | Ty::S32);
        if (from.is_packed() != ty.is_packed() && !masks) || from.bits() < 16 {
            return Err(UNKNOWN.into());
        }
        let Some(cmp) = mods.find(comparison) else { return Err("lacks a comparison".into()) };
        let join = mods.find(logic).filter(|_| !from.is_packed());
        let f = join.map_or(F::Set(cmp, from), |join| F::SetWith(cmp, from, join));
        let alu = Alu { f, ty, round: Rounding::Near, ftz: mods.take("ftz"), sat: false };
        let sources = [from, from, Ty::Pred];
        self.alu(alu, &sources[..if join.is_some() { 3 } else { 2 }], ty.bits(), operands)
    }

    /// Decodes `cvt.pack.sat.s16.s32 d, a, b` and `cvt.pack.sat.s8.s32.b32 d, a, b, c`.
    fn cvt_pack(&self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let mut from = mods.ty();
        let above = from == Some(Ty::B32);
        if above {
            from = mods.ty();
        }
        let to = mods.ty();
        let (Some(Ty::S32), Some(to), true) = (from, to, mods.take("sat")) else {
            return Err(UNKNOWN.into());
        };
        let narrow = match (to, above) {
            (Ty::U16 | Ty::S16, false) => 2,
            (Ty::U8 | Ty::S8, true) => 3,
            _ => return Err(UNKNOWN.into()),
        };
        let alu = Alu {
            f: F::CvtSatPack(to),
            ty: Ty::B32,
            round: Rounding::Near,
            ftz: false,
            sat: false,
        };
        self.alu(alu, &[Ty::B32; 3][..narrow], 32, operands)
    }

    pub(super) fn cvt(&self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        if mods.take("pack") {
            return self.cvt_pack(mods, operands);
        }
        let (Some(from), Some(ty)) = (mods.ty(), mods.ty()) else { return Err(UNKNOWN.into()) };
        if from == Ty::Pred || ty == Ty::Pred || from.is_packed() {
            return Err(UNKNOWN.into());
        }
        let whole = mods.find(|p| {
            Some(match p {
                "rni" => Rounding::Near,
                "rzi" => Rounding::Zero,
                "rmi" => Rounding::Down,
                "rpi" => Rounding::Up,
                _ => return None,
            })
        });
        let round = whole.unwrap_or_else(|| mods.round());
        let mut alu = Alu {
            f: F::Cvt { from, int: whole.is_some() },
            ty,
            round,
            ftz: mods.take("ftz"),
            sat: mods.take("sat"),
        };
        if ty.is_packed() {
            let relu = mods.take("relu");
            let [dst, a, b] = operands else {
                return Err("takes a destination and two sources".into());
            };
            if from != Ty::F32 {
                return Err(UNKNOWN.into());
            }
            alu = Alu { f: F::CvtPack, sat: relu, ..alu };
            let src = [self.src(a, from)?, self.src(b, from)?, Src::Imm(0), Src::Imm(0)];
            return Ok(Op::Alu { alu, fast: Fast::No, dst: self.dst(dst, 32)?, src });
        }
        if from == Ty::F32 && matches!(ty, Ty::F16 | Ty::BF16) && mods.take("relu") {
            alu.f = F::CvtRelu;
        }
        if from.is_float() && !ty.is_float() && whole.is_none() {
            return Err("lacks an integer rounding modifier, such as `.rzi`".into());
        }
        let [dst, a] = operands else { return Err("takes two operands".into()) };
        let dst = self.wide_dst(dst, ty.bits())?;
        let src = [self.wide_src(a, from)?, Src::Imm(0), Src::Imm(0), Src::Imm(0)];
        Ok(Op::Alu { alu, fast: fast(&alu, dst, &src), dst, src })
    }
}
