//! Random elements and sizes.

use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

/// An element type whose values can be drawn, and whose results can be compared.
pub(super) trait Drawn: reduce::Element + bytemuck::Pod {
    /// The type's name in every table.
    const NAME: &'static str;

    /// Returns a random element; floats lie between -1 and 1.
    fn draw(rng: &mut ChaCha8Rng) -> Self;

    /// Reads the result from the first few of the bytes that CUB stored. A sum of halves is an
    /// `f32`, and a minimum or maximum of halves is a half.
    fn stored(sum: bool, bytes: [u8; 8]) -> f64;

    /// The tolerance for a sum of floats, relative to the sum of magnitudes; `None` if sums are
    /// exact.
    const ROUNDOFF: Option<f64>;

    /// Converts the element to a double, for the sum of magnitudes.
    fn float(self) -> f64;

    /// Converts a result to a double.
    fn output(output: Self::Output) -> f64;
}

macro_rules! numbers {
    ($($type:ty, $name:literal, $roundoff:expr, |$rng:ident| $draw:expr;)+) => {$(
        impl Drawn for $type {
            const NAME: &'static str = $name;
            const ROUNDOFF: Option<f64> = $roundoff;

            fn draw($rng: &mut ChaCha8Rng) -> Self {
                $draw
            }

            fn stored(_: bool, bytes: [u8; 8]) -> f64 {
                *bytemuck::from_bytes::<$type>(&bytes[..size_of::<$type>()]) as f64
            }

            fn float(self) -> f64 {
                self as f64
            }

            fn output(output: $type) -> f64 {
                output as f64
            }
        }
    )+};
}
numbers! {
    f32, "f32", Some(f32::EPSILON as f64), |rng| 2.0 * rng.random::<f32>() - 1.0;
    f64, "f64", Some(f64::EPSILON), |rng| 2.0 * rng.random::<f64>() - 1.0;
    i32, "i32", None, |rng| rng.random();
    u32, "u32", None, |rng| rng.random();
    i64, "i64", None, |rng| rng.random();
    u64, "u64", None, |rng| rng.random();
}

macro_rules! halves {
    ($($type:ty, $name:literal;)+) => {$(
        impl Drawn for $type {
            const NAME: &'static str = $name;
            const ROUNDOFF: Option<f64> = Some(f32::EPSILON as f64);

            fn draw(rng: &mut ChaCha8Rng) -> Self {
                <$type>::from_f32(2.0 * rng.random::<f32>() - 1.0)
            }

            fn stored(sum: bool, bytes: [u8; 8]) -> f64 {
                match sum {
                    true => f64::from(*bytemuck::from_bytes::<f32>(&bytes[..4])),
                    false => f64::from(*bytemuck::from_bytes::<$type>(&bytes[..2])),
                }
            }

            fn float(self) -> f64 {
                f64::from(self)
            }

            fn output(output: f32) -> f64 {
                f64::from(output)
            }
        }
    )+};
}
halves! { f16, "f16"; bf16, "bf16"; }

/// Draws sizes from 1 to 2^30 with uniformly distributed logarithms, and adds all powers of two in
/// that range. The sizes are sorted and have no duplicates.
pub(super) fn sizes(count: u32, seed: u64) -> Vec<u64> {
    if count == 0 {
        return Vec::new();
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let drawn = (0..count).map(|_| (30.0 * rng.random::<f64>()).exp2() as u64);
    let mut sizes: Vec<u64> = drawn.chain((0..=30).map(|power| 1 << power)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_uniform_on_a_logarithmic_scale() {
        let sizes = sizes(200, 1);
        assert!(sizes.is_sorted() && sizes[0] == 1 && sizes.last() == Some(&(1 << 30)));
        let between =
            |a: u32, b: u32| sizes.iter().filter(|n| (1 << a..1 << b).contains(*n)).count();
        let tens = [between(0, 10), between(10, 20), between(20, 30)];
        assert!(tens.iter().all(|count| (50..=110).contains(count)), "{tens:?}");
        assert_ne!(sizes, super::sizes(200, 2));
        assert_eq!(super::sizes(0, 1), [] as [u64; 0]);
    }

    #[test]
    fn halves_are_stored_as_cub_stores_them() {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&1.5f32.to_le_bytes());
        assert_eq!(f16::stored(true, bytes), 1.5);
        bytes[..2].copy_from_slice(&f16::from_f32(0.25).to_le_bytes());
        assert_eq!(f16::stored(false, bytes), 0.25);
    }
}
