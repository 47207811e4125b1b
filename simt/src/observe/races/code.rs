//! Facts about a kernel's instructions, which remedies depend on.

use crate::flow::{Reg, read, written};
use crate::inst::{Inst, Memory, Op, Role, Window};
use crate::kernel::Kernel;
use crate::model::Order;

/// Returns whether a kernel contains an operation.
pub(super) fn has(kernel: &Kernel, is: fn(&Op) -> bool) -> bool {
    kernel.insts.iter().any(|inst| is(&inst.op))
}

/// Returns the memory that an atomic, a load or a store accesses.
pub(super) fn memory(inst: &Inst) -> Option<&Memory> {
    match &inst.op {
        Op::Atomic(atom) => Some(&atom.memory),
        Op::Load { memory, .. } | Op::Store { memory, .. } => Some(memory),
        _ => None,
    }
}

pub(super) fn is_global(memory: &Memory) -> bool {
    matches!(memory.window, Window::Global | Window::Generic)
}

/// Returns whether an instruction polls a word of global memory: it is in a small loop that does not
/// change its address, and that contains no other store, atomic or barrier.
pub(super) fn polls(kernel: &Kernel, pc: u32) -> bool {
    let inst = &kernel.insts[pc as usize];
    let strong = match &inst.op {
        Op::Load { memory, .. } => memory.order != Order::Weak,
        Op::Atomic(atom) => !atom.unread,
        _ => false,
    };
    let Some(memory) = memory(inst).filter(|memory| strong && is_global(memory)) else {
        return false;
    };
    let jump = (pc..)
        .zip(&kernel.insts[pc as usize..])
        .take(LOOP)
        .find_map(|(at, inst)| matches!(inst.op, Op::Branch(start) if start <= pc).then_some(at));
    let Some((Op::Branch(start), jump)) = jump.map(|at| (&kernel.insts[at as usize].op, at)) else {
        return false;
    };
    (*start..jump).all(|at| {
        let op = &kernel.insts[at as usize].op;
        let mut moves = false;
        op.registers(&mut |_, _| {}, &mut |dst| {
            moves |= written(dst).is_some() && written(dst) == read(memory.addr.base);
        });
        let acts = matches!(op, Op::Store { .. } | Op::Atomic(_) | Op::Bar(_) | Op::Sync { .. });
        !moves && (at == pc || !acts)
    })
}

/// The largest distance, in instructions, between a polling access and the end of its loop.
const LOOP: usize = 32;

/// Returns whether the two instructions are the load and the store of one in-place change
/// (`h[i]++`), or are both stores of such a change. A sum of two elements of the array
/// (`a[i] += a[j]`) does not count, because barriers order the threads that compute it.
pub(super) fn changes_in_place(kernel: &Kernel, a: u32, b: u32) -> bool {
    let store = a.max(b);
    let Some(Op::Store { memory, .. }) = kernel.insts.get(store as usize).map(|inst| &inst.op)
    else {
        return false;
    };
    let loads = |pc: u32, same: bool| match &kernel.insts[pc as usize].op {
        Op::Load { memory: read, .. } => {
            read.window == memory.window && (read.addr == memory.addr) == same
        }
        _ => false,
    };
    let first = store.saturating_sub(CHANGE);
    let Some(load) = (first..store).rev().find(|pc| loads(*pc, true)) else { return false };
    (a == b || load == a.min(b))
        && reaches(kernel, load, store, |pc| pc == load)
        && !reaches(kernel, first, store, |pc| loads(pc, false))
}

/// Returns whether a store's value is computed from a result of the instructions for which `source`
/// holds.
fn reaches(kernel: &Kernel, first: u32, store: u32, source: impl Fn(u32) -> bool) -> bool {
    let mut from: Vec<Reg> = Vec::new();
    for pc in first..store {
        let (mut depends, mut dsts) = (source(pc), Vec::new());
        kernel.insts[pc as usize].op.registers(
            &mut |src, role| {
                let used = !matches!(role, Role::Use(_));
                depends |= used && read(src).is_some_and(|reg| from.contains(&reg));
            },
            &mut |dst| dsts.extend(written(dst)),
        );
        from.retain(|reg| !dsts.contains(reg));
        if depends {
            from.extend(dsts);
        }
    }
    let Op::Store { srcs, .. } = &kernel.insts[store as usize].op else { return false };
    srcs.iter().any(|src| read(*src).is_some_and(|reg| from.contains(&reg)))
}

/// The largest distance, in instructions, between the load and the store of an in-place change.
const CHANGE: u32 = 256;
