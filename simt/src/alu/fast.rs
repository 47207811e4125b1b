//! Implements the most frequent operations of reductions as loops that the compiler vectorizes.
//!
//! Each loop gives the same bits as [`eval`](super::eval); a test compares them.

use super::float::{canon32, canon64};
use crate::inst::{Alu, F, Fast, Half, Rounding, Ty};

/// The 32 lanes of a register of up to 32 bits.
pub(crate) type Words = [u32; 32];
/// The 32 lanes of a 64-bit register.
pub(crate) type Doubles = [u64; 32];

/// Returns the fast loop for an operation, or [`Fast::No`].
pub(crate) fn classify(op: &Alu) -> Fast {
    use Ty::*;
    let plain = op.round == Rounding::Near && !op.ftz && !op.sat;
    if !plain {
        return Fast::No;
    }
    match (op.f, op.ty) {
        (F::Mov, B32 | U32 | S32 | F32) => Fast::Mov32,
        (F::Mov, B64 | U64 | S64 | F64) => Fast::Mov64,
        (F::Add, U32 | S32) => Fast::Add32,
        (F::Sub, U32 | S32) => Fast::Sub32,
        (F::Mul(Half::Lo), U32 | S32) => Fast::Mul32,
        (F::Mad(Half::Lo), U32 | S32) => Fast::Mad32,
        (F::And, B32) => Fast::And32,
        (F::Or, B32) => Fast::Or32,
        (F::Xor, B32) => Fast::Xor32,
        (F::Shl, B32) => Fast::Shl32,
        (F::Shr, B32 | U32) => Fast::ShrU32,
        (F::Rem, U32) => Fast::RemU32,
        (F::MIN, S32) => Fast::MinS32,
        (F::MAX, S32) => Fast::MaxS32,
        (F::MIN, U32) => Fast::MinU32,
        (F::MAX, U32) => Fast::MaxU32,
        (F::Add, F32) => Fast::AddF32,
        (F::Sub, F32) => Fast::SubF32,
        (F::Mul(_), F32) => Fast::MulF32,
        (F::Fma, F32) => Fast::FmaF32,
        (F::Add, U64 | S64) => Fast::Add64,
        (F::Sub, U64 | S64) => Fast::Sub64,
        (F::Shl, B64) => Fast::Shl64,
        (F::Add, F64) => Fast::AddF64,
        (F::Mul(_), F64) => Fast::MulF64,
        (F::Fma, F64) => Fast::FmaF64,
        (F::Mul(Half::Wide), U32) => Fast::WideU32,
        (F::Mul(Half::Wide), S32) => Fast::WideS32,
        (F::Cvt { from: U32, int: false }, U64 | S64) => Fast::ZextU32,
        (F::Cvt { from: S32, int: false }, U64 | S64) => Fast::SextS32,
        (F::Cvt { from: U64 | S64, int: false }, U32 | S32) => Fast::Trunc64,
        _ => Fast::No,
    }
}

macro_rules! lanes {
    ($zero:expr, $i:ident => $value:expr) => {{
        let mut out = [$zero; 32];
        for $i in 0..32 {
            out[$i] = $value;
        }
        out
    }};
}

fn float(v: u32) -> f32 {
    f32::from_bits(v)
}

fn double(v: u64) -> f64 {
    f64::from_bits(v)
}

