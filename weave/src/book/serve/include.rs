//! Refuses kernels that come from a page and could make the compiler open a file, because the
//! compiler's messages could show the contents of the file.

/// Directives that open a file.
const OPEN: [&str; 6] =
    ["include", "include_next", "include_macros", "import", "embed", "__include_macros"];
/// Operators that test for a file, and alternative spellings of directives.
const ASK: [&str; 4] = ["__has_include", "__has_include_next", "__has_embed", "_Pragma"];
/// The pragmas that kernels use.
const PRAGMAS: [&str; 2] = ["unroll", "nounroll"];

/// Returns the reason for the refusal, and the line of the source that caused it.
///
/// The check is stricter than necessary, because compilers differ: such a word after a `#` is
/// refused even in a comment.
pub(super) fn refused(source: &str) -> Option<(usize, String)> {
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if let Some(line) = source.lines().position(|line| line.contains(odd)) {
        return Some((line + 1, "the source has an invisible character: remove it".into()));
    }
    let text = spliced(source);
    for at in 0..text.len() {
        let line = text[at].1;
        let rest = &text[at..];
        if let Some(word) = ASK.into_iter().find(|ask| starts(rest, ask)) {
            return Some((
                line,
                format!("`{word}` is not allowed in a page: compile this kernel with `--kernel`"),
            ));
        }
        let behind = match rest {
            [('#', _), rest @ ..] | [('%', _), (':', _), rest @ ..] => blank(rest),
            _ => continue,
        };
        let word = word(behind);
        if OPEN.contains(&word.as_str())
            || behind.first().is_some_and(|(c, _)| !c.is_ascii() || *c == '\\')
        {
            return Some((
                line,
                format!(
                    "`#{word}` is refused, because a page may not read files: write the declarations here, or compile the kernel with `--kernel`"
                ),
            ));
        }
        if word == "pragma" {
            let which = self::word(blank(&behind[word.len()..]));
            if !PRAGMAS.contains(&which.as_str()) {
                return Some((
                    line,
                    format!("`#pragma {which}` is not allowed in a page: only `#pragma unroll` is"),
                ));
            }
        }
    }
    None
}

/// Returns the characters and their lines as a compiler sees them, with lines spliced and trigraphs
/// replaced.
fn spliced(source: &str) -> Vec<(char, usize)> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = source.replace("??=", "#").replace("??/", "\\");
    let mut text = Vec::new();
    let (mut rest, mut line) = (source.as_str(), 1);
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        if c == '\\'
            && let Some(next) = after.trim_start_matches([' ', '\t']).strip_prefix('\n')
        {
            (rest, line) = (next, line + 1);
            continue;
        }
        text.push((c, line));
        line += usize::from(c == '\n');
        rest = after;
    }
    text
}

/// Skips blanks and comments.
fn blank(mut text: &[(char, usize)]) -> &[(char, usize)] {
    loop {
        text = match text {
            [(' ' | '\t', _), rest @ ..] => rest,
            [('/', _), ('*', _), rest @ ..] => {
                let end = rest.windows(2).position(|two| two[0].0 == '*' && two[1].0 == '/');
                end.map_or(&[], |end| &rest[end + 2..])
            }
            _ => return text,
        }
    }
}

fn word(text: &[(char, usize)]) -> String {
    text.iter().map(|(c, _)| *c).take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

fn starts(text: &[(char, usize)], word: &str) -> bool {
    word.chars().enumerate().all(|(at, c)| text.get(at).is_some_and(|(other, _)| *other == c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_include_is_refused() {
        let spellings = [
            "#include \"/etc/passwd\"",
            "# include </etc/passwd>",
            "  #\tinclude_next <a>",
            "#/* a */include <a>",
            "#/* a\n */ include <a>",
            "%:include <a>",
            "??=include <a>",
            "#inc\\\nlude <a>",
            "#inc\\ \t\nlude <a>",
            "#\\\r\ninclude <a>",
            "#inc??/\nlude <a>",
            "#import <a>",
            "#embed \"a\"",
            "const char* c = R\"(/*)\";\n#include <a>\n/* */",
            "/* \" */ #include <a> /* \" */",
            "#\u{a0}include <a>",
            "#if __has_include(<a>)",
            "#if __has_em\\\nbed(<a>)",
            "_Pragma(\"GCC dependency \\\"a\\\"\")",
            "#pragma GCC dependency \"a\"",
            "#\u{b}include <a>",
            "#\0include <a>",
        ];
        for spelling in spellings {
            let text = format!("int a;\n{spelling}\nint b;\n");
            let (line, said) =
                refused(&text).unwrap_or_else(|| panic!("{spelling:?} goes through"));
            assert!((2..=3).contains(&line) && said.len() > 30, "{spelling:?}: {line}: {said}");
        }
        assert_eq!(refused("int a;\n\n# \\\ninclude <a>").unwrap().0, 3);
    }

    #[test]
    fn all_our_kernels_are_accepted() {
        let mut kernels = xtask::kernels::all().unwrap();
        kernels.extend(xtask::kernels::page().unwrap());
        assert!(kernels.len() > 20);
        for kernel in kernels {
            assert_eq!(refused(&kernel.woven), None, "{}", kernel.name);
        }
        for harmless in ["// see #3", "#define A(x) #x\n#define B(a, b) a ## b", "a % :: b", ""] {
            assert_eq!(refused(harmless), None, "{harmless}");
        }
    }
}
