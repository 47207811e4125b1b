//! Parses sizes such as `1048576`, `2^20`, `3*2^19+77`, `1Mi` and `1_000_000`, and lists of sizes.

use std::{ops::Deref, str::FromStr};

/// The largest accepted size, in elements. The size in bytes of that many elements fits into 64
/// bits for every element type.
const LARGEST: u64 = 1 << 48;

/// A number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    /// Parses a sum of terms. Each term is a product of numbers, powers such as `2^20`, and numbers
    /// with a suffix (`Ki`, `Mi`, `Gi` for 1024 and its powers; `k`, `M`, `G` for 1000 and its
    /// powers).
    ///
    /// ```
    /// use numbers::Size;
    /// assert_eq!("2^20+13".parse::<Size>().unwrap(), Size(1_048_589));
    /// assert_eq!("3*2^19+77".parse::<Size>().unwrap(), Size(1_572_941));
    /// assert_eq!("1Mi".parse::<Size>().unwrap(), Size(1 << 20));
    /// assert!("2^99".parse::<Size>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |why: &str| {
            format!(
                "`{text}` is not a number of elements: {why} (write 1048576, 2^20, 3*2^19+77, 1Mi or 1M)"
            )
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
                    t if t.split('*').any(|factor| factor.trim().is_empty()) => {
                        bad("a factor is missing")
                    }
                    t if t.contains('^') => {
                        bad("the power does not fit into 64 bits, or does not have the form 2^20")
                    }
                    _ => bad("it is not a number, or does not fit into 64 bits"),
                })?;
            if total.abs() > i128::from(u64::MAX) {
                return Err(bad("it does not fit into 64 bits"));
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
            return Err(bad("the maximum is 2^48"));
        }
        Ok(Size(total as u64))
    }
}

/// A list of sizes such as `1,257,2^20`, in the order in which the user wrote them. The form
/// `2^10..2^28` stands for the first size and its successive doublings, up to at most the last
/// size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes(pub Vec<Size>);

impl FromStr for Sizes {
    type Err = String;

    /// ```
    /// use numbers::{Size, Sizes};
    /// let Sizes(sizes) = "7,2^10..2^12".parse().unwrap();
    /// assert_eq!(sizes, [7, 1024, 2048, 4096].map(Size));
    /// assert!("2^12..2^10".parse::<Sizes>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(range).collect::<Result<Vec<_>, _>>().map(|sizes| Sizes(sizes.concat()))
    }
}

impl Deref for Sizes {
    type Target = [Size];

    fn deref(&self) -> &[Size] {
        &self.0
    }
}

/// Returns the sizes in a range such as `2^10..2^28`, or a single size.
fn range(text: &str) -> Result<Vec<Size>, String> {
    let Some((first, last)) = text.split_once("..") else { return Ok(vec![text.parse()?]) };
    let (Size(first), Size(last)) = (first.parse()?, last.parse()?);
    if first == 0 || first > last {
        return Err(format!(
            "the range `{text}` contains no sizes: sizes double from the first to the last, so the first must be greater than 0 and no greater than the last (for example, 2^10..2^28)"
        ));
    }
    let double = |&Size(n): &Size| Some(Size(2 * n)).filter(|next| next.0 <= last);
    Ok(std::iter::successors(Some(Size(first)), double).collect())
}

/// Parses one term of a size.
fn term(text: &str) -> Option<i128> {
    let mut factors = text.split('*').map(|text| factor(text.trim()));
    factors.try_fold(1i128, |product, factor| product.checked_mul(factor?))
}

/// Parses one factor of a term.
fn factor(text: &str) -> Option<i128> {
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

/// Parses decimal digits, which may have `_` between them.
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
            ("3*2^19+77", 1_572_941),
            ("2^20 - 3 * 5", (1 << 20) - 15),
            ("2*3*7", 42),
        ] {
            assert_eq!(text.parse::<Size>().unwrap(), Size(n), "{text}");
        }
    }

    #[test]
    fn invalid_sizes_are_refused_with_the_reason() {
        for (text, why) in [
            ("2^99", "64 bits"),
            ("-1", "negative"),
            ("1-2", "negative"),
            ("abc", "not a number"),
            ("", "a number is missing"),
            ("_1", "not a number"),
            ("2^48+1", "the maximum is 2^48"),
            ("2^", "power"),
            ("^2", "power"),
            ("1+", "missing"),
            ("99999999999999999999", "64 bits"),
            ("2^63+2^63+2^63", "64 bits"),
            ("2^49", "the maximum is 2^48"),
            ("1.5", "not a number"),
            ("0x10", "not a number"),
            ("+5", "missing"),
            ("18446744073709551615Gi", "64 bits"),
            ("3*", "a factor is missing"),
            ("*3", "a factor is missing"),
            ("3**4", "a factor is missing"),
            ("2^40*2^40*2^40", "64 bits"),
            ("2^30*2^20", "the maximum is 2^48"),
            ("2^10..2^12", "not have the form 2^20"),
        ] {
            let message = text.parse::<Size>().unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }

    #[test]
    fn partial_sums_of_a_size_may_need_64_bits() {
        let most = u64::MAX;
        assert_eq!(format!("{most}-{most}+5").parse::<Size>().unwrap(), Size(5));
        assert_eq!(format!("5-{most}+{most}").parse::<Size>().unwrap(), Size(5));
        assert!(format!("{most}+1-{most}").parse::<Size>().is_err());
    }

    #[test]
    fn a_range_doubles_from_one_size_to_the_next() {
        let sizes = |text: &str| text.parse::<Sizes>().map(|sizes| sizes.0);
        let powers: Vec<Size> = (10..=28).map(|power| Size(1 << power)).collect();
        assert_eq!(sizes("2^10..2^28").unwrap(), powers);
        assert_eq!(sizes("5").unwrap(), [Size(5)]);
        assert_eq!(sizes("1000..5000, 0,3..3").unwrap(), [1000, 2000, 4000, 0, 3].map(Size));
        assert_eq!(sizes("2^47..2^48").unwrap(), [1 << 47, 1 << 48].map(Size));
        for (text, why) in [
            ("2^12..2^10", "contains no sizes"),
            ("0..8", "contains no sizes"),
            ("1..", "missing"),
            ("..4", "missing"),
            ("1..2..3", "not a number"),
            ("1,,2", "missing"),
            ("1..2^99", "64 bits"),
            ("", "missing"),
        ] {
            let message = sizes(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
