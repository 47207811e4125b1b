//! The exponential function and the logarithm, with the same operations as in
//! `kernels/log_sum_exp.cu`.

use std::{f32, f64};

/// Returns exp(x) for x <= 0, or 0 if x is NaN or below the logarithm of the smallest normal
/// number. With k = x / log(2), rounded to an integer, exp(x) is 2^k times a polynomial in x - k
/// log(2). The low bits of `rounded` are the exponent of 2^k, or 0 if 2^k is not a normal number.
/// exp(0) is 1. The relative error is at most (1.8 + |x| / 20) 2^-24; the second term comes from
/// the rounding of log(2).
pub(super) fn exp_of_float(x: f32) -> f32 {
    let at_least = if x > -88.0 { x } else { -88.0 };
    let shift = 12_583_039.0; // 1.5 · 2^23 + 127
    let rounded = f32::mul_add(at_least, f32::consts::LOG2_E, shift);
    let rest = f32::mul_add(rounded - shift, -f32::consts::LN_2, at_least);
    let of = [0.008368716, 0.04166839, 0.16666521, 0.49999994, 1.0, 1.0];
    let power = of.iter().fold(0.0013814606f32, |power, of| power.mul_add(rest, *of));
    power * f32::from_bits(rounded.to_bits() << 23)
}

/// Like [`exp_of_float`], with a relative error of at most 1.8 · 2^-53.
pub(super) fn exp_of(x: f64) -> f64 {
    let at_least = if x > -709.0 { x } else { -709.0 };
    let shift = 6_755_399_441_056_767.0; // 1.5 · 2^52 + 1023
    let rounded = f64::mul_add(at_least, f64::consts::LOG2_E, shift);
    let k = rounded - shift;
    let rest = k.mul_add(-7.440617110012397e-11, k.mul_add(-0.6931471804855391, at_least));
    let of = [
        2.7630244547968443e-07,
        2.755758636284437e-06,
        2.4801493108945924e-05,
        0.00019841269506613567,
        0.0013888888943621228,
        0.008333333333494434,
        0.04166666666653019,
        0.16666666666666413,
        0.5000000000000011,
        1.0,
        1.0,
    ];
    let power = of.iter().fold(2.5000059258426878e-08f64, |power, of| power.mul_add(rest, *of));
    power * f64::from_bits(rounded.to_bits() << 52)
}

/// Returns log(x) for finite x >= 1. With x = 2^k z and z from sqrt(1/2) to sqrt(2), log(z) is
/// 2 atanh((z - 1) / (z + 1)). The relative error is at most 4 · 2^-53.
pub(super) fn log_of(x: f64) -> f64 {
    let k = (x.to_bits() - 0x3fe6_a09e_667f_3bcd) >> 52;
    let z = f64::from_bits(x.to_bits() - (k << 52));
    let s = (z - 1.0) / (z + 1.0);
    let square = s * s;
    let of = [
        0.1531402117019004,
        0.18183565402874022,
        0.22222198553931347,
        0.2857142874255989,
        0.39999999999413977,
        0.6666666666666734,
    ];
    let rest = of.iter().fold(0.1479626111402704f64, |rest, of| rest.mul_add(square, *of));
    let log = (s * square).mul_add(rest, s + s);
    f64::mul_add(k as f64, f64::consts::LN_2, log)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks arguments in all binades against the functions of the standard library, whose errors
    /// are at most 2^-53.
    #[test]
    fn errors_are_below_the_bounds() {
        let mut most = [0.0f64; 3];
        for i in 0..1_000_000 {
            let x = -87.6 * f64::from(i) / 1e6;
            let float = x as f32;
            let exact = f64::from(float).exp();
            let error = (f64::from(exp_of_float(float)) / exact - 1.0).abs() * 2f64.powi(24);
            most[0] = most[0].max(error + x / 20.0);
            let wide = x * 8.08;
            most[1] = most[1].max((exp_of(wide) / wide.exp() - 1.0).abs());
            let large = 1.0 + f64::from(i) * f64::from(i) / 1e6 * 1.37;
            most[2] = most[2].max((log_of(large) / large.ln() - 1.0).abs());
        }
        let units = [most[0], most[1] * 2f64.powi(53), most[2] * 2f64.powi(53)];
        println!("errors in units of the last place: {units:.2?}");
        assert!(units[0] <= 1.8 && units[1] <= 2.8 && units[2] <= 4.0, "{units:?}");
    }

    #[test]
    fn special_arguments_have_exact_results() {
        for x in [0.0, -0.0] {
            assert_eq!((exp_of_float(x), exp_of(x.into())), (1.0, 1.0));
        }
        for x in [-87.7f32, -1e30, f32::NEG_INFINITY, f32::NAN] {
            assert_eq!(exp_of_float(x).to_bits(), 0, "{x}");
            assert_eq!(exp_of(8.09 * f64::from(x)).to_bits(), 0, "{x}");
        }
        assert!(exp_of_float(-87.6) > 0.0 && exp_of(-708.6) > 0.0);
        assert_eq!(log_of(1.0).to_bits(), 0);
        assert_eq!(log_of(4294967296.0), 32.0 * f64::consts::LN_2);
    }
}
