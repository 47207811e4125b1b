//! Evaluates arithmetic instructions for one lane.

mod bits;
mod convert;
pub(crate) mod fast;
pub(crate) mod float;

pub(crate) use bits::{lop3, sext, trim};

use crate::inst::{Alu, Cmp, F, Half, Rounding, Ty};
use bits::{bfe, bfi, bfind, bmsk, field, fns, funnel, prmt, szext};
use float::{canon32, canon64, flush16, flush32, narrow, odd_add, odd_div, odd_sqrt, widen};

/// Returns the value of an integer operand, in a type that can hold any operand.
fn wide(v: u64, ty: Ty) -> i128 {
    if ty.is_signed() { i128::from(sext(v, ty.bits())) } else { i128::from(trim(v, ty.bits())) }
}

/// Computes the result of an operation. The bits above the width of the result's type are 0.
pub(crate) fn eval(op: &Alu, [a, b, c, d]: [u64; 4]) -> u64 {
    let ty = op.ty;
    match op.f {
        F::Cvt { from, int } => return convert::convert(op, from, int, a),
        F::CvtPack => return convert::pack(op, a, b),
        F::CvtRelu => {
            let v = f64::from(f32::from_bits(a as u32));
            return narrow(if v < 0.0 { 0.0 } else { v }, ty, op.round)
                & if v.is_nan() { 0x7fff } else { !0x8000 };
        }
        F::CvtSatPack(to) => return convert::saturated_pair(to, a, b, c),
        F::Set(cmp, from) if from.is_packed() => {
            // The results are two halves, or two 16-bit masks in one 32-bit register.
            let (from, ty) = (from.half(), if ty.is_packed() { ty.half() } else { Ty::U16 });
            let one = Alu { f: F::Set(cmp, from), ty, ..*op };
            let half = |shift: u32| eval(&one, [a >> shift & 0xffff, b >> shift & 0xffff, 0, 0]);
            return half(0) | half(16) << 16;
        }
        F::Set(cmp, from) | F::SetWith(cmp, from, _) => {
            let mut yes = compare(cmp, from, op.ftz, a, b);
            if let F::SetWith(.., join) = op.f {
                yes = join.of(yes.into(), c as u32 & 1) == 1;
            }
            return match (yes, ty) {
                (false, _) => 0,
                (true, Ty::F32) => 0x3f80_0000,
                (true, Ty::F16) => 0x3c00,
                (true, Ty::BF16) => 0x3f80,
                (true, _) => trim(u64::MAX, ty.bits()),
            };
        }
        F::Mov => return trim(a, ty.bits()),
        F::Selp => return trim(if c & 1 == 1 { a } else { b }, ty.bits()),
        F::Slct(sign) => {
            let first = match sign {
                Ty::F32 => {
                    let c = if op.ftz { flush32(c as u32) } else { c as u32 };
                    f32::from_bits(c) >= 0.0
                }
                _ => c as i32 >= 0,
            };
            return trim(if first { a } else { b }, ty.bits());
        }
        F::Bfi => return bfi(a, b, c, d, ty.bits()),
        F::Testp(class) => return u64::from(testp(class, ty, a)),
        _ => {}
    }
    if ty.is_packed() {
        let one = Alu { ty: ty.half(), ..*op };
        let half = |shift: u32| {
            eval(&one, [a >> shift & 0xffff, b >> shift & 0xffff, c >> shift & 0xffff, 0])
        };
        return half(0) | half(16) << 16;
    }
    if let F::Min { nan, xorsign: true } | F::Max { nan, xorsign: true } = op.f {
        let smaller = matches!(op.f, F::Min { .. });
        let f =
            if smaller { F::Min { nan, xorsign: false } } else { F::Max { nan, xorsign: false } };
        let sign = 1 << (ty.bits() - 1);
        let picked = eval(&Alu { f, ..*op }, [a & !sign, b & !sign, 0, 0]);
        return if widen(picked, ty).is_nan() { picked } else { picked | (a ^ b) & sign };
    }
    match ty {
        Ty::F32 => float32(op, a as u32, b as u32, c as u32),
        Ty::F64 => float64(op, f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)),
        Ty::F16 | Ty::BF16 => float16(op, a, b, c),
        _ => integer(op, a, b, c),
    }
}

/// Returns whether the operation is an integer division or remainder by zero.
pub(crate) fn divides_by_zero(op: &Alu, b: u64) -> bool {
    matches!(op.f, F::Div | F::Rem) && !op.ty.is_float() && trim(b, op.ty.bits()) == 0
}

