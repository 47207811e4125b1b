//! Implements bit-exact floating point: formats, rounding, NaN.

mod exact;

pub(crate) use exact::{div64, fma64, mul64, sqrt64};

use crate::inst::{Rounding, Ty};

/// The NaN that single-precision arithmetic returns.
pub(crate) const NAN32: u32 = 0x7fff_ffff;
/// The NaN that double-precision arithmetic returns.
pub(crate) const NAN64: u64 = 0x7fff_ffff_ffff_ffff;

#[inline(always)]
pub(crate) fn canon32(v: f32) -> u32 {
    if v.is_nan() { NAN32 } else { v.to_bits() }
}

#[inline(always)]
pub(crate) fn canon64(v: f64) -> u64 {
    // Hardware keeps the payload of a NaN. PTX does not define the payload, so every NaN becomes
    // this one.
    if v.is_nan() { NAN64 } else { v.to_bits() }
}

/// Replaces a subnormal with a zero of the same sign.
#[inline(always)]
pub(crate) fn flush32(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Replaces a subnormal `f16` with a zero of the same sign.
pub(crate) fn flush16(bits: u64) -> u64 {
    if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits }
}

/// Returns the numbers of exponent bits and of stored mantissa bits.
fn shape(ty: Ty) -> (u32, u32) {
    match ty {
        Ty::F16 | Ty::F16x2 => (5, 10),
        Ty::BF16 | Ty::BF16x2 => (8, 7),
        Ty::F32 => (8, 23),
        _ => (11, 52),
    }
}

/// Converts from any format to double precision, exactly.
pub(crate) fn widen(bits: u64, ty: Ty) -> f64 {
    match ty {
        Ty::F64 => return f64::from_bits(bits),
        Ty::F32 => return f64::from(f32::from_bits(bits as u32)),
        Ty::BF16 | Ty::BF16x2 => return f64::from(f32::from_bits((bits as u32 & 0xffff) << 16)),
        _ => {}
    }
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = ((bits >> 10 & 31) as i32, (bits & 0x3ff) as f64);
    sign * match exponent {
        0 => mantissa * (-24f64).exp2(),
        31 if bits & 0x3ff != 0 => f64::NAN,
        31 => f64::INFINITY,
        _ => (1024.0 + mantissa) * f64::from(exponent - 25).exp2(),
    }
}

