//! Decodes direct calls. A function is inlined at each call. A call to a function that the driver
//! provides (`printf`, `assert`) becomes one instruction.

use super::moves::copy;
use super::names::{Symbol, register_type};
use super::{Decoded, Decoder, as_src};
use crate::inst::{Dst, Host, HostCall, Inst, NOWHERE, Op, Slot, Src, Ty, Window};
use crate::parse::ast::{self, Operand, Param};

/// A function that is being inlined.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    /// The label after the inlined body, to which `ret` jumps.
    pub(super) end: u32,
}

/// Limit on nested calls.
const DEEPEST: usize = 32;

impl<'a> Decoder<'_, 'a> {
    /// Decodes `call (result), name, (arguments);`.
    pub(super) fn call(&mut self, inst: &ast::Inst<'a>) -> Decoded<()> {
        let (results, name, args): (&[_], _, &[_]) = match inst.operands.as_slice() {
            [Operand::Name(name)] => (&[], *name, &[]),
            [Operand::Name(name), Operand::List(args)] => (&[], *name, args),
            [Operand::List(results), Operand::Name(name)] => (results, *name, &[]),
            [Operand::List(results), Operand::Name(name), Operand::List(args)] => {
                (results, *name, args)
            }
            _ => {
                return Err(
                    "a call through a function pointer cannot be run: call the function by \
                             its name"
                        .into(),
                );
            }
        };
        let (line, included) = (self.source_line, self.included.clone());
        let place = if line == 0 { String::new() } else { format!(" at source line {line}") };
        let func = self.text.funcs.iter().find(|f| f.name == name);
        let shown = crate::symbol::plain(name);
        let (Some(func), false) = (func, self.names.find(name).is_some()) else {
            return Err(format!(
                "the call to `{shown}`{place} cannot be run: this module defines no such function, \
                 and function pointers are not supported"
            ));
        };
        let into = self.slots(results, &func.returns, shown)?;
        let from = self.slots(args, &func.params, shown)?;
        let guard = self.guard(inst)?;
        let Some(body) = &func.body else {
            let slots = |all: Vec<Option<Slot>>| all.into_iter().collect::<Option<Vec<_>>>();
            let (host, args, results) = match (name, slots(from), slots(into)) {
                ("vprintf", Some(args), Some(results)) if args.len() == 2 => {
                    (Host::Print, args, results)
                }
                ("__assertfail", Some(args), Some(results)) if args.len() == 5 => {
                    (Host::Assert, args, results)
                }
                _ => return Err(no_such_host(shown, &place)),
            };
            let op = Op::Host(Box::new(HostCall { host, args, result: results.first().copied() }));
            self.emit(inst, Inst { op, guard, join: NOWHERE });
            return Ok(());
        };
        if self.calls.iter().any(|call| call.name == name) {
            return Err(format!(
                "the call to `{shown}`{place} cannot be run: the function calls itself, and the \
                 interpreter has no stack; write a loop instead"
            ));
        }
        if self.is_too_long() {
            return Ok(());
        }
        if self.calls.len() == DEEPEST {
            return Err(format!(
                "the call to `{shown}`{place} cannot be run: calls are nested deeper than {DEEPEST}"
            ));
        }
        let (end, after) = (self.names.new_label(), self.names.new_label());
        // The call itself is an instruction; lanes whose guard is false jump over the inlined body.
        let op = match guard {
            None => Op::Nop,
            Some(_) => Op::Branch(after),
        };
        self.emit(inst, Inst { op, guard: guard.map(|(p, not)| (p, !not)), join: NOWHERE });
        // The function has its own registers, so each register is copied.
        let wrong = |message: String| format!("the call to `{shown}`{place}: an operand {message}");
        let (mut symbols, mut copies) = (Vec::new(), Vec::new());
        for (param, (slot, given)) in func.params.iter().zip(from.iter().zip(args)) {
            let (symbol, register) = self.parameter(param, *slot)?;
            if let Some((dst, ty)) = register {
                let op = self.copy_of(given, dst, ty).map_err(wrong)?;
                self.emit(inst, Inst { op, guard: None, join: NOWHERE });
            }
            symbols.push((param.name, symbol));
        }
        for (param, (slot, given)) in func.returns.iter().zip(into.iter().zip(results)) {
            let (symbol, register) = self.parameter(param, *slot)?;
            if let Some((own, ty)) = register {
                let dst = self.dst(given, ty.bits()).map_err(wrong)?;
                copies.push(copy(as_src(own), dst, ty));
            }
            symbols.push((param.name, symbol));
        }
        self.names.enter_function();
        for (name, symbol) in symbols {
            self.names.bind(name, symbol);
        }
        self.calls.push(Call { name: func.name, end });
        self.body(body);
        self.calls.pop();
        self.names.leave_function();
        self.names.put_label(end, self.code.insts.len() as u32);
        (self.source_line, self.included) = (line, included);
        for op in copies {
            self.emit(inst, Inst { op, guard: None, join: NOWHERE });
        }
        self.names.put_label(after, self.code.insts.len() as u32);
        Ok(())
    }

    /// Returns the meaning of a parameter's name in the function. If the parameter is a register,
    /// reserves it, and also returns the register and its type.
    fn parameter(
        &mut self,
        param: &Param<'_>,
        slot: Option<Slot>,
    ) -> Decoded<(Symbol, Option<(Dst, Ty)>)> {
        if let Some(slot) = slot {
            return Ok((Symbol::Address(Src::Imm(slot.offset.into()), Window::Local), None));
        }
        let ty = register_type(param.register.unwrap_or_default())?;
        let dst = self.names.new_registers(ty.bits(), 1)?;
        Ok((Symbol::Reg { bits: ty.bits(), dst }, Some((dst, ty))))
    }

    /// Returns the address of each argument or result; `None` if the parameter is a register.
    fn slots(
        &self,
        given: &[Operand<'_>],
        takes: &[Param<'_>],
        name: &str,
    ) -> Decoded<Vec<Option<Slot>>> {
        if given.len() != takes.len() {
            return Err(format!(
                "the call to `{name}` passes {} values, but the function takes {}",
                given.len(),
                takes.len()
            ));
        }
        let slot = |(given, takes): (&Operand<'_>, &Param<'_>)| match given {
            _ if takes.register.is_some() => Ok(None),
            Operand::Name(name) => match self.names.find(name) {
                Some(Symbol::Address(Src::Imm(offset), Window::Local)) => {
                    let bytes = self.names.local_bytes(offset);
                    if bytes < u64::from(takes.bytes) {
                        return Err(format!(
                            "`{name}` has {bytes} bytes, but the parameter has {}",
                            takes.bytes
                        ));
                    }
                    Ok(Some(Slot { offset: offset as u32, bytes: takes.bytes }))
                }
                _ => Err(format!(
                    "`{name}` cannot be passed: only `.param` variables of the body can be passed"
                )),
            },
            _ => Err("an argument that is not a `.param` variable cannot be passed".into()),
        };
        given.iter().zip(takes).map(slot).collect()
    }
}

/// Returns the error for a function that the interpreter does not provide.
fn no_such_host(name: &str, place: &str) -> String {
    let instead = match name {
        "malloc" | "free" => {
            "there is no device heap; pass the kernel a buffer from the host instead"
        }
        "vprintf" | "__assertfail" => "its parameters differ from those in NVIDIA's declaration",
        _ if name.starts_with("cudaCG") => {
            "cooperative launches are not supported; launch one kernel for each phase instead"
        }
        _ => "this module only declares the function; define it in the same file",
    };
    format!("the call to `{name}`{place} cannot be run: {instead}")
}
