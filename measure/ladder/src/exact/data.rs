//! The data on which exact sums are timed: benign, wide, and as slow as the kernels allow.

use clap::ValueEnum;
use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use reduce::{ExactElement, ExactProduct, Kernel, Reducer};

use crate::competitors::Borrowed;

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
    /// Exponents from -20 to 20; each element occurs negated too, nearby
    Cancelling,
    /// Dense significands of one exponent: one bin of each thread takes all
    OneBin,
    /// Subnormal numbers
    Subnormal,
    /// The largest numbers, in both signs: beyond the levels of f64
    Largest,
    /// Exponents that ascend as fast as the levels of f64 are moved, then fall
    Sawtooth,
    /// Neighbours whose sum is not a float: two halves are not added in one step
    Pairs,
}

/// An element type with exact sums.
pub(super) trait Summed:
    ExactElement<Output: bytemuck::Pod> + bytemuck::Pod + Into<f64>
{
    /// Its name in every table.
    const NAME: &'static str;
    /// The exponents of the largest number and of the smallest subnormal.
    const EXPONENTS: [i32; 2];
    /// Bits of the significand.
    const PRECISION: i32;
    /// The kernel of the dot product, if a device has one.
    const DOT: Option<Kernel>;

    /// The nearest finite value.
    fn near(value: f64) -> Self;

    /// Launches the dot product. `None` if a device has none.
    fn dot(
        reducer: &Reducer<Self>,
        a: &Borrowed<'_, Self>,
        b: &Borrowed<'_, Self>,
        out: &mut Borrowed<'_, Self::Output>,
    ) -> Option<reduce::Result<()>>;
}

macro_rules! products {
    ($($type:ty, $name:literal, $exponents:expr, $precision:literal, $from:expr;)+) => {$(
        impl Summed for $type {
            const NAME: &'static str = $name;
            const EXPONENTS: [i32; 2] = $exponents;
            const PRECISION: i32 = $precision;
            const DOT: Option<Kernel> = Some(<$type as ExactProduct>::DOT);

            fn near(value: f64) -> Self {
                let from: fn(f64) -> $type = $from;
                from(value.clamp(<$type>::MIN.into(), <$type>::MAX.into()))
            }

            fn dot(
                reducer: &Reducer<Self>,
                a: &Borrowed<'_, Self>,
                b: &Borrowed<'_, Self>,
                out: &mut Borrowed<'_, f32>,
            ) -> Option<reduce::Result<()>> {
                Some(reducer.exact_dot_into(a, b, out))
            }
        }
    )+};
}
products! {
    f32, "f32", [127, -149], 24, |value| value as f32;
    f16, "f16", [15, -24], 11, f16::from_f64;
    bf16, "bf16", [127, -133], 8, bf16::from_f64;
}

impl Summed for f64 {
    const NAME: &'static str = "f64";
    const EXPONENTS: [i32; 2] = [1023, -1074];
    const PRECISION: i32 = 53;
    const DOT: Option<Kernel> = None;

    fn near(value: f64) -> f64 {
        value.clamp(f64::MIN, f64::MAX)
    }

    fn dot(
        _: &Reducer<f64>,
        _: &Borrowed<'_, f64>,
        _: &Borrowed<'_, f64>,
        _: &mut Borrowed<'_, f64>,
    ) -> Option<reduce::Result<()>> {
        None
    }
}

/// Elements that the threads of a block load between two iterations of a thread, for f64.
const ITERATION: usize = 512;

/// Elements among which an element and its negation lie.
const NEARBY: usize = 256;

/// The exponents of `Spread` and `Cancelling`.
const SPREAD: i32 = 20;

impl Data {
    /// Its name in every table: that of the option.
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
        values.into_iter().map(T::near).collect()
    }

    fn one<T: Summed>(self, at: usize, rng: &mut ChaCha8Rng) -> f64 {
        let [top, bottom] = T::EXPONENTS;
        match self {
            Data::Uniform => rng.random(),
            Data::Normal => normal(rng),
            Data::LogNormal => sign(rng) * (3.0 * normal(rng)).exp(),
            Data::Spread | Data::Cancelling => of_exponents(rng, -SPREAD, SPREAD),
            Data::Wide => of_exponents(rng, bottom, top),
            Data::OneBin => of_exponents(rng, 3, 3),
            Data::Subnormal => of_exponents(rng, bottom, bottom + T::PRECISION - 2),
            Data::Largest => of_exponents(rng, top - 7, top),
            Data::Sawtooth => {
                // A level is moved for an element ten powers of two above it.
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
    // Box and Muller; the logarithm of a number above 0.
    let (u, v) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn sign(rng: &mut ChaCha8Rng) -> f64 {
    if rng.random() { 1.0 } else { -1.0 }
}

/// A number of either sign whose exponent lies between two.
fn of_exponents(rng: &mut ChaCha8Rng, low: i32, high: i32) -> f64 {
    let exponent = rng.random_range(low..=high);
    // Two factors, because one power of two may not be a double.
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
            assert!(values.iter().all(|value| value.is_finite()), "{data:?} of {}", T::NAME);
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
