//! Finds the shared array of each address, so that accesses are checked against the bounds of that
//! array.
//!
//! A register can point to the array of any value that is computed into it, on any path. If there
//! are several such arrays, an access may lie anywhere from the first to the last. A value from
//! memory or from another lane counts as a number, not as a pointer.

use rustc_hash::FxHashMap;

use crate::inst::{Bounds, Dst, Op, Src};
use crate::kernel::{Kernel, SharedVar};

/// A set of arrays: a bit for each. All arrays from the 64th on share the last bit, and have no
/// bounds.
type Arrays = u64;

/// Sets the bounds of every access whose array is known. `mentions` lists the arrays that
/// instructions name.
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
    let mut found: [FxHashMap<u16, Arrays>; 2] = Default::default();
    loop {
        let mut changed = false;
        for (pc, inst) in kernel.insts.iter().enumerate() {
            let of = |src: &Src| match src {
                Src::W(r) => found[0].get(r).copied().unwrap_or(0),
                Src::D(r) => found[1].get(r).copied().unwrap_or(0),
                _ => 0,
            };
            let (dsts, mut arrays): (&[Dst], Arrays) = match &inst.op {
                Op::Alu { dst, src, .. } => {
                    (std::slice::from_ref(dst), src.iter().fold(0, |all, s| all | of(s)))
                }
                Op::Pack { dst, parts, .. } => {
                    (std::slice::from_ref(dst), parts.iter().fold(0, |all, s| all | of(s)))
                }
                Op::Unpack { dsts, src, .. } => (dsts, of(src)),
                Op::Cvta { dst, src, .. } => (std::slice::from_ref(dst), of(src)),
                Op::Mapa { dst, addr, .. } => (std::slice::from_ref(dst), of(addr)),
                _ => continue,
            };
            arrays |= named.get(&(pc as u32)).copied().unwrap_or(0);
            for dst in dsts.iter().filter(|_| arrays != 0) {
                let (plane, r) = match dst {
                    Dst::W(r) => (0, *r),
                    Dst::D(r) => (1, *r),
                    _ => continue,
                };
                let old = found[plane].entry(r).or_default();
                changed |= *old | arrays != *old;
                *old |= arrays;
            }
        }
        if !changed {
            break;
        }
    }
    for (pc, inst) in kernel.insts.iter_mut().enumerate() {
        let memory = match &mut inst.op {
            Op::Load { memory, .. } | Op::Store { memory, .. } => memory,
            Op::Atomic(atom) => &mut atom.memory,
            _ => continue,
        };
        let arrays = match memory.addr.base {
            Src::W(r) => found[0].get(&r).copied().unwrap_or(0),
            Src::D(r) => found[1].get(&r).copied().unwrap_or(0),
            _ => named.get(&(pc as u32)).copied().unwrap_or(0),
        };
        memory.bounds = bounds(vars, arrays);
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
