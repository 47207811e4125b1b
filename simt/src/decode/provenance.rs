//! Finds the shared array to which each address belongs, so that accesses are checked against the
//! bounds of that array.
//!
//! A register may point into an array if, on some path, its contents are computed from a value that
//! may point into that array. If a register may point into several arrays, an access may lie
//! anywhere from the start of the first array to the end of the last. A value from memory or from
//! another lane counts as a number, not as a pointer.

use rustc_hash::FxHashMap;

use crate::flow::{Reg, Table, read, written};
use crate::inst::{Bounds, Dst, Op, Src};
use crate::kernel::{Kernel, SharedVar};

/// A set of arrays, with one bit for each array. The 64th array and all later arrays share the last
/// bit, and have no bounds.
type Arrays = u64;

/// Sets the bounds of every access whose array is known. `mentions` lists the arrays that
/// instructions mention by name.
pub(super) fn set_bounds(kernel: &mut Kernel, vars: &[SharedVar], mentions: &[(u32, u32)]) {
    if vars.is_empty() {
        return;
    }
    let mut named: FxHashMap<u32, Arrays> = FxHashMap::default();
    for (pc, offset) in mentions {
        for (i, _) in vars.iter().enumerate().filter(|(_, var)| var.offset == *offset) {
            *named.entry(*pc).or_default() |= 1 << i.min(63);
        }
    }
    let mut found: FxHashMap<Reg, Arrays> = FxHashMap::default();
    let mut readers = Table::default();
    for (pc, inst) in kernel.insts.iter().enumerate() {
        for reg in pointers(&inst.op).1.iter().filter_map(|src| read(*src)) {
            readers.push(reg, pc as u32);
        }
    }
    let mut work: Vec<u32> = named.keys().copied().collect();
    while let Some(pc) = work.pop() {
        let Some(inst) = kernel.insts.get(pc as usize) else { continue };
        let (dsts, srcs) = pointers(&inst.op);
        let of = |src: &Src| read(*src).and_then(|reg| found.get(&reg)).copied().unwrap_or(0);
        let mut arrays = srcs.iter().fold(0, |all, src| all | of(src));
        arrays |= named.get(&pc).copied().unwrap_or(0);
        for reg in dsts.iter().filter_map(|dst| written(*dst)) {
            let old = found.entry(reg).or_default();
            if *old | arrays != *old {
                *old |= arrays;
                work.extend(readers.of(reg));
            }
        }
    }
    for (pc, inst) in kernel.insts.iter_mut().enumerate() {
        let memory = match &mut inst.op {
            Op::Load { memory, .. } | Op::Store { memory, .. } => memory,
            Op::Atomic(atom) => &mut atom.memory,
            _ => continue,
        };
        let arrays = match memory.addr.base {
            base @ (Src::W(_) | Src::D(_)) => read(base).and_then(|reg| found.get(&reg)).copied(),
            _ => named.get(&(pc as u32)).copied(),
        };
        let arrays = arrays.unwrap_or(0);
        memory.bounds = bounds(vars, arrays);
    }
}

/// Returns the registers into which an instruction may put a pointer, and the operands from which
/// it computes the pointer.
fn pointers(op: &Op) -> (&[Dst], &[Src]) {
    use std::slice::from_ref;
    match op {
        Op::Alu { dst, src, .. } => (from_ref(dst), src),
        Op::Pack { dst, parts, .. } => (from_ref(dst), parts),
        Op::Unpack { dsts, src, .. } => (dsts, from_ref(src)),
        Op::Cvta { dst, src, .. } => (from_ref(dst), from_ref(src)),
        Op::Mapa { dst, addr, .. } => (from_ref(dst), from_ref(addr)),
        _ => (&[], &[]),
    }
}

fn bounds(vars: &[SharedVar], arrays: Arrays) -> Bounds {
    let mine = |i: usize| i < 63 && arrays >> i & 1 == 1;
    if arrays == 0 || arrays >> 63 == 1 {
        return Bounds::default();
    }
    let own = || vars.iter().enumerate().filter(|(i, _)| mine(*i)).map(|(_, var)| var);
    Bounds {
        from: own().map(|var| var.offset).min().unwrap_or(0),
        to: own()
            .map(|var| var.bytes.map_or(Bounds::DYNAMIC, |n| var.offset + n))
            .max()
            .unwrap_or(u32::MAX),
    }
}
