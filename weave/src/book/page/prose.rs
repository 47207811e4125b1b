//! Checks that numbers that look measured come from a directive.

/// Units that occur only in a measurement or a data sheet.
const UNITS: [&str; 17] = [
    "ns",
    "µs",
    "μs",
    "us",
    "ms",
    "s",
    "GB/s",
    "TB/s",
    "MB/s",
    "GHz",
    "MHz",
    "%",
    "percent",
    "GFLOPS",
    "TFLOPS",
    "seconds",
    "microseconds",
];

/// Words after `N times` that make the number a factor.
const FACTORS: [&str; 10] =
    ["faster", "slower", "as", "the", "more", "fewer", "less", "better", "worse", "longer"];

/// Returns the first text in a piece of prose that looks like a measurement.
///
/// Link targets and the attributes in HTML tags are skipped.
pub(crate) fn measured(text: &str) -> Option<String> {
    let text = visible(text);
    let mut at = 0;
    while let Some(found) = text[at..].find(|c: char| c.is_ascii_digit()) {
        let start = at + found;
        let length = text[start..]
            .find(|c: char| !c.is_ascii_digit() && c != ',' && c != '.')
            .unwrap_or(text.len() - start);
        let number = text[start..start + length].trim_end_matches(['.', ',']);
        at = start + number.len().max(1);
        let before = text[..start].chars().next_back();
        // In `v0`, `2^20`, `sm_90` and `H200`, the number is part of a name or a power.
        if before.is_some_and(|c| {
            c.is_alphanumeric() || c == '^' || c == '_' || c == '-' && name_before(&text[..start])
        }) {
            continue;
        }
        let after = &text[at..];
        if grouped(number) || unit(after) || factor(after) {
            let end = after.char_indices().nth(14).map_or(after.len(), |(index, _)| index);
            return Some(format!("{number}{}", after[..end].replace('\n', " ")));
        }
    }
    None
}

/// Returns whether a hyphen joins two words, as in `L2-1`, and is therefore not a minus sign.
fn name_before(text: &str) -> bool {
    text.trim_end_matches('-').chars().next_back().is_some_and(char::is_alphanumeric)
}

fn grouped(number: &str) -> bool {
    let mut groups = number.split(',');
    let first = groups.next().unwrap_or_default();
    let rest: Vec<&str> = groups.collect();
    // A number of up to four digits, such as 2,048, is a size.
    let large = rest.len() > 1 || first.len() > 1;
    (1..=3).contains(&first.len())
        && large
        && !rest.is_empty()
        && rest.iter().all(|g| g.len() == 3 && g.bytes().all(|b| b.is_ascii_digit()))
}

fn unit(after: &str) -> bool {
    // `2s` is twice the variable s.
    if after.starts_with('s') {
        return false;
    }
    let after = after.trim_start_matches([' ', '\u{a0}', '\u{202f}', '\n']);
    UNITS.iter().any(|unit| {
        after
            .strip_prefix(unit)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// Returns whether a number is a factor, as in `2.4×`, `2.4 × the` and `3 times as fast`, but not
/// in `32 × 4` or `32 × n`.
fn factor(after: &str) -> bool {
    let bare = after.trim_start_matches([' ', '\u{a0}', '\n']);
    if let Some(rest) = bare.strip_prefix('×') {
        let next = rest.trim_start_matches([' ', '\u{a0}']);
        let word: String = next.chars().take_while(|c| c.is_alphanumeric()).collect();
        let product =
            next.starts_with(|c: char| c.is_ascii_digit() || c == '(') || word.chars().count() == 1;
        return !product;
    }
    let Some(rest) = bare.strip_prefix("times ") else { return false };
    let word: String = rest.chars().take_while(|c| c.is_alphabetic()).collect();
    FACTORS.contains(&word.as_str())
}

/// Removes link targets and HTML tags.
fn visible(text: &str) -> String {
    // A link definition has the form `[name]: address`, on a line of its own.
    let defines =
        |line: &&str| line.starts_with('[') && !line.starts_with("[^") && line.contains("]: ");
    let text: String = text.split_inclusive('\n').filter(|line| !defines(line)).collect();
    let text = text.as_str();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = rest.find("](").into_iter().chain(rest.find('<')).min() {
        let (open, close) = if rest[found..].starts_with('<') { (1, '>') } else { (2, ')') };
        out += &rest[..found];
        let inner = &rest[found + open..];
        let is_tag = open == 2
            || inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        match inner.find(close).filter(|_| is_tag) {
            Some(end) => rest = &inner[end + 1..],
            None => {
                out += &rest[found..found + open];
                rest = inner;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_looking_numbers_are_found() {
        for text in [
            "It takes 12.4 µs.",
            "takes 5 ms",
            "1675 GB/s",
            "about 35 % of peak",
            "35% of",
            "2.4× the instructions",
            "2.4 × the instructions",
            "it is 3 times as fast",
            "3 times faster",
            "counts 1,556,480 loads",
            "(0.5 s)",
            "at 1980 MHz",
        ] {
            assert!(measured(text).is_some(), "{text}");
        }
    }

    #[test]
    fn arithmetic_is_not_found() {
        for text in [
            "32 lanes × 32 banks",
            "a product 32 × 4 and 2 × n",
            "2^20 elements, 256 threads, 4 bytes, 60 MB of L2",
            "in 2006, v0-naive, sm_90, an H200",
            "three times as fast",
            "runs 5 times in a row",
            "[a link](https://example.org/5%20ms/1,000,000)",
            "<td title=\"5 ms\">",
            "1, 2, 3 and 100, 200",
            "5 steps of 2,048 threads",
            "2s − 1 and 2 × (4·2 + 1)",
            "tid % 2 == 0, if 5 < 6",
        ] {
            assert_eq!(measured(text), None, "{text}");
        }
    }
}
