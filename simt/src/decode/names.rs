//! Resolves names by scope: registers, variables, labels, special registers.

use rustc_hash::{FxHashMap, FxHashSet};

use super::mods::{Decoded, Mods};
use super::special::{is_reserved, special};
use crate::inst::{Dst, Inst, Op, Special, Src, Ty, Window};
use crate::kernel::{Kernel, Param, SharedVar};
use crate::parse::ast::{Base, Entry, Operand, Stmt, Text, Var, VarSpace};

/// The meaning of a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Symbol {
    Reg {
        bits: u32,
        dst: Dst,
    },
    Special(Special),
    /// The address of a variable or parameter, and its window.
    Address(Src, Window),
}

#[derive(Default)]
struct Scope<'a> {
    names: FxHashMap<&'a str, Symbol>,
    /// Families of registers, such as `%r<9>`: for each prefix, the width in bits, the first
    /// register, and the number of registers.
    families: FxHashMap<&'a str, (u32, Dst, u32)>,
    labels: usize,
}

/// Limit on the registers of each width. Real PTX uses fewer registers, and with this limit, the
/// registers of a warp fit in memory.
const MOST: u32 = 1 << 14;
/// Limits in bytes on static shared memory and on a thread's local memory; no device allows this
/// much memory.
const MOST_SHARED: u64 = 1 << 20;
const MOST_LOCAL: u64 = 1 << 16;
/// The maximum total size of an entry's parameters that PTX allows, in bytes.
const MOST_PARAMS: u32 = 32_764;

/// All names of a kernel.
pub(super) struct Names<'a> {
    /// The scopes: first the scope of the module's variables, then the scopes of the entry and of
    /// the functions that it calls.
    scopes: Vec<Scope<'a>>,
    /// The first scope of the entry, and of each function that is being inlined.
    frames: Vec<usize>,
    /// For each scope, in source order, its labels and the index of its parent. The root is its own
    /// parent.
    labels: Vec<(FxHashMap<&'a str, u32>, usize)>,
    /// For each body that is being decoded, its first scope of labels and the number of scopes that
    /// it has opened.
    bodies: Vec<(usize, usize)>,
    /// The index of the instruction after each label, once it is known.
    places: Vec<u32>,
    planes: [u32; 3],
    params: Vec<Param>,
    /// Offsets of the bodies' shared variables, keyed by the variables' positions in the source. A
    /// function's variable exists once, even if the function is called several times.
    placed: FxHashMap<usize, u64>,
    shared_vars: Vec<SharedVar>,
    /// Sizes in bytes of a thread's local variables, keyed by offset.
    locals: FxHashMap<u64, u64>,
    /// The predicate that holds the carry, if one is used.
    carry: Option<u16>,
    shared: u64,
    dynamic: u64,
    local: u64,
    /// Whether an instruction names the system's reserved shared memory.
    reserved: bool,
}

