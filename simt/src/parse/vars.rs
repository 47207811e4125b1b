//! Parses variables, with their sizes and initial values.

use super::ast::{Var, VarSpace};
use super::lex::Kind;
use super::{DEEPEST, Parsed, Parser};

/// Returns the size of a fundamental type in bytes.
pub(super) fn type_bytes(ty: &str) -> Option<u32> {
    Some(match ty {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        ".b128" => 16,
        _ => return None,
    })
}

/// Limit on the size of a variable in bytes; no state space of any device is larger.
const LARGEST: u64 = 1 << 32;

impl<'a> Parser<'a, '_> {
    /// Parses `.align 4 .b8 name[2][3] = {…}, other;`.
    pub(super) fn vars(
        &mut self,
        space: VarSpace,
        external: bool,
        vars: &mut Vec<Var<'a>>,
    ) -> Parsed<()> {
        let (mut align, mut vector, mut size) = (None, 1, None);
        while self.peek().text.starts_with('.') {
            let token = self.next();
            match token.text {
                ".align" => align = Some(self.alignment()?),
                ".v2" => vector = 2,
                ".v4" => vector = 4,
                // Attributes only mark managed memory, which the interpreter treats like any other
                // memory.
                ".attribute" => {
                    self.expect('(')?;
                    while !self.eat(')') {
                        if self.next().kind == Kind::End {
                            return self.fail(token, "the `)` of the attribute");
                        }
                    }
                }
                word => match type_bytes(word) {
                    Some(bytes) => size = Some(bytes),
                    None => return self.fail(token, "a type"),
                },
            }
        }
        let Some(size) = size else { return self.fail(self.peek(), "a type") };
        loop {
            let offset = self.peek().offset;
            let name = self.word("the name of a variable")?;
            let mut bytes = u64::from(size) * vector;
            let mut open = false;
            while self.eat('[') {
                if self.eat(']') {
                    open = true;
                    continue;
                }
                let token = self.peek();
                let count = self.int()?;
                self.expect(']')?;
                bytes = match u64::try_from(count).ok().and_then(|n| bytes.checked_mul(n)) {
                    Some(bytes) if bytes <= LARGEST => bytes,
                    _ => return self.fail(token, "an array of at most 4 GiB"),
                };
            }
            let (mut init, mut addresses) = (Vec::new(), Vec::new());
            if self.eat('=') {
                self.initial(size, &mut init, &mut addresses)?;
            }
            if open {
                bytes = init.len() as u64;
            }
            if init.len() as u64 > bytes {
                return Err(self
                    .lines
                    .error(offset, format!("`{name}` has more initial values than elements")));
            }
            let align = align.unwrap_or(size * vector as u32);
            vars.push(Var { name, space, align, bytes, external, init, addresses, offset });
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')
    }

    fn initial(
        &mut self,
        size: u32,
        out: &mut Vec<u8>,
        addresses: &mut Vec<(usize, &'a str, i64)>,
    ) -> Parsed<()> {
        if self.eat('{') {
            self.depth += 1;
            if self.depth > DEEPEST {
                return self.fail(self.peek(), "fewer nested braces");
            }
            while !self.eat('}') {
                self.initial(size, out, addresses)?;
                if !self.is('}') {
                    self.expect(',')?;
                }
            }
            self.depth -= 1;
            return Ok(());
        }
        let negative = self.eat('-');
        let token = self.next();
        let bits = match token.kind {
            Kind::Int(v) if negative => v.wrapping_neg(),
            Kind::Int(v) => v,
            Kind::F32(v) => u64::from(v) ^ u64::from(negative) << 31,
            Kind::F64(v) => v ^ u64::from(negative) << 63,
            // Addresses of global variables are generic already.
            Kind::Word if size == 8 && !negative => {
                let generic = token.text == "generic" && self.eat('(');
                let name = if generic { self.word("a variable")? } else { token.text };
                if generic {
                    self.expect(')')?;
                }
                addresses.push((out.len(), name, self.offset()?));
                0
            }
            _ => return self.fail(token, "a number, or a variable's name in an 8-byte element"),
        };
        let bytes = u128::from(bits).to_le_bytes();
        out.extend_from_slice(&bytes[..size as usize]);
        Ok(())
    }
}