/// Computes results of up to 32 bits from operands of up to 32 bits.
#[inline]
pub(crate) fn words(fast: Fast, a: &Words, b: &Words, c: &Words) -> Words {
    match fast {
        Fast::Mov32 => *a,
        Fast::Add32 => lanes!(0, i => a[i].wrapping_add(b[i])),
        Fast::Sub32 => lanes!(0, i => a[i].wrapping_sub(b[i])),
        Fast::Mul32 => lanes!(0, i => a[i].wrapping_mul(b[i])),
        Fast::Mad32 => lanes!(0, i => a[i].wrapping_mul(b[i]).wrapping_add(c[i])),
        Fast::And32 => lanes!(0, i => a[i] & b[i]),
        Fast::Or32 => lanes!(0, i => a[i] | b[i]),
        Fast::Xor32 => lanes!(0, i => a[i] ^ b[i]),
        Fast::Shl32 => shift(a, b, |a, by| a << by),
        Fast::ShrU32 => shift(a, b, |a, by| a >> by),
        Fast::RemU32 => rem(a, b),
        Fast::MinS32 => lanes!(0, i => (a[i] as i32).min(b[i] as i32) as u32),
        Fast::MaxS32 => lanes!(0, i => (a[i] as i32).max(b[i] as i32) as u32),
        Fast::MinU32 => lanes!(0, i => a[i].min(b[i])),
        Fast::MaxU32 => lanes!(0, i => a[i].max(b[i])),
        Fast::AddF32 => lanes!(0, i => canon32(float(a[i]) + float(b[i]))),
        Fast::SubF32 => lanes!(0, i => canon32(float(a[i]) - float(b[i]))),
        Fast::MulF32 => lanes!(0, i => canon32(float(a[i]) * float(b[i]))),
        Fast::FmaF32 => lanes!(0, i => canon32(fma32(a[i], b[i], c[i]))),
        _ => *a,
    }
}

/// Computes a fused multiply-add. The product is exact in double precision. If the sum is exact in
/// double precision too, the conversion to single precision is the only rounding. Otherwise,
/// `mul_add` computes it.
fn fma32(a: u32, b: u32, c: u32) -> f32 {
    let (p, c64) = (f64::from(float(a)) * f64::from(float(b)), f64::from(float(c)));
    let sum = p + c64;
    let back = sum - p;
    let error = (p - (sum - back)) + (c64 - back);
    if error == 0.0 { sum as f32 } else { float(a).mul_add(float(b), float(c)) }
}

/// Shifts each lane. In most shifts that compilers emit, the count is the same in all lanes, so a
/// loop without a condition is sufficient.
fn shift(a: &Words, b: &Words, f: impl Fn(u32, u32) -> u32) -> Words {
    let by = b[0];
    if by < 32 && b.iter().all(|v| *v == by) {
        return lanes!(0, i => f(a[i], by));
    }
    lanes!(0, i => if b[i] < 32 { f(a[i], b[i]) } else { 0 })
}

/// Computes remainders. If all lanes divide by the same power of two, as in the naive kernel, a bit
/// mask gives the remainder.
fn rem(a: &Words, b: &Words) -> Words {
    let by = b[0];
    if by.is_power_of_two() && b.iter().all(|v| *v == by) {
        return lanes!(0, i => a[i] & (by - 1));
    }
    lanes!(0, i => a[i].checked_rem(b[i]).unwrap_or(0))
}

/// Computes 64-bit results from 64-bit operands.
#[inline]
pub(crate) fn doubles(fast: Fast, a: &Doubles, b: &Doubles, c: &Doubles) -> Doubles {
    match fast {
        Fast::Add64 => lanes!(0, i => a[i].wrapping_add(b[i])),
        Fast::Sub64 => lanes!(0, i => a[i].wrapping_sub(b[i])),
        Fast::AddF64 => lanes!(0, i => canon64(double(a[i]) + double(b[i]))),
        Fast::MulF64 => lanes!(0, i => canon64(double(a[i]) * double(b[i]))),
        Fast::FmaF64 => lanes!(0, i => canon64(double(a[i]).mul_add(double(b[i]), double(c[i])))),
        _ => *a,
    }
}

/// Computes 64-bit results from operands of up to 32 bits.
pub(crate) fn widening(fast: Fast, a: &Words, b: &Words) -> Doubles {
    match fast {
        Fast::WideU32 => lanes!(0, i => u64::from(a[i]) * u64::from(b[i])),
        Fast::WideS32 => lanes!(0, i => (i64::from(a[i] as i32) * i64::from(b[i] as i32)) as u64),
        Fast::SextS32 => lanes!(0, i => i64::from(a[i] as i32) as u64),
        _ => lanes!(0, i => u64::from(a[i])),
    }
}

