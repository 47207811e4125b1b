//! Finds the loads whose values are only guesses, which a compare-and-swap confirms.
//!
//! The CUDA C++ programming guide reads a word plainly, and computes a new value from it, before a
//! loop of compare-and-swaps. Other threads' atomics may change the word at the same time. This is a
//! data race, but a harmless one: a wrong guess makes the compare-and-swap fail.

use rustc_hash::FxHashSet;

use crate::flow::{Reg, read, written};
use crate::inst::{Address, Atom, AtomOp, Cmp, Dst, F, Inst, Memory, Op, Src};
use crate::kernel::Kernel;
use crate::model::Order;

/// Returns, for each instruction, whether it is a load whose value is only a guess.
pub(crate) fn of(kernel: &Kernel) -> Vec<bool> {
    (0..kernel.insts.len()).map(|pc| is_guess(kernel, pc)).collect()
}

/// Returns whether the value of a load is only a guess. It may reach the operands of a
/// compare-and-swap on the same word, which must compare the word with this value, and instructions
/// that run only after the compare-and-swap has succeeded.
fn is_guess(kernel: &Kernel, load: usize) -> bool {
    Guess::of(kernel, load).is_some_and(|guess| guess.is_confirmed())
}

/// A load, and the compare-and-swap that follows.
struct Guess<'a> {
    insts: &'a [Inst],
    load: usize,
    swap: usize,
    atom: &'a Atom,
    /// The first and the last instruction of the loop that repeats the compare-and-swap.
    first: usize,
    last: usize,
}

