//! Finds the reads of registers that may have no value, once per kernel.
//!
//! A register is *unset* if a path from the entry reaches a read of it without a write. Most
//! kernels have no unset registers, so no lane is tracked while they run. A load is *copied* if its
//! result is only moved, selected and stored. Bytes without a value may pass through such a load;
//! an example is the padding of a structure.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::inst::{Dst, Inst, Op, Role, Src};

/// A register of any width, as one number.
pub(crate) type Reg = u32;

/// The registers to track while a kernel runs.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Registers that may be read before they are written.
    pub(crate) unset: Vec<Reg>,
    /// Whether each instruction reads or writes a register that may have no value.
    pub(crate) watch: Vec<bool>,
    /// Whether each instruction is a load whose result is only copied.
    pub(crate) copied: Vec<bool>,
}

/// Returns the number of a destination register.
pub(crate) fn written(dst: Dst) -> Option<Reg> {
    match dst {
        Dst::W(r) => Some(u32::from(r) << 2),
        Dst::D(r) => Some(u32::from(r) << 2 | 1),
        Dst::P(r) => Some(u32::from(r) << 2 | 2),
        Dst::Sink => None,
    }
}

/// Returns the number of a source register.
pub(crate) fn read(src: Src) -> Option<Reg> {
    match src {
        Src::W(r) => Some(u32::from(r) << 2),
        Src::D(r) => Some(u32::from(r) << 2 | 1),
        Src::P(r) | Src::NotP(r) => Some(u32::from(r) << 2 | 2),
        _ => None,
    }
}

/// Visits the registers that an instruction reads, including its guard, and those that it writes.
fn registers(inst: &Inst, on_read: &mut dyn FnMut(Reg, Role), on_write: &mut dyn FnMut(Reg)) {
    if let Some((p, _)) = inst.guard {
        on_read(u32::from(p) << 2 | 2, Role::Use("a condition"));
    }
    inst.op.registers(
        &mut |src, role| {
            if let Some(reg) = read(src) {
                on_read(reg, role);
            }
        },
        &mut |dst| {
            if let Some(reg) = written(dst) {
                on_write(reg);
            }
        },
    );
}

impl Flow {
    /// Analyses a kernel; `None` if there is nothing to track.
    pub(crate) fn new(insts: &[Inst]) -> Option<Flow> {
        let unset = unset(insts);
        let copied = copied(insts);
        if unset.is_empty() && !copied.contains(&true) {
            return None;
        }
        let watch = watch(insts, &unset, &copied);
        Some(Flow { unset, watch, copied })
    }
}

/// Limit on the steps of the search. Beyond it, the remaining registers count as unset.
const MOST_STEPS: usize = 1 << 22;

/// Returns the registers that are live at the entry. Each read is followed back to the writes that
/// reach it. A write under a guard may not happen, so it ends no path.
fn unset(insts: &[Inst]) -> Vec<Reg> {
    let n = insts.len();
    let mut leader = vec![false; n + 1];
    leader[0] = true;
    for (pc, inst) in insts.iter().enumerate() {
        if let Op::Branch(target) = inst.op {
            leader[target as usize] = true;
        }
        if matches!(inst.op, Op::Branch(_) | Op::Exit | Op::Trap) {
            leader[pc + 1] = true;
        }
    }
    let mut block = vec![0usize; n];
    let mut blocks = 0;
    for pc in 0..n {
        blocks += usize::from(leader[pc]);
        block[pc] = blocks - 1;
    }
    let mut kills: Vec<FxHashSet<Reg>> = vec![FxHashSet::default(); blocks];
    let mut before = vec![Vec::new(); blocks];
    let mut work: Vec<(usize, Reg)> = Vec::new();
    let mut seen: FxHashSet<(usize, Reg)> = FxHashSet::default();
    for (pc, inst) in insts.iter().enumerate() {
        let at = block[pc];
        let mut writes = Vec::new();
        registers(
            inst,
            &mut |reg, _| {
                if !kills[at].contains(&reg) && seen.insert((at, reg)) {
                    work.push((at, reg));
                }
            },
            &mut |reg| writes.push(reg),
        );
        if inst.guard.is_none() {
            kills[at].extend(writes);
        }
        if leader[pc + 1] {
            if let Op::Branch(target) = inst.op {
                before[block[target as usize]].push(at);
            }
            let ends = matches!(inst.op, Op::Branch(_) | Op::Exit | Op::Trap);
            if (!ends || inst.guard.is_some()) && pc + 1 < n {
                before[at + 1].push(at);
            }
        }
    }
    let (mut found, mut steps) = (FxHashSet::default(), 0);
    while let Some((at, reg)) = work.pop() {
        steps += 1;
        if at == 0 || steps > MOST_STEPS {
            found.insert(reg);
        }
        for &from in before[at].iter().filter(|_| steps <= MOST_STEPS) {
            if !kills[from].contains(&reg) && seen.insert((from, reg)) {
                work.push((from, reg));
            }
        }
    }
    let mut found: Vec<Reg> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// Returns, for each instruction, whether it is a load whose results are copied into stores and
/// used in no other way.
fn copied(insts: &[Inst]) -> Vec<bool> {
    let mut used: FxHashSet<Reg> = FxHashSet::default();
    let mut stored: FxHashSet<Reg> = FxHashSet::default();
    // Maps a copied register to the registers into which it is copied.
    let mut copies: FxHashMap<Reg, Vec<Reg>> = FxHashMap::default();
    for inst in insts {
        let mut dsts = Vec::new();
        inst.op.registers(&mut |_, _| {}, &mut |dst| dsts.extend(written(dst)));
        registers(
            inst,
            &mut |reg, role| match role {
                Role::Copy => copies.entry(reg).or_default().extend(&dsts),
                Role::Stored => {
                    stored.insert(reg);
                }
                Role::Value | Role::Use(_) => {
                    used.insert(reg);
                }
            },
            &mut |_| {},
        );
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (from, to) in &copies {
            changed |= to.iter().any(|r| used.contains(r)) && used.insert(*from);
            changed |= to.iter().any(|r| stored.contains(r)) && stored.insert(*from);
        }
    }
    let mut out = vec![false; insts.len()];
    for (pc, inst) in insts.iter().enumerate() {
        if let Op::Load { dsts, .. } = &inst.op {
            let mut dsts = dsts.iter().filter_map(|dst| written(*dst)).peekable();
            out[pc] = dsts.peek().is_some()
                && dsts.all(|reg| stored.contains(&reg) && !used.contains(&reg));
        }
    }
    out
}

/// Returns, for each instruction, whether it accesses a register that may have no value.
fn watch(insts: &[Inst], unset: &[Reg], copied: &[bool]) -> Vec<bool> {
    let mut may: FxHashSet<Reg> = unset.iter().copied().collect();
    let mut changed = true;
    let mut watch = vec![false; insts.len()];
    while changed {
        changed = false;
        for (pc, inst) in insts.iter().enumerate() {
            let (mut touches, mut dsts) = (copied[pc], Vec::new());
            registers(inst, &mut |reg, _| touches |= may.contains(&reg), &mut |reg| dsts.push(reg));
            let touched = touches || dsts.iter().any(|reg| may.contains(reg));
            changed |= touched && !std::mem::replace(&mut watch[pc], true);
            // Stores write no register.
            if touches {
                dsts.into_iter().for_each(|reg| changed |= may.insert(reg));
            }
        }
    }
    watch
}
