//! Implements C's `printf` with the conversions that CUDA kernels may use.

/// The source of the values.
pub(crate) trait Values {
    /// Returns the next value, of 4 or 8 bytes, which is aligned to its size.
    fn next(&mut self, bytes: u32) -> Option<u64>;
    /// Returns the string at an address.
    fn text(&mut self, address: u64) -> Option<String>;
}

/// The format of one value.
#[derive(Default)]
struct Spec {
    minus: bool,
    plus: bool,
    space: bool,
    hash: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
}

/// Approximate limit on the size of the output, in bytes.
const LONGEST: usize = 1 << 16;

/// Limit on the width of a field, so that a mistake cannot fill the memory.
const WIDEST: usize = 1 << 12;

/// Formats values as the format string specifies.
pub(crate) fn format(format: &str, values: &mut impl Values) -> String {
    let mut out = String::new();
    let mut rest = format.chars();
    while let Some(c) = rest.next().filter(|_| out.len() < LONGEST) {
        if c != '%' {
            out.push(c);
            continue;
        }
        let before = rest.clone();
        match conversion(&mut rest, values) {
            Some(text) => out.push_str(&text),
            // An invalid conversion is printed unchanged.
            None => {
                out.push('%');
                rest = before;
            }
        }
    }
    out
}

fn conversion(rest: &mut std::str::Chars<'_>, values: &mut impl Values) -> Option<String> {
    let mut spec = Spec::default();
    let mut c = rest.next()?;
    loop {
        match c {
            '-' => spec.minus = true,
            '+' => spec.plus = true,
            ' ' => spec.space = true,
            '#' => spec.hash = true,
            '0' => spec.zero = true,
            _ => break,
        }
        c = rest.next()?;
    }
    let width = number(&mut c, rest, values)?;
    spec.minus |= width < 0;
    spec.width = (width.unsigned_abs() as usize).min(WIDEST);
    if c == '.' {
        c = rest.next()?;
        let precision = number(&mut c, rest, values)?;
        spec.precision = usize::try_from(precision).ok().map(|n| n.min(WIDEST));
    }
    let mut short = 0;
    while let 'l' | 'h' | 'z' | 't' | 'j' = c {
        short += u32::from(c == 'h');
        spec.long |= c != 'h';
        c = rest.next()?;
    }
    let size = if spec.long { 8 } else { 4 };
    let bits = if spec.long { 64 } else { 32 >> short };
    let trim = |v: u64| v & (u64::MAX >> (64 - bits));
    Some(match c {
        '%' => "%".into(),
        'd' | 'i' => {
            let v = crate::alu::sext(trim(values.next(size)?), bits);
            spec.digits(spec.sign(v < 0).into(), v.unsigned_abs().to_string())
        }
        'u' => spec.digits(String::new(), trim(values.next(size)?).to_string()),
        'x' | 'X' | 'o' => {
            let v = trim(values.next(size)?);
            let (digits, prefix) = match c {
                'x' => (format!("{v:x}"), "0x"),
                'X' => (format!("{v:X}"), "0X"),
                _ => (format!("{v:o}"), "0"),
            };
            spec.digits(if spec.hash && v != 0 { prefix.into() } else { String::new() }, digits)
        }
        'c' => {
            let v = values.next(4)? as u8;
            spec.pad(String::new(), char::from(v).to_string(), false)
        }
        's' => {
            let address = values.next(8)?;
            let text = values.text(address).unwrap_or_else(|| "(no string there)".into());
            let most = spec.precision.unwrap_or(usize::MAX);
            spec.pad(String::new(), text.chars().take(most).collect(), false)
        }
        'p' => {
            let v = values.next(8)?;
            spec.pad(String::new(), format!("{v:#x}"), false)
        }
        'f' | 'F' | 'e' | 'E' | 'g' | 'G' => spec.float(f64::from_bits(values.next(8)?), c),
        _ => return None,
    })
}

/// Reads digits starting at `c`, or takes a value if `c` is `*`. Sets `c` to the next character.
fn number(c: &mut char, rest: &mut std::str::Chars<'_>, values: &mut impl Values) -> Option<i32> {
    if *c == '*' {
        *c = rest.next()?;
        return Some(values.next(4)? as u32 as i32);
    }
    let mut n = 0usize;
    while let Some(digit) = c.to_digit(10) {
        n = (10 * n + digit as usize).min(WIDEST);
        *c = rest.next()?;
    }
    Some(n as i32)
}

