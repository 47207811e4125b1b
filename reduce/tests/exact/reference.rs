//! Computes exact sums with big integers, and checks that results are rounded correctly, that is,
//! that no float is nearer.

use std::cmp::Ordering;

use half::{bf16, f16};
use num_bigint::{BigInt, Sign};
use samebits::ExactElement;

/// A float that can be converted to a double without rounding.
pub(crate) trait Float: ExactElement<Output: Wide> + std::fmt::Debug {
    /// Returns the value as a double, which represents it exactly.
    fn wide(self) -> f64;
}

macro_rules! floats {
    ($($type:ty)+) => {$(
        impl Float for $type {
            fn wide(self) -> f64 {
                self.into()
            }
        }
    )+};
}
floats! { f16 bf16 f32 f64 }

/// The type of a result.
pub(crate) trait Wide: samebits::ExactFloat {
    /// The exponent of the number that would follow the largest one if exponents were unbounded.
    const LIMIT: i32;

    fn neighbours(self) -> [Self; 2];
    fn is_even(self) -> bool;
}

impl Wide for f32 {
    const LIMIT: i32 = 128;

    fn neighbours(self) -> [f32; 2] {
        [self.next_down(), self.next_up()]
    }

    fn is_even(self) -> bool {
        self.to_bits() & 1 == 0
    }
}

impl Wide for f64 {
    const LIMIT: i32 = 1024;

    fn neighbours(self) -> [f64; 2] {
        [self.next_down(), self.next_up()]
    }

    fn is_even(self) -> bool {
        self.to_bits() & 1 == 0
    }
}

/// Returns a value in units of 2^-2148. An infinity is treated as the number after the largest
/// finite one.
fn units<T: Wide>(value: T) -> BigInt {
    let wide: f64 = value.into();
    if wide.is_infinite() {
        let limit = BigInt::from(1) << (T::LIMIT + 2148);
        return if wide > 0.0 { limit } else { -limit };
    }
    units_of(wide) << 1074
}

/// Returns a finite value in units of 2^-1074.
fn units_of(value: f64) -> BigInt {
    let bits = value.to_bits();
    let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    let magnitude = match exponent {
        0 => BigInt::from(fraction),
        _ => BigInt::from(fraction | 1 << 52) << (exponent - 1),
    };
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// Returns the exact sum of products, in units of 2^-2148, or `None` if a factor is not finite.
fn exact(products: impl Iterator<Item = (f64, f64)> + Clone) -> Option<BigInt> {
    let finite = products.clone().all(|(a, b)| a.is_finite() && b.is_finite());
    finite.then(|| products.map(|(a, b)| units_of(a) * units_of(b)).sum())
}

/// Panics unless `result` is the correctly rounded sum of a slice.
pub(crate) fn check_sum<T: Float>(slice: &[T], result: T::Output, input: &str) {
    check(slice.iter().map(|x| (x.wide(), 1.0)), result, input);
}

/// Panics unless `result` is the correctly rounded dot product of two slices.
pub(crate) fn check_dot<T: Float>(a: &[T], b: &[T], result: T::Output, input: &str) {
    check(a.iter().zip(b).map(|(a, b)| (a.wide(), b.wide())), result, input);
}

/// Panics unless `result` is the correctly rounded root of the sum of a slice's squares.
pub(crate) fn check_norm<T: Float>(slice: &[T], result: T::Output, input: &str) {
    let squares = || slice.iter().map(|x| (x.wide(), x.wide()));
    let found: f64 = result.into();
    let Some(exact) = exact(squares()) else {
        let any_nan = slice.iter().any(|x| x.wide().is_nan());
        assert_eq!(found.is_nan(), any_nan, "{input}: {result:?}");
        assert!(any_nan || found == f64::INFINITY, "{input}: {result:?}");
        return;
    };
    assert!(found.is_sign_positive() && !found.is_nan(), "{input}: {result:?}");
    if exact.sign() == Sign::NoSign {
        assert_eq!(found, 0.0, "{input}");
        return;
    }
    // The midpoint of two neighbours is m × 2^-2149, so its square is m² × 2^-4298.
    let exact = exact << 2150;
    let [below, above] = result.neighbours();
    for (other, order) in [(below, Ordering::Less), (above, Ordering::Greater)] {
        if other == result {
            continue; // The result is infinite.
        }
        let middle = units(result) + units(other);
        // Between 0 and its lower neighbour, the midpoint is negative, so no sum has this root.
        let square = if middle.sign() == Sign::Minus { continue } else { &middle * &middle };
        let side = square.cmp(&exact);
        let tie = side == Ordering::Equal && result.is_even();
        assert!(side == order || tie, "{input}: {result:?}, and not {other:?}");
    }
}

fn check<R: Wide>(products: impl Iterator<Item = (f64, f64)> + Clone, result: R, input: &str) {
    let found: f64 = result.into();
    let Some(exact) = exact(products.clone()) else {
        // IEEE 754's rules for infinities and NaN do not depend on the order of the additions. A
        // product of finite factors is finite.
        let all = products.filter(|(a, b)| !a.is_finite() || !b.is_finite());
        let special: f64 = all.map(|(a, b)| a * b).sum();
        assert_eq!(special.is_nan(), found.is_nan(), "{input}: {result:?} of {special}");
        assert!(special.is_nan() || special == found, "{input}: {result:?} of {special}");
        return;
    };
    if exact.sign() == Sign::NoSign {
        let mut zeros = products.map(|(a, b)| (a == 0.0 || b == 0.0).then_some(a * b));
        let any = zeros.clone().next().is_some();
        let minus = any && zeros.all(|zero| zero.is_some_and(f64::is_sign_negative));
        assert_eq!(found, 0.0, "{input}: {result:?}");
        assert_eq!(found.is_sign_negative(), minus, "{input}: {result:?}");
        return;
    }
    assert!(!found.is_nan(), "{input}: the sum of finite elements is {result:?}");
    let distance = |value: R| BigInt::from((&exact - units(value)).magnitude().clone());
    let own = distance(result);
    for other in result.neighbours().into_iter().filter(|other| *other != result) {
        match own.cmp(&distance(other)) {
            Ordering::Less => {}
            Ordering::Equal => {
                assert!(result.is_even(), "{input}: {result:?} is the odd one of a tie")
            }
            Ordering::Greater => panic!("{input}: {other:?} is nearer than {result:?}"),
        }
    }
}
