//! What names stand for: registers, variables, labels, special registers, by scope.

use std::collections::HashMap;

use super::mods::Decoded;
use crate::inst::{Dst, Special, Src, Ty, Window};
use crate::kernel::{Kernel, Param};
use crate::parse::ast::{Base, Entry, Operand, Stmt, Text, Var, VarSpace};

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Symbol {
    Reg {
        bits: u32,
        dst: Dst,
    },
    Special(Special),
    /// A variable or parameter, in its window.
    Address(Src, Window),
}

#[derive(Default)]
struct Scope<'a> {
    names: HashMap<&'a str, Symbol>,
    /// `%r<9>`: prefix to width, first register and count.
    families: HashMap<&'a str, (u32, Dst, u32)>,
    labels: usize,
}

/// Most registers of a width: more than any PTX has, and a warp's planes still fit in memory.
const MOST: u32 = 1 << 14;
/// Bytes of static shared memory, and of a thread's local memory: beyond any device, or any sense.
const MOST_SHARED: u64 = 1 << 20;
const MOST_LOCAL: u64 = 1 << 16;
/// Bytes of parameters that PTX allows.
const MOST_PARAMS: u32 = 32_764;

/// All names of a kernel.
pub(super) struct Names<'a> {
    scopes: Vec<Scope<'a>>,
    /// Labels of each scope, in the order of the text, and its parent.
    labels: Vec<(HashMap<&'a str, u32>, usize)>,
    opened: usize,
    planes: [u32; 3],
    params: Vec<Param>,
    shared: u64,
    dynamic: u64,
    local: u64,
}

