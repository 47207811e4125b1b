//! The data on which exact sums are timed: benign, wide, and chosen to make the kernels as slow as
//! possible.

use clap::ValueEnum;
use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use reduce::ExactElement;

/// A kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Data {
    /// Between 0 and 1
    Uniform,
    /// The normal distribution
    Normal,
    /// A log-normal distribution of both signs, over about 30 powers of two
    LogNormal,
    /// Exponents from -20 to 20
    Spread,
    /// All exponents of the type
    Wide,
    /// Exponents from -20 to 20; the negative of each element is also present, nearby
    Cancelling,
    /// Dense significands with one exponent, so all elements are added to the same words
    OneBin,
    /// Subnormal numbers
    Subnormal,
    /// The largest numbers, of both signs
    Largest,
    /// Exponents that rise by ten in each iteration of a block, then fall
    Sawtooth,
    /// Neighbours whose sum is not a float, so two 16-bit floats cannot be added in one step
    Pairs,
    /// Between 0 and 1, with an infinity in every 997 elements, so that most threads read their
    /// elements again
    Infinite,
}

/// An element type with exact sums.
pub(super) trait Summed:
    ExactElement<Output: bytemuck::Pod> + bytemuck::Pod + Into<f64>
{
    /// The type's name in every table.
    const NAME: &'static str;
    /// The exponents of the largest number and of the smallest subnormal.
    const EXPONENTS: [i32; 2];
    /// The number of bits in the significand.
    const PRECISION: i32;
    /// Positive infinity.
    const INFINITE: Self;
    /// The nearest finite value.
    fn near(value: f64) -> Self;
}

macro_rules! summed {
    ($($type:ty, $name:literal, $exponents:expr, $precision:literal, $from:expr;)+) => {$(
        impl Summed for $type {
            const NAME: &'static str = $name;
            const EXPONENTS: [i32; 2] = $exponents;
            const PRECISION: i32 = $precision;
            const INFINITE: Self = <$type>::INFINITY;

            fn near(value: f64) -> Self {
                let from: fn(f64) -> $type = $from;
                from(value.clamp(<$type>::MIN.into(), <$type>::MAX.into()))
            }
        }
    )+};
}
summed! {
    f32, "f32", [127, -149], 24, |value| value as f32;
    f64, "f64", [1023, -1074], 53, |value| value;
    f16, "f16", [15, -24], 11, f16::from_f64;
    bf16, "bf16", [127, -133], 8, bf16::from_f64;
}

/// The number of `f64` elements that a block loads in each iteration of its loop.
const ITERATION: usize = 512;

/// The number of consecutive elements among which both an element and its negative occur.
const NEARBY: usize = 256;

/// The exponents of `Spread` and `Cancelling`.
const SPREAD: i32 = 20;

impl Data {
    /// Returns the name used in all tables, which is also the option's value.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Draws `n` elements.
    pub(super) fn draw<T: Summed>(self, n: usize, seed: u64) -> Vec<T> {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut values: Vec<f64> = (0..n).map(|at| self.one::<T>(at, rng)).collect();
        if self == Data::Cancelling {
            for some in values.chunks_mut(NEARBY) {
                some.as_chunks_mut().0.iter_mut().for_each(|[one, other]| *other = -*one);
                some.shuffle(rng);
            }
        }
        let mut values: Vec<T> = values.into_iter().map(T::near).collect();
        if self == Data::Infinite {
            values.iter_mut().step_by(997).for_each(|value| *value = T::INFINITE);
        }
        values
    }

    fn one<T: Summed>(self, at: usize, rng: &mut ChaCha8Rng) -> f64 {
        let [top, bottom] = T::EXPONENTS;
        match self {
            Data::Uniform | Data::Infinite => rng.random(),
            Data::Normal => normal(rng),
            Data::LogNormal => sign(rng) * (3.0 * normal(rng)).exp(),
            Data::Spread | Data::Cancelling => of_exponents(rng, -SPREAD, SPREAD),
            Data::Wide => of_exponents(rng, bottom, top),
            Data::OneBin => of_exponents(rng, 3, 3),
            Data::Subnormal => of_exponents(rng, bottom, bottom + T::PRECISION - 2),
            Data::Largest => of_exponents(rng, top - 7, top),
            Data::Sawtooth => {
                let exponent = bottom + (10 * (at / ITERATION) as i32) % (top - bottom);
                of_exponents(rng, exponent, exponent)
            }
            Data::Pairs => {
                let first = (top - 2).min(60);
                let exponent = if at.is_multiple_of(2) { first } else { first - 20 };
                of_exponents(rng, exponent, exponent)
            }
        }
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    // The Box–Muller transform; u is above 0, so that its logarithm is finite.
    let (u, v) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn sign(rng: &mut ChaCha8Rng) -> f64 {
    if rng.random() { 1.0 } else { -1.0 }
}

/// Draws a number of either sign whose exponent lies between two bounds, inclusive.
fn of_exponents(rng: &mut ChaCha8Rng, low: i32, high: i32) -> f64 {
    let exponent = rng.random_range(low..=high);
    // The power is split into two factors, because the power itself may not be representable as a
    // double.
    let half = exponent / 2;
    sign(rng) * (1.0 + rng.random::<f64>()) * 2f64.powi(half) * 2f64.powi(exponent - half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide<T: Summed>(data: Data, seed: u64) -> Vec<f64> {
        data.draw::<T>(4096, seed).into_iter().map(Into::into).collect()
    }

    fn drawn<T: Summed>() {
        for &data in Data::value_variants() {
            let values = wide::<T>(data, 1);
            let finite = values.iter().all(|value| value.is_finite());
            assert_eq!(finite, data != Data::Infinite, "{data:?} of {}", T::NAME);
            assert!(values.iter().any(|value| *value != 0.0), "{data:?} of {}", T::NAME);
            assert_eq!(values, wide::<T>(data, 1), "{data:?} of {}", T::NAME);
            assert_ne!(values, wide::<T>(data, 2), "{data:?} of {}", T::NAME);
        }
        let sum: f64 = reduce::host::exact_sum(&Data::Cancelling.draw::<T>(4096, 1)).into();
        assert_eq!(sum, 0.0, "{}", T::NAME);
        let least = 2f64.powi(T::EXPONENTS[1] + T::PRECISION - 1);
        let values = wide::<T>(Data::Subnormal, 1);
        assert!(values.iter().all(|value| value.abs() <= least), "{}", T::NAME);
    }

    #[test]
    fn data_are_finite_and_the_same_for_a_seed() {
        drawn::<f32>();
        drawn::<f64>();
        drawn::<f16>();
        drawn::<bf16>();
    }

    #[test]
    fn sums_of_pairs_of_halves_are_rounded() {
        let rounded = |values: Vec<f64>| {
            let pairs = values.as_chunks().0.iter();
            pairs.filter(|[a, b]| f64::from((a + b) as f32) != a + b).count()
        };
        let counts = [wide::<f16>(Data::Pairs, 1), wide::<bf16>(Data::Pairs, 1)].map(rounded);
        assert!(counts.iter().all(|count| *count > 1800), "{counts:?} of 2048");
    }
}
