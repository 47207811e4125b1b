//! PTX text to syntax tree.

pub(crate) mod ast;
mod lex;
mod vars;

use ast::{Base, Entry, Inst, Operand, Param, Stmt, Text, VarSpace};
pub(crate) use lex::Lines;
use lex::{Kind, Token, lex};

use crate::ParseError;

type Parsed<T> = Result<T, ParseError>;

/// Parses a whole module.
pub(crate) fn parse<'a>(text: &'a str, lines: &Lines) -> Parsed<Text<'a>> {
    let tokens = lex(text, lines)?;
    let mut parser = Parser { text, lines, tokens, at: 0, depth: 0 };
    parser.module()
}

/// Vectors and initialisers may nest so far: enough for any PTX, and no stack overflow.
const DEEPEST: u32 = 64;

struct Parser<'a, 'l> {
    text: &'a str,
    lines: &'l Lines,
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: u32,
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
            "the end of the text".to_string()
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
            _ => self.fail(token, "a whole number"),
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
                (Kind::Word, ".version") => {
                    self.next();
                }
                (Kind::Word, ".target") => {
                    module.target = self.word("a target such as sm_60")?;
                    while self.eat(',') {
                        self.word("a target option")?;
                    }
                }
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
                    module.entries.push(entry);
                }
                (Kind::Word, ".func") => {
                    return Err(self
                        .lines
                        .error(token.offset, "functions (`.func`) cannot be run: only entries"));
                }
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
            _ => self.fail(token, "`.shared`: nothing else can be external"),
        }
    }

    /// `.file 1 "name", time, size`
    fn file(&mut self) -> Parsed<()> {
        self.int()?;
        self.next();
        while self.eat(',') {
            self.int()?;
        }
        Ok(())
    }

    /// Debug sections are of no use here: skipped whole.
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

    fn entry(&mut self) -> Parsed<Entry<'a>> {
        let name = self.word("the name of the entry")?;
        let mut params = Vec::new();
        if self.eat('(') && !self.eat(')') {
            loop {
                params.push(self.param()?);
                if self.eat(')') {
                    break;
                }
                self.expect(',')?;
            }
        }
        let mut entry =
            Entry { name, params, body: Vec::new(), reqntid: None, maxntid: None, cluster: None };
        while !self.is('{') {
            let token = self.next();
            match token.text {
                ".maxntid" => entry.maxntid = Some(self.triple()?),
                ".reqntid" => entry.reqntid = Some(self.triple()?),
                ".reqnctapercluster" => entry.cluster = Some(self.triple()?),
                ".minnctapersm" | ".maxnctapersm" | ".maxnreg" | ".maxclusterrank" => {
                    self.int()?;
                }
                ".explicitcluster" | ".blocksareclusters" | ".noreturn" => {}
                ".pragma" => self.skip_to_semicolon()?,
                _ => return self.fail(token, "the body of the entry"),
            }
        }
        self.body(&mut entry.body)?;
        Ok(entry)
    }

    fn triple(&mut self) -> Parsed<[u32; 3]> {
        let mut dims = [1; 3];
        dims[0] = self.small()?;
        for dim in &mut dims[1..] {
            if !self.eat(',') {
                break;
            }
            *dim = self.small()?;
        }
        Ok(dims)
    }

    /// `.param .u64 .ptr .global .align 4 name` or `.param .align 8 .b8 name[16]`
    fn param(&mut self) -> Parsed<Param<'a>> {
        if !self.eat_word(".param") {
            return self.fail(self.peek(), "`.param`");
        }
        let (mut align, mut size) = (None, None);
        loop {
            let token = self.peek();
            let word = self.word("the name of the parameter")?;
            match word {
                // The alignment after `.ptr` is that of what it points to.
                ".ptr" => {
                    while matches!(self.peek().text, ".global" | ".const" | ".shared" | ".local") {
                        self.next();
                    }
                    if self.eat_word(".align") {
                        self.int()?;
                    }
                }
                ".align" => align = Some(self.alignment()?),
                _ if word.starts_with('.') => match vars::type_bytes(word) {
                    Some(bytes) => size = Some(bytes),
                    None => return self.fail(token, "a type"),
                },
                name => {
                    let Some(mut bytes) = size else { return self.fail(token, "a type") };
                    let align = align.unwrap_or(bytes);
                    if self.eat('[') {
                        let token = self.peek();
                        let count = self.small()?;
                        self.expect(']')?;
                        bytes = match bytes.checked_mul(count) {
                            Some(bytes) if bytes <= 32764 => bytes,
                            _ => return self.fail(token, "at most 32764 bytes of parameter"),
                        };
                    }
                    return Ok(Param { name, align, bytes });
                }
            }
        }
    }

    fn alignment(&mut self) -> Parsed<u32> {
        let token = self.peek();
        let align = self.small()?;
        if align.is_power_of_two() && align <= 1 << 20 {
            Ok(align)
        } else {
            self.fail(token, "an alignment: a power of two")
        }
    }

    fn body(&mut self, body: &mut Vec<Stmt<'a>>) -> Parsed<()> {
        self.expect('{')?;
        let mut depth = 1u32;
        loop {
            let token = self.peek();
            match (token.kind, token.text) {
                (Kind::Mark('{'), _) => {
                    self.next();
                    depth += 1;
                    body.push(Stmt::Open);
                }
                (Kind::Mark('}'), _) => {
                    self.next();
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                    body.push(Stmt::Close);
                }
                (Kind::Mark(';'), _) => {
                    self.next();
                }
                (Kind::Word, ".loc") => {
                    self.next();
                    body.push(Stmt::Loc(self.loc()?));
                }
                (Kind::Word, ".reg") => {
                    self.next();
                    body.push(self.reg(token.offset)?);
                }
                (Kind::Word, ".pragma") => self.skip_to_semicolon()?,
                (Kind::Word, ".file") => {
                    self.next();
                    self.file()?;
                }
                (Kind::Word, ".shared" | ".local" | ".global" | ".const") => {
                    self.next();
                    let space = match token.text {
                        ".shared" => VarSpace::Shared,
                        ".local" => VarSpace::Local,
                        ".const" => VarSpace::Const,
                        _ => VarSpace::Global,
                    };
                    let mut vars = Vec::new();
                    self.vars(space, false, &mut vars)?;
                    body.extend(vars.into_iter().map(Stmt::Var));
                }
                (Kind::Word, word) if word.starts_with('.') => {
                    return Err(self
                        .lines
                        .error(token.offset, format!("directive `{word}` cannot be run")));
                }
                (Kind::Word, word) if self.tokens[self.at + 1].kind == Kind::Mark(':') => {
                    self.at += 2;
                    body.push(Stmt::Label(word, token.offset));
                }
                (Kind::Word, _) | (Kind::Mark('@'), _) => body.push(Stmt::Inst(self.inst()?)),
                _ => return self.fail(token, "a statement"),
            }
        }
    }

    /// `.loc file line column[, function_name label[+n], inlined_at file line column]…`: the line
    /// in the first file, where the code itself or a caller that it was inlined into has one.
    fn loc(&mut self) -> Parsed<u32> {
        let (file, line) = (self.int()?, self.small()?);
        self.int()?;
        let mut found = (file == 1).then_some(line);
        while self.eat(',') {
            match self.word("`function_name` or `inlined_at`")? {
                "inlined_at" => {
                    let (file, line) = (self.int()?, self.small()?);
                    self.int()?;
                    if file == 1 {
                        found = found.or(Some(line));
                    }
                }
                _ => {
                    self.word("a label")?;
                    if self.eat('+') {
                        self.int()?;
                    }
                }
            }
        }
        Ok(found.unwrap_or(0))
    }

    fn reg(&mut self, offset: usize) -> Parsed<Stmt<'a>> {
        let ty = self.word("a type")?;
        let mut names = Vec::new();
        loop {
            let name = self.word("a register")?;
            let mut count = None;
            if self.eat('<') {
                count = Some(self.small()?);
                self.expect('>')?;
            }
            names.push((name, count));
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')?;
        Ok(Stmt::Reg { ty, names, offset })
    }

    fn inst(&mut self) -> Parsed<Inst<'a>> {
        let start = self.peek().offset;
        let mut guard = None;
        if self.eat('@') {
            let not = self.eat('!');
            guard = Some((self.word("a predicate")?, not));
        }
        let offset = self.peek().offset;
        let opcode = self.word("an opcode")?;
        let mut operands = Vec::new();
        if !self.is(';') {
            loop {
                operands.push(self.operand()?);
                if !self.eat(',') {
                    break;
                }
            }
        }
        let end = self.peek().offset;
        self.expect(';')?;
        let text = self.text[start..end].trim_end();
        Ok(Inst { offset, guard, opcode, operands, text })
    }

    fn operand(&mut self) -> Parsed<Operand<'a>> {
        let first = self.single()?;
        if self.eat('|') {
            return Ok(Operand::Pair(Box::new(first), Box::new(self.single()?)));
        }
        Ok(first)
    }

    fn single(&mut self) -> Parsed<Operand<'a>> {
        let token = self.next();
        match token.kind {
            Kind::Word => match self.offset()? {
                0 => Ok(Operand::Name(token.text)),
                offset => Ok(Operand::Sum(token.text, offset)),
            },
            Kind::Int(v) => Ok(Operand::Int(v)),
            Kind::F32(v) => Ok(Operand::F32(v)),
            Kind::F64(v) => Ok(Operand::F64(v)),
            Kind::Mark('-') => match self.single()? {
                Operand::Int(v) => Ok(Operand::Int(v.wrapping_neg())),
                Operand::F64(v) => Ok(Operand::F64(v ^ 1 << 63)),
                _ => self.fail(token, "a number after `-`"),
            },
            Kind::Mark('!') => Ok(Operand::Not(self.word("a predicate")?)),
            Kind::Mark('[') => {
                let token = self.peek();
                let base = match token.kind {
                    Kind::Word => {
                        self.next();
                        Base::Name(token.text)
                    }
                    _ => Base::Absolute,
                };
                let offset = match base {
                    Base::Absolute => self.int()?,
                    Base::Name(_) => self.offset()?,
                };
                self.expect(']')?;
                Ok(Operand::Address(base, offset))
            }
            Kind::Mark('{') => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return self.fail(token, "fewer nested braces");
                }
                let mut parts = Vec::new();
                loop {
                    parts.push(self.single()?);
                    if self.eat('}') {
                        break;
                    }
                    self.expect(',')?;
                }
                self.depth -= 1;
                Ok(Operand::Vector(parts))
            }
            _ => self.fail(token, "an operand"),
        }
    }

    /// Any `+n` or `-n` that follows, summed.
    fn offset(&mut self) -> Parsed<i64> {
        let mut sum = 0i64;
        loop {
            // A minus stays, for it belongs to the number.
            if self.eat('+') || self.is('-') {
                sum = sum.wrapping_add(self.int()?);
            } else {
                return Ok(sum);
            }
        }
    }
}
