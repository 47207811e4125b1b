//! Recovers the names in the source from mangled names.

/// Demangles a name of a function or variable: `_ZZ6reduceE6shared` becomes `shared`, and
/// `_Z6reducePKfPfm` becomes `reduce`. Any other name is returned unchanged.
pub(crate) fn plain(name: &str) -> &str {
    if let Some(rest) = name.strip_prefix("_ZZ") {
        // The mangled name consists of the scope, `E`, and the variable. A number after the
        // variable distinguishes equal names.
        let last = rest.char_indices().rev().filter(|(_, c)| *c == 'E');
        return last.filter_map(|(at, _)| counted(&rest[at + 1..])).next().unwrap_or(name);
    }
    match name.strip_prefix("_ZN") {
        // The last part of a nested name is used: `_ZN3foo3barEv` becomes `bar`.
        Some(mut rest) => {
            let mut found = name;
            while let Some(part) = counted(rest) {
                found = part;
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
                rest = &rest[digits + part.len()..];
            }
            found
        }
        None => name.strip_prefix("_Z").and_then(counted).unwrap_or(name),
    }
}

/// Reads a name that begins with its length, such as `6shared…`.
fn counted(text: &str) -> Option<&str> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = text[..digits].parse().ok()?;
    text[digits..].get(..length).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_mangled_name_is_read() {
        for (mangled, name) in [
            ("_ZZ6reduceE6shared", "shared"),
            ("_ZZ6reduceE6shared_0", "shared"),
            ("_ZZ9Easy_EastPKfE4rows", "rows"),
            ("_Z6reducePKfPfm", "reduce"),
            ("_ZN3foo3barEv", "bar"),
            ("reduce", "reduce"),
            ("_Z99short", "_Z99short"),
            ("_ZZE", "_ZZE"),
            ("_Zé", "_Zé"),
        ] {
            assert_eq!(plain(mangled), name);
        }
    }
}
