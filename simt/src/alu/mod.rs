//! Evaluates arithmetic instructions for one lane.

mod convert;
pub(crate) mod fast;
pub(crate) mod float;

use crate::inst::{Alu, Cmp, F, Half, Rounding, Ty};
use float::{canon32, canon64, flush32, narrow, odd_add, odd_div, odd_sqrt, widen};

/// Returns the low `bits` bits of a value; the other bits are 0.
#[inline(always)]
pub(crate) fn trim(v: u64, bits: u32) -> u64 {
    if bits >= 64 { v } else { v & ((1 << bits) - 1) }
}

/// Sign-extends the low `bits` bits of a value.
#[inline(always)]
pub(crate) fn sext(v: u64, bits: u32) -> i64 {
    if bits >= 64 { v as i64 } else { (v << (64 - bits)) as i64 >> (64 - bits) }
}

/// Returns the value of an integer operand, in a type that can hold any operand.
fn wide(v: u64, ty: Ty) -> i128 {
    if ty.is_signed() { i128::from(sext(v, ty.bits())) } else { i128::from(trim(v, ty.bits())) }
}

/// Computes the result of an operation; the bits above the width of its type are 0.
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
        F::Set(cmp, from) => {
            let yes = compare(cmp, from, op.ftz, a, b);
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
    // The product of two signed 64-bit numbers fits in `i128`; that of two unsigned ones may not.
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
        // If an active lane divides by zero, it has trapped; inactive lanes may have any divisor.
        F::Div => x.checked_div(y).unwrap_or(0),
        F::Rem => x.checked_rem(y).unwrap_or(0),
        F::Abs => x.abs(),
        F::Neg => ranged(-x),
        F::Min => x.min(y),
        F::Max => x.max(y),
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
        F::Lop3(table) => {
            let mut out = 0;
            for row in 0..8u64 {
                if table >> row & 1 == 1 {
                    let pick = |v: u64, bit: u64| if row >> bit & 1 == 1 { v } else { !v };
                    out |= pick(a, 2) & pick(b, 1) & pick(c, 0);
                }
            }
            i128::from(out)
        }
        _ => 0,
    };
    let bits = match op.f {
        F::Mul(Half::Wide) | F::Mad(Half::Wide) => 2 * bits,
        F::Popc | F::Clz | F::Bfind | F::BfindShift => 32,
        _ => bits,
    };
    trim(result as u64, bits)
}

/// Returns the i-th field of `bits` bits, counted from the lowest bits.
fn field(v: u64, i: u32, bits: u32, signed: bool) -> i128 {
    let v = trim(v >> (bits * i), bits);
    if signed { i128::from(sext(v, bits)) } else { i128::from(v) }
}

/// Returns the position and length of a bit field. The low 8 bits of each operand count; for 64-bit
/// types, the low 32 bits count.
fn span(pos: u64, len: u64, bits: u32) -> (u32, u32) {
    if bits == 64 { (pos as u32, len as u32) } else { (pos as u32 & 0xff, len as u32 & 0xff) }
}

/// Inserts a bit field: the `len` low bits of `a` replace those of `b` from bit `pos` on.
fn bfi(a: u64, b: u64, pos: u64, len: u64, bits: u32) -> u64 {
    let (pos, len) = span(pos, len, bits);
    if len == 0 || pos >= bits {
        return trim(b, bits);
    }
    let mask = trim(trim(u64::MAX, len.min(64)) << pos, bits);
    trim(b, bits) & !mask | a << pos & mask
}

fn bfe(a: u64, pos: u64, len: u64, ty: Ty) -> u64 {
    let bits = ty.bits();
    let (pos, len) = span(pos, len, bits);
    let a = trim(a, bits);
    if len == 0 {
        return 0;
    }
    let last = pos.saturating_add(len - 1).min(bits - 1);
    let sign = if ty.is_signed() { a >> last & 1 } else { 0 };
    let field = if pos >= bits { 0 } else { trim(a >> pos, len.min(64)) };
    let valid = bits.saturating_sub(pos).min(len);
    if sign == 1 { field | !trim(u64::MAX, valid) } else { field }
}

/// Returns a mask of `width` ones that starts at bit `at`.
fn bmsk(at: u32, width: u32, clamp: bool) -> u32 {
    if clamp && at >= 32 {
        return 0;
    }
    let from = u32::MAX << (at & 31);
    let end = (at & 31) + (width & 31);
    let beyond = end >= 32 || (clamp && width >= 32);
    from & !if beyond { 0 } else { u32::MAX << end }
}

fn bfind(shift: bool, x: i128, bits: u32) -> u32 {
    let x = if x < 0 { !x } else { x } as u64;
    if x == 0 {
        return u32::MAX;
    }
    let at = 63 - x.leading_zeros();
    if shift { bits - 1 - at } else { at }
}

/// Returns the position of the n-th set bit, counted from bit `base`: upwards if n > 0, downwards
/// if n < 0. If there is no such bit, the result is `u32::MAX`.
fn fns(mask: u32, base: u32, n: i32) -> u32 {
    let base = base & 31;
    if n == i32::MIN {
        return 0; // An H200 returns 0.
    }
    if n == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    let mut left = n.unsigned_abs();
    let mut at = base as i32;
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += n.signum();
    }
    u32::MAX
}

