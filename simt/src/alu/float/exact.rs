//! Computes products, quotients, square roots and fused multiply-adds in double precision, with
//! directed rounding. Each result is computed exactly in integers, then rounded once, so that
//! subnormal results and overflows are correct too.

use crate::inst::Rounding;

/// A nonzero number: `mantissa * 2^exponent`, where the highest set bit of the mantissa is bit 52.
#[derive(Clone, Copy)]
struct Parts {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

fn parts(v: f64) -> Parts {
    let bits = v.to_bits();
    let (exponent, mantissa) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) = match exponent {
        0 => (mantissa, -1074),
        _ => (mantissa | 1 << 52, exponent - 1075),
    };
    let up = mantissa.leading_zeros() - 11;
    Parts {
        negative: v.is_sign_negative(),
        mantissa: mantissa << up,
        exponent: exponent - up as i32,
    }
}

/// Rounds `m * 2^e`, which is not zero. If `more` is set, the magnitude of the true value is larger
/// than `m * 2^e`, by less than `2^e`.
fn round(negative: bool, m: u128, e: i32, more: bool, round: Rounding) -> f64 {
    let top = 127 - m.leading_zeros() as i32;
    let lowest = (top + e - 52).max(-1074);
    let (kept, rest, half) = match lowest - e {
        by if by <= 0 => (m << -by, 0, 1),
        by if by > 127 => (0, 1, 2),
        by => (m >> by, m & ((1 << by) - 1), 1u128 << (by - 1)),
    };
    let inexact = rest != 0 || more;
    let up = match round {
        Rounding::Near => rest > half || rest == half && (more || kept & 1 == 1),
        Rounding::Away => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => negative && inexact,
        Rounding::Up => !negative && inexact,
    };
    let kept = kept as u64 + u64::from(up);
    // The hidden bit adds 1 to the exponent, and so does a carry out of the mantissa.
    let magnitude = if top + e < -1022 { kept } else { ((top + e + 1022).min(2046) as u64) << 52 };
    let magnitude = if top + e < -1022 { magnitude } else { magnitude.saturating_add(kept) };
    let sign = u64::from(negative) << 63;
    const INFINITY: u64 = 0x7ff << 52;
    if magnitude < INFINITY {
        return f64::from_bits(sign | magnitude);
    }
    let to_infinity = match round {
        Rounding::Near | Rounding::Away => true,
        Rounding::Zero => false,
        Rounding::Down => negative,
        Rounding::Up => !negative,
    };
    f64::from_bits(sign | if to_infinity { INFINITY } else { INFINITY - 1 })
}

/// Returns whether a number is finite and nonzero.
fn ordinary(v: f64) -> bool {
    v.is_finite() && v != 0.0
}

/// Returns `a * b`, rounded according to `mode`.
pub(crate) fn mul64(a: f64, b: f64, mode: Rounding) -> f64 {
    if mode == Rounding::Near || !ordinary(a) || !ordinary(b) {
        return a * b;
    }
    let (x, y) = (parts(a), parts(b));
    let product = u128::from(x.mantissa) * u128::from(y.mantissa);
    round(x.negative != y.negative, product, x.exponent + y.exponent, false, mode)
}

/// Returns `a / b`, rounded according to `mode`.
pub(crate) fn div64(a: f64, b: f64, mode: Rounding) -> f64 {
    if mode == Rounding::Near || !ordinary(a) || !ordinary(b) {
        return a / b;
    }
    let (x, y) = (parts(a), parts(b));
    let (m, d) = (u128::from(x.mantissa) << 64, u128::from(y.mantissa));
    round(x.negative != y.negative, m / d, x.exponent - y.exponent - 64, m % d != 0, mode)
}

/// Returns the square root of `a`, rounded according to `mode`.
pub(crate) fn sqrt64(a: f64, mode: Rounding) -> f64 {
    if mode == Rounding::Near || !ordinary(a) || a < 0.0 {
        return a.sqrt();
    }
    let x = parts(a);
    let odd = x.exponent & 1;
    let m = u128::from(x.mantissa) << (64 + odd);
    let root = m.isqrt();
    round(false, root, (x.exponent - odd - 64) / 2, root * root != m, mode)
}

