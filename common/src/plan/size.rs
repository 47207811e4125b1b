//! Sizes as people write them: `1048576`, `2^20`, `2^20+13`, `1Mi`, `1_000_000`.

use std::str::FromStr;

use crate::Error;

/// The largest size that is accepted; its bytes still fit 64 bits in every element type.
const LARGEST: u64 = 1 << 48;

/// A number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = Error;

    /// Reads a sum of terms, each a number, a power such as `2^20`, or a number with a suffix
    /// (`Ki`, `Mi`, `Gi` for 1024 and its powers; `k`, `M`, `G` for 1000 and its powers).
    ///
    /// ```
    /// use common::plan::Size;
    /// assert_eq!("2^20+13".parse::<Size>().unwrap(), Size(1_048_589));
    /// assert_eq!("1Mi".parse::<Size>().unwrap(), Size(1 << 20));
    /// assert!("2^99".parse::<Size>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |why: &str| {
            Error::Usage(format!(
                "`{text}` is no number of elements: {why} (write 1048576, 2^20, 2^20+13, 1Mi or 1M)"
            ))
        };
        if text.trim_start().starts_with('-') {
            return Err(bad("it is negative"));
        }
        let mut total: i128 = 0;
        let mut rest = text.trim();
        let mut sign = 1;
        loop {
            let end = rest.find(['+', '-']).unwrap_or(rest.len());
            total += sign
                * term(rest[..end].trim()).ok_or_else(|| match rest[..end].trim() {
                    "" => bad("a number is missing"),
                    t if t.contains('^') => {
                        bad("the power does not fit 64 bits or is not one number to another")
                    }
                    _ => bad("it is not a number, or does not fit 64 bits"),
                })?;
            if total.abs() > i128::from(u64::MAX) {
                return Err(bad("it does not fit 64 bits"));
            }
            if end == rest.len() {
                break;
            }
            sign = if rest.as_bytes()[end] == b'-' { -1 } else { 1 };
            rest = &rest[end + 1..];
        }
        if total < 0 {
            return Err(bad("it is negative"));
        }
        if total > i128::from(LARGEST) {
            return Err(bad("the most is 2^48"));
        }
        Ok(Size(total as u64))
    }
}

/// One term of a size.
fn term(text: &str) -> Option<i128> {
    if let Some((base, exponent)) = text.split_once('^') {
        let power = digits(base)?.checked_pow(u32::try_from(digits(exponent)?).ok()?)?;
        return Some(i128::from(power));
    }
    let suffixes: [(&str, u64); 6] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ];
    for (suffix, factor) in suffixes {
        if let Some(number) = text.strip_suffix(suffix) {
            return digits(number)?.checked_mul(factor).map(i128::from);
        }
    }
    digits(text).map(i128::from)
}

/// Decimal digits, with `_` between them.
fn digits(text: &str) -> Option<u64> {
    let starts_with_digit = text.starts_with(|c: char| c.is_ascii_digit());
    let only_digits = text.chars().all(|c| c.is_ascii_digit() || c == '_');
    (starts_with_digit && only_digits).then(|| text.replace('_', "").parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_size() {
        for (text, n) in [
            ("0", 0),
            ("1", 1),
            ("1048576", 1 << 20),
            ("2^20", 1 << 20),
            ("2^20+13", (1 << 20) + 13),
            ("2^20 - 1", (1 << 20) - 1),
            ("1Mi", 1 << 20),
            ("3Ki", 3072),
            ("2M", 2_000_000),
            ("1_000", 1000),
            ("2^32+13", (1 << 32) + 13),
            ("2^48", 1 << 48),
        ] {
            assert_eq!(text.parse::<Size>().unwrap(), Size(n), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_says_why() {
        for (text, why) in [
            ("2^99", "64 bits"),
            ("-1", "negative"),
            ("1-2", "negative"),
            ("abc", "not a number"),
            ("", "missing"),
            ("2^", "power"),
            ("^2", "power"),
            ("1+", "missing"),
            ("99999999999999999999", "64 bits"),
            ("2^63+2^63+2^63", "64 bits"),
            ("2^49", "the most is 2^48"),
            ("1.5", "not a number"),
            ("0x10", "not a number"),
            ("+5", "missing"),
            ("18446744073709551615Gi", "64 bits"),
        ] {
            let message = text.parse::<Size>().unwrap_err().to_string();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