fn funnel(a: u64, b: u64, c: u64, wrap: bool, left: bool) -> u64 {
    let both = trim(b, 32) << 32 | trim(a, 32);
    let by = if wrap { c as u32 & 31 } else { (c as u32).min(32) };
    trim(if left { both.wrapping_shl(by) >> 32 } else { both >> by }, 32)
}

fn prmt(mode: u8, a: u32, b: u32, c: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    let byte = |i: u32| (both >> (8 * (i & 7))) as u8;
    let c3 = c & 3;
    let picks: [u32; 4] = match mode {
        1 => [c3, c3 + 1, c3 + 2, c3 + 3],
        2 => [c3, c3.wrapping_sub(1) & 7, c3.wrapping_sub(2) & 7, c3.wrapping_sub(3) & 7],
        3 => [c3; 4],
        4 => [0, 1, 2, 3].map(|i: u32| i.max(c3)),
        5 => [0, 1, 2, 3].map(|i: u32| i.min(c3)),
        6 => [0, 1, 0, 1].map(|i: u32| i + 2 * (c & 1)),
        _ => {
            let pick = |i: u32| {
                let selector = c >> (4 * i) & 15;
                let v = byte(selector);
                if selector & 8 != 0 { (v as i8 >> 7) as u8 } else { v }
            };
            return u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)]);
        }
    };
    u32::from_le_bytes(picks.map(byte))
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
    // NaN and -0 become +0 too.
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
        F::Min | F::Max | F::MinNan | F::MaxNan => pick(op.f, dx, dy) as f32,
        F::MinXorsign | F::MaxXorsign => {
            let f = if op.f == F::MinXorsign { F::Min } else { F::Max };
            let picked = pick(f, dx.abs(), dy.abs()) as f32;
            let sign = (x.to_bits() ^ y.to_bits()) & 1 << 31;
            if picked.is_nan() { picked } else { f32::from_bits(picked.to_bits() | sign) }
        }
        _ => f32::NAN,
    };
    let result = if op.sat { saturate(f64::from(result)) as f32 } else { result };
    let mut bits = canon32(result);
    if op.ftz && bits & 0x7fff_ffff == 0x80_0000 {
        // A result that would be subnormal in an unlimited exponent range is flushed too.
        let exact = match op.f {
            F::Mul(_) => dx * dy,
            F::Fma => odd_add(dx * dy, dz),
            _ => f64::INFINITY,
        };
        let scale = 2f64.powi(64);
        let rounded = widen(narrow(exact * scale, Ty::F32, op.round), Ty::F32);
        if rounded.abs() < f64::from(f32::MIN_POSITIVE) * scale {
            bits &= 1 << 31;
        }
    }
    u64::from(if op.ftz { flush32(bits) } else { bits })
}

/// Rounds a sum to its type. If operands of unlike signs add up to exactly zero, the result is -0
/// when rounding down.
fn zero_sum(sum: f64, a: f64, b: f64, op: &Alu) -> u64 {
    let unlike = a.is_sign_negative() != b.is_sign_negative();
    if sum == 0.0 && unlike && op.round == Rounding::Down {
        return narrow(-0.0, op.ty, op.round);
    }
    narrow(sum, op.ty, op.round)
}

/// Returns the smaller or greater value; -0 is less than +0. If one value is NaN, the `Nan`
/// variants return NaN, and the others return the other value.
fn pick(f: F, x: f64, y: f64) -> f64 {
    let nan = x.is_nan() || y.is_nan();
    match f {
        F::MinNan | F::MaxNan if nan => f64::NAN,
        _ if x.is_nan() => y,
        _ if y.is_nan() => x,
        F::Min | F::MinNan => {
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

fn float64(op: &Alu, x: f64, y: f64, z: f64) -> u64 {
    let round = op.round;
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
        F::Min | F::Max => pick(op.f, x, y),
        _ => f64::NAN,
    };
    canon64(if op.sat { saturate(result) } else { result })
}

/// Computes in a 16-bit format: in double precision, rounded to odd, then rounded to the format.
fn float16(op: &Alu, a: u64, b: u64, c: u64) -> u64 {
    let ty = op.ty;
    match op.f {
        F::Abs => return a & 0x7fff,
        F::Neg => return (a ^ 0x8000) & 0xffff,
        _ => {}
    }
    let flush = |v: u64| if op.ftz && v & 0x7c00 == 0 && ty == Ty::F16 { v & 0x8000 } else { v };
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
        F::Min | F::Max | F::MinNan | F::MaxNan => pick(op.f, x, y),
        _ => f64::NAN,
    };
    let bits = narrow(if op.sat { saturate(result) } else { result }, ty, op.round);
    flush(bits)
}

/// Compares two values of a type; `ftz` flushes subnormal `f32` operands to zero.
pub(crate) fn compare(cmp: Cmp, ty: Ty, ftz: bool, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::*;
    let order = match ty {
        Ty::F32 => {
            let flush = |v: u64| f32::from_bits(if ftz { flush32(v as u32) } else { v as u32 });
            flush(a).partial_cmp(&flush(b))
        }
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