/// Returns `a * b + c`, rounded once according to `mode`.
pub(crate) fn fma64(a: f64, b: f64, c: f64, mode: Rounding) -> f64 {
    if mode == Rounding::Near || !ordinary(a) || !ordinary(b) || !c.is_finite() {
        let v = a.mul_add(b, c);
        let (p, unlike) = (a * b, (a * b).is_sign_negative() != c.is_sign_negative());
        // When rounding down, the sum of two zeros of opposite signs is -0.
        return if mode == Rounding::Down && v == 0.0 && p == 0.0 && unlike { -0.0 } else { v };
    }
    if c == 0.0 {
        return mul64(a, b, mode);
    }
    let (x, y, z) = (parts(a), parts(b), parts(c));
    let product = (x.negative != y.negative, u128::from(x.mantissa) * u128::from(y.mantissa));
    // In both numbers, the highest set bit is bit 124 or 125.
    let p = (product.0, product.1 << 20, x.exponent + y.exponent - 20);
    let q = (z.negative, u128::from(z.mantissa) << 73, z.exponent - 73);
    let top = |v: (bool, u128, i32)| 127 - v.1.leading_zeros() as i32 + v.2;
    let (big, small) = if top(p) >= top(q) { (p, q) } else { (q, p) };
    // Shift the smaller number to the exponent of the larger one. If nonzero bits are shifted out,
    // the last bit is set.
    let (by, shifted) = (big.2 - small.2, small.1);
    let (low, by) = match by {
        by if by <= 0 => (shifted << -by, 0),
        by => (if by > 127 { 0 } else { shifted >> by }, by),
    };
    let lost = by > 0 && (by > 127 || low << by != shifted);
    let low = low | u128::from(lost);
    if big.0 == small.0 {
        return round(big.0, big.1 + low, big.2, false, mode);
    }
    match big.1.cmp(&low) {
        std::cmp::Ordering::Equal => {
            if mode == Rounding::Down {
                -0.0
            } else {
                0.0
            }
        }
        std::cmp::Ordering::Greater => round(big.0, big.1 - low, big.2, false, mode),
        std::cmp::Ordering::Less => round(small.0, low - big.1, big.2, false, mode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [Rounding; 3] = [Rounding::Zero, Rounding::Down, Rounding::Up];

    #[test]
    fn results_lie_beside_the_nearest() {
        let mut x = 7u64;
        let mut next = || {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            f64::from_bits(x ^ x >> 29)
        };
        for _ in 0..200_000 {
            let (a, b, c) = (next(), next(), next());
            type Of = fn(f64, f64, f64, Rounding) -> f64;
            let all: [Of; 4] = [
                |a, b, _, m| mul64(a, b, m),
                |a, b, _, m| div64(a, b, m),
                |a, _, _, m| sqrt64(a, m),
                fma64,
            ];
            for of in all {
                let near = of(a, b, c, Rounding::Near);
                let [zero, down, up] = MODES.map(|m| of(a, b, c, m));
                if near.is_nan() {
                    assert!(zero.is_nan() && down.is_nan() && up.is_nan(), "{a:e} {b:e} {c:e}");
                    continue;
                }
                assert!(down <= near && near <= up, "{a:e} {b:e} {c:e}: {down:e} {near:e} {up:e}");
                assert!(down == up || down.next_up() == up, "{a:e} {b:e} {c:e}");
                assert_eq!(zero, if near > 0.0 || down == 0.0 && up > 0.0 { down } else { up });
                // `round` must agree with the hardware's rounding to nearest.
                if near.is_finite() && near != 0.0 && ordinary(a) && ordinary(b) {
                    let (x, y) = (parts(a), parts(b));
                    let product = u128::from(x.mantissa) * u128::from(y.mantissa);
                    let whole = round(
                        x.negative != y.negative,
                        product,
                        x.exponent + y.exponent,
                        false,
                        Rounding::Near,
                    );
                    assert_eq!(whole, a * b);
                }
            }
        }
    }

    /// The expected values are the results of an H200.
    #[test]
    fn edges_are_those_of_hardware() {
        let of = f64::from_bits;
        assert_eq!(
            mul64(of(0x3fe0_0000_0000_0000), of(0xffff_ffff), Rounding::Zero).to_bits(),
            0x7fff_ffff
        );
        assert_eq!(div64(f64::MAX, 0.5, Rounding::Zero), f64::MAX);
        assert_eq!(div64(f64::MAX, -0.5, Rounding::Up), f64::MIN);
        assert_eq!(fma64(f64::MAX, 1.0, f64::MIN_POSITIVE, Rounding::Up), f64::INFINITY);
        assert_eq!(fma64(1.0, 1.0, -f64::MIN_POSITIVE, Rounding::Zero), 1f64.next_down());
        assert_eq!(fma64(1.0, 1.0, -1.0, Rounding::Down).to_bits(), 1 << 63);
    }
}
