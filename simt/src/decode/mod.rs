//! Converts the syntax tree to instructions: resolves names to registers and addresses, and opcodes
//! to operations.

mod arith;
mod body;
mod calls;
mod carry;
mod constants;
mod convert;
mod memory;
mod mods;
mod moves;
mod names;
mod provenance;
mod special;
mod sync;
mod target;

use std::cell::RefCell;
use std::sync::Arc;

use crate::ParseError;
use crate::cfg;
use crate::flow;
use crate::inst::{Dst, Inst, NOWHERE, Op, Src, Ty, Window};
use crate::kernel::Kernel;
use crate::parse::Lines;
use crate::parse::ast::{self, Operand, Text};
use calls::Call;
use mods::{Decoded, Mods};
use names::{Names, Symbol};

/// The state of the decoder for one kernel.
pub(super) struct Decoder<'t, 'a> {
    text: &'t Text<'a>,
    lines: &'t Lines,
    names: Names<'a>,
    /// Whether blocks of the grid may communicate.
    interacts: bool,
    /// The instructions that have been decoded, with their source lines.
    code: Kernel,
    /// The line in the kernel's own source file, or 0 if there is none.
    source_line: u32,
    /// The place in an included file, if the code comes from such a file.
    included: Option<Arc<str>>,
    errors: Vec<ParseError>,
    /// Functions that are being inlined, innermost last.
    calls: Vec<Call<'a>>,
    /// For each place where an instruction names a shared variable, the index of the instruction
    /// and the offset of the variable.
    mentions: RefCell<Vec<(u32, u32)>>,
}

/// Decodes an entry. Each unsupported statement is an error; the errors are sorted by line.
pub(crate) fn kernel(
    text: &Text<'_>,
    entry: &ast::Entry<'_>,
    module_offsets: &[u64],
    lines: &Lines,
) -> Result<Kernel, Vec<ParseError>> {
    let names = match Names::new(text, entry, module_offsets) {
        Ok(names) => names,
        Err((offset, message)) => return Err(vec![lines.error(offset, message)]),
    };
    let mut decoder = Decoder {
        text,
        lines,
        names,
        interacts: false,
        code: Kernel { name: entry.name.to_string(), ..Kernel::default() },
        source_line: 0,
        included: None,
        errors: Vec::new(),
        calls: Vec::new(),
        mentions: RefCell::default(),
    };
    decoder.body(&entry.body);
    let Decoder { names, mut code, mut errors, interacts, mentions, .. } = decoder;
    if !errors.is_empty() {
        errors.sort_by_key(|e| (e.line, e.column));
        return Err(errors);
    }
    // An entry that does not end with `ret` exits at its end.
    code.insts.push(Inst { op: Op::Exit, guard: None, join: NOWHERE });
    code.lines.push(0);
    code.included.push(None);
    code.ptx_lines.push(code.ptx_lines.last().copied().unwrap_or(0));
    code.texts.push("ret;".to_string());
    names.place_labels(&mut code.insts);
    cfg::set_joins(&mut code.insts);
    flow::mark_unread(&mut code.insts);
    names.finish(&mut code);
    let vars = code.shared_vars.clone();
    provenance::set_bounds(&mut code, &vars, &mentions.into_inner());
    constants::spread(&mut code);
    code.interacts = interacts;
    code.target = text.target.to_string();
    code.cluster = entry.cluster;
    code.reqntid = entry.reqntid;
    code.maxntid = entry.maxntid;
    code.minnctapersm = entry.minnctapersm;
    code.maxnreg = entry.maxnreg;
    Ok(code)
}

