//! Parses entries and functions: their names, parameters and limits.

use super::ast::{Entry, Func, Param, Text};
use super::lex::Kind;
use super::{Parsed, Parser, vars};

impl<'a> Parser<'a, '_> {
    pub(super) fn entry(&mut self) -> Parsed<Entry<'a>> {
        let offset = self.peek().offset;
        let name = self.word("the name of the entry")?;
        let params = self.params(false)?;
        let mut entry = Entry {
            name,
            offset,
            params,
            body: Vec::new(),
            maxnreg: None,
            reqntid: None,
            maxntid: None,
            minnctapersm: None,
            cluster: None,
        };
        while !self.is('{') {
            let token = self.next();
            match token.text {
                ".maxntid" => entry.maxntid = Some(self.triple()?),
                ".reqntid" => entry.reqntid = Some(self.triple()?),
                ".reqnctapercluster" => entry.cluster = Some(self.triple()?),
                ".maxnreg" => entry.maxnreg = Some(self.small()?),
                ".minnctapersm" => entry.minnctapersm = Some(self.small()?),
                ".maxnctapersm" | ".maxclusterrank" => {
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

    /// Parses `.func (.param .b32 out) name (.reg .b64 in) { … }`, or `;` in place of the body.
    pub(super) fn func(&mut self, module: &mut Text<'a>) -> Parsed<()> {
        let returns = self.params(true)?;
        let offset = self.peek().offset;
        let name = self.word("the name of the function")?;
        let params = self.params(true)?;
        let mut body = None;
        loop {
            let token = self.next();
            match (token.kind, token.text) {
                (Kind::Mark(';'), _) => break,
                (Kind::Word, ".noreturn") => {}
                (Kind::Word, ".pragma") => self.skip_to_semicolon()?,
                (Kind::Mark('{'), _) => {
                    self.at -= 1;
                    self.body(body.insert(Vec::new()))?;
                    break;
                }
                _ => return self.fail(token, "the body of the function"),
            }
        }
        let func = Func { name, offset, returns, params, body };
        match module.funcs.iter_mut().find(|f| f.name == name) {
            None => module.funcs.push(func),
            Some(first) if first.body.is_none() => *first = func,
            Some(first) if func.body.is_some() => {
                let first = first.offset;
                return Err(super::twice(self.lines, "function", name, first, offset));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Parses an optional list of parameters in parentheses. Only the parameters of functions may
    /// be registers.
    fn params(&mut self, registers: bool) -> Parsed<Vec<Param<'a>>> {
        let mut params = Vec::new();
        if self.eat('(') && !self.eat(')') {
            loop {
                params.push(match registers && self.eat_word(".reg") {
                    true => self.register()?,
                    false => self.param()?,
                });
                if self.eat(')') {
                    break;
                }
                self.expect(',')?;
            }
        }
        Ok(params)
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

    /// Parses the part after `.reg` in `.reg .u32 name`.
    fn register(&mut self) -> Parsed<Param<'a>> {
        let register = Some(self.word("a type")?);
        let name = self.word("the name of the parameter")?;
        Ok(Param { name, register, align: 0, bytes: 0 })
    }

    /// Parses `.param .u64 .ptr .global .align 4 name` or `.param .align 8 .b8 name[16]`.
    fn param(&mut self) -> Parsed<Param<'a>> {
        if !self.eat_word(".param") {
            return self.fail(self.peek(), "`.param`");
        }
        let (mut align, mut size) = (None, None);
        loop {
            let token = self.peek();
            let word = self.word("the name of the parameter")?;
            match word {
                // The alignment after `.ptr` is that of the memory that the pointer points to.
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
                            _ => return self.fail(token, "a parameter of at most 32764 bytes"),
                        };
                    }
                    return Ok(Param { name, register: None, align, bytes });
                }
            }
        }
    }

    pub(super) fn alignment(&mut self) -> Parsed<u32> {
        let token = self.peek();
        let align = self.small()?;
        if align.is_power_of_two() && align <= 1 << 20 {
            Ok(align)
        } else {
            self.fail(token, "an alignment: a power of two")
        }
    }
}
