//! Parses PTX into a syntax tree.

pub(crate) mod ast;
mod body;
mod entry;
mod lex;
mod vars;

use ast::{Text, Var, VarSpace};
pub(crate) use lex::Lines;
use lex::{Kind, Token, lex};

use rustc_hash::FxHashMap;

use crate::ParseError;

type Parsed<T> = Result<T, ParseError>;

/// Parses a whole module.
pub(crate) fn parse<'a>(text: &'a str, lines: &Lines) -> Parsed<Text<'a>> {
    let tokens = lex(text, lines)?;
    let files = files(&tokens);
    // Included files may come first.
    let own = files.iter().filter(|(_, name, _)| name.ends_with(".cu"));
    let file = own.map(|(number, ..)| *number).min().unwrap_or(1);
    let (inner, callers) = (Vec::new(), FxHashMap::default());
    let mut parser = Parser { text, lines, tokens, at: 0, depth: 0, inner, file, callers };
    let mut module = Text { files, ..parser.module()? };
    for var in parser.inner {
        if let Some(first) = module.vars.iter().find(|other| other.name == var.name) {
            return Err(twice(lines, "variable", var.name, first.offset, var.offset));
        }
        module.vars.push(var);
    }
    Ok(module)
}

/// Limit on the nesting of vectors and initial values. Real PTX nests less deeply, and the limit
/// keeps the parser from overflowing its stack.
const DEEPEST: u32 = 64;

/// The newest supported major version of PTX. All of its minor versions are accepted, because they
/// only add instructions.
const NEWEST: u32 = 9;

/// The target architectures of PTX, as the numbers after `sm_`.
const TARGETS: &[u32] = &[
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89,
    90, 100, 101, 103, 110, 120, 121,
];

struct Parser<'a, 'l> {
    text: &'a str,
    lines: &'l Lines,
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: u32,
    /// Global and constant variables that bodies declare.
    inner: Vec<Var<'a>>,
    /// The number of the kernel's own file.
    file: i64,
    /// For each position in another file, the line in the kernel's own file from which that code is
    /// called.
    callers: FxHashMap<(u64, u64), u32>,
}

fn twice(lines: &Lines, what: &str, name: &str, first: usize, second: usize) -> ParseError {
    let (line, _) = lines.place(first);
    lines.error(
        second,
        format!("{what} `{name}` is defined twice, first on line {line}: rename one of them"),
    )
}

/// Returns the numbers and names of the source files, which the PTX lists at its end.
fn files<'a>(tokens: &[Token<'a>]) -> Vec<(i64, &'a str, bool)> {
    let file = |three: &[Token<'a>]| match three {
        [a, Token { kind: Kind::Int(number), .. }, c] if a.text == ".file" => {
            let mut parts = c.text.rsplit(['/', '\\']);
            let name = parts.next().unwrap_or(c.text);
            Some((*number as i64, name, parts.any(|folder| folder == "include")))
        }
        _ => None,
    };
    tokens.windows(3).filter_map(file).collect()
}

