//! Parses bodies: declarations, labels, instructions and their operands.

use super::ast::{Base, Inst, Loc, Operand, Stmt, VarSpace};
use super::lex::Kind;
use super::{DEEPEST, Parsed, Parser};

impl<'a> Parser<'a, '_> {
    pub(super) fn body(&mut self, body: &mut Vec<Stmt<'a>>) -> Parsed<()> {
        self.expect('{')?;
        let mut depth = 1u32;
        loop {
            if self.eat('{') {
                depth += 1;
                body.push(Stmt::Open);
            } else if self.eat('}') {
                depth -= 1;
                if depth == 0 {
                    return Ok(());
                }
                body.push(Stmt::Close);
            } else if !self.eat(';')
                && let Err(error) = self.statement(body)
            {
                // If the invalid statement has an end, parsing continues, and the error affects
                // only this body.
                if !self.skip_statement() {
                    return Err(error);
                }
                body.push(Stmt::Bad(error));
            }
        }
    }

    /// Skips to the end of an invalid statement; returns whether the statement has an end.
    fn skip_statement(&mut self) -> bool {
        self.depth = 0;
        while !self.is('}') && !self.eat(';') {
            if self.next().kind == Kind::End {
                return false;
            }
        }
        true
    }

    fn statement(&mut self, body: &mut Vec<Stmt<'a>>) -> Parsed<()> {
        let token = self.peek();
        match (token.kind, token.text) {
            (Kind::Word, ".loc") => {
                self.next();
                body.push(Stmt::Loc(self.loc()?));
            }
            (Kind::Word, ".reg") => {
                self.next();
                let ty = self.word("a type")?;
                body.push(self.reg(ty, token.offset)?);
            }
            (Kind::Word, ".pragma") => self.skip_to_semicolon()?,
            (Kind::Word, ".file") => {
                self.next();
                self.file()?;
            }
            (Kind::Word, ".shared" | ".local" | ".global" | ".const" | ".param") => {
                self.next();
                let space = match token.text {
                    ".shared" => VarSpace::Shared,
                    ".local" => VarSpace::Local,
                    ".const" => VarSpace::Const,
                    ".param" => VarSpace::Param,
                    _ => VarSpace::Global,
                };
                let mut vars = Vec::new();
                self.vars(space, false, &mut vars)?;
                // Global and constant variables belong to the module, but a body may declare them.
                match space {
                    VarSpace::Global | VarSpace::Const => self.inner.extend(vars),
                    _ => body.extend(vars.into_iter().map(Stmt::Var)),
                }
            }
            (Kind::Word, word @ (".callprototype" | ".calltargets")) => {
                return Err(self.lines.error(
                    token.offset,
                    format!(
                        "`{word}` cannot be run: it declares calls through function pointers; \
                         call the function by its name"
                    ),
                ));
            }
            (Kind::Word, word) if word.starts_with('.') => {
                return Err(self
                    .lines
                    .error(token.offset, format!("directive `{word}` is not supported")));
            }
            (Kind::Word, word) if self.tokens[self.at + 1].kind == Kind::Mark(':') => {
                self.at += 2;
                body.push(Stmt::Label(word, token.offset));
            }
            (Kind::Word, _) | (Kind::Mark('@'), _) => body.push(Stmt::Inst(self.inst()?)),
            _ => return self.fail(token, "a statement"),
        }
        Ok(())
    }

    /// Parses `.loc file line column[, function_name label[+n], inlined_at file line column]…`. The
    /// caller may be inlined too; in this case, the caller's own `.loc` comes first.
    fn loc(&mut self) -> Parsed<Loc> {
        let within @ (file, line, _) = self.position()?;
        let mut found = (file == self.file).then_some(line);
        while self.eat(',') {
            match self.word("`function_name` or `inlined_at`")? {
                "inlined_at" => {
                    let caller @ (file, line, _) = self.position()?;
                    let own = (file == self.file).then_some(line);
                    found = found.or(own).or_else(|| self.callers.get(&key(caller)).copied());
                    if let Some(line) = found {
                        self.callers.insert(key(within), line);
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
        let foreign = file != self.file;
        Ok(Loc { line: found.unwrap_or(0), within: (file, line), foreign })
    }

    /// Parses a file, a line and a column.
    fn position(&mut self) -> Parsed<(i64, u32, i64)> {
        Ok((self.int()?, self.small()?, self.int()?))
    }

    fn reg(&mut self, ty: &'a str, offset: usize) -> Parsed<Stmt<'a>> {
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
            Kind::Mark('(') => {
                let mut parts = Vec::new();
                while !self.eat(')') {
                    let token = self.peek();
                    if matches!(token.kind, Kind::Mark(_)) && !self.is('-') {
                        return self.fail(token, "an argument");
                    }
                    parts.push(self.single()?);
                    if !self.is(')') {
                        self.expect(',')?;
                    }
                }
                Ok(Operand::List(parts))
            }
            _ => self.fail(token, "an operand"),
        }
    }

    /// Parses all `+n` and `-n` that follow, and returns their sum.
    pub(super) fn offset(&mut self) -> Parsed<i64> {
        let mut sum = 0i64;
        loop {
            // `int` parses the minus as part of the number.
            if self.eat('+') || self.is('-') {
                sum = sum.wrapping_add(self.int()?);
            } else {
                return Ok(sum);
            }
        }
    }
}

/// Converts a position to a map key whose type another map also uses, so that the map's code is
/// compiled only once.
fn key((file, line, column): (i64, u32, i64)) -> (u64, u64) {
    ((file as u64) << 32 | u64::from(line), column as u64)
}
