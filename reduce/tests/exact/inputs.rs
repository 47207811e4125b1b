//! Random and adversarial inputs.

use half::{bf16, f16};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};

use crate::reference::Float;

/// An element type whose inputs can be drawn.
pub(crate) trait Drawn: Float {
    /// Returns a value with random bits.
    fn any(rng: &mut ChaCha8Rng) -> Self;
    /// Returns the value that is nearest to a double.
    fn near(value: f64) -> Self;
    /// Returns the next value away from zero.
    fn next(self) -> Self;
    /// The largest finite value, and the smallest value above zero.
    const ENDS: [Self; 2];
    /// The exponents of the two values in `ENDS`.
    const EXPONENTS: [i32; 2];
}

macro_rules! drawn {
    ($($type:ty, $bits:ty, $near:expr, $least:expr, $exponents:expr;)+) => {$(
        impl Drawn for $type {
            fn any(rng: &mut ChaCha8Rng) -> Self {
                <$type>::from_bits(rng.next_u64() as $bits)
            }

            fn near(value: f64) -> Self {
                $near(value)
            }

            fn next(self) -> Self {
                <$type>::from_bits(self.to_bits() + 1)
            }

            const ENDS: [Self; 2] = [<$type>::MAX, $least];
            const EXPONENTS: [i32; 2] = $exponents;
        }
    )+};
}
drawn! {
    f16, u16, f16::from_f64, f16::from_bits(1), [15, -24];
    bf16, u16, bf16::from_f64, bf16::from_bits(1), [127, -133];
    f32, u32, |value| value as f32, f32::from_bits(1), [127, -149];
    f64, u64, |value| value, f64::from_bits(1), [1023, -1074];
}

/// The kinds of inputs.
pub(crate) const KINDS: [&str; 12] = [
    "uniform",
    "normal",
    "log-normal",
    "all exponents",
    "any finite bits",
    "subnormal",
    "cancelling",
    "cancelling to the last place",
    "ill-conditioned",
    "largest",
    "ties",
    "special",
];

/// Draws an input of the given kind, which has `n` elements or a few more.
pub(crate) fn draw<T: Drawn>(kind: usize, n: usize, seed: u64) -> Vec<T> {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let unit = |rng: &mut ChaCha8Rng| rng.random::<f64>();
    let normal = |rng: &mut ChaCha8Rng| (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let [top, bottom] = T::EXPONENTS;
    let wide = |rng: &mut ChaCha8Rng, low: i32, high: i32| {
        let sign = if rng.random() { 1.0 } else { -1.0 };
        // Multiplies by two powers of two, because multiplying by 2^-1074 at once would round the
        // fraction away.
        let exponent = rng.random_range(low..=high);
        let half = exponent / 2;
        T::near(sign * (1.0 + rng.random::<f64>()) * 2f64.powi(half) * 2f64.powi(exponent - half))
    };
    let finite = |value: T| if value.wide().is_finite() { value } else { T::ENDS[0] };
    let mut values: Vec<T> = match KINDS[kind] {
        "uniform" => (0..n).map(|_| T::near(unit(rng))).collect(),
        "normal" => (0..n).map(|_| T::near(normal(rng))).collect(),
        "log-normal" => {
            (0..n).map(|_| T::near((3.0 * normal(rng)).exp().copysign(normal(rng)))).collect()
        }
        "all exponents" | "cancelling" | "cancelling to the last place" => {
            (0..n).map(|_| finite(wide(rng, bottom, top))).collect()
        }
        "any finite bits" => (0..n).map(|_| finite(T::any(rng))).collect(),
        "subnormal" => (0..n).map(|_| wide(rng, bottom, bottom + 12)).collect(),
        "ill-conditioned" => ill_conditioned(rng, n, |rng, e| wide(rng, e, e)),
        "largest" => {
            let max = T::ENDS[0];
            let sign = |rng: &mut ChaCha8Rng| if rng.random() { 1.0 } else { -1.0 };
            (0..n).map(|_| T::near(max.wide() * sign(rng))).collect()
        }
        "ties" => {
            // A large number and half a unit in its last place, sometimes with the smallest number,
            // which breaks the tie.
            let large = wide(rng, (bottom + 14).max(-60), (top - 6).min(60));
            let step = large.next().wide() - large.wide();
            let mut values = vec![large, T::near(step / 2.0)];
            if rng.random() {
                values.push(T::near(T::ENDS[1].wide() * if rng.random() { 1.0 } else { -1.0 }));
            }
            values.resize(values.len().max(n), T::near(0.0));
            values
        }
        _ => (0..n)
            .map(|_| if unit(rng) < 0.01 { T::any(rng) } else { T::near(normal(rng)) })
            .collect(),
    };
    if KINDS[kind].starts_with("cancelling") {
        let negated: Vec<T> = values.iter().map(|value| T::near(-value.wide())).collect();
        values.extend(negated);
        if KINDS[kind].ends_with("place") {
            values.push(T::near(T::ENDS[1].wide()));
        }
    }
    if KINDS[kind] == "special" {
        for special in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            if unit(rng) < 0.2 {
                values.push(T::near(special));
            }
        }
    }
    if KINDS[kind] == "special" && unit(rng) < 0.2 {
        values.fill(T::near(-0.0));
    }
    values.shuffle(rng);
    values
}

/// Draws ill-conditioned values, as Ogita, Rump and Oishi do: values of all sizes, and then values
/// of decreasing size, each of which cancels most of the previous sum. The condition number is
/// about 2^200 (10^60) if the type's exponents allow it.
fn ill_conditioned<T: Drawn>(
    rng: &mut ChaCha8Rng,
    n: usize,
    mut at: impl FnMut(&mut ChaCha8Rng, i32) -> T,
) -> Vec<T> {
    let [top, bottom] = T::EXPONENTS;
    let (high, low) = ((top - 8).min(100), (bottom + 12).max(-100));
    let half = n / 2 + 1;
    let mut values: Vec<T> = (0..half)
        .map(|_| {
            let e = rng.random_range(low..=high);
            at(rng, e)
        })
        .collect();
    for k in 0..half {
        // After each value, the remaining sum is about as large as a value with the next exponent.
        let e = high - ((high - low) as usize * k / half) as i32;
        let sum = samebits::host::exact_sum(&values);
        let sum: f64 = sum.into();
        values.push(T::near(at(rng, e).wide() - sum));
    }
    values
}
