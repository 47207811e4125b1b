//! Finds the volatile loads that read a word only as a flag.
//!
//! The accesses to a polled flag are meant to be unordered, and PTX gives volatile accesses the
//! meaning of relaxed ones. A word may also carry a value beside its flag, if a loop polls that very
//! word. Other words that carry a value are another matter: the warp tail of old kernels adds volatile
//! words that no barrier orders.

use rustc_hash::FxHashSet;

use crate::flow::{Reg, read, written};
use crate::guesses::{computes, sources};
use crate::inst::{Inst, Memory, Op, Sync};
use crate::tickets::{controlled, reach};

/// The use of a loaded value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    /// The value decides whether the same word is loaded again.
    pub(crate) polls: bool,
    /// The value decides a branch, and reaches nothing but comparisons.
    pub(crate) tests: bool,
    /// The load has one element, and the value decides whether a loop that stores nothing loads that
    /// very word again.
    pub(crate) awaits: bool,
}

impl Use {
    /// Returns the use of the value of a load.
    pub(crate) fn of(insts: &[Inst], load: usize) -> Use {
        let Op::Load { memory, dsts } = &insts[load].op else {
            return Use { polls: false, tests: false, awaits: false };
        };
        let word: Vec<Reg> = dsts.iter().filter_map(|dst| written(*dst)).collect();
        // A comparison ends the flow of the value: like a branch, its result is one bit of control.
        let value = closure(insts, &word, |op, reg| computes(op) && !is_predicate(reg));
        let all = closure(insts, &word, |op, _| computes(op) || votes(op));
        let again = |pc: usize| match &insts[pc].op {
            Op::Load { memory: other, .. } => {
                pc == load || (other.window, other.addr) == (memory.window, memory.addr)
            }
            _ => false,
        };
        // A predicate may have several values, of which a branch tests one.
        let decides = |pc: usize, reg: Reg| {
            let writers = insts.iter().enumerate().filter(|(_, inst)| writes(inst, reg));
            writers.filter(|(_, inst)| inputs(inst).any(|reg| all.contains(&reg))).any(|(at, _)| {
                let ends = |at: usize| writes(&insts[at], reg) && insts[at].guard.is_none();
                reach(insts, at, ends)[pc]
            })
        };
        let branches: Vec<usize> = (0..insts.len())
            .filter(|&pc| matches!(insts[pc].op, Op::Branch(_) | Op::Exit))
            .filter(|&pc| {
                guard(&insts[pc]).is_some_and(|reg| all.contains(&reg) && decides(pc, reg))
            })
            .collect();
        let repeats =
            |pc: &usize| (0..).zip(controlled(insts, *pc)).any(|(at, may)| may && again(at));
        let awaits = |branch: &usize| {
            let body = match insts[*branch].op {
                Op::Branch(start) => insts.get(start as usize..*branch).unwrap_or_default(),
                _ => &[],
            };
            let changing = changing(body);
            let ends = |pc: usize| ends_wait(&insts[pc], memory, body, &changing);
            let kept = |from: usize| reach(insts, from, ends);
            let (before, after) = (kept(load), kept(*branch));
            before[*branch] && (0..insts.len()).any(|at| after[at] && again(at))
        };
        let uses = |inst: &Inst| sources(&inst.op).iter().any(|reg| value.contains(reg));
        Use {
            polls: branches.iter().any(repeats),
            tests: !branches.is_empty()
                && insts.iter().all(|inst| computes(&inst.op) || !uses(inst)),
            awaits: dsts.len() == 1 && branches.iter().filter(|pc| repeats(pc)).any(awaits),
        }
    }
}

/// Returns the registers that get their values from these registers through certain operations, and
/// through operations that run under a predicate among them.
fn closure(insts: &[Inst], from: &[Reg], through: impl Fn(&Op, Reg) -> bool) -> FxHashSet<Reg> {
    let mut found: FxHashSet<Reg> = from.iter().copied().collect();
    loop {
        let before = found.len();
        for inst in insts {
            if inputs(inst).any(|reg| found.contains(&reg)) {
                inst.op.registers(&mut |_, _| {}, &mut |dst| {
                    found.extend(written(dst).filter(|reg| through(&inst.op, *reg)));
                });
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Returns whether an instruction changes memory, or the address of this memory. The address may be
/// computed again in the body of the loop, from registers that do not change there.
fn ends_wait(inst: &Inst, memory: &Memory, body: &[Inst], changing: &FxHashSet<Reg>) -> bool {
    let stores = matches!(inst.op, Op::Store { .. } | Op::Atomic(_));
    let changes = |reg: Reg| changing.contains(&reg);
    let again = !body.is_empty() && computes(&inst.op) && !inputs(inst).any(changes);
    stores || !again && read(memory.addr.base).is_some_and(|base| writes(inst, base))
}

/// Returns the registers whose values may differ between two iterations of a loop with this body: those
/// that are read before they are written, those that are loaded, and those computed from them.
fn changing(body: &[Inst]) -> FxHashSet<Reg> {
    let mut changing = FxHashSet::default();
    for (at, inst) in body.iter().enumerate() {
        let late = |reg: &Reg| {
            let written = |inst: &Inst| writes(inst, *reg);
            !body[..at].iter().any(written) && body[at..].iter().any(written)
        };
        changing.extend(inputs(inst).filter(late));
        if !computes(&inst.op) || inst.guard.is_some() {
            inst.op.registers(&mut |_, _| {}, &mut |dst| changing.extend(written(dst)));
        }
    }
    let all: Vec<Reg> = changing.into_iter().collect();
    closure(body, &all, |_, _| true)
}

/// Returns whether an operation combines predicates of the lanes of a warp.
fn votes(op: &Op) -> bool {
    let vote = |op: &Sync| {
        matches!(op, Sync::VoteAll { .. } | Sync::VoteAny { .. } | Sync::VoteUni { .. })
    };
    matches!(op, Op::Sync { op, .. } if vote(op))
}

fn is_predicate(reg: Reg) -> bool {
    reg & 3 == 2
}

/// Returns the registers that an instruction reads, with that of its guard.
fn inputs(inst: &Inst) -> impl Iterator<Item = Reg> {
    sources(&inst.op).into_iter().chain(guard(inst))
}

fn writes(inst: &Inst, reg: Reg) -> bool {
    let mut found = false;
    inst.op.registers(&mut |_, _| {}, &mut |dst| found |= written(dst) == Some(reg));
    found
}

fn guard(inst: &Inst) -> Option<Reg> {
    inst.guard.map(|(p, _)| u32::from(p) << 2 | 2)
}