fn integer(op: &Alu, a: u64, b: u64, c: u64) -> u64 {
    let ty = op.ty;
    let bits = ty.bits();
    let (x, y, z) = (wide(a, ty), wide(b, ty), wide(c, ty));
    let ranged = |v: i128| {
        if op.sat { v.clamp(i32::MIN.into(), i32::MAX.into()) } else { v }
    };
    let product = |half: Half| match half {
        Half::Hi => (x * y) >> bits,
        _ => x * y,
    };
    // The product of two signed 64-bit numbers fits in `i128`; the product of two unsigned 64-bit
    // numbers may not.
    let unsigned_hi = |a: u64, b: u64| (u128::from(a) * u128::from(b)) >> 64;
    let result: i128 = match op.f {
        F::Add => ranged(x + y),
        F::Sub => ranged(x - y),
        F::Mul(Half::Hi) if ty == Ty::U64 => unsigned_hi(a, b) as i128,
        F::Mad(Half::Hi) if ty == Ty::U64 => unsigned_hi(a, b) as i128 + z,
        F::Mul(Half::Lo) => i128::from(a.wrapping_mul(b)),
        F::Mad(Half::Lo) => i128::from(a.wrapping_mul(b).wrapping_add(c)),
        F::Mul(half) => product(half),
        F::Mad(Half::Wide) => {
            x * y
                + if ty.is_signed() {
                    i128::from(sext(c, 2 * bits))
                } else {
                    i128::from(trim(c, 2 * bits))
                }
        }
        F::Mad(half) => ranged(product(half) + z),
        F::Mul24(half) | F::Mad24(half) => {
            let (x, y) = if ty.is_signed() {
                (i128::from(sext(a, 24)), i128::from(sext(b, 24)))
            } else {
                (i128::from(trim(a, 24)), i128::from(trim(b, 24)))
            };
            let product = if half == Half::Hi { (x * y) >> 16 } else { x * y };
            let product = if ty.is_signed() {
                i128::from(product as i32)
            } else {
                i128::from(product as u32)
            };
            ranged(product + if matches!(op.f, F::Mad24(_)) { z } else { 0 })
        }
        F::Sad => (x - y).abs() + z,
        // An active lane that divides by zero has already trapped; the divisor of an inactive lane
        // may be zero.
        F::Div => x.checked_div(y).unwrap_or(0),
        F::Rem => x.checked_rem(y).unwrap_or(0),
        F::Abs => x.abs(),
        F::Neg => ranged(-x),
        F::Min { .. } => x.min(y),
        F::Max { .. } => x.max(y),
        F::And => i128::from(a & b),
        F::Or => i128::from(a | b),
        F::Xor => i128::from(a ^ b),
        F::Not => i128::from(!a),
        F::Cnot => i128::from(x == 0),
        F::Shl => {
            let by = b as u32;
            i128::from(if by >= bits { 0 } else { a << by })
        }
        F::Shr => x >> (b as u32).min(if ty.is_signed() { bits - 1 } else { 64 }),
        F::ShfL(wrap) => i128::from(funnel(a, b, c, wrap, true)),
        F::ShfR(wrap) => i128::from(funnel(a, b, c, wrap, false)),
        F::Popc => i128::from(trim(a, bits).count_ones()),
        F::Clz => i128::from(trim(a, bits).leading_zeros() - (64 - bits)),
        F::Brev => i128::from(trim(a, bits).reverse_bits() >> (64 - bits)),
        F::Bmsk(clamp) => i128::from(bmsk(a as u32, b as u32, clamp)),
        F::Bfind | F::BfindShift => i128::from(bfind(op.f == F::BfindShift, x, bits)),
        F::Bfe => i128::from(bfe(a, b, c, ty)),
        F::Fns => i128::from(fns(a as u32, b as u32, c as i32)),
        F::Dp4a { a: sa, b: sb } => {
            z + (0..4).map(|i| field(a, i, 8, sa) * field(b, i, 8, sb)).sum::<i128>()
        }
        F::Dp2a { a: sa, b: sb, hi } => {
            let from = if hi { 2 } else { 0 };
            z + (0..2).map(|i| field(a, i, 16, sa) * field(b, from + i, 8, sb)).sum::<i128>()
        }
        F::Prmt(mode) => i128::from(prmt(mode, a as u32, b as u32, c as u32)),
        F::Lop3(table) => i128::from(lop3(table, a, b, c)),
        F::Szext(clamp) => i128::from(szext(a as u32, b as u32, ty.is_signed(), clamp)),
        _ => 0,
    };
    let bits = match op.f {
        F::Mul(Half::Wide) | F::Mad(Half::Wide) => 2 * bits,
        F::Popc | F::Clz | F::Bfind | F::BfindShift => 32,
        _ => bits,
    };
    trim(result as u64, bits)
}

