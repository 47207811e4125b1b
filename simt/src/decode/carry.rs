//! Decodes multi-word arithmetic: sums, differences and products that produce or consume a carry.

use super::Decoder;
use super::mods::{Decoded, Mods};
use crate::inst::{Carry, CarryOp, Dst, Half, Op, Src, Ty};
use crate::parse::ast::Operand;

impl Decoder<'_, '_> {
    /// Decodes `add.cc`, `addc`, `sub.cc`, `subc`, `mad.lo.cc`, `madc.hi` and so on. Returns `None`
    /// for an instruction that neither produces nor consumes a carry.
    pub(super) fn carry(
        &mut self,
        base: &str,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
    ) -> Decoded<Option<Op>> {
        let leaves = mods.take("cc");
        let (op, takes) = match base {
            "add" | "addc" => (CarryOp::Add, base == "addc"),
            "sub" | "subc" => (CarryOp::Sub, base == "subc"),
            "mad" | "madc" => (CarryOp::Mad(Half::Lo), base == "madc"),
            _ if leaves => return Err("cannot produce a carry (`.cc`)".into()),
            _ => return Ok(None),
        };
        if !leaves && !takes {
            return Ok(None);
        }
        let Some(ty) = mods.ty().filter(|ty| ty.is_int() && ty.bits() >= 32) else {
            return Err("supports only integers of 32 or 64 bits".into());
        };
        let op = match op {
            CarryOp::Mad(_) if mods.take("lo") => CarryOp::Mad(Half::Lo),
            CarryOp::Mad(_) if mods.take("hi") => CarryOp::Mad(Half::Hi),
            CarryOp::Mad(_) => return Err("lacks `.lo` or `.hi`".into()),
            other => other,
        };
        let (dst, a, b, c) = match (op, operands) {
            (CarryOp::Mad(_), [dst, a, b, c]) => (dst, a, b, self.src(c, ty)?),
            (CarryOp::Add | CarryOp::Sub, [dst, a, b]) => (dst, a, b, Src::Imm(0)),
            _ => return Err("has too few or too many operands".into()),
        };
        let flag = self.names.carry_flag()?;
        Ok(Some(Op::Carry(Box::new(Carry {
            op,
            ty,
            dst: self.dst(dst, ty.bits())?,
            src: [self.src(a, ty)?, self.src(b, ty)?, c],
            takes: takes.then_some(Src::P(flag)),
            leaves: if leaves { Dst::P(flag) } else { Dst::Sink },
        }))))
    }

    /// Decodes a vote without a member mask, in which all active lanes take part. Only targets
    /// before sm_70 allow such a vote.
    pub(super) fn vote_of_active(
        &mut self,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
    ) -> Decoded<Op> {
        let [dst, a] = operands else { return Err("has too few or too many operands".into()) };
        if self.target().is_none_or(|target| target >= 70) {
            return Err("cannot be run without `.sync` from sm_70 on: give the mask of the lanes that take \
                        part (`__ballot_sync`)"
                .into());
        }
        let a = self.predicate(a)?;
        if mods.take("ballot") && mods.ty() == Some(Ty::B32) {
            return Ok(Op::Ballot { dst: self.dst(dst, 32)?, a });
        }
        Err("can be run without `.sync` only in the form `.ballot.b32`".into())
    }
}
