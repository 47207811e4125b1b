//! Removes comments from a source, so that editing a comment does not change a stamp.

/// The start of the only comment that the compiler crate reads; see [`Unit::of_kernel`].
///
/// [`Unit::of_kernel`]: crate::Unit::of_kernel
pub(crate) const NEEDS: &str = "// Needs compute_";

/// Removes the comments from a CUDA source. The remaining source compiles to the same PTX: line
/// breaks are kept, and each `/* */` is replaced by as many spaces, so line and column numbers do
/// not change. Strings, including inline PTX, are kept, and so are lines that begin with `// Needs
/// compute_` or `#include`.
pub(crate) fn without_comments(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while !rest.is_empty() {
        let starts_line = code.is_empty() || code.ends_with('\n');
        let kept = whole(rest, starts_line);
        if kept > 0 {
            code.push_str(&rest[..kept]);
            rest = &rest[kept..];
        } else if rest.starts_with("//") {
            let end = spliced_line(rest);
            code.truncate(code.trim_end_matches([' ', '\t']).len());
            if code.ends_with('\\') {
                // If the line now ends with a backslash, add a space, because the backslash would
                // join two lines.
                code.push(' ');
            }
            code.extend(rest[..end].matches('\n'));
            rest = &rest[end..];
        } else {
            let end = rest[2..].find("*/").map_or(rest.len(), |at| at + 4);
            code.extend(rest[..end].chars().map(|c| if c == '\n' { c } else { ' ' }));
            rest = &rest[end..];
        }
    }
    code
}

/// Returns the length in bytes of the token at the start of `rest`; 0 if it is a comment.
fn whole(rest: &str, starts_line: bool) -> usize {
    if starts_line && (rest.starts_with(NEEDS) || rest.starts_with("#include")) {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("//") || rest.starts_with("/*") {
        return 0;
    }
    let first = rest.chars().next().expect("the caller checked that the rest is not empty");
    match first {
        '"' | '\'' => literal(rest, first),
        _ if first.is_ascii_digit() => number(rest),
        _ if is_name(first) => {
            let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            match (&rest[..name], &rest[name..]) {
                ("R" | "LR" | "uR" | "UR" | "u8R", text) if text.starts_with('"') => {
                    name + raw_string(text)
                }
                _ => name,
            }
        }
        _ => first.len_utf8(),
    }
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Returns the length of a number, including the apostrophes between its digits.
fn number(rest: &str) -> usize {
    let mut length = 0;
    for (at, c) in rest.char_indices() {
        let separates = c == '\'' && rest[at + 1..].starts_with(is_name);
        if !is_name(c) && !separates {
            break;
        }
        length = at + c.len_utf8();
    }
    length
}

/// Returns the length of a string or character literal. An unclosed literal ends with its line.
fn literal(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a raw string, starting with its quotation mark: `"name( … )name"`.
fn raw_string(rest: &str) -> usize {
    let Some((name, text)) = rest[1..].split_once('(') else { return rest.len() };
    let end = format!("){name}\"");
    text.find(&end).map_or(rest.len(), |at| 1 + name.len() + 1 + at + end.len())
}

/// Returns the length of a line without its line ending, including the lines that a backslash joins
/// to it.
fn spliced_line(rest: &str) -> usize {
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        let text = line.trim_end_matches(['\n', '\r']);
        if !text.ends_with('\\') {
            return length + text.len();
        }
        length += line.len();
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_go_and_line_breaks_stay() {
        for (source, code) in [
            ("", ""),
            ("// Head.\nint a;  // why\n", "\nint a;\n"),
            ("int a; // last", "int a;"),
            ("a /* b\n c */ d", "a     \n      d"),
            ("a /* open", "a        "),
            ("a / b; c /d; //e", "a / b; c /d;"),
            // A backslash continues a line comment, and a comment that is removed must not continue
            // a line.
            ("// a \\\n b\nc", "\n\nc"),
            ("#define A \\ // b\nc", "#define A \\ \nc"),
            ("/// doc\n//! doc\n//\n", "\n\n\n"),
        ] {
            assert_eq!(without_comments(source), code, "{source}");
        }
    }

    #[test]
    fn strings_stay_whole() {
        for source in [
            "asm(\"mov.u32 %0, 2; // the slider\" : \"=r\"(a));",
            "\"/* no comment */\"",
            "\"a \\\" // still inside\"",
            "'\"' + '\\'' + '/'",
            "u8'\"'",
            "1'000'000",
            "R\"(a \" // b)\" R\"x(// )\" )x\"",
            "u8R\"(// a)\"",
            "\"a \\\n // b\"",
            "#include <a//b>\n",
            "// Needs compute_70: acquire and release.\n",
        ] {
            assert_eq!(without_comments(source), source);
        }
        // An apostrophe in a number does not start a literal, and an unclosed literal ends with its
        // line.
        assert_eq!(without_comments("0x1'f // a\n'"), "0x1'f\n'");
        assert_eq!(without_comments("#error don't // a\nb // c"), "#error don't // a\nb");
    }
}