impl<'a> Parser<'a, '_> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    fn fail<T>(&self, token: Token<'_>, wanted: &str) -> Parsed<T> {
        let found = if token.kind == Kind::End {
            "the end of the file".to_string()
        } else {
            format!("`{}`", token.text)
        };
        Err(self.lines.error(token.offset, format!("expected {wanted}, found {found}")))
    }

    fn is(&self, mark: char) -> bool {
        self.peek().kind == Kind::Mark(mark)
    }

    fn eat(&mut self, mark: char) -> bool {
        let yes = self.is(mark);
        self.at += usize::from(yes);
        yes
    }

    fn expect(&mut self, mark: char) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { self.fail(self.peek(), &format!("`{mark}`")) }
    }

    fn word(&mut self, what: &str) -> Parsed<&'a str> {
        let token = self.next();
        if token.kind == Kind::Word { Ok(token.text) } else { self.fail(token, what) }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let yes = self.peek().kind == Kind::Word && self.peek().text == word;
        self.at += usize::from(yes);
        yes
    }

    fn int(&mut self) -> Parsed<i64> {
        let negative = self.eat('-');
        let token = self.next();
        match token.kind {
            Kind::Int(v) if negative => Ok((v as i64).wrapping_neg()),
            Kind::Int(v) => Ok(v as i64),
            _ => self.fail(token, "an integer"),
        }
    }

    fn small(&mut self) -> Parsed<u32> {
        let token = self.peek();
        let value = self.int()?;
        match u32::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => self.fail(token, "a number below 2^32"),
        }
    }

    fn module(&mut self) -> Parsed<Text<'a>> {
        let mut module = Text::default();
        loop {
            let token = self.next();
            match (token.kind, token.text) {
                (Kind::End, _) => return Ok(module),
                (Kind::Word, ".version") => self.version()?,
                (Kind::Word, ".target") => module.target = self.target()?,
                (Kind::Word, ".address_size") => {
                    let token = self.peek();
                    if self.int()? != 64 {
                        return self.fail(token, "64-bit addresses");
                    }
                }
                (Kind::Word, ".file") => self.file()?,
                (Kind::Word, ".section") => self.section()?,
                (Kind::Word, ".pragma") => self.skip_to_semicolon()?,
                (Kind::Word, ".visible" | ".weak" | ".common") => {}
                (Kind::Word, ".extern") => self.external(&mut module)?,
                (Kind::Word, ".entry") => {
                    let entry = self.entry()?;
                    let same = module.entries.iter().find(|e| e.name == entry.name);
                    if let Some(first) = same {
                        return Err(twice(
                            self.lines,
                            "entry",
                            entry.name,
                            first.offset,
                            entry.offset,
                        ));
                    }
                    module.entries.push(entry);
                }
                (Kind::Word, ".func") => self.func(&mut module)?,
                (Kind::Word, ".global") => self.vars(VarSpace::Global, false, &mut module.vars)?,
                (Kind::Word, ".const") => self.vars(VarSpace::Const, false, &mut module.vars)?,
                (Kind::Word, ".shared") => self.vars(VarSpace::Shared, false, &mut module.vars)?,
                _ => return self.fail(token, "a directive"),
            }
        }
    }

    fn external(&mut self, module: &mut Text<'a>) -> Parsed<()> {
        let token = self.next();
        match token.text {
            ".shared" => self.vars(VarSpace::Shared, true, &mut module.vars),
            ".func" => self.func(module),
            ".global" | ".const" => Err(self.lines.error(
                token.offset,
                "a variable from another file is not supported: define it in this file",
            )),
            _ => self.fail(
                token,
                "`.shared` or `.func`, the only external declarations that are supported",
            ),
        }
    }

    /// Parses `.version 8.4`.
    fn version(&mut self) -> Parsed<()> {
        let token = self.next();
        let major = token.text.split('.').next().and_then(|text| text.parse::<u32>().ok());
        match (token.kind, major) {
            (Kind::F64(_), Some(1..=NEWEST)) => Ok(()),
            (Kind::F64(_), Some(_)) => Err(self.lines.error(
                token.offset,
                format!(
                    "PTX version {} is not supported, but versions up to {NEWEST}.x are: compile with a toolkit that emits one of these",
                    token.text
                ),
            )),
            _ => self.fail(token, "a version such as 8.4"),
        }
    }

    /// Parses `.target sm_90, debug`.
    fn target(&mut self) -> Parsed<&'a str> {
        let token = self.peek();
        let target = self.word("a target such as sm_60")?;
        let number = target.strip_prefix("sm_").map(|n| n.trim_end_matches(['a', 'f']));
        let known = number.and_then(|n| n.parse().ok()).is_some_and(|n| TARGETS.contains(&n));
        if !known {
            return Err(self.lines.error(
                token.offset,
                format!(
                    "the target `{target}` is not supported, but sm_{} to sm_{} are: compile for one of these",
                    TARGETS[0],
                    TARGETS[TARGETS.len() - 1]
                ),
            ));
        }
        while self.eat(',') {
            self.word("a target option")?;
        }
        Ok(target)
    }

    /// Parses `.file 1 "name", time, size`.
    fn file(&mut self) -> Parsed<()> {
        self.int()?;
        self.next();
        while self.eat(',') {
            self.int()?;
        }
        Ok(())
    }

    /// Skips a debug section.
    fn section(&mut self) -> Parsed<()> {
        self.word("the name of a section")?;
        self.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            let token = self.next();
            match token.kind {
                Kind::Mark('{') => depth += 1,
                Kind::Mark('}') => depth -= 1,
                Kind::End => return self.fail(token, "the `}` of a section"),
                _ => {}
            }
        }
        Ok(())
    }

    fn skip_to_semicolon(&mut self) -> Parsed<()> {
        loop {
            let token = self.next();
            match token.kind {
                Kind::Mark(';') => return Ok(()),
                Kind::End => return self.fail(token, "`;`"),
                _ => {}
            }
        }
    }
}
