//! Decodes arithmetic, comparisons, and moves between registers.

use super::mods::{Decoded, Mods};
use super::moves::{copy, fast};
use super::{Decoder, Symbol};
use crate::inst::{Alu, Bool, Carry, CarryOp, Cmp, Dst, F, Half, Op, Rounding, Src, Ty};
use crate::parse::ast::Operand;

/// Returns the comparison that a modifier names.
pub(super) fn comparison(part: &str) -> Option<Cmp> {
    Some(match part {
        "eq" => Cmp::Eq,
        "ne" => Cmp::Ne,
        "lt" | "lo" => Cmp::Lt,
        "le" | "ls" => Cmp::Le,
        "gt" | "hi" => Cmp::Gt,
        "ge" | "hs" => Cmp::Ge,
        "equ" => Cmp::Equ,
        "neu" => Cmp::Neu,
        "ltu" => Cmp::Ltu,
        "leu" => Cmp::Leu,
        "gtu" => Cmp::Gtu,
        "geu" => Cmp::Geu,
        "num" => Cmp::Num,
        "nan" => Cmp::Nan,
        _ => return None,
    })
}

pub(super) fn logic(part: &str) -> Option<Bool> {
    Some(match part {
        "and" => Bool::And,
        "or" => Bool::Or,
        "xor" => Bool::Xor,
        _ => return None,
    })
}

pub(super) const UNKNOWN: &str = "cannot be run: it is not in the supported subset";

