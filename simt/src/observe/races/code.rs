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
    let strong = match &kernel.insts[pc as usize].op {
        Op::Load { memory, .. } => memory.order != Order::Weak,
        Op::Atomic(atom) => !atom.unread,
        _ => false,
    };
    strong && round(kernel, pc).is_some()
}

/// Returns whether a weak load polls a word of global memory. A comparison in the loop uses the
/// value.
pub(super) fn polls_weakly(kernel: &Kernel, pc: u32) -> bool {
    let Op::Load { memory, dsts } = &kernel.insts[pc as usize].op else { return false };
    let Some(jump) = round(kernel, pc).filter(|_| memory.order == Order::Weak) else {
        return false;
    };
    let mut from: Vec<Reg> = dsts.iter().filter_map(|dst| written(*dst)).collect();
    (pc + 1..jump).any(|at| {
        let op = &kernel.insts[at as usize].op;
        let mut depends = false;
        op.registers(
            &mut |src, _| depends |= read(src).is_some_and(|reg| from.contains(&reg)),
            &mut |_| {},
        );
        if depends {
            op.registers(&mut |_, _| {}, &mut |dst| from.extend(written(dst)));
        }
        depends && matches!(op, Op::Setp { .. })
    })
}

/// Returns whether a volatile or relaxed load polls a word, in any memory.
pub(super) fn awaits(kernel: &Kernel, pc: u32) -> bool {
    let memory = memory(&kernel.insts[pc as usize]).filter(|memory| memory.order != Order::Weak);
    memory.is_some_and(|memory| turn(kernel, pc, memory).is_some())
}

/// Returns the jump at the end of the loop in which an instruction accesses the same word of global
/// memory again and again.
fn round(kernel: &Kernel, pc: u32) -> Option<u32> {
    let memory = memory(&kernel.insts[pc as usize]).filter(|memory| is_global(memory))?;
    turn(kernel, pc, memory)
}

/// Returns the jump at the end of the loop in which an instruction accesses the same word again and
/// again.
fn turn(kernel: &Kernel, pc: u32, memory: &Memory) -> Option<u32> {
    let jump =
        (pc..).zip(&kernel.insts[pc as usize..]).take(LOOP).find_map(|(at, inst)| match inst.op {
            Op::Branch(start) if start <= pc => Some((start, at)),
            _ => None,
        });
    let (start, jump) = jump?;
    let repeats = (start..jump).all(|at| {
        let op = &kernel.insts[at as usize].op;
        let mut moves = false;
        op.registers(&mut |_, _| {}, &mut |dst| {
            moves |= written(dst).is_some() && written(dst) == read(memory.addr.base);
        });
        let acts = matches!(op, Op::Store { .. } | Op::Atomic(_) | Op::Bar(_) | Op::Sync { .. });
        !moves && (at == pc || !acts)
    });
    repeats.then_some(jump)
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
