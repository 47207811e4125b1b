//! Utilities for numbers: element types and their arithmetic on the host, exact sums, pseudorandom
//! bits by index, sizes as text, wrapped lines, and quantiles. The crate is optimized in every
//! profile, because tests add millions of elements.
#![forbid(unsafe_code)]

mod element;
mod lines;
mod mixed;
mod reference;
mod scalar;
mod size;

pub use element::Element;
pub use lines::wrapped;
pub use mixed::mixed;
pub use reference::Reference;
pub use scalar::{Scalar, Value};
pub use size::{Size, Sizes};

/// Formats a size as `2^20`, as `2^20+13`, or in decimal digits.
pub fn size(n: u64) -> String {
    let power = n.checked_ilog2().unwrap_or(0);
    match n.checked_sub(1 << power) {
        Some(0) if power >= 10 => format!("2^{power}"),
        Some(over @ 1..=64) if power >= 14 => format!("2^{power}+{over}"),
        _ => n.to_string(),
    }
}

/// Formats a number with its digits in groups of three, such as `1,048,576`.
pub fn group(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Sorts values in ascending order.
pub fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Returns a quantile of sorted values, by linear interpolation (Hyndman and Fan's type 7); NaN if
/// there are no values.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_near_a_power_are_written_as_one() {
        assert_eq!([1 << 32, 1 << 20, 1 << 10].map(size), ["2^32", "2^20", "2^10"]);
        assert_eq!([(1 << 20) + 13, (1 << 14) + 64].map(size), ["2^20+13", "2^14+64"]);
        let digits = [(1 << 14) + 65, (1 << 13) + 1, 1000, 512, 1, 0, (1 << 20) - 1];
        assert_eq!(digits.map(size), digits.map(|n| n.to_string()));
    }

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(
            [1_048_576, 123, 1234, 12, 0].map(group),
            ["1,048,576", "123", "1,234", "12", "0"]
        );
    }

    #[test]
    fn quantiles_are_interpolated() {
        let values = sorted([5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|q| quantile(&values, q)), [1., 2., 3., 4., 5.]);
        assert_eq!(quantile(&[1.0, 2.0], 0.5), 1.5);
        assert_eq!(quantile(&[7.0], 0.9), 7.0);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
