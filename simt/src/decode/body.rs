//! Decodes the statements of a body: declarations, and instructions with their source lines.

use super::{Decoder, Mods};
use crate::ParseError;
use crate::inst::{Inst, NOWHERE, Op};
use crate::parse::ast::{self, Stmt};

/// Limit on the instructions of an entry, including those of the functions that it calls.
const MOST_INSTS: usize = 1 << 18;

impl<'a> Decoder<'_, 'a> {
    /// Decodes a whole body.
    pub(super) fn body(&mut self, body: &[Stmt<'a>]) {
        let Decoder { names, errors, lines, .. } = self;
        names.enter_body(body, &mut |offset, message| errors.push(lines.error(offset, message)));
        for stmt in body {
            match stmt {
                Stmt::Open => self.names.open(),
                Stmt::Close => self.names.close(),
                Stmt::Loc(loc) => self.set_source(loc),
                Stmt::Bad(error) => self.report(error.clone()),
                Stmt::Label(name, _) => self.names.set_label(name, self.code.insts.len() as u32),
                Stmt::Reg { ty, names, offset } => {
                    if let Err(message) = self.names.declare_registers(ty, names) {
                        self.fail(*offset, message);
                    }
                }
                Stmt::Var(var) => {
                    if let Err(message) = self.names.declare_var(var) {
                        self.fail(var.offset, message);
                    }
                }
                Stmt::Inst(inst) if Mods::split(inst.opcode).0 == "call" => {
                    if let Err(message) = self.call(inst) {
                        self.fail(inst.offset, message);
                    }
                }
                Stmt::Inst(inst) => {
                    let decoded = self.guard(inst).and_then(|guard| {
                        let op = self.op(inst)?;
                        Ok(Inst { op, guard, join: NOWHERE })
                    });
                    match decoded {
                        Ok(decoded) => self.emit(inst, decoded),
                        Err(message) => {
                            self.fail(inst.offset, format!("`{}` {message}", inst.opcode));
                            self.emit(inst, Inst { op: Op::Nop, guard: None, join: NOWHERE });
                        }
                    }
                }
            }
        }
        self.names.leave_body();
    }

    /// Sets the source of the following instructions.
    fn set_source(&mut self, loc: &ast::Loc) {
        let (file, line) = loc.within;
        self.source_line = loc.line;
        // Code that the compiler itself adds has line 0.
        let found = self.text.files.iter().find(|(number, ..)| *number == file && line != 0);
        // A function of the toolkit, such as a shuffle, has the line of its caller.
        let named = found.filter(|(_, _, installed)| loc.line == 0 || loc.foreign && !installed);
        self.included = named.map(|(_, name, _)| format!("line {line} of `{name}`").into());
    }

    /// Adds an instruction with its source line.
    pub(super) fn emit(&mut self, inst: &ast::Inst<'_>, decoded: Inst) {
        if self.is_too_long() {
            return;
        }
        if self.code.insts.len() + 1 == MOST_INSTS {
            let message =
                format!("the entry has more than {MOST_INSTS} instructions, including its calls");
            self.fail(inst.offset, message);
        }
        self.code.insts.push(decoded);
        self.code.lines.push(self.source_line);
        self.code.included.push(self.included.clone());
        self.code.ptx_lines.push(self.lines.place(inst.offset).0);
        self.code.texts.push(inst.text.split_whitespace().collect::<Vec<_>>().join(" "));
    }

    /// Returns whether the limit on instructions has been reached; if so, the error has already
    /// been reported.
    pub(super) fn is_too_long(&self) -> bool {
        self.code.insts.len() == MOST_INSTS
    }

    fn fail(&mut self, offset: usize, message: impl Into<String>) {
        self.report(self.lines.error(offset, message));
    }

    /// Adds an error only once, even if the function that contains the error is called twice.
    fn report(&mut self, error: ParseError) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}