impl Spec {
    /// Formats an integer, after its sign or prefix.
    fn digits(&self, prefix: String, digits: String) -> String {
        let least = self.precision.unwrap_or(1);
        let digits = format!("{}{digits}", "0".repeat(least.saturating_sub(digits.len())));
        self.pad(prefix, digits, self.precision.is_none())
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    fn float(&self, v: f64, kind: char) -> String {
        let sign = self.sign(v.is_sign_negative() && !v.is_nan()).to_string();
        let upper = kind.is_ascii_uppercase();
        let case = |text: String| if upper { text.to_ascii_uppercase() } else { text };
        if !v.is_finite() {
            let text = if v.is_nan() { "nan" } else { "inf" };
            return self.pad(sign, case(text.into()), false);
        }
        let (v, precision) = (v.abs(), self.precision.unwrap_or(6));
        let text = match kind.to_ascii_lowercase() {
            'f' => format!("{v:.precision$}"),
            'e' => scientific(v, precision),
            _ => {
                let precision = precision.max(1);
                let text = scientific(v, precision - 1);
                let exponent: i64 =
                    text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
                let small = (-4..precision as i64).contains(&exponent);
                let text = match small {
                    true => format!("{v:.*}", (precision as i64 - 1 - exponent) as usize),
                    false => text,
                };
                if self.hash { text } else { without_zeros(&text) }
            }
        };
        self.pad(sign, case(text), true)
    }

    /// Pads a text to the width of the field.
    fn pad(&self, prefix: String, text: String, zeros: bool) -> String {
        let room = self.width.saturating_sub(prefix.chars().count() + text.chars().count());
        match (self.minus, self.zero && zeros) {
            (true, _) => format!("{prefix}{text}{}", " ".repeat(room)),
            (false, true) => format!("{prefix}{}{text}", "0".repeat(room)),
            (false, false) => format!("{}{prefix}{text}", " ".repeat(room)),
        }
    }
}

/// Formats a number in scientific notation, such as `1.500000e+03`.
fn scientific(v: f64, precision: usize) -> String {
    let text = format!("{v:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Removes trailing zeros from the fraction.
fn without_zeros(text: &str) -> String {
    let (digits, exponent) = match text.split_once('e') {
        Some((digits, exponent)) => (digits, format!("e{exponent}")),
        None => (text, String::new()),
    };
    match digits.contains('.') {
        true => format!("{}{exponent}", digits.trim_end_matches('0').trim_end_matches('.')),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Values, format};

    struct Given(Vec<u64>);

    impl Values for Given {
        fn next(&mut self, bytes: u32) -> Option<u64> {
            let v = (!self.0.is_empty()).then(|| self.0.remove(0))?;
            Some(if bytes == 4 { v & 0xffff_ffff } else { v })
        }

        fn text(&mut self, address: u64) -> Option<String> {
            (address == 7).then(|| "text".into())
        }
    }

    /// The expected output is that of glibc.
    #[test]
    fn it_prints_what_c_prints() {
        let f = f64::to_bits;
        let minus = -5i32 as u32 as u64;
        for (text, values, expected) in [
            ("n = %d\n", vec![minus], "n = -5\n"),
            ("%5d|%-5d|%05d|%+d", vec![42, 42, 42, 42], "   42|42   |00042|+42"),
            ("%u %x %X %#x %o", vec![minus, 255, 255, 255, 8], "4294967291 ff FF 0xff 10"),
            ("%lld %llu %ld", vec![u64::MAX, u64::MAX, 3], "-1 18446744073709551615 3"),
            ("%hhd %hd", vec![0x1ff, 0x1_8000], "-1 -32768"),
            ("%f %.2f %8.3f|", vec![f(1.5), f(2.345), f(-2.14159)], "1.500000 2.35   -2.142|"),
            ("%e %.1E", vec![f(12345.678), f(0.00012)], "1.234568e+04 1.2E-04"),
            (
                "%g %g %g %g",
                vec![f(0.0001), f(1e-5), f(123456.0), f(1234567.0)],
                "0.0001 1e-05 123456 1.23457e+06",
            ),
            ("%g %g %.3g %#g", vec![f(0.0), f(100.0), f(2.0 / 3.0), f(1.0)], "0 100 0.667 1.00000"),
            ("%f %F %g", vec![f(f64::NAN), f(f64::INFINITY), f(f64::NEG_INFINITY)], "nan INF -inf"),
            ("%s|%6s|%-6s|%.3s", vec![7, 7, 7, 7], "text|  text|text  |tex"),
            ("%s", vec![8], "(no string there)"),
            ("%c%c %%", vec![104, 105], "hi %"),
            ("%p", vec![0x1000], "0x1000"),
            ("%*d|%.*f", vec![4, 7, 1, f(0.25)], "   7|0.2"),
            ("%.3d %5.2d|", vec![7, 7], "007    07|"),
            ("%y %", vec![], "%y %"),
            ("%d", vec![], "%d"),
            ("é%dü", vec![1], "é1ü"),
        ] {
            assert_eq!(format(text, &mut Given(values)), expected, "{text}");
        }
    }
}