fn testp(class: u8, ty: Ty, a: u64) -> bool {
    use std::num::FpCategory as C;
    let category = if ty == Ty::F32 {
        f32::from_bits(a as u32).classify()
    } else {
        f64::from_bits(a).classify()
    };
    match class {
        0 => !matches!(category, C::Nan | C::Infinite),
        1 => category == C::Infinite,
        2 => category != C::Nan,
        3 => category == C::Nan,
        // Zero counts as normal.
        4 => matches!(category, C::Normal | C::Zero),
        _ => category == C::Subnormal,
    }
}

fn saturate(v: f64) -> f64 {
    // NaN and -0 also become +0.
    if v > 0.0 { v.min(1.0) } else { 0.0 }
}

fn float32(op: &Alu, a: u32, b: u32, c: u32) -> u64 {
    let flush = |v: u32| f32::from_bits(if op.ftz { flush32(v) } else { v });
    let (x, y, z) = (flush(a), flush(b), flush(c));
    let exact = |v: f64| f32::from_bits(narrow(v, Ty::F32, op.round) as u32);
    let near = op.round == Rounding::Near;
    let (dx, dy, dz) = (f64::from(x), f64::from(y), f64::from(z));
    let result = match op.f {
        F::Abs => return u64::from(x.to_bits() & 0x7fff_ffff),
        F::Neg => return u64::from(x.to_bits() ^ 0x8000_0000),
        F::Copysign => return u64::from(b & 0x7fff_ffff | a & 0x8000_0000),
        F::Add if near => x + y,
        F::Sub if near => x - y,
        F::Mul(_) if near => x * y,
        F::Fma if near => x.mul_add(y, z),
        F::Div | F::DivApprox if near => x / y,
        F::Sqrt if near => x.sqrt(),
        F::Add => f32::from_bits(zero_sum(odd_add(dx, dy), dx, dy, op) as u32),
        F::Sub => f32::from_bits(zero_sum(odd_add(dx, -dy), dx, -dy, op) as u32),
        F::Mul(_) => exact(dx * dy),
        F::Fma => f32::from_bits(zero_sum(odd_add(dx * dy, dz), dx * dy, dz, op) as u32),
        F::Div | F::DivApprox => exact(odd_div(dx, dy)),
        F::Sqrt => exact(odd_sqrt(dx)),
        F::Rcp => exact(odd_div(1.0, dx)),
        F::Rsqrt => (1.0 / dx.sqrt()) as f32,
        F::Sin => dx.sin() as f32,
        F::Cos => dx.cos() as f32,
        F::Lg2 => dx.log2() as f32,
        F::Ex2 => dx.exp2() as f32,
        F::Tanh => dx.tanh() as f32,
        F::Min { .. } | F::Max { .. } => pick(op.f, dx, dy) as f32,
        _ => f32::NAN,
    };
    let result = if op.sat { saturate(f64::from(result)) as f32 } else { result };
    let mut bits = canon32(result);
    if op.ftz && bits & 0x7fff_ffff == 0x80_0000 {
        let exact = match op.f {
            F::Mul(_) => dx * dy,
            F::Fma => odd_add(dx * dy, dz),
            _ => f64::INFINITY,
        };
        if flushed(exact, op) {
            bits &= 1 << 31;
        }
    }
    u64::from(if op.ftz { flush32(bits) } else { bits })
}

/// Returns whether `.ftz` flushes a result that was rounded to the smallest normal number. It does
/// so if the exact result, rounded as if the exponent range were unlimited, would be less than that
/// number.
fn flushed(exact: f64, op: &Alu) -> bool {
    let (scale, least) =
        if op.ty == Ty::F32 { (64, f64::from(f32::MIN_POSITIVE)) } else { (8, 2f64.powi(-14)) };
    let scale = 2f64.powi(scale);
    widen(narrow(exact * scale, op.ty, op.round), op.ty).abs() < least * scale
}

/// Rounds a sum to its type. If operands of opposite signs add up to exactly zero, the result is -0
/// when rounding down.
fn zero_sum(sum: f64, a: f64, b: f64, op: &Alu) -> u64 {
    let unlike = a.is_sign_negative() != b.is_sign_negative();
    if sum == 0.0 && unlike && op.round == Rounding::Down {
        return narrow(-0.0, op.ty, op.round);
    }
    narrow(sum, op.ty, op.round)
}

/// Returns the smaller or the greater value; -0 is less than +0. If one value is NaN, the
/// operation's `nan` flag selects NaN or the other value.
fn pick(f: F, x: f64, y: f64) -> f64 {
    let any = x.is_nan() || y.is_nan();
    match f {
        F::Min { nan: true, .. } | F::Max { nan: true, .. } if any => f64::NAN,
        _ if x.is_nan() => y,
        _ if y.is_nan() => x,
        F::Min { .. } => {
            if x < y || (x == y && x.is_sign_negative()) {
                x
            } else {
                y
            }
        }
        _ => {
            if x > y || (x == y && x.is_sign_positive()) {
                x
            } else {
                y
            }
        }
    }
}

