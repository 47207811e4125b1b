//! Splits PTX into words, numbers and marks.

use winnow::ascii::{line_ending, till_line_ending};
use winnow::combinator::{alt, opt, repeat, terminated};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location, Stream};
use winnow::token::{any, one_of, take_till, take_until, take_while};

use crate::ParseError;

type Input<'a> = LocatingSlice<&'a str>;
type Lexed<T> = Result<T, ErrMode<ContextError>>;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Identifiers, directives and whole opcodes, including dots and `::`.
    Word,
    /// The value of an integer.
    Int(u64),
    /// `0f…`: the bits of a float.
    F32(u32),
    /// `0d…` or a decimal fraction: the bits of a double.
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

/// Turns offsets into lines and columns.
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
    let mut input = LocatingSlice::new(text);
    let mut tokens = Vec::with_capacity(text.len() / 4);
    loop {
        let start = input.current_token_start();
        if blank(&mut input).is_err() {
            return Err(lines.error(start, "this comment has no end"));
        }
        let offset = input.current_token_start();
        if input.is_empty() {
            tokens.push(Token { kind: Kind::End, text: "", offset });
            return Ok(tokens);
        }
        match token(&mut input) {
            Ok((kind, text)) => tokens.push(Token { kind, text, offset }),
            Err(_) => {
                let found: String =
                    text[offset..].chars().take(16).take_while(|c| !c.is_whitespace()).collect();
                return Err(lines.error(offset, format!("`{found}` is not a PTX word or number")));
            }
        }
    }
}

/// Skips white space and comments.
fn blank(input: &mut Input<'_>) -> Lexed<()> {
    loop {
        let _ = take_while(0.., |c: char| c.is_whitespace()).parse_next(input)?;
        let rest: &str = input.as_ref();
        if rest.starts_with("//") {
            let _: (&str, Option<&str>) = (till_line_ending, opt(line_ending)).parse_next(input)?;
        } else if rest.starts_with("/*") {
            ("/*", take_until(0.., "*/"), "*/").void().parse_next(input)?;
        } else {
            return Ok(());
        }
    }
}

fn token<'a>(input: &mut Input<'a>) -> Lexed<(Kind, &'a str)> {
    alt((
        number.with_taken(),
        word.with_taken(),
        ('"', take_till(0.., '"'), '"').map(|(_, text, _): (_, &str, _)| (Kind::Text, text)),
        any.map(Kind::Mark)
            .verify(|m| matches!(m, Kind::Mark(c) if ",;{}()[]<>|!@:+-=*&~".contains(*c)))
            .with_taken(),
    ))
    .parse_next(input)
}

/// Reads a word. It may contain `::`, but a single colon ends it, because that marks a label.
fn word(input: &mut Input<'_>) -> Lexed<Kind> {
    let first = |c: char| c.is_ascii_alphabetic() || ".%$_".contains(c);
    let inner = |c: char| c.is_ascii_alphanumeric() || ".%$_".contains(c);
    let _ = one_of(first).parse_next(input)?;
    let more = alt((take_while(1.., inner).void(), ("::", take_while(1.., inner)).void()));
    let () = repeat(0.., more).parse_next(input)?;
    Ok(Kind::Word)
}

fn digits<'a>(input: &mut Input<'a>, radix: u32) -> Lexed<&'a str> {
    take_while(1.., move |c: char| c.is_digit(radix)).parse_next(input)
}

fn number(input: &mut Input<'_>) -> Lexed<Kind> {
    alt((
        ('0', one_of(['f', 'F']), take_while(8, |c: char| c.is_ascii_hexdigit()))
            .verify_map(|(_, _, hex)| u32::from_str_radix(hex, 16).ok().map(Kind::F32)),
        ('0', one_of(['d', 'D']), take_while(16, |c: char| c.is_ascii_hexdigit()))
            .verify_map(|(_, _, hex)| u64::from_str_radix(hex, 16).ok().map(Kind::F64)),
        (
            take_while(1.., |c: char| c.is_ascii_digit()),
            '.',
            take_while(1.., |c: char| c.is_ascii_digit()),
            opt((
                one_of(['e', 'E']),
                opt(one_of(['+', '-'])),
                take_while(1.., |c: char| c.is_ascii_digit()),
            )),
        )
            .take()
            .verify_map(|text: &str| text.parse::<f64>().ok().map(|v| Kind::F64(v.to_bits()))),
        terminated(integer, opt(one_of(['U', 'u']))),
    ))
    .parse_next(input)
}

fn integer(input: &mut Input<'_>) -> Lexed<Kind> {
    let start = input.checkpoint();
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2)] {
        if opt(prefix).parse_next(input)?.is_some() {
            return digit_value(input, radix);
        }
    }
    input.reset(&start);
    // A leading zero means octal.
    let rest: &str = input.as_ref();
    let octal = rest.len() > 1 && rest.starts_with('0') && rest.as_bytes()[1].is_ascii_digit();
    digit_value(input, if octal { 8 } else { 10 })
}

fn digit_value(input: &mut Input<'_>, radix: u32) -> Lexed<Kind> {
    let text = digits(input, radix)?;
    u64::from_str_radix(text, radix)
        .map(Kind::Int)
        .map_err(|_| ErrMode::Backtrack(ContextError::new()))
}
