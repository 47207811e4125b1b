//! Recovers the names in the source from mangled names.

/// Demangles a name of a function or variable: `_ZZ6reduceE6shared` becomes `shared`,
/// `_ZN3abcL4mineE` becomes `mine`, and `_Z6reducePKfPfm` becomes `reduce`. Any other name is
/// returned unchanged.
pub(crate) fn plain(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("_Z") else { return name };
    if let Some(scope) = rest.strip_prefix('Z') {
        // The mangled name consists of the scope, `E`, and the variable. A number after the
        // variable distinguishes equal names.
        let ends = scope.char_indices().filter(|(_, c)| *c == 'E');
        let variables = ends.filter_map(|(at, _)| counted(&scope[at + 1..]));
        let numbers = |c: char| c.is_ascii_digit() || "_$".contains(c);
        return variables
            .filter(|(_, more)| more.chars().all(numbers))
            .map(|(part, _)| part)
            .next()
            .unwrap_or(name);
    }
    match rest.strip_prefix('N') {
        Some(nested) => last(nested).unwrap_or(name),
        None => counted(rest).map_or(name, |(part, _)| part),
    }
}

/// Returns the last part of a nested name: `3foo3barEv` contains `bar`. Qualifiers of a member
/// function come first, and template arguments follow their template.
fn last(nested: &str) -> Option<&str> {
    let mut rest = nested.trim_start_matches(['r', 'V', 'K']);
    let mut found = None;
    loop {
        if let Some((part, more)) = counted(rest) {
            (found, rest) = (Some(part), more);
        } else if let Some(arguments) = rest.strip_prefix('I') {
            rest = after(arguments)?;
        } else {
            return found;
        }
    }
}

/// Returns the text that follows the `E` of template arguments.
fn after(mut rest: &str) -> Option<&str> {
    let mut open = 1;
    while open > 0 {
        let literal = rest.strip_prefix('L').filter(|_| !rest.starts_with("L_Z"));
        rest = match (literal, counted(rest)) {
            // A literal consists of `L`, its type, its value, and `E`.
            (Some(literal), _) => {
                let value = counted(literal).map_or(literal, |(_, value)| value);
                value.split_once('E')?.1
            }
            (None, Some((_, more))) => more,
            (None, None) => {
                let next = rest.chars().next()?;
                match next {
                    'I' | 'N' | 'L' | 'X' | 'J' | 'F' => open += 1,
                    'E' => open -= 1,
                    _ => {}
                }
                // A substitution or a parameter of the template ends with `_`.
                let more = &rest[next.len_utf8()..];
                let number = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
                match more.split_once('_') {
                    Some((index, last)) if "ST".contains(next) && index.chars().all(number) => last,
                    _ => more,
                }
            }
        };
    }
    Some(rest)
}

/// Reads a name that begins with its length, such as `6shared…`. The name of a static variable or
/// function has the prefix `L`. Returns the name, and the text that follows it.
fn counted(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('L').unwrap_or(text);
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = text[..digits].parse().ok()?;
    let part = text[digits..].get(..length).filter(|part| !part.is_empty())?;
    Some((part, &text[digits + length..]))
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
            ("_ZZ1kE6aE3xyz", "aE3xyz"),
            ("_Z6reducePKfPfm", "reduce"),
            ("_ZN3foo3barEv", "bar"),
            ("reduce", "reduce"),
            ("_Z99short", "_Z99short"),
            ("_ZZE", "_ZZE"),
            ("_Zé", "_Zé"),
            ("_ZN1IIé", "_ZN1IIé"),
            ("_ZN3fooI", "_ZN3fooI"),
        ] {
            assert_eq!(plain(mangled), name);
        }
    }

    /// clang 16 and 19 write these names.
    #[test]
    fn a_name_of_clang_is_read() {
        for (mangled, name) in [
            ("_ZL4mine", "mine"),
            ("_ZL6helperi", "helper"),
            ("_ZN3abcL5mine3E", "mine3"),
            ("_ZN12_GLOBAL__N_15anon2E", "anon2"),
            ("_ZN3abc12_GLOBAL__N_14anonE", "anon"),
            ("_ZN3abcL3tplILi32EEEiPi", "tpl"),
            ("_ZNK1S3getEPKi", "get"),
            ("_ZZL2ttIiET_PKS0_E3inT", "inT"),
            ("_ZZN3abcL3tplILi32EEEiPiE5intpl", "intpl"),
            ("_ZZNK1S3getEPKiE8inmember", "inmember"),
            ("_ZZZL7helper2PKiENKUliE_clEiE3lam", "lam"),
            ("_ZN3FooIN3abc4KindIiEELS0_1ELb1EE3getEv", "get"),
            ("_ZN3FooILi32EXadL_Z3barvEEE5valueE", "value"),
            ("_ZN3FooIL4Kind1ESt4pairIiS0_ET_E3runEv", "run"),
        ] {
            assert_eq!(plain(mangled), name);
        }
    }

    /// NVRTC 12.4 writes these names.
    #[test]
    fn a_name_of_nvrtc_is_read() {
        for (mangled, name) in [
            ("_ZN39_INTERNAL_00000000_9_kernel_cu_832dd16a3abc5mine3E", "mine3"),
            ("_ZZN39_INTERNAL_00000000_9_kernel_cu_832dd16a6helperEiE1h", "h"),
            ("_ZZZ7helper2PKiENKUliE_clEiE3lam", "lam"),
            ("_ZZNK1S3getEPKiE8inmember", "inmember"),
            (
                "_ZN39_INTERNAL_00000000_9_kernel_cu_832dd16a3abc41_GLOBAL__N__00000000_9_kernel_cu_832dd16a4anonE",
                "anon",
            ),
        ] {
            assert_eq!(plain(mangled), name);
        }
    }
}