impl<'a> Names<'a> {
    /// Registers the parameters, and the module's variables at their offsets.
    pub(super) fn new(
        text: &Text<'a>,
        entry: &Entry<'a>,
        module_offsets: &[u64],
    ) -> Result<Names<'a>, (usize, String)> {
        let mut names = Names {
            scopes: vec![Scope::default(), Scope::default()],
            frames: vec![1],
            labels: Vec::new(),
            bodies: Vec::new(),
            places: Vec::new(),
            planes: [0; 3],
            params: Vec::new(),
            placed: FxHashMap::default(),
            shared_vars: Vec::new(),
            locals: FxHashMap::default(),
            carry: None,
            shared: 0,
            dynamic: 0,
            local: 0,
            reserved: false,
        };
        let mut end = 0u32;
        for param in &entry.params {
            let offset = end.next_multiple_of(param.align);
            end = offset.saturating_add(param.bytes);
            if end > MOST_PARAMS {
                return Err((
                    0,
                    format!(
                        "entry `{}` has more than {MOST_PARAMS} bytes of parameters",
                        entry.name
                    ),
                ));
            }
            names.params.push(Param { offset, bytes: param.bytes, name: param.name.to_string() });
            names.bind(param.name, Symbol::Address(Src::Imm(offset.into()), Window::Param));
        }
        let bodies = reached(text, &entry.body);
        let used = used_names(&bodies);
        names.reserved = used.iter().any(|name| is_reserved(name));
        for (var, offset) in text.vars.iter().zip(module_offsets) {
            match var.space {
                VarSpace::Global | VarSpace::Const => {
                    let window =
                        if var.space == VarSpace::Global { Window::Global } else { Window::Const };
                    let symbol = Symbol::Address(Src::Special(Special::Module(*offset)), window);
                    names.scopes[0].names.insert(var.name, symbol);
                }
                _ if var.external || !used.contains(var.name) => {}
                _ => {
                    let offset = names.reserve(var).map_err(|m| (var.offset, m))?;
                    let symbol = Symbol::Address(Src::Imm(offset), Window::Shared);
                    names.scopes[0].names.insert(var.name, symbol);
                }
            }
        }
        for stmt in bodies.iter().copied().flatten() {
            if let Stmt::Var(var) = stmt {
                match var.space {
                    VarSpace::Shared => {
                        let offset = names.reserve(var).map_err(|m| (var.offset, m))?;
                        names.placed.insert(var.offset, offset);
                    }
                    VarSpace::Local | VarSpace::Param => {}
                    _ => {
                        let message = format!(
                            "variable `{}`: a body may declare only shared and local variables",
                            var.name
                        );
                        return Err((var.offset, message));
                    }
                }
            }
        }
        // Dynamic shared memory begins where static memory ends. All names of dynamic shared memory
        // share one address.
        let dynamic = text.vars.iter().filter(|v| v.external);
        let align = dynamic.clone().map(|v| v.align).max().unwrap_or(1).max(16);
        names.dynamic = names.shared.next_multiple_of(align.into());
        for var in dynamic {
            let symbol = Symbol::Address(Src::Imm(names.dynamic), Window::Shared);
            names.scopes[0].names.insert(var.name, symbol);
            if used.contains(var.name) {
                names.shared_var(var, names.dynamic);
            }
        }
        Ok(names)
    }

    /// Reserves space for a shared variable, and returns its offset in bytes.
    fn reserve(&mut self, var: &Var<'a>) -> Decoded<u64> {
        no_values(var)?;
        let offset = self.shared.next_multiple_of(var.align.into());
        self.shared = offset + var.bytes;
        self.small_enough(var)?;
        self.shared_var(var, offset);
        Ok(offset)
    }

    fn shared_var(&mut self, var: &Var<'_>, offset: u64) {
        self.shared_vars.push(SharedVar {
            name: crate::symbol::plain(var.name).to_string(),
            offset: offset as u32,
            bytes: (!var.external).then_some(var.bytes as u32),
            align: var.align,
        });
    }

    fn small_enough(&self, var: &Var<'_>) -> Decoded<()> {
        if self.shared > MOST_SHARED || self.local > MOST_LOCAL {
            return Err(format!(
                "variable `{}` makes shared memory larger than 1 MiB or local memory larger than 64 KiB",
                crate::symbol::plain(var.name)
            ));
        }
        Ok(())
    }

    /// Declares a variable of a body.
    pub(super) fn declare_var(&mut self, var: &Var<'a>) -> Decoded<()> {
        no_values(var)?;
        let (offset, window) = match (var.space, self.placed.get(&var.offset)) {
            (VarSpace::Shared, Some(offset)) => (*offset, Window::Shared),
            (VarSpace::Local | VarSpace::Param, _) => {
                let offset = self.local.next_multiple_of(var.align.into());
                self.local = offset + var.bytes;
                self.small_enough(var)?;
                self.locals.insert(offset, var.bytes);
                (offset, Window::Local)
            }
            _ => return Err(format!("variable `{}` cannot be declared here", var.name)),
        };
        self.bind(var.name, Symbol::Address(Src::Imm(offset), window));
        Ok(())
    }

    /// Binds a name until the end of the scope.
    pub(super) fn bind(&mut self, name: &'a str, symbol: Symbol) {
        self.here().names.insert(name, symbol);
    }

    fn here(&mut self) -> &mut Scope<'a> {
        self.scopes.last_mut().expect("the outermost scope stays")
    }

    pub(super) fn declare_registers(
        &mut self,
        ty: &'a str,
        names: &[(&'a str, Option<u32>)],
    ) -> Decoded<()> {
        let bits = register_type(ty)?.bits();
        for (name, count) in names {
            let many = count.unwrap_or(1);
            let dst = self.new_registers(bits, many)?;
            match count {
                Some(_) => {
                    self.here().families.insert(name, (bits, dst, many));
                }
                None => {
                    self.here().names.insert(name, Symbol::Reg { bits, dst });
                }
            }
        }
        Ok(())
    }

    /// Reserves consecutive registers, and returns the first one.
    pub(super) fn new_registers(&mut self, bits: u32, many: u32) -> Decoded<Dst> {
        let plane = match bits {
            1 => 2,
            64 => 1,
            _ => 0,
        };
        let first = self.planes[plane];
        if many > MOST || first + many > MOST {
            return Err(format!("the entry has more than {MOST} registers of {bits} bits"));
        }
        self.planes[plane] += many;
        Ok(match plane {
            2 => Dst::P(first as u16),
            1 => Dst::D(first as u16),
            _ => Dst::W(first as u16),
        })
    }

    /// Returns the size in bytes of the local variable at an offset; 0 if there is none.
    pub(super) fn local_bytes(&self, offset: u64) -> u64 {
        self.locals.get(&offset).copied().unwrap_or(0)
    }

    /// Returns the predicate register for carries.
    pub(super) fn carry_flag(&mut self) -> Decoded<u16> {
        if let Some(flag) = self.carry {
            return Ok(flag);
        }
        let flag = self.planes[2];
        if flag >= MOST {
            return Err(format!("needs more than {MOST} predicates"));
        }
        self.planes[2] += 1;
        self.carry = Some(flag as u16);
        Ok(flag as u16)
    }

    /// Returns the meaning of a name in the innermost scope that defines it.
    pub(super) fn find(&self, name: &str) -> Option<Symbol> {
        let split = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, digits) = name.split_at(split);
        // The module's variables are in scope in a function; the variables of its caller are not.
        let frame = self.frames.last().copied().unwrap_or(0);
        let (outer, inner) = (&self.scopes[..1], &self.scopes[frame..]);
        for scope in inner.iter().rev().chain(outer) {
            if let Some(symbol) = scope.names.get(name) {
                return Some(*symbol);
            }
            if let Some((bits, first, count)) = scope.families.get(prefix)
                && let Ok(n) = digits.parse::<u32>()
                && n < *count
                && (digits.len() == 1 || !digits.starts_with('0'))
            {
                let n = n as u16;
                let dst = match *first {
                    Dst::W(r) => Dst::W(r + n),
                    Dst::D(r) => Dst::D(r + n),
                    Dst::P(r) => Dst::P(r + n),
                    Dst::Sink => Dst::Sink,
                };
                return Some(Symbol::Reg { bits: *bits, dst });
            }
        }
        special(name).map(Symbol::Special)
    }

    pub(super) fn open(&mut self) {
        let mut labels = 0;
        if let Some((first, opened)) = self.bodies.last_mut() {
            *opened += 1;
            labels = *first + *opened;
        }
        self.scopes.push(Scope { labels, ..Scope::default() });
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    /// Opens the scope of a function.
    pub(super) fn enter_function(&mut self) {
        self.frames.push(self.scopes.len());
        self.scopes.push(Scope::default());
    }

    pub(super) fn leave_function(&mut self) {
        self.scopes.truncate(self.frames.pop().unwrap_or(1));
    }

    /// Collects the labels of a body, before the first branch is decoded.
    pub(super) fn enter_body(&mut self, body: &[Stmt<'a>], error: &mut dyn FnMut(usize, String)) {
        let first = self.labels.len();
        self.labels.push((FxHashMap::default(), first));
        let mut scope = first;
        for stmt in body {
            match stmt {
                Stmt::Open => {
                    self.labels.push((FxHashMap::default(), scope));
                    scope = self.labels.len() - 1;
                }
                Stmt::Close => scope = self.labels[scope].1,
                Stmt::Label(name, offset) => {
                    let label = self.new_label();
                    if self.labels[scope].0.insert(name, label).is_some() {
                        error(*offset, format!("label `{name}` is defined twice"));
                    }
                }
                _ => {}
            }
        }
        self.bodies.push((first, 0));
        self.here().labels = first;
    }

    pub(super) fn leave_body(&mut self) {
        self.bodies.pop();
    }

    pub(super) fn new_label(&mut self) -> u32 {
        self.places.push(0);
        self.places.len() as u32 - 1
    }

    /// Places a label before an instruction.
    pub(super) fn put_label(&mut self, label: u32, pc: u32) {
        self.places[label as usize] = pc;
    }

    pub(super) fn set_label(&mut self, name: &str, pc: u32) {
        if let Some(label) = self.label(name) {
            self.put_label(label, pc);
        }
    }

    /// Finds a label by name.
    pub(super) fn label(&self, name: &str) -> Option<u32> {
        let mut scope = self.scopes.last()?.labels;
        loop {
            let (labels, parent) = &self.labels[scope];
            match labels.get(name) {
                Some(label) => return Some(*label),
                None if *parent == scope => return None,
                None => scope = *parent,
            }
        }
    }

    /// Resolves branches, once all labels are placed.
    pub(super) fn place_labels(&self, insts: &mut [Inst]) {
        for inst in insts {
            if let Op::Branch(label) = &mut inst.op {
                *label = self.places[*label as usize];
            }
        }
    }

    pub(super) fn finish(self, kernel: &mut Kernel) {
        kernel.planes = self.planes.map(|n| n as usize);
        kernel.params = self.params;
        kernel.static_shared = self.shared as u32;
        kernel.dynamic_base = self.dynamic as u32;
        kernel.local = self.local as u32;
        kernel.reserved = self.reserved;
        kernel.shared_vars = self.shared_vars;
    }
}

/// Decodes the type of a register, such as `.u32`.
pub(super) fn register_type(ty: &str) -> Decoded<Ty> {
    ty.strip_prefix('.')
        .and_then(Ty::parse)
        .ok_or_else(|| format!("registers of type `{ty}` are not supported"))
}

/// Rejects initial values of shared and local variables.
fn no_values(var: &Var<'_>) -> Decoded<()> {
    match var.init.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "variable `{}` has initial values, which PTX does not permit here",
            var.name
        )),
    }
}