/// Computes `shl.b64`, whose shift count is 32 bits wide.
pub(crate) fn shl64(a: &Doubles, b: &Words) -> Doubles {
    let by = b[0];
    if by < 64 && b.iter().all(|v| *v == by) {
        return lanes!(0, i => a[i] << by);
    }
    lanes!(0, i => if b[i] < 64 { a[i] << b[i] } else { 0 })
}

/// Returns the low half of each lane.
pub(crate) fn truncate(a: &Doubles) -> Words {
    lanes!(0, i => a[i] as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::eval;

    /// Returns an edge case of one of the formats, or a random value.
    fn sample(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let v = *seed ^ *seed >> 29;
        let edges = [
            0,
            1,
            31,
            32,
            63,
            0x7f80_0000,
            0xff80_0001,
            0x8000_0000,
            0x3f80_0000,
            0x0000_0001_0000_0000,
            0x7ff0_0000_0000_0001,
            u64::MAX,
        ];
        if v & 3 == 0 { edges[(v >> 8) as usize % edges.len()] } else { v >> (v & 31) }
    }

    #[test]
    fn fast_loops_compute_what_one_lane_does() {
        use Ty::*;
        let types = [B32, U32, S32, F32, B64, U64, S64, F64];
        let ops = [
            F::Mov,
            F::Add,
            F::Sub,
            F::Mul(Half::Lo),
            F::Mul(Half::Wide),
            F::Mad(Half::Lo),
            F::And,
            F::Or,
            F::Xor,
            F::Shl,
            F::Shr,
            F::Rem,
            F::MIN,
            F::MAX,
            F::Fma,
            F::Cvt { from: U32, int: false },
            F::Cvt { from: S32, int: false },
            F::Cvt { from: U64, int: false },
            F::Cvt { from: S64, int: false },
        ];
        let mut seed = 7;
        let mut loops = 0;
        for (f, ty) in ops.into_iter().flat_map(|f| types.map(|ty| (f, ty))) {
            let alu = Alu { f, ty, round: Rounding::Near, ftz: false, sat: false };
            let fast = classify(&alu);
            if fast == Fast::No {
                continue;
            }
            loops += 1;
            for round in 0..64 {
                let same = sample(&mut seed);
                let planes: [Doubles; 3] = std::array::from_fn(|p| {
                    std::array::from_fn(|_| {
                        if p == 1 && round & 1 == 1 { same } else { sample(&mut seed) }
                    })
                });
                let [a, b, c] = &planes;
                let [wa, wb, wc] = planes.map(|p| p.map(|v| v as u32));
                for lane in 0..32 {
                    let w = |p: &Words| u64::from(p[lane]);
                    let (got, want) = match fast {
                        Fast::Mov64
                        | Fast::Add64
                        | Fast::Sub64
                        | Fast::AddF64
                        | Fast::MulF64
                        | Fast::FmaF64 => (
                            doubles(fast, a, b, c)[lane],
                            eval(&alu, [a[lane], b[lane], c[lane], 0]),
                        ),
                        Fast::Shl64 => (shl64(a, &wb)[lane], eval(&alu, [a[lane], w(&wb), 0, 0])),
                        Fast::WideU32 | Fast::WideS32 | Fast::ZextU32 | Fast::SextS32 => {
                            (widening(fast, &wa, &wb)[lane], eval(&alu, [w(&wa), w(&wb), 0, 0]))
                        }
                        Fast::Trunc64 => (truncate(a)[lane].into(), eval(&alu, [a[lane], 0, 0, 0])),
                        _ => (
                            words(fast, &wa, &wb, &wc)[lane].into(),
                            eval(&alu, [w(&wa), w(&wb), w(&wc), 0]),
                        ),
                    };
                    assert_eq!(got, want, "{alu:?} {:x} {:x} {:x}", a[lane], b[lane], c[lane]);
                }
            }
        }
        assert!(loops > 30, "compared only {loops} loops");
    }
}