impl<'a> Decoder<'_, 'a> {
    fn guard(&self, inst: &ast::Inst<'_>) -> Decoded<Option<(u16, bool)>> {
        let Some((name, not)) = inst.guard else { return Ok(None) };
        match self.names.find(name) {
            Some(Symbol::Reg { dst: Dst::P(p), .. }) => Ok(Some((p, not))),
            _ => Err(format!("has the guard `{name}`, which is not a predicate")),
        }
    }

    fn op(&mut self, inst: &ast::Inst<'_>) -> Decoded<Op> {
        self.check_target(inst.opcode)?;
        let (base, mut mods) = Mods::split(inst.opcode);
        let operands = inst.operands.as_slice();
        let op = match base {
            "ld" | "ldu" => self.load(&mut mods, operands)?,
            "st" => self.store(&mut mods, operands)?,
            "atom" | "red" => self.atomic(base == "red", &mut mods, operands)?,
            "cvta" => self.cvta(&mut mods, operands)?,
            "isspacep" => self.isspacep(&mut mods, operands)?,
            "mapa" => self.mapa(&mut mods, operands)?,
            "getctarank" => self.getctarank(&mut mods, operands)?,
            "cp" => self.copy(&mut mods, operands)?,
            "createpolicy" => self.createpolicy(&mut mods, operands)?,
            "prefetch" | "prefetchu" | "discard" | "applypriority" => {
                while mods.find(|_| Some(())).is_some() {}
                Op::Nop
            }
            "bra" => {
                mods.take("uni");
                match operands {
                    [Operand::Name(label)] => match self.names.label(label) {
                        Some(target) => Op::Branch(target),
                        None => {
                            return Err(format!(
                                "jumps to `{label}`, which is not a label in scope"
                            ));
                        }
                    },
                    _ => return Err("takes one label".into()),
                }
            }
            "ret" => {
                mods.take("uni");
                self.calls.last().map_or(Op::Exit, |call| Op::Branch(call.end))
            }
            "exit" => Op::Exit,
            "trap" | "brkpt" => Op::Trap,
            "bar" | "barrier" => self.barrier(base == "barrier", &mut mods, operands)?,
            "vote" if !inst.opcode.contains(".sync") => self.vote_of_active(&mut mods, operands)?,
            "shfl" | "vote" | "match" | "redux" | "elect" => {
                self.collective(base, &mut mods, operands)?
            }
            "activemask" => match (mods.ty(), operands) {
                (Some(Ty::B32), [dst]) => Op::ActiveMask(self.dst(dst, 32)?),
                _ => return Err("takes one 32-bit register".into()),
            },
            "membar" | "fence" => self.fence(base == "membar", &mut mods)?,
            "mbarrier" => self.mbarrier(&mut mods, operands)?,
            "griddepcontrol" => {
                if mods.take("wait") {
                    Op::LaunchWait
                } else if mods.take("launch_dependents") {
                    Op::LaunchDependents
                } else {
                    return Err("lacks `.wait` or `.launch_dependents`".into());
                }
            }
            "nanosleep" => {
                mods.ty();
                Op::Nop
            }
            "setmaxnreg" => {
                while mods.find(|_| Some(())).is_some() {}
                Op::Nop
            }
            _ => match self.carry(base, &mut mods, operands)? {
                Some(op) => op,
                None => self.arithmetic(base, &mut mods, operands)?,
            },
        };
        match mods.rest() {
            None => Ok(op),
            Some(part) => Err(format!("cannot be run: `.{part}` is not in the supported subset")),
        }
    }

    /// Records that the current instruction names a shared variable.
    fn mention(&self, src: Src, window: Window) {
        if let (Src::Imm(offset), Window::Shared) = (src, window) {
            self.mentions.borrow_mut().push((self.code.insts.len() as u32, offset as u32));
        }
    }

    /// Decodes a destination of exactly `bits` bits.
    fn dst(&self, operand: &Operand<'_>, bits: u32) -> Decoded<Dst> {
        let Operand::Name(name) = operand else {
            return Err("has a destination that is not a register".into());
        };
        if *name == "_" {
            return Ok(Dst::Sink);
        }
        match self.names.find(name) {
            Some(Symbol::Reg { bits: found, dst }) if found == bits => Ok(dst),
            Some(Symbol::Reg { bits: found, .. }) => {
                Err(format!("needs {bits} bits, but register `{name}` has {found}"))
            }
            _ => Err(format!("writes `{name}`, which is not a register in scope")),
        }
    }

    /// Decodes a destination that may be wider than the value.
    fn wide_dst(&self, operand: &Operand<'_>, bits: u32) -> Decoded<Dst> {
        let Operand::Name(name) = operand else {
            return Err("has a destination that is not a register".into());
        };
        match self.names.find(name) {
            Some(Symbol::Reg { bits: found, dst }) if found >= bits && found > 1 => Ok(dst),
            _ => self.dst(operand, bits),
        }
    }

    /// Decodes a source that is exactly as wide as its type.
    fn src(&self, operand: &Operand<'_>, ty: Ty) -> Decoded<Src> {
        self.source(operand, ty, false)
    }

    /// Decodes a source that may be wider than its type.
    fn wide_src(&self, operand: &Operand<'_>, ty: Ty) -> Decoded<Src> {
        self.source(operand, ty, true)
    }

    fn source(&self, operand: &Operand<'_>, ty: Ty, wider: bool) -> Decoded<Src> {
        match operand {
            Operand::Int(v) if ty.is_float() && !ty.is_packed() && ty.bits() > 16 => {
                Err(format!("has the integer {v} where a float is required"))
            }
            Operand::Int(v) => Ok(Src::Imm(*v)),
            Operand::F32(bits) if ty == Ty::F64 => {
                Ok(Src::Imm(f64::from(f32::from_bits(*bits)).to_bits()))
            }
            Operand::F32(bits) => Ok(Src::Imm(u64::from(*bits))),
            Operand::F64(bits) if ty == Ty::F32 => {
                Ok(Src::Imm(u64::from((f64::from_bits(*bits) as f32).to_bits())))
            }
            Operand::F64(bits) => Ok(Src::Imm(*bits)),
            Operand::Not(name) => match self.names.find(name) {
                Some(Symbol::Reg { dst: Dst::P(p), .. }) if ty == Ty::Pred => Ok(Src::NotP(p)),
                _ => Err(format!("negates `{name}`, which is not a predicate in scope")),
            },
            Operand::Name(name) => match self.names.find(name) {
                Some(Symbol::Reg { bits, dst }) => {
                    let want = ty.bits();
                    if bits != want && !(wider && bits > want && want > 1) {
                        return Err(format!("needs {want} bits, but register `{name}` has {bits}"));
                    }
                    Ok(as_src(dst))
                }
                Some(Symbol::Special(special)) => Ok(Src::Special(special)),
                Some(Symbol::Address(src, window)) if ty.bits() >= 32 => {
                    self.mention(src, window);
                    Ok(src)
                }
                _ => Err(special::unknown(name)),
            },
            Operand::Sum(name, offset) => match self.names.find(name) {
                Some(Symbol::Address(src, window)) => {
                    self.mention(src, window);
                    Ok(plus(src, *offset))
                }
                _ => Err(format!("reads `{name}`, which has no address")),
            },
            _ => Err("has an operand of the wrong kind".into()),
        }
    }
}

/// Converts a destination to a source.
fn as_src(dst: Dst) -> Src {
    match dst {
        Dst::W(r) => Src::W(r),
        Dst::D(r) => Src::D(r),
        Dst::P(r) => Src::P(r),
        Dst::Sink => Src::Imm(0),
    }
}

/// Adds an offset to a constant address; other sources are returned unchanged.
fn plus(src: Src, offset: i64) -> Src {
    use crate::inst::Special;
    match src {
        Src::Imm(v) => Src::Imm(v.wrapping_add_signed(offset)),
        Src::Special(Special::Module(v)) => {
            Src::Special(Special::Module(v.wrapping_add_signed(offset)))
        }
        other => other,
    }
}