/// Converts from double precision to a format, rounded once.
pub(crate) fn narrow(v: f64, ty: Ty, round: Rounding) -> u64 {
    let (exponent_bits, mantissa_bits) = shape(ty);
    if v.is_nan() {
        return match ty {
            Ty::F64 => NAN64,
            Ty::F32 => u64::from(NAN32),
            _ => 0x7fff,
        };
    }
    if ty == Ty::F64 {
        return v.to_bits();
    }
    if ty == Ty::F32 && round == Rounding::Near {
        return u64::from((v as f32).to_bits());
    }
    let bits = v.to_bits();
    let negative = bits >> 63 != 0;
    let sign = u64::from(negative) << (exponent_bits + mantissa_bits);
    let infinity = ((1u64 << exponent_bits) - 1) << mantissa_bits;
    if v.is_infinite() {
        return sign | infinity;
    }
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mut mantissa = bits & ((1 << 52) - 1);
    if exponent == 0 {
        // A subnormal double is far below the range of every narrower format, so all subnormal
        // doubles round in the same way.
        if mantissa == 0 {
            return sign;
        }
    } else {
        mantissa |= 1 << 52;
    }
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let target = exponent.max(1) - 1023 + bias;
    // The number of bits to drop; it is larger if the result is subnormal.
    let drop = (52 - mantissa_bits as i32 + (1 - target).max(0)).min(63) as u32;
    let kept = if drop >= 63 { 0 } else { mantissa >> drop };
    let rest = mantissa & ((1u64 << drop) - 1);
    let half = 1u64 << (drop - 1);
    let up = match round {
        Rounding::Near => rest > half || (rest == half && kept & 1 == 1),
        Rounding::Away => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    let kept = kept + u64::from(up);
    // The hidden bit adds 1 to the exponent, and so does a carry out of the mantissa.
    let magnitude = if target >= 1 { ((target as u64 - 1) << mantissa_bits) + kept } else { kept };
    if magnitude >= infinity {
        let to_infinity = match round {
            Rounding::Near | Rounding::Away => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        return sign | if to_infinity { infinity } else { infinity - 1 };
    }
    sign | magnitude
}

/// Rounds a result to odd, given its rounding error: if `v` is inexact, its last bit is set. A
/// second rounding to a narrower format then gives the correctly rounded result.
fn odd(v: f64, error: f64) -> f64 {
    if error == 0.0 || !error.is_finite() || !v.is_finite() || v.to_bits() & 1 == 1 {
        return v;
    }
    // Moves `v` towards the true value by one unit in the last place, so that its last bit is set.
    let outward = (error > 0.0) == (v > 0.0);
    if v == 0.0 {
        return f64::from_bits(1).copysign(error);
    }
    f64::from_bits(if outward { v.to_bits() + 1 } else { v.to_bits() - 1 })
}

fn two_sum_error(a: f64, b: f64, sum: f64) -> f64 {
    let bb = sum - a;
    (a - (sum - bb)) + (b - bb)
}

/// Returns `a + b`, rounded to odd.
pub(crate) fn odd_add(a: f64, b: f64) -> f64 {
    let sum = a + b;
    odd(sum, two_sum_error(a, b, sum))
}

/// Returns `a / b`, rounded to odd.
pub(crate) fn odd_div(a: f64, b: f64) -> f64 {
    let q = a / b;
    let rest = (-q).mul_add(b, a);
    odd(q, if b < 0.0 { -rest } else { rest })
}

/// Returns the square root, rounded to odd.
pub(crate) fn odd_sqrt(a: f64) -> f64 {
    let r = a.sqrt();
    odd(r, (-r).mul_add(r, a))
}

/// Rounds in a direction, given a result that was rounded to nearest and its rounding error.
pub(crate) fn directed(v: f64, error: f64, round: Rounding) -> f64 {
    if error == 0.0 || !error.is_finite() || v.is_nan() {
        return v;
    }
    match round {
        Rounding::Near | Rounding::Away => v,
        Rounding::Down if error < 0.0 => v.next_down(),
        Rounding::Up if error > 0.0 => v.next_up(),
        Rounding::Zero if (error < 0.0) == (v > 0.0) => {
            if v > 0.0 {
                v.next_down()
            } else {
                v.next_up()
            }
        }
        _ => v,
    }
}

/// Returns `a + b` in double precision, rounded in the given direction.
pub(crate) fn add64(a: f64, b: f64, round: Rounding) -> f64 {
    let sum = a + b;
    if round == Rounding::Near {
        return sum;
    }
    if sum == 0.0
        && round == Rounding::Down
        && (a != 0.0 || a.is_sign_negative() != b.is_sign_negative())
    {
        return -0.0;
    }
    if sum.is_infinite() && a.is_finite() && b.is_finite() {
        return overflow(sum, round);
    }
    directed(sum, two_sum_error(a, b, sum), round)
}

fn overflow(v: f64, round: Rounding) -> f64 {
    match round {
        Rounding::Zero => f64::MAX.copysign(v),
        Rounding::Down if v > 0.0 => f64::MAX,
        Rounding::Up if v < 0.0 => f64::MIN,
        _ => v,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_agrees_with_the_compiler() {
        let mut x = 1u64;
        for _ in 0..100_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let v =
                f64::from(f32::from_bits((x >> 32) as u32)) * (1.0 + f64::from(x as u32) * 1e-12);
            if v.is_nan() {
                continue;
            }
            let near = u64::from((v as f32).to_bits());
            let (zero, up, down) = (
                narrow(v, Ty::F32, Rounding::Zero),
                narrow(v, Ty::F32, Rounding::Up),
                narrow(v, Ty::F32, Rounding::Down),
            );
            assert!(near == up || near == down);
            assert!(zero == up || zero == down);
            assert!(widen(down, Ty::F32) <= v && v <= widen(up, Ty::F32));
        }
    }

    #[test]
    fn every_half_survives_a_round_trip() {
        for bits in 0..=0xffffu64 {
            for ty in [Ty::F16, Ty::BF16] {
                let v = widen(bits, ty);
                let back = narrow(v, ty, Rounding::Near);
                assert!(back == bits || (v.is_nan() && back == 0x7fff), "{bits:x} {ty:?} {back:x}");
            }
        }
    }

    #[test]
    fn half_ties_go_to_even() {
        assert_eq!(narrow(2049.0, Ty::F16, Rounding::Near), 0x6800);
        assert_eq!(narrow(2051.0, Ty::F16, Rounding::Near), 0x6802);
        assert_eq!(narrow(65519.0, Ty::F16, Rounding::Near), 0x7bff);
        assert_eq!(narrow(65520.0, Ty::F16, Rounding::Near), 0x7c00);
        assert_eq!(narrow(65520.0, Ty::F16, Rounding::Zero), 0x7bff);
        assert_eq!(narrow(1e-300, Ty::F16, Rounding::Up), 1);
        assert_eq!(narrow(-1e-310, Ty::F16, Rounding::Down), 0x8001);
    }
}