/// Replaces a subnormal with a zero of the same sign, and clears the low 32 bits.
fn upper64(v: f64) -> f64 {
    let bits = v.to_bits() & !0xffff_ffff;
    f64::from_bits(if bits >> 52 & 0x7ff == 0 { bits & 1 << 63 } else { bits })
}

fn float64(op: &Alu, x: f64, y: f64, z: f64) -> u64 {
    let round = op.round;
    if op.ftz {
        // The instruction is `rcp.approx` or `rsqrt.approx`, which reads and computes only the
        // upper 32 bits.
        let x = upper64(x);
        let v = if op.f == F::Rcp { 1.0 / x } else { 1.0 / x.sqrt() };
        return canon64(upper64(v));
    }
    let result = match op.f {
        F::Abs => return x.to_bits() & !(1 << 63),
        F::Neg => return x.to_bits() ^ 1 << 63,
        F::Copysign => return y.abs().to_bits() | x.to_bits() & 1 << 63,
        F::Add => float::add64(x, y, round),
        F::Sub => float::add64(x, -y, round),
        F::Mul(_) => float::mul64(x, y, round),
        F::Fma => float::fma64(x, y, z, round),
        F::Div | F::DivApprox => float::div64(x, y, round),
        F::Sqrt => float::sqrt64(x, round),
        F::Rcp => float::div64(1.0, x, round),
        F::Rsqrt => 1.0 / x.sqrt(),
        F::Min { .. } | F::Max { .. } => pick(op.f, x, y),
        _ => f64::NAN,
    };
    canon64(if op.sat { saturate(result) } else { result })
}

/// Computes in a 16-bit format. The result is computed in double precision, rounded to odd, and
/// then rounded to the format.
fn float16(op: &Alu, a: u64, b: u64, c: u64) -> u64 {
    let ty = op.ty;
    let flush = |v: u64| if op.ftz && ty == Ty::F16 { flush16(v) } else { v };
    match op.f {
        F::Abs => return flush(a) & 0x7fff,
        F::Neg => return (flush(a) ^ 0x8000) & 0xffff,
        _ => {}
    }
    let (x, y, z) = (widen(flush(a), ty), widen(flush(b), ty), widen(flush(c), ty));
    let result = match op.f {
        F::Add => odd_add(x, y),
        F::Sub => odd_add(x, -y),
        F::Mul(_) => x * y,
        F::Fma => odd_add(x * y, z),
        F::FmaRelu => {
            let v = odd_add(x * y, z);
            if v.is_nan() { v } else { v.max(0.0) }
        }
        F::Ex2 => x.exp2(),
        F::Tanh => x.tanh(),
        F::Min { .. } | F::Max { .. } => pick(op.f, x, y),
        _ => f64::NAN,
    };
    let bits = narrow(if op.sat { saturate(result) } else { result }, ty, op.round);
    if op.ftz && bits & 0x7fff == 0x400 && flushed(result, op) {
        return bits & 0x8000;
    }
    flush(bits)
}

/// Compares two values of a type; `ftz` flushes subnormal operands of `f32` and `f16` to zero.
pub(crate) fn compare(cmp: Cmp, ty: Ty, ftz: bool, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::*;
    let order = match ty {
        Ty::F32 => {
            let flush = |v: u64| f32::from_bits(if ftz { flush32(v as u32) } else { v as u32 });
            flush(a).partial_cmp(&flush(b))
        }
        Ty::F16 if ftz => widen(flush16(a), ty).partial_cmp(&widen(flush16(b), ty)),
        Ty::F64 | Ty::F16 | Ty::BF16 => widen(a, ty).partial_cmp(&widen(b, ty)),
        _ => Some(wide(a, ty).cmp(&wide(b, ty))),
    };
    match cmp {
        Cmp::Eq => order == Some(Equal),
        Cmp::Ne => matches!(order, Some(Less | Greater)),
        Cmp::Lt => order == Some(Less),
        Cmp::Le => matches!(order, Some(Less | Equal)),
        Cmp::Gt => order == Some(Greater),
        Cmp::Ge => matches!(order, Some(Greater | Equal)),
        Cmp::Equ => matches!(order, None | Some(Equal)),
        Cmp::Neu => order != Some(Equal),
        Cmp::Ltu => matches!(order, None | Some(Less)),
        Cmp::Leu => order != Some(Greater),
        Cmp::Gtu => matches!(order, None | Some(Greater)),
        Cmp::Geu => order != Some(Less),
        Cmp::Num => order.is_some(),
        Cmp::Nan => order.is_none(),
    }
}
