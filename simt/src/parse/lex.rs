//! Splits PTX into words, numbers and marks.

use crate::ParseError;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Identifiers, directives and whole opcodes, including dots and `::`.
    Word,
    /// An integer, with its value.
    Int(u64),
    /// A single-precision float (`0f…`), with its bits.
    F32(u32),
    /// A double-precision float (`0d…` or a decimal fraction), with its bits.
    F64(u64),
    /// A quoted string.
    Text,
    /// Any other character.
    Mark(char),
    /// The end of the PTX.
    End,
}

/// A token with its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) offset: usize,
}

/// Converts offsets to lines and columns.
#[derive(Debug)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn new(text: &str) -> Lines {
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1);
        Lines(std::iter::once(0).chain(newlines).collect())
    }

    /// Returns the line and column of an offset, both counted from 1.
    pub(crate) fn place(&self, offset: usize) -> (u32, u32) {
        let line = self.0.partition_point(|start| *start <= offset);
        (line as u32, (offset - self.0[line - 1]) as u32 + 1)
    }

    pub(crate) fn error(&self, offset: usize, message: impl Into<String>) -> ParseError {
        let (line, column) = self.place(offset);
        ParseError { line, column, message: message.into() }
    }
}

/// Splits PTX into tokens; the last one is [`Kind::End`].
pub(crate) fn lex<'a>(text: &'a str, lines: &Lines) -> Result<Vec<Token<'a>>, ParseError> {
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let mut offset = 0;
    loop {
        let Some(blank) = blank(&text[offset..]) else {
            return Err(lines.error(offset, "this comment has no end"));
        };
        offset += blank;
        let rest = &text[offset..];
        if rest.is_empty() {
            tokens.push(Token { kind: Kind::End, text: "", offset });
            return Ok(tokens);
        }
        let Some((kind, length)) = token(rest) else {
            let found: String = rest.chars().take(16).take_while(|c| !c.is_whitespace()).collect();
            return Err(lines.error(offset, format!("`{found}` is not a PTX word or number")));
        };
        match kind {
            Kind::Word if rest.starts_with('.') => directive(&rest[..length], offset, &mut tokens),
            // The quotes are not part of the text.
            Kind::Text => tokens.push(Token { kind, text: &rest[1..length - 1], offset }),
            _ => tokens.push(Token { kind, text: &rest[..length], offset }),
        }
        offset += length;
    }
}

/// Splits a word into directives, because white space between directives is optional, as in
/// `.param.u64`.
fn directive<'a>(text: &'a str, mut offset: usize, tokens: &mut Vec<Token<'a>>) {
    let mut rest = text;
    while let Some(end) = rest[1..].find('.') {
        let (first, next) = rest.split_at(end + 1);
        tokens.push(Token { kind: Kind::Word, text: first, offset });
        (rest, offset) = (next, offset + first.len());
    }
    tokens.push(Token { kind: Kind::Word, text: rest, offset });
}

/// Returns the length of the white space and the comments at the start of `text`, or `None` if a
/// comment has no end.
fn blank(text: &str) -> Option<usize> {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        rest = if rest.starts_with("//") {
            &rest[rest.find('\n').unwrap_or(rest.len())..]
        } else if let Some(comment) = rest.strip_prefix("/*") {
            &comment[comment.find("*/")? + 2..]
        } else {
            return Some(text.len() - rest.len());
        };
    }
}

/// Returns the kind and the length of the token at the start of `text`, or `None` if there is none.
fn token(text: &str) -> Option<(Kind, usize)> {
    match text.as_bytes()[0] {
        b'0'..=b'9' => number(text),
        b'"' => Some((Kind::Text, text[1..].find('"')? + 2)),
        first if first.is_ascii_alphabetic() || b".%$_".contains(&first) => {
            Some((Kind::Word, word(text.as_bytes())))
        }
        mark if b",;{}()[]<>|!@:+-=*&~".contains(&mark) => Some((Kind::Mark(mark.into()), 1)),
        _ => None,
    }
}

/// Returns the length of a word. A word may contain `::`, but a single colon ends it, because a
/// colon marks a label.
fn word(text: &[u8]) -> usize {
    let inner = |at: usize| {
        text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b".%$_".contains(byte))
    };
    let mut end = 0;
    loop {
        if inner(end) {
            end += 1;
        } else if text[end..].starts_with(b"::") && inner(end + 2) {
            end += 3;
        } else {
            return end;
        }
    }
}

/// Returns the number of digits at the start of `text`.
fn digits(text: &str, radix: u32) -> usize {
    text.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count()
}

fn number(text: &str) -> Option<(Kind, usize)> {
    let hex = |size: usize| {
        let hex = text.get(2..2 + size).filter(|hex| digits(hex, 16) == size)?;
        Some((u64::from_str_radix(hex, 16).ok()?, 2 + size))
    };
    let float = match text.as_bytes() {
        [b'0', b'f' | b'F', ..] => hex(8).map(|(bits, length)| (Kind::F32(bits as u32), length)),
        [b'0', b'd' | b'D', ..] => hex(16).map(|(bits, length)| (Kind::F64(bits), length)),
        _ => fraction(text),
    };
    float.or_else(|| integer(text))
}

/// Reads a decimal fraction, such as `1.5` or `1.5e-3`.
fn fraction(text: &str) -> Option<(Kind, usize)> {
    let whole = digits(text, 10);
    let places = digits(text[whole..].strip_prefix('.')?, 10);
    if places == 0 {
        return None;
    }
    let mut end = whole + 1 + places;
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits(unsigned, 10);
        if count > 0 {
            end += 1 + exponent.len() - unsigned.len() + count;
        }
    }
    let value: f64 = text[..end].parse().ok()?;
    Some((Kind::F64(value.to_bits()), end))
}

/// Reads an integer, which may end in `U`.
fn integer(text: &str) -> Option<(Kind, usize)> {
    let (prefix, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (2, 16),
        [b'0', b'b' | b'B', ..] => (2, 2),
        // A leading zero means octal.
        [b'0', b'0'..=b'9', ..] => (0, 8),
        _ => (0, 10),
    };
    let end = prefix + digits(&text[prefix..], radix);
    let value = u64::from_str_radix(&text[prefix..end], radix).ok()?;
    let unsigned = text[end..].starts_with(['U', 'u']);
    Some((Kind::Int(value), end + usize::from(unsigned)))
}
