//! Evaluates `cvt`: conversions between integers and floats of any width.

use super::bits::{sext, trim};
use super::float::{flush32, narrow, widen};
use crate::inst::{Alu, Rounding, Ty};

/// Evaluates `cvt.to.from`. `int` states whether the instruction has an integer rounding modifier
/// (`.rni`, `.rzi`, …).
pub(super) fn convert(op: &Alu, from: Ty, int: bool, a: u64) -> u64 {
    let to = op.ty;
    match (from.is_float(), to.is_float()) {
        (false, false) => {
            let v = value(a, from);
            trim((if op.sat { v.clamp(least(to), most(to)) } else { v }) as u64, to.bits())
        }
        (false, true) => {
            let v = value(a, from);
            from_int(if op.sat { v.clamp(0, 1) } else { v }, to, op.round)
        }
        (true, false) => {
            let v = whole(widen(flush(op, a, from), from), op.round);
            // Out-of-range values are clamped to the nearest bound, and NaN becomes 0.
            let clamped = if v.is_nan() {
                nan_to_int(from, to)
            } else {
                (v as i128).clamp(least(to), most(to))
            };
            trim(clamped as u64, to.bits())
        }
        (true, true) => {
            let v = widen(flush(op, a, from), from);
            let v = if int { whole(v, op.round) } else { v };
            let v = if op.sat { super::saturate(v) } else { v };
            if v.is_nan() && from == to && !int {
                return narrow(v, to, Rounding::Near);
            }
            let bits = narrow(v, to, if int { Rounding::Near } else { op.round });
            if op.ftz && to == Ty::F32 { u64::from(flush32(bits as u32)) } else { bits }
        }
    }
}

/// Returns the integer to which NaN is converted. If the source is `f64` or the result has 64 bits,
/// only the highest bit is set; otherwise the integer is 0.
fn nan_to_int(from: Ty, to: Ty) -> i128 {
    if from == Ty::F64 || to.bits() == 64 {
        if to.is_signed() { least(to) } else { 1 << (to.bits() - 1) }
    } else {
        0
    }
}

/// Evaluates `cvt.pack.sat.TO.s32 d, a, b, c`: `b` is in the lowest bits, then `a`, then `c`.
pub(super) fn saturated_pair(to: Ty, a: u64, b: u64, c: u64) -> u64 {
    let one = |v: u64| trim((v as u32 as i32 as i128).clamp(least(to), most(to)) as u64, to.bits());
    trim(one(b) | one(a) << to.bits() | c << (2 * to.bits()), 32)
}

/// Evaluates `cvt.rn.f16x2.f32 d, a, b`, which puts `a` into the upper half.
pub(super) fn pack(op: &Alu, a: u64, b: u64) -> u64 {
    let ty = if op.ty == Ty::F16x2 { Ty::F16 } else { Ty::BF16 };
    let one = |v: u64| {
        let v = f64::from(f32::from_bits(v as u32));
        narrow(if op.sat && !v.is_nan() { v.max(0.0) } else { v }, ty, op.round)
    };
    one(b) | one(a) << 16
}

/// Flushes a subnormal operand. On an H100, a conversion to `f16` does not flush a subnormal
/// operand, even with `.ftz`.
fn flush(op: &Alu, a: u64, from: Ty) -> u64 {
    if op.ftz && from == Ty::F32 && op.ty != Ty::F16 { u64::from(flush32(a as u32)) } else { a }
}

fn whole(v: f64, round: Rounding) -> f64 {
    match round {
        Rounding::Near => v.round_ties_even(),
        Rounding::Zero => v.trunc(),
        Rounding::Down => v.floor(),
        Rounding::Up => v.ceil(),
        Rounding::Away => v.round(),
    }
}

fn value(a: u64, ty: Ty) -> i128 {
    if ty.is_signed() { i128::from(sext(a, ty.bits())) } else { i128::from(trim(a, ty.bits())) }
}

fn least(ty: Ty) -> i128 {
    if ty.is_signed() { -(1 << (ty.bits() - 1)) } else { 0 }
}

fn most(ty: Ty) -> i128 {
    if ty.is_signed() { (1 << (ty.bits() - 1)) - 1 } else { (1 << ty.bits()) - 1 }
}

/// Converts an integer of up to 64 bits to a float, rounded once.
fn from_int(v: i128, to: Ty, round: Rounding) -> u64 {
    if to == Ty::F64 {
        let near = v as f64;
        let back = near as i128;
        let off = match round {
            Rounding::Near | Rounding::Away => 0,
            Rounding::Zero if back.abs() > v.abs() => -1,
            Rounding::Down if back > v => {
                if v < 0 {
                    1
                } else {
                    -1
                }
            }
            Rounding::Up if back < v => {
                if v < 0 {
                    -1
                } else {
                    1
                }
            }
            _ => 0,
        };
        return near.to_bits().wrapping_add_signed(off);
    }
    // The value is first rounded to odd in double precision, so that the second rounding gives the
    // correct result.
    let near = v as f64;
    let error = v - near as i128;
    let odd = if error == 0 || near.to_bits() & 1 == 1 {
        near
    } else if (error > 0) == (v > 0) {
        f64::from_bits(near.to_bits() + 1)
    } else {
        f64::from_bits(near.to_bits() - 1)
    };
    narrow(odd, to, round)
}