impl Decoder<'_, '_> {
    pub(super) fn arithmetic(
        &mut self,
        base: &str,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
    ) -> Decoded<Op> {
        match base {
            "mov" => return self.mov(mods, operands),
            "setp" => return self.setp(mods, operands),
            "cvt" => return self.cvt(mods, operands),
            "set" => return self.set(mods, operands),
            _ => {}
        }
        // `prmt` is the only instruction whose mode comes after the type.
        const MODES: [&str; 6] = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
        let mode = if base == "prmt" {
            mods.find(|p| MODES.iter().position(|m| *m == p)).map_or(0, |m| m as u8 + 1)
        } else {
            0
        };
        let Some(ty) = mods.ty() else { return Err(UNKNOWN.into()) };
        if ty == Ty::Pred {
            return self.predicate_logic(base, operands);
        }
        let bits = ty.bits();
        let mut alu = Alu { f: F::Mov, ty, round: Rounding::Near, ftz: false, sat: false };
        if ty.is_float() {
            alu.round = mods.round();
            let approximate = matches!(base, "rcp" | "rsqrt");
            alu.ftz = (ty != Ty::F64 || approximate) && mods.take("ftz");
        }
        alu.sat = mods.take("sat");
        let half = |mods: &mut Mods<'_>| {
            mods.find(|p| match p {
                "lo" => Some(Half::Lo),
                "hi" => Some(Half::Hi),
                "wide" => Some(Half::Wide),
                _ => None,
            })
        };
        // The types of the source operands, in order.
        let mut sources: Vec<Ty>;
        let mut dst_bits = bits;
        let float = ty.is_float();
        match base {
            "add" | "sub" if ty.is_int() || float => {
                alu.f = if base == "add" { F::Add } else { F::Sub };
                if alu.sat && !float && ty != Ty::S32 {
                    return Err("takes `.sat` with `.s32` only".into());
                }
                sources = vec![ty; 2];
            }
            "mul" if float => {
                alu.f = F::Mul(Half::Lo);
                sources = vec![ty; 2];
            }
            "mul" | "mad" if ty.is_int() => {
                let Some(half) = half(mods) else {
                    return Err("lacks `.lo`, `.hi` or `.wide`".into());
                };
                if half == Half::Wide {
                    if bits > 32 {
                        return Err(UNKNOWN.into());
                    }
                    dst_bits = 2 * bits;
                }
                alu.f = if base == "mul" { F::Mul(half) } else { F::Mad(half) };
                sources = vec![ty; 2];
                if base == "mad" {
                    sources.push(if half == Half::Wide { wider(ty) } else { ty });
                }
            }
            "mul24" | "mad24" if ty.is_int() && bits == 32 => {
                let Some(half) = half(mods).filter(|half| *half != Half::Wide) else {
                    return Err("lacks `.lo` or `.hi`".into());
                };
                alu.f = if base == "mul24" { F::Mul24(half) } else { F::Mad24(half) };
                sources = vec![ty; if base == "mul24" { 2 } else { 3 }];
            }
            "mad" | "fma" if float => {
                alu.f = if mods.take("relu") && bits <= 32 && ty != Ty::F32 {
                    F::FmaRelu
                } else {
                    F::Fma
                };
                sources = vec![ty; 3];
            }
            "sad" if ty.is_int() => {
                alu.f = F::Sad;
                sources = vec![ty; 3];
            }
            "div" if ty.is_int() => {
                alu.f = F::Div;
                sources = vec![ty; 2];
            }
            "div" if ty == Ty::F32 || ty == Ty::F64 => {
                alu.f =
                    if mods.take("approx") || mods.take("full") { F::DivApprox } else { F::Div };
                sources = vec![ty; 2];
            }
            "rem" if ty.is_int() => {
                alu.f = F::Rem;
                sources = vec![ty; 2];
            }
            "abs" | "neg" if ty.is_signed() || float => {
                alu.f = if base == "abs" { F::Abs } else { F::Neg };
                sources = vec![ty];
            }
            "min" | "max" if ty.is_int() || float => {
                let nan = float && mods.take("NaN");
                let xorsign = float && ty != Ty::F64 && mods.take("xorsign");
                if xorsign && !mods.take("abs") {
                    return Err("takes `.xorsign` only with `.abs`".into());
                }
                alu.f =
                    if base == "min" { F::Min { nan, xorsign } } else { F::Max { nan, xorsign } };
                sources = vec![ty; 2];
            }
            "and" | "or" | "xor" if matches!(ty, Ty::B16 | Ty::B32 | Ty::B64) => {
                alu.f = match base {
                    "and" => F::And,
                    "or" => F::Or,
                    _ => F::Xor,
                };
                sources = vec![ty; 2];
            }
            "not" | "cnot" if matches!(ty, Ty::B16 | Ty::B32 | Ty::B64) => {
                alu.f = if base == "not" { F::Not } else { F::Cnot };
                sources = vec![ty];
            }
            "shl" | "shr" if !float && bits >= 16 => {
                alu.f = if base == "shl" { F::Shl } else { F::Shr };
                sources = vec![ty, Ty::U32];
            }
            "shf" if ty == Ty::B32 => {
                let (left, right) = (mods.take("l"), mods.take("r"));
                let (wrap, clamp) = (mods.take("wrap"), mods.take("clamp"));
                if left == right || wrap == clamp {
                    return Err("lacks a direction or mode".into());
                }
                alu.f = if left { F::ShfL(wrap) } else { F::ShfR(wrap) };
                sources = vec![Ty::B32, Ty::B32, Ty::U32];
            }
            "popc" | "clz" if matches!(ty, Ty::B32 | Ty::B64) => {
                alu.f = if base == "popc" { F::Popc } else { F::Clz };
                dst_bits = 32;
                sources = vec![ty];
            }
            "brev" if matches!(ty, Ty::B32 | Ty::B64) => {
                alu.f = F::Brev;
                sources = vec![ty];
            }
            "bmsk" if ty == Ty::B32 => {
                let clamp = mods.take("clamp");
                if !clamp && !mods.take("wrap") {
                    return Err("lacks `.clamp` or `.wrap`".into());
                }
                alu.f = F::Bmsk(clamp);
                sources = vec![ty; 2];
            }
            "bfind" if ty.is_int() && bits >= 32 => {
                alu.f = if mods.take("shiftamt") { F::BfindShift } else { F::Bfind };
                dst_bits = 32;
                sources = vec![ty];
            }
            "bfe" if ty.is_int() && bits >= 32 => {
                alu.f = F::Bfe;
                sources = vec![ty, Ty::U32, Ty::U32];
            }
            "bfi" if matches!(ty, Ty::B32 | Ty::B64) => {
                alu.f = F::Bfi;
                sources = vec![ty, ty, Ty::U32, Ty::U32];
            }
            "szext" if ty.is_int() && bits == 32 => {
                let clamp = mods.take("clamp");
                if !clamp && !mods.take("wrap") {
                    return Err("lacks `.clamp` or `.wrap`".into());
                }
                alu.f = F::Szext(clamp);
                sources = vec![ty, Ty::U32];
            }
            "fns" if ty == Ty::B32 => {
                alu.f = F::Fns;
                sources = vec![ty; 3];
            }
            "prmt" if ty == Ty::B32 => {
                alu.f = F::Prmt(mode);
                sources = vec![ty; 3];
            }
            "lop3" if ty == Ty::B32 => {
                if let Some(join) = mods.find(|p| logic(p).filter(|join| *join != Bool::Xor)) {
                    return self.lop3_with_predicate(join, operands);
                }
                let Some((Operand::Int(table @ 0..=255), rest)) = operands.split_last() else {
                    return Err("lacks its lookup table, which is an immediate below 256".into());
                };
                alu.f = F::Lop3(*table as u8);
                return self.alu(alu, &[ty; 3], 32, rest);
            }
            "dp4a" | "dp2a" if bits == 32 && ty.is_int() => {
                let Some(first) = mods.ty().filter(|ty| ty.bits() == 32 && ty.is_int()) else {
                    return Err("lacks the type of its first operand".into());
                };
                let (a, b) = (first.is_signed(), ty.is_signed());
                alu.f = match (base, half(mods)) {
                    ("dp4a", None) => F::Dp4a { a, b },
                    ("dp2a", Some(half)) if half != Half::Wide => {
                        F::Dp2a { a, b, hi: half == Half::Hi }
                    }
                    _ => return Err("needs exactly one of `.lo` and `.hi`".into()),
                };
                alu.ty = if a || b { Ty::S32 } else { Ty::U32 };
                sources = vec![alu.ty; 3];
            }
            "selp" if bits >= 16 => {
                alu.f = F::Selp;
                sources = vec![ty, ty, Ty::Pred];
            }
            "slct" => {
                let sign = ty;
                let Some(ty) = mods.ty().filter(|_| matches!(sign, Ty::S32 | Ty::F32)) else {
                    return Err(UNKNOWN.into());
                };
                alu = Alu {
                    f: F::Slct(sign),
                    ty,
                    round: Rounding::Near,
                    ftz: alu.ftz || mods.take("ftz"),
                    sat: false,
                };
                return self.alu(alu, &[ty, ty, sign], ty.bits(), operands);
            }
            "copysign" if ty == Ty::F32 || ty == Ty::F64 => {
                alu.f = F::Copysign;
                sources = vec![ty; 2];
            }
            "sqrt" | "rcp" if ty == Ty::F32 || ty == Ty::F64 => {
                mods.take("approx");
                alu.f = if base == "sqrt" { F::Sqrt } else { F::Rcp };
                sources = vec![ty];
            }
            "rsqrt" if (ty == Ty::F32 || ty == Ty::F64) && mods.take("approx") => {
                alu.f = F::Rsqrt;
                sources = vec![ty];
            }
            "sin" | "cos" | "lg2" if ty == Ty::F32 && mods.take("approx") => {
                alu.f = match base {
                    "sin" => F::Sin,
                    "cos" => F::Cos,
                    _ => F::Lg2,
                };
                sources = vec![ty];
            }
            "ex2" | "tanh" if float && ty != Ty::F64 && mods.take("approx") => {
                alu.f = if base == "ex2" { F::Ex2 } else { F::Tanh };
                sources = vec![ty];
            }
            "testp" if ty == Ty::F32 || ty == Ty::F64 => {
                const CLASSES: [&str; 6] =
                    ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
                let Some(class) = mods.find(|p| CLASSES.iter().position(|c| *c == p)) else {
                    return Err(UNKNOWN.into());
                };
                alu.f = F::Testp(class as u8);
                dst_bits = 1;
                sources = vec![ty];
            }
            _ => return Err(UNKNOWN.into()),
        }
        sources.truncate(4);
        self.alu(alu, &sources, dst_bits, operands)
    }

    pub(super) fn alu(
        &self,
        alu: Alu,
        sources: &[Ty],
        dst_bits: u32,
        operands: &[Operand<'_>],
    ) -> Decoded<Op> {
        let Some((dst, rest)) = operands.split_first() else {
            return Err("has no operands".into());
        };
        if rest.len() != sources.len() {
            return Err(format!("has {} source operands instead of {}", rest.len(), sources.len()));
        }
        let dst = self.dst(dst, dst_bits)?;
        let mut src = [Src::Imm(0); 4];
        for ((slot, operand), ty) in src.iter_mut().zip(rest).zip(sources) {
            *slot = self.src(operand, *ty)?;
        }
        Ok(Op::Alu { alu, fast: fast(&alu, dst, &src), dst, src })
    }

    /// Decodes `mov`, including the forms that pack or unpack the parts of a register.
    fn mov(&mut self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let Some(ty) = mods.ty() else { return Err(UNKNOWN.into()) };
        let [dst, src] = operands else { return Err("takes two operands".into()) };
        let part = |parts: usize| match (ty.bits(), parts) {
            (64, 2) => Ok(Ty::B32),
            (64, 4) | (32, 2) => Ok(Ty::B16),
            (32, 4) | (16, 2) => Ok(Ty::B8),
            (bits, n) => Err(format!("cannot split {bits} bits into {n} parts")),
        };
        if let Operand::Vector(parts) = src {
            let one = part(parts.len())?;
            let parts =
                parts.iter().map(|p| self.wide_src(p, one)).collect::<Decoded<Box<[_]>>>()?;
            return Ok(Op::Pack { dst: self.dst(dst, ty.bits())?, parts, bits: one.bits() });
        }
        if let Operand::Vector(parts) = dst {
            let one = part(parts.len())?;
            let dsts = parts
                .iter()
                .map(|p| self.wide_dst(p, one.bits()))
                .collect::<Decoded<Box<[_]>>>()?;
            return Ok(Op::Unpack { dsts, src: self.src(src, ty)?, bits: one.bits() });
        }
        self.copy_of(src, self.dst(dst, ty.bits())?, ty)
    }

    /// Copies an operand to a register.
    pub(super) fn copy_of(&self, src: &Operand<'_>, dst: Dst, ty: Ty) -> Decoded<Op> {
        if ty == Ty::Pred {
            return Ok(copy(self.predicate(src)?, dst, ty));
        }
        if let Operand::Name(name) = src
            && let Some(Symbol::Special(special)) = self.names.find(name)
        {
            return Ok(Op::Special { dst, special });
        }
        Ok(copy(self.src(src, ty)?, dst, ty))
    }

    /// Decodes a predicate operand; a constant is true unless it is 0.
    pub(super) fn predicate(&self, operand: &Operand<'_>) -> Decoded<Src> {
        match self.src(operand, Ty::Pred)? {
            Src::Imm(v) => Ok(Src::Imm(if v == 0 { 0 } else { u64::from(u32::MAX) })),
            Src::Special(_) => Err("reads a special register as a predicate".into()),
            src => Ok(src),
        }
    }

    fn predicate_logic(&self, base: &str, operands: &[Operand<'_>]) -> Decoded<Op> {
        let all = Src::Imm(u64::from(u32::MAX));
        let op = match base {
            "and" => Bool::And,
            "or" => Bool::Or,
            "xor" => Bool::Xor,
            "not" => Bool::Xor,
            _ => return Err(UNKNOWN.into()),
        };
        match (base, operands) {
            ("not", [dst, a]) => {
                Ok(Op::Pred { op, dst: self.dst(dst, 1)?, a: self.predicate(a)?, b: all })
            }
            ("and" | "or" | "xor", [dst, a, b]) => Ok(Op::Pred {
                op,
                dst: self.dst(dst, 1)?,
                a: self.predicate(a)?,
                b: self.predicate(b)?,
            }),
            _ => Err("has too few or too many operands".into()),
        }
    }

    /// Decodes `lop3.BOOL d|p, a, b, c, table, q`.
    fn lop3_with_predicate(&self, join: Bool, operands: &[Operand<'_>]) -> Decoded<Op> {
        let [dst, a, b, c, Operand::Int(table @ 0..=255), q] = operands else {
            return Err("takes `d|p`, three sources, a table below 256 and a predicate".into());
        };
        let (dst, leaves) = self.pair(dst, 32, 1)?;
        let [a, b, c] = [a, b, c].map(|operand| self.src(operand, Ty::B32));
        Ok(Op::Carry(Box::new(Carry {
            op: CarryOp::Lop3(*table as u8, join),
            ty: Ty::B32,
            dst,
            src: [a?, b?, c?],
            takes: Some(self.predicate(q)?),
            leaves,
        })))
    }

    fn setp(&self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let Some(ty) = mods.ty().filter(|ty| ty.bits() >= 16) else {
            return Err(UNKNOWN.into());
        };
        let Some(cmp) = mods.find(comparison) else { return Err("lacks a comparison".into()) };
        let logic = mods.find(logic);
        let ftz = mods.take("ftz");
        let (dst, a, b, c) = match (operands, logic) {
            ([dst, a, b], None) => (dst, a, b, None),
            ([dst, a, b, c], Some(op)) => (dst, a, b, Some((op, self.predicate(c)?))),
            _ => return Err("has too few or too many operands".into()),
        };
        let (p, q) = self.pair(dst, 1, 1)?;
        Ok(Op::Setp { cmp, ty, ftz, join: c, p, q, a: self.src(a, ty)?, b: self.src(b, ty)? })
    }

    /// Decodes `d` or `d|p`.
    pub(super) fn pair(
        &self,
        operand: &Operand<'_>,
        first: u32,
        second: u32,
    ) -> Decoded<(Dst, Dst)> {
        match operand {
            Operand::Pair(a, b) => Ok((self.dst(a, first)?, self.dst(b, second)?)),
            one => Ok((self.dst(one, first)?, Dst::Sink)),
        }
    }
}

fn wider(ty: Ty) -> Ty {
    match ty {
        Ty::U16 => Ty::U32,
        Ty::S16 => Ty::S32,
        Ty::U32 => Ty::U64,
        _ => Ty::S64,
    }
}
