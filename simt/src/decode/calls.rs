//! Direct calls: a function is spread out where it is called, and what the host of a kernel
//! provides (`printf`, `assert`) is one instruction.

use super::names::Symbol;
use super::{Decoded, Decoder};
use crate::inst::{Host, HostCall, Inst, NOWHERE, Op, Slot, Src, Window};
use crate::parse::ast::{self, Operand, Param};

/// A function that is being spread out.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    /// The label behind it: where `ret` goes.
    pub(super) end: u32,
}

/// Calls within calls.
const DEEPEST: usize = 32;

impl<'a> Decoder<'_, 'a> {
    /// `call (result), name, (arguments);`
    pub(super) fn call(&mut self, inst: &ast::Inst<'a>) -> Decoded<()> {
        let (results, name, args): (&[_], _, &[_]) = match inst.operands.as_slice() {
            [Operand::Name(name)] => (&[], *name, &[]),
            [Operand::Name(name), Operand::List(args)] => (&[], *name, args),
            [Operand::List(results), Operand::Name(name)] => (results, *name, &[]),
            [Operand::List(results), Operand::Name(name), Operand::List(args)] => {
                (results, *name, args)
            }
            _ => {
                return Err("a call through a pointer to a function cannot be run: call the \
                             function by its name"
                    .into());
            }
        };
        let line = self.source_line;
        let place = if line == 0 { String::new() } else { format!(" at source line {line}") };
        let func = self.text.funcs.iter().find(|f| f.name == name);
        let shown = crate::symbol::plain(name);
        let (Some(func), false) = (func, self.names.find(name).is_some()) else {
            return Err(format!(
                "the call of `{shown}`{place} cannot be run: no such function is in this text, \
                 and a pointer to a function is not followed"
            ));
        };
        let results = self.slots(results, &func.returns, shown)?;
        let args = self.slots(args, &func.params, shown)?;
        let guard = self.guard(inst)?;
        let Some(body) = &func.body else {
            let host = match (name, args.len()) {
                ("vprintf", 2) => Host::Print,
                ("__assertfail", 5) => Host::Assert,
                _ => return Err(no_such_host(shown, &place)),
            };
            let op = Op::Host(Box::new(HostCall { host, args, result: results.first().copied() }));
            self.emit(inst, Inst { op, guard, join: NOWHERE });
            return Ok(());
        };
        if self.calls.iter().any(|call| call.name == name) {
            return Err(format!(
                "the call of `{shown}`{place} cannot be run: it calls itself, and there is no \
                 stack here; write it as a loop"
            ));
        }
        if self.is_too_long() {
            return Ok(());
        }
        if self.calls.len() == DEEPEST {
            return Err(format!(
                "the call of `{shown}`{place} cannot be run: calls are nested deeper than {DEEPEST}"
            ));
        }
        let end = self.names.new_label();
        // The call itself is an instruction; lanes whose guard fails pass it by.
        let op = match guard {
            None => Op::Nop,
            Some(_) => Op::Branch(end),
        };
        self.emit(inst, Inst { op, guard: guard.map(|(p, not)| (p, !not)), join: NOWHERE });
        self.names.enter_function();
        for (param, slot) in func.returns.iter().zip(&results).chain(func.params.iter().zip(&args))
        {
            let address = Symbol::Address(Src::Imm(slot.offset.into()), Window::Local);
            self.names.bind(param.name, address);
        }
        self.calls.push(Call { name: func.name, end });
        self.body(body);
        self.calls.pop();
        self.names.leave_function();
        self.names.put_label(end, self.code.insts.len() as u32);
        self.source_line = line;
        Ok(())
    }

    /// Where arguments or results lie, one for each parameter.
    fn slots(&self, given: &[Operand<'_>], takes: &[Param<'_>], name: &str) -> Decoded<Vec<Slot>> {
        if given.len() != takes.len() {
            return Err(format!(
                "the call of `{name}` hands over {} values where it takes {}",
                given.len(),
                takes.len()
            ));
        }
        let slot = |(given, takes): (&Operand<'_>, &Param<'_>)| match given {
            Operand::Name(name) => match self.names.find(name) {
                Some(Symbol::Address(Src::Imm(offset), Window::Local)) => {
                    let bytes = self.names.local_bytes(offset);
                    if bytes < u64::from(takes.bytes) {
                        return Err(format!(
                            "`{name}` has {bytes} bytes, where {} are to be handed over",
                            takes.bytes
                        ));
                    }
                    Ok(Slot { offset: offset as u32, bytes: takes.bytes })
                }
                _ => Err(format!(
                    "`{name}` cannot be handed over: only `.param` variables of the body can"
                )),
            },
            _ => Err("an argument that is no `.param` variable cannot be handed over".into()),
        };
        given.iter().zip(takes).map(slot).collect()
    }
}

/// What a kernel asks of a device that has more than an interpreter has.
fn no_such_host(name: &str, place: &str) -> String {
    let instead = match name {
        "malloc" | "free" => {
            "there is no heap of the device here; give the kernel a buffer of the host instead"
        }
        "vprintf" | "__assertfail" => "it is declared with other parameters than NVIDIA's",
        _ if name.starts_with("cudaCG") => {
            "a cooperative launch is not imitated; launch one kernel for each phase instead"
        }
        _ => "only its declaration is in this text; define it in the same file",
    };
    format!("the call of `{name}`{place} cannot be run: {instead}")
}