impl<'a> Guess<'a> {
    fn of(kernel: &'a Kernel, load: usize) -> Option<Guess<'a>> {
        let insts = &kernel.insts;
        let Op::Load { memory, dsts } = &insts[load].op else { return None };
        if memory.order != Order::Weak || dsts.len() != 1 {
            return None;
        }
        let swaps = insts.iter().enumerate().skip(load + 1);
        let mut swaps = swaps.filter_map(|(pc, inst)| match &inst.op {
            Op::Atomic(atom) if atom.op == AtomOp::Cas => Some((pc, &**atom)),
            _ => None,
        });
        let (swap, atom) =
            swaps.find(|(pc, atom)| is_same(kernel, (load, memory), (*pc, &atom.memory)))?;
        let mut back = insts.iter().enumerate().skip(swap);
        let (first, last) = back.find_map(|(pc, inst)| match inst.op {
            Op::Branch(target) if target as usize <= swap => Some((target as usize, pc)),
            _ => None,
        })?;
        Some(Guess { insts, load, swap, atom, first, last })
    }

    /// Returns whether all uses of the value are allowed.
    fn is_confirmed(&self) -> bool {
        let (Op::Load { dsts, .. }, Some(old)) = (&self.insts[self.load].op, read(self.atom.b))
        else {
            return false;
        };
        let word: Vec<Reg> = [dsts[0], self.atom.dst].into_iter().filter_map(written).collect();
        let copies = self.closure(&word, is_move);
        let values = self.closure(&word[..1], |op| computes(op) && !self.compares(op));
        let is_copy = |pc: usize, inst: &Inst| {
            let sources = sources(&inst.op);
            [self.load, self.swap].contains(&pc)
                || is_move(&inst.op) && sources.iter().all(|reg| copies.contains(reg))
        };
        // The comparand always holds a value that was read from the word.
        let address = read(self.atom.memory.addr.base);
        self.repeats()
            && copies.contains(&old)
            && values.contains(&old)
            && address.is_none_or(|reg| !values.contains(&reg))
            && self.insts.iter().enumerate().all(|(pc, inst)| {
                targets(&inst.op).iter().all(|reg| !copies.contains(reg)) || is_copy(pc, inst)
            })
            && self.insts.iter().enumerate().all(|(pc, inst)| {
                let guard = inst.guard.map(|(p, _)| u32::from(p) << 2 | 2);
                let used = guard.is_some_and(|reg| values.contains(&reg))
                    || sources(&inst.op).iter().any(|reg| values.contains(reg));
                !used || self.allows(pc, inst, guard.is_none_or(|reg| !values.contains(&reg)))
            })
    }

    /// Returns whether an instruction may use the value.
    fn allows(&self, pc: usize, inst: &Inst, runs_anyway: bool) -> bool {
        let inside = (self.first..=self.last).contains(&pc);
        let is_swap = pc == self.swap;
        let computes = is_move(&inst.op) || inside && computes(&inst.op);
        runs_anyway && (is_swap || computes || self.compares(&inst.op)) || self.succeeded(pc)
    }

    /// Returns whether an operation tests whether the compare-and-swap has succeeded.
    fn compares(&self, op: &Op) -> bool {
        let Op::Setp { cmp: Cmp::Eq | Cmp::Ne, join: None, a, b, .. } = op else { return false };
        let [a, b, old] = [*a, *b, self.atom.b].map(read);
        let found = written(self.atom.dst);
        (a, b) == (old, found) || (a, b) == (found, old)
    }

    /// Returns whether the loop repeats a compare-and-swap that has failed.
    fn repeats(&self) -> bool {
        let Some((p, not)) = self.insts[self.last].guard else { return false };
        self.insts[self.swap..self.last].iter().any(|inst| match inst.op {
            Op::Setp { cmp, p: dst, .. } => {
                dst == Dst::P(p) && self.compares(&inst.op) && (cmp == Cmp::Ne) != not
            }
            _ => false,
        })
    }

    /// Returns whether an instruction runs only after the compare-and-swap has succeeded: it follows
    /// the loop, which ends only then.
    fn succeeded(&self, pc: usize) -> bool {
        let start = self.load.min(self.first);
        let leaves = |inst: &Inst| matches!(inst.op, Op::Branch(_) | Op::Exit);
        let enters = |inst: &Inst| match inst.op {
            Op::Branch(target) => (self.first + 1..=self.last).contains(&(target as usize)),
            _ => false,
        };
        pc > self.last
            && !self.insts[start..self.last].iter().any(leaves)
            && !self.insts.iter().any(enters)
    }

    /// Returns the registers that get their values from these registers through certain operations.
    fn closure(&self, from: &[Reg], through: impl Fn(&Op) -> bool) -> FxHashSet<Reg> {
        let mut found: FxHashSet<Reg> = from.iter().copied().collect();
        loop {
            let before = found.len();
            for inst in self.insts.iter().filter(|inst| through(&inst.op)) {
                if sources(&inst.op).iter().any(|reg| found.contains(reg)) {
                    found.extend(targets(&inst.op));
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }
}

/// Returns whether two instructions access the same address: they have the same register, which is
/// not written between them, or the same constant.
fn is_same(kernel: &Kernel, (load, a): (usize, &Memory), (swap, b): (usize, &Memory)) -> bool {
    let insts = &kernel.insts;
    let writes =
        |inst: &Inst, src: Src| read(src).is_some_and(|reg| targets(&inst.op).contains(&reg));
    let value = |src: Src| match src {
        Src::Imm(value) => Some(value),
        Src::ConstW(i) => Some(kernel.words[i as usize][0].into()),
        Src::ConstD(i) => Some(kernel.doubles[i as usize][0]),
        _ => None,
    };
    let constant = |address: Address| {
        let mut writers = insts.iter().filter(|inst| writes(inst, address.base));
        let base = match (writers.next().map(|inst| &inst.op), writers.next()) {
            (Some(Op::Alu { alu, src, .. }), None) if alu.f == F::Mov => value(src[0]),
            _ => value(address.base),
        };
        base.map(|base| base.wrapping_add_signed(address.offset))
    };
    let equal = a.addr.base == b.addr.base && a.addr.offset == b.addr.offset;
    (a.window, a.ty.bytes()) == (b.window, b.ty.bytes())
        && (equal && !insts[load..swap].iter().any(|inst| writes(inst, a.addr.base))
            || constant(a.addr).is_some() && constant(a.addr) == constant(b.addr))
}

/// Returns whether an operation only moves a value.
fn is_move(op: &Op) -> bool {
    matches!(op, Op::Alu { alu, .. } if alu.f == F::Mov)
}

/// Returns whether an operation computes its results from its operands, without memory.
pub(crate) fn computes(op: &Op) -> bool {
    matches!(
        op,
        Op::Alu { .. }
            | Op::Setp { .. }
            | Op::Pred { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Carry(_)
    )
}

/// Returns the registers that an operation reads.
pub(crate) fn sources(op: &Op) -> Vec<Reg> {
    let mut found = Vec::new();
    op.registers(&mut |src, _| found.extend(read(src)), &mut |_| {});
    found
}

fn targets(op: &Op) -> Vec<Reg> {
    let mut found = Vec::new();
    op.registers(&mut |_, _| {}, &mut |dst| found.extend(written(dst)));
    found
}
