//! Log-sum-exps with twice the precision of a double, as a reference.

use std::ops::{Add, Mul, Neg, Sub};

/// The unevaluated sum of two doubles, of which the second is small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair(f64, f64);

impl Pair {
    pub(crate) fn of(value: f64) -> Pair {
        Pair(value, 0.0)
    }

    pub(crate) fn double(self) -> f64 {
        self.0 + self.1
    }

    /// Returns the exact sum of two doubles, unless it overflows.
    fn sum(a: f64, b: f64) -> Pair {
        let all = a + b;
        let from_b = all - a;
        Pair(all, (a - (all - from_b)) + (b - from_b))
    }

    /// Multiplies by a power of two.
    fn scaled(self, by: f64) -> Pair {
        Pair(self.0 * by, self.1 * by)
    }
}

impl Add for Pair {
    type Output = Pair;
    fn add(self, other: Pair) -> Pair {
        let (high, low) = (Pair::sum(self.0, other.0), Pair::sum(self.1, other.1));
        let high = Pair::sum(high.0, high.1 + low.0);
        Pair::sum(high.0, high.1 + low.1)
    }
}

impl Neg for Pair {
    type Output = Pair;
    fn neg(self) -> Pair {
        Pair(-self.0, -self.1)
    }
}

impl Sub for Pair {
    type Output = Pair;
    fn sub(self, other: Pair) -> Pair {
        self + -other
    }
}

impl Mul for Pair {
    type Output = Pair;
    fn mul(self, other: Pair) -> Pair {
        let all = self.0 * other.0;
        let rest = self.0.mul_add(other.0, -all) + (self.0 * other.1 + self.1 * other.0);
        Pair::sum(all, rest)
    }
}

/// Returns exp(x) for x from -800 to 800: the Taylor series of x / 1024, squared ten times.
fn exp(x: Pair) -> Pair {
    let x = x.scaled(2f64.powi(-10));
    let mut term = Pair::of(1.0);
    let mut all = term;
    for i in 1..24 {
        let over = 1.0 / f64::from(i);
        // The correction makes the reciprocal as precise as a pair.
        let over = Pair(over, -over.mul_add(f64::from(i), -1.0) / f64::from(i));
        term = term * x * over;
        all = all + term;
    }
    (0..10).fold(all, |all, _| all * all)
}

/// Returns the log-sum-exp of finite elements.
pub(crate) fn log_sum_exp(values: &[f64]) -> Pair {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let near = values.iter().filter(|x| *x - top > -200.0);
    let sum = near.fold(Pair::of(0.0), |sum, x| sum + exp(Pair::sum(*x, -top)));
    // One step of Newton's method doubles the precision of the logarithm.
    let near = Pair::of(sum.double().ln());
    let step = sum * exp(-near) - Pair::of(1.0);
    Pair::of(top) + near + step - (step * step).scaled(0.5)
}

#[test]
fn the_reference_is_right() {
    // The digits of e and of log(2) beyond those of a double.
    let e = exp(Pair::of(1.0)) - Pair::of(std::f64::consts::E);
    assert!((e.double() - 1.445_646_891_729_250_2e-16).abs() < 1e-28, "{e:?}");
    let log = log_sum_exp(&[0.0, 0.0]) - Pair::of(std::f64::consts::LN_2);
    assert!((log.double() - 2.319_046_813_846_299_6e-17).abs() < 1e-28, "{log:?}");
}