/// Returns a body and the bodies of all functions that it calls, directly or indirectly; each body
/// occurs once.
fn reached<'t, 'a>(text: &'t Text<'a>, body: &'t [Stmt<'a>]) -> Vec<&'t [Stmt<'a>]> {
    let mut bodies = vec![body];
    let mut names = FxHashSet::default();
    let mut next = 0;
    while let Some(body) = bodies.get(next).copied() {
        next += 1;
        for stmt in body {
            let Stmt::Inst(inst) = stmt else { continue };
            if Mods::split(inst.opcode).0 != "call" {
                continue;
            }
            let callee = inst.operands.iter().find_map(|operand| match operand {
                Operand::Name(name) => text.funcs.iter().find(|f| f.name == *name),
                _ => None,
            });
            if let Some(func) = callee
                && let Some(body) = &func.body
                && names.insert(func.name)
            {
                bodies.push(body);
            }
        }
    }
    bodies
}

/// Returns the names that instructions use. Other shared variables belong to other kernels, and
/// take no space.
fn used_names<'a>(bodies: &[&[Stmt<'a>]]) -> FxHashSet<&'a str> {
    let mut used = FxHashSet::default();
    for stmt in bodies.iter().copied().flatten() {
        if let Stmt::Inst(inst) = stmt {
            let inner = inst.operands.iter().flat_map(|operand| match operand {
                Operand::List(parts) => parts.as_slice(),
                one => std::slice::from_ref(one),
            });
            for operand in inner {
                match operand {
                    Operand::Name(name)
                    | Operand::Sum(name, _)
                    | Operand::Address(Base::Name(name), _) => {
                        used.insert(*name);
                    }
                    _ => {}
                }
            }
        }
    }
    used
}
