//! Wraps text into lines that fit a terminal.

/// Wraps, at spaces, each line that is wider than `columns`. Continuation lines have the same
/// indentation. A word that is wider than a line stays whole. Escape sequences for styles take up
/// no columns.
pub fn wrapped(text: &str, columns: usize) -> String {
    text.split('\n').map(|line| wrapped_line(line, columns)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let indent = &line[..line.len() - line.trim_start().len()];
    let mut wrapped = indent.to_owned();
    let mut at = width(indent);
    let mut first = true;
    for word in line.trim_start().split(' ') {
        let wide = width(word);
        if first {
            first = false;
        } else if at + 1 + wide > columns && wide > 0 {
            wrapped = wrapped.trim_end().to_owned() + "\n" + indent;
            at = width(indent);
        } else {
            wrapped.push(' ');
            at += 1;
        }
        wrapped += word;
        at += wide;
    }
    wrapped
}

/// Returns the width of a text in columns: the number of its characters without the escape
/// sequences for styles, such as `ESC [1m`.
fn width(text: &str) -> usize {
    let mut parts = text.split("\x1b[");
    let first = parts.next().map_or(0, |part| part.chars().count());
    let after = |part: &str| part.split_once('m').map_or(0, |(_, rest)| rest.chars().count());
    first + parts.map(after).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_at_spaces_and_keep_their_indentation() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree");
        assert_eq!(wrapped("one two three", 13), "one two three");
        assert_eq!(wrapped("  one two\nabc", 6), "  one\n  two\nabc");
        assert_eq!(wrapped("a considerable word", 6), "a\nconsiderable\nword");
        assert_eq!(wrapped("", 6), "");
        assert_eq!(wrapped("a  b\n\nc\n", 80), "a  b\n\nc\n");
        assert_eq!(wrapped("one two three\n\n  four five", 9), "one two\nthree\n\n  four\n  five");
        assert_eq!(wrapped("  a  b\n", 80), "  a  b\n");
        assert_eq!(wrapped("a word-that-is-too-long b", 9), "a\nword-that-is-too-long\nb");
    }

    #[test]
    fn styles_take_no_columns() {
        assert_eq!(
            wrapped("\x1b[1m\x1b[31merror:\x1b[0m no", 9),
            "\x1b[1m\x1b[31merror:\x1b[0m no"
        );
        assert_eq!(wrapped("\x1b[1merror:\x1b[0m no", 8), "\x1b[1merror:\x1b[0m\nno");
    }
}
