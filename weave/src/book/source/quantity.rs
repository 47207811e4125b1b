//! Quantities, which consist of a value with its unit and its source, and the format in which they
//! are printed.

/// A value with its unit and its source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantity {
    /// The value in base units: seconds, bytes per second, or fractions.
    pub(crate) value: f64,
    /// The unit.
    pub(crate) unit: Unit,
    /// The source, for the tooltip.
    pub(crate) origin: String,
}

/// The unit of a quantity, which also determines its format.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unit {
    /// Seconds, printed with a suitable prefix.
    Time,
    /// Bytes per second.
    Rate,
    /// A fraction, printed as a percentage.
    Share,
    /// A factor.
    Factor,
    /// A count.
    Count,
    /// A plain number, followed by this unit.
    Named(&'static str),
    /// A text instead of a number.
    Text(String),
}

impl Quantity {
    /// Creates a count.
    pub(crate) fn counted(value: f64, origin: String) -> Quantity {
        Quantity { value, unit: Unit::Count, origin }
    }

    /// Formats the quantity with about three digits, and with the unit after a non-breaking space.
    pub(crate) fn print(&self, digits: Option<usize>, bare: bool) -> String {
        let v = self.value;
        let with = |number: String, unit: &str| match bare || unit.is_empty() {
            true => number,
            false => format!("{number}\u{a0}{unit}"),
        };
        let fixed = |v: f64, default: usize| format!("{v:.*}", digits.unwrap_or(default));
        match &self.unit {
            Unit::Text(text) => text.clone(),
            Unit::Time => {
                let (scaled, unit) = match v {
                    _ if v < 1e-6 => (v * 1e9, "ns"),
                    _ if v < 1e-3 => (v * 1e6, "µs"),
                    _ if v < 1.0 => (v * 1e3, "ms"),
                    _ => (v, "s"),
                };
                with(fixed(scaled, places(scaled)), unit)
            }
            Unit::Rate => with(fixed(v / 1e9, if v < 1e11 { places(v / 1e9) } else { 0 }), "GB/s"),
            Unit::Share => with(fixed(100.0 * v, usize::from(v.fract() != 0.0)), "%"),
            Unit::Factor => {
                let number = fixed(v, if v < 10.0 { 2 } else { 1 });
                if bare { number } else { format!("{number}×") }
            }
            Unit::Count => match (v.fract() == 0.0, digits) {
                (true, None) => group(v as u64),
                _ => fixed(v, places(v)),
            },
            Unit::Named(unit) => with(
                if v.fract() == 0.0 && digits.is_none() {
                    format!("{v}")
                } else {
                    fixed(v, places(v))
                },
                unit,
            ),
        }
    }
}

/// Returns the number of decimals that gives about three digits.
fn places(v: f64) -> usize {
    match v.abs() {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    }
}

/// Formats `1556480` as `1,556,480`. A number of four digits has no comma.
pub(crate) fn group(n: u64) -> String {
    if n < 10_000 { n.to_string() } else { numbers::group(n) }
}

/// Formats a size as a power of two, such as `2^20`, with a raised exponent.
pub(crate) fn power(n: u64) -> String {
    match n.checked_ilog2() {
        Some(p) if n == 1 << p && p >= 10 => format!("2<sup>{p}</sup>"),
        _ => group(n),
    }
}

/// Formats a rate in GB/s for a table.
pub(crate) fn gigabytes(rate: f64) -> String {
    match rate {
        r if r < 10.0 => format!("{r:.2}"),
        r if r < 100.0 => format!("{r:.1}"),
        r => format!("{r:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(value: f64, unit: Unit) -> String {
        Quantity { value, unit, origin: String::new() }.print(None, false).replace('\u{a0}', " ")
    }

    #[test]
    fn quantities_have_about_three_digits() {
        assert_eq!(print(12.421e-6, Unit::Time), "12.4 µs");
        assert_eq!(print(642.9e-6, Unit::Time), "643 µs");
        assert_eq!(print(2.5476e-3, Unit::Time), "2.55 ms");
        assert_eq!(print(1675.3e9, Unit::Rate), "1675 GB/s");
        assert_eq!(print(0.086, Unit::Share), "8.6 %");
        assert_eq!(print(0.348, Unit::Share), "34.8 %");
        assert_eq!(print(1.0, Unit::Share), "100 %");
        assert_eq!(print(1.6949, Unit::Factor), "1.69×");
        assert_eq!(print(1_556_480.0, Unit::Count), "1,556,480");
        assert_eq!(print(4096.0, Unit::Count), "4096");
        assert_eq!(print(1.5, Unit::Count), "1.50");
    }
}