impl<'a> Names<'a> {
    /// Parameters, and module variables at their offsets.
    pub(super) fn new(
        text: &Text<'a>,
        entry: &Entry<'a>,
        module_offsets: &[u64],
    ) -> Result<Names<'a>, (usize, String)> {
        let mut names = Names {
            scopes: vec![Scope::default()],
            labels: Vec::new(),
            opened: 0,
            planes: [0; 3],
            params: Vec::new(),
            shared: 0,
            dynamic: 0,
            local: 0,
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
            names.params.push(Param { offset, bytes: param.bytes });
            let symbol = Symbol::Address(Src::Imm(offset.into()), Window::Param);
            names.scopes[0].names.insert(param.name, symbol);
        }
        let used = used_names(&entry.body);
        for (var, offset) in text.vars.iter().zip(module_offsets) {
            match var.space {
                VarSpace::Global | VarSpace::Const => {
                    let window =
                        if var.space == VarSpace::Global { Window::Global } else { Window::Const };
                    let symbol = Symbol::Address(Src::Special(Special::Module(*offset)), window);
                    names.scopes[0].names.insert(var.name, symbol);
                }
                _ if var.external || !used.contains_key(var.name) => {}
                _ => names.declare_var(var).map_err(|m| (var.offset, m))?,
            }
        }
        let before = names.shared;
        for stmt in &entry.body {
            if let Stmt::Var(var) = stmt {
                names.reserve(var).map_err(|m| (var.offset, m))?;
            }
        }
        // Dynamic shared memory begins where static memory ends, one place for all its names.
        let dynamic = text.vars.iter().filter(|v| v.external);
        let align = dynamic.clone().map(|v| v.align).max().unwrap_or(1).max(16);
        let base = names.shared.next_multiple_of(align.into());
        names.shared = before;
        names.dynamic = base;
        for var in dynamic {
            names.scopes[0].names.insert(var.name, Symbol::Address(Src::Imm(base), Window::Shared));
        }
        Ok(names)
    }

    /// Room for a variable of the body, found before dynamic memory is placed.
    fn reserve(&mut self, var: &Var<'a>) -> Decoded<()> {
        match var.space {
            VarSpace::Shared => {
                self.shared = self.shared.next_multiple_of(var.align.into()) + var.bytes
            }
            VarSpace::Local => {}
            _ => {
                return Err(format!(
                    "variable `{}`: only shared and local ones may stand in a body",
                    var.name
                ));
            }
        }
        self.small_enough(var)
    }

    fn small_enough(&self, var: &Var<'_>) -> Decoded<()> {
        if self.shared > MOST_SHARED || self.local > MOST_LOCAL {
            return Err(format!(
                "variable `{}` makes shared memory larger than 1 MiB or local memory larger than 64 KiB",
                var.name
            ));
        }
        Ok(())
    }

    /// Places a variable.
    pub(super) fn declare_var(&mut self, var: &Var<'a>) -> Decoded<()> {
        if !var.init.is_empty() && matches!(var.space, VarSpace::Shared | VarSpace::Local) {
            return Err(format!(
                "variable `{}` has initial values where PTX permits none",
                var.name
            ));
        }
        let align = u64::from(var.align);
        let (end, window) = match var.space {
            VarSpace::Shared => (&mut self.shared, Window::Shared),
            VarSpace::Local => (&mut self.local, Window::Local),
            _ => return Err(format!("variable `{}` cannot stand here", var.name)),
        };
        let offset = end.next_multiple_of(align);
        *end = offset + var.bytes;
        self.small_enough(var)?;
        self.here().names.insert(var.name, Symbol::Address(Src::Imm(offset), window));
        Ok(())
    }

    fn here(&mut self) -> &mut Scope<'a> {
        self.scopes.last_mut().expect("the outermost scope stays")
    }

    pub(super) fn declare_registers(
        &mut self,
        ty: &'a str,
        names: &[(&'a str, Option<u32>)],
    ) -> Decoded<()> {
        let bits = match ty.strip_prefix('.').and_then(Ty::parse) {
            Some(ty) => ty.bits(),
            None => return Err(format!("registers of type `{ty}` cannot be run")),
        };
        for (name, count) in names {
            let many = count.unwrap_or(1);
            let plane = match bits {
                1 => 2,
                64 => 1,
                _ => 0,
            };
            let first = self.planes[plane];
            if many > MOST || first + many > MOST {
                return Err(format!("more than {MOST} registers of {bits} bits"));
            }
            self.planes[plane] += many;
            let dst = match plane {
                2 => Dst::P(first as u16),
                1 => Dst::D(first as u16),
                _ => Dst::W(first as u16),
            };
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

    /// The innermost meaning of a name.
    pub(super) fn find(&self, name: &str) -> Option<Symbol> {
        let split = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, digits) = name.split_at(split);
        for scope in self.scopes.iter().rev() {
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
        self.opened += 1;
        self.scopes.push(Scope { labels: self.opened, ..Scope::default() });
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    /// Notes where each label stands, before the first branch is decoded.
    pub(super) fn find_labels(&mut self, body: &[Stmt<'a>], error: &mut dyn FnMut(usize, String)) {
        self.labels.push((HashMap::new(), 0));
        let (mut scope, mut index) = (0, 0u32);
        for stmt in body {
            match stmt {
                Stmt::Open => {
                    self.labels.push((HashMap::new(), scope));
                    scope = self.labels.len() - 1;
                }
                Stmt::Close => scope = self.labels[scope].1,
                Stmt::Label(name, offset) if self.labels[scope].0.insert(name, index).is_some() => {
                    error(*offset, format!("label `{name}` stands twice"));
                }
                Stmt::Inst(_) => index += 1,
                _ => {}
            }
        }
    }

    /// The instruction that a label stands before.
    pub(super) fn label(&self, name: &str) -> Option<u32> {
        let mut scope = self.scopes.last()?.labels;
        loop {
            let (labels, parent) = &self.labels[scope];
            match labels.get(name) {
                Some(target) => return Some(*target),
                None if scope == 0 => return None,
                None => scope = *parent,
            }
        }
    }

    pub(super) fn finish(self, kernel: &mut Kernel) {
        kernel.planes = self.planes.map(|n| n as usize);
        kernel.params = self.params;
        kernel.static_shared = self.shared as u32;
        kernel.dynamic_base = self.dynamic as u32;
        kernel.local = self.local.next_multiple_of(16) as u32;
    }
}

/// Names that instructions mention: shared variables of other kernels take no room.
fn used_names<'a>(body: &[Stmt<'a>]) -> HashMap<&'a str, ()> {
    let mut used = HashMap::new();
    for stmt in body {
        if let Stmt::Inst(inst) = stmt {
            for operand in &inst.operands {
                match operand {
                    Operand::Name(name)
                    | Operand::Sum(name, _)
                    | Operand::Address(Base::Name(name), _) => {
                        used.insert(*name, ());
                    }
                    _ => {}
                }
            }
        }
    }
    used
}

fn special(name: &str) -> Option<Special> {
    let axis = |text: &str| match text {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((base, tail)) = name.split_once('.') {
        let axis = axis(tail)?;
        return Some(match base {
            "%tid" => Special::Tid(axis),
            "%ntid" => Special::Ntid(axis),
            "%ctaid" => Special::Ctaid(axis),
            "%nctaid" => Special::Nctaid(axis),
            "%clusterid" => Special::ClusterId(axis),
            "%nclusterid" => Special::NClusterId(axis),
            "%cluster_ctaid" => Special::ClusterCtaid(axis),
            "%cluster_nctaid" => Special::ClusterNctaid(axis),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NWarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%gridid" => Special::GridId,
        "%lanemask_eq" => Special::LaneMaskEq,
        "%lanemask_le" => Special::LaneMaskLe,
        "%lanemask_lt" => Special::LaneMaskLt,
        "%lanemask_ge" => Special::LaneMaskGe,
        "%lanemask_gt" => Special::LaneMaskGt,
        "%clock" => Special::Clock,
        "%clock_hi" => Special::ClockHi,
        "%clock64" => Special::Clock64,
        "%globaltimer" => Special::GlobalTimer,
        "%globaltimer_lo" => Special::GlobalTimerLo,
        "%globaltimer_hi" => Special::GlobalTimerHi,
        "%cluster_ctarank" => Special::ClusterCtaRank,
        "%cluster_nctarank" => Special::ClusterNctaRank,
        "%is_explicit_cluster" => Special::IsExplicitCluster,
        "%dynamic_smem_size" => Special::DynamicSmemSize,
        "%total_smem_size" => Special::TotalSmemSize,
        "WARP_SZ" => Special::NWarpSize,
        _ => return None,
    })
}
