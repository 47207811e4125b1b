//! Splits a chapter into text, code, maths and directives. Code is left unchanged.

/// A part of a chapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// Markdown text.
    Text(&'a str),
    /// A fenced block that starts at the margin, as its info string and its lines.
    Fence(&'a str, &'a str),
    /// A code span, a fence inside a list or quote, or an HTML comment, which is copied unchanged.
    Opaque(&'a str),
    /// LaTeX, and whether it is on lines of its own.
    Maths(&'a str, bool),
    /// A directive, as the text between `{{` and `}}`.
    Directive(&'a str),
}

/// A part, and the number of its first line, counting from 1.
pub(crate) type Placed<'a> = (usize, Part<'a>);

/// Splits a chapter into its parts.
pub(crate) fn split(text: &str) -> Vec<Placed<'_>> {
    let mut parts = Vec::new();
    let (mut at, mut start, mut line) = (0, 0, 1);
    while at < text.len() {
        let at_line_start = at == 0 || text.as_bytes()[at - 1] == b'\n';
        let found = if at_line_start { fence(&text[at..]) } else { None };
        let Some((part, length)) = found.or_else(|| inline(text, at)) else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        push_text(&mut parts, &mut line, &text[start..at]);
        parts.push((line, part));
        line += text[at..at + length].matches('\n').count();
        at += length;
        start = at;
    }
    push_text(&mut parts, &mut line, &text[start..]);
    parts
}

fn push_text<'a>(parts: &mut Vec<Placed<'a>>, line: &mut usize, text: &'a str) {
    if !text.is_empty() {
        parts.push((*line, Part::Text(text)));
        *line += text.matches('\n').count();
    }
}

/// Parses a fenced block at the start of a line, and returns its length.
fn fence(text: &str) -> Option<(Part<'_>, usize)> {
    let first = text.lines().next()?;
    let bare = first.trim_start_matches([' ', '>']);
    let mark = bare.chars().next().filter(|c| *c == '`' || *c == '~')?;
    let count = bare.chars().take_while(|c| *c == mark).count();
    let info = bare[count..].trim();
    if count < 3 || info.contains('`') {
        return None;
    }
    let body = (first.len() + 1).min(text.len());
    let mut end = body;
    for line in text[body..].split_inclusive('\n') {
        let bare = line.trim_start_matches([' ', '>']).trim_end();
        let closes = bare.len() >= count && bare.chars().all(|c| c == mark);
        end += line.len();
        if closes {
            let part = match bare.len() == line.trim_end().len() && first.starts_with(mark) {
                true => Part::Fence(info, &text[body..end - line.len()]),
                false => Part::Opaque(&text[..end]),
            };
            return Some((part, end));
        }
    }
    Some((Part::Opaque(text), text.len()))
}

/// Parses the part that begins at this byte in the middle of a line, and returns its length.
fn inline(text: &str, at: usize) -> Option<(Part<'_>, usize)> {
    let rest = &text[at..];
    // An inline part does not extend beyond its paragraph.
    let paragraph = &rest[..rest.find("\n\n").unwrap_or(rest.len())];
    let escaped = at > 0 && text.as_bytes()[at - 1] == b'\\';
    match rest.as_bytes()[0] {
        b'`' => {
            let count = rest.bytes().take_while(|b| *b == b'`').count();
            let mut from = count;
            while let Some(found) = paragraph[from..].find('`') {
                let run = paragraph[from + found..].bytes().take_while(|b| *b == b'`').count();
                from += found + run;
                if run == count {
                    return Some((Part::Opaque(&rest[..from]), from));
                }
            }
            Some((Part::Text(&rest[..count]), count))
        }
        b'{' if rest.starts_with("{{") => {
            let end = paragraph.find("}}")?;
            Some((Part::Directive(rest[2..end].trim()), end + 2))
        }
        b'<' if rest.starts_with("<!--") => {
            let end = rest.find("-->")? + 3;
            Some((Part::Opaque(&rest[..end]), end))
        }
        b'$' if escaped => None,
        b'$' if rest.starts_with("$$") => {
            let end = rest[2..].find("$$")? + 2;
            Some((Part::Maths(rest[2..end].trim(), true), end + 2))
        }
        b'$' => {
            let end = paragraph[1..].find('$')? + 1;
            let body = &paragraph[1..end];
            let tight = !body.is_empty() && body.trim() == body;
            tight.then_some((Part::Maths(body, false), end + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<Part<'_>> {
        split(text).into_iter().map(|(_, part)| part).collect()
    }

    #[test]
    fn code_is_left_as_it_is() {
        assert_eq!(
            parts("a `{{x}}` b\n```cpp\n{{y}} $1$\n```\n{{num z}} 5"),
            [
                Part::Text("a "),
                Part::Opaque("`{{x}}`"),
                Part::Text(" b\n"),
                Part::Fence("cpp", "{{y}} $1$\n"),
                Part::Directive("num z"),
                Part::Text(" 5"),
            ]
        );
    }

    #[test]
    fn a_fence_in_a_list_stays_markdown() {
        let text = "- a\n\n  ```\n  {{x}}\n  ```\nb";
        assert!(matches!(parts(text)[1], Part::Opaque(_)), "{:?}", parts(text));
    }

    #[test]
    fn maths_and_money_are_distinguished() {
        assert_eq!(
            parts("$a+b$ or \\$5, 5 $ and 6 $ $$\nx\n$$"),
            [
                Part::Maths("a+b", false),
                Part::Text(" or \\$5, 5 $ and 6 $ "),
                Part::Maths("x", true),
            ]
        );
    }

    #[test]
    fn lines_are_counted() {
        let lines: Vec<usize> =
            split("a\n\n```\nx\n```\n{{y}}\n\n`z`").iter().map(|p| p.0).collect();
        assert_eq!(lines, [1, 3, 6, 6, 8]);
    }
}
