//! Finds the reads of registers that may be uninitialized, once per kernel.
//!
//! A register is *unset* if some path from the entry reads the register before writing it. Most
//! kernels have no unset registers, so no lane is tracked while they run. A part of a load is
//! *copied* if it is only moved, selected and stored. Uninitialized bytes, such as the padding of a
//! structure, may pass through such a part.

use rustc_hash::FxHashSet;

use crate::inst::{AtomOp, Dst, F, Inst, Op, Role, Src, Sync};
use crate::model::{AccessKind, Order};

/// The number of a register, which is unique across all widths.
pub(crate) type Reg = u32;

/// The registers to track while a kernel runs.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Registers that may be read before they are written.
    pub(crate) unset: Vec<Reg>,
    /// For each instruction, whether it reads or writes a register that may be uninitialized.
    pub(crate) watch: Vec<bool>,
    /// For each load, a mask of the destination bytes that are only copied, or not read at all. The
    /// mask has one bit for each byte, starting at a lane's address.
    pub(crate) copied: Vec<u64>,
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

/// Lists of registers or instructions, with one list for each register or instruction.
#[derive(Default)]
pub(crate) struct Table(Vec<Vec<u32>>);

impl Table {
    pub(crate) fn push(&mut self, at: u32, number: u32) {
        if self.0.len() <= at as usize {
            self.0.resize_with(at as usize + 1, Vec::new);
        }
        self.0[at as usize].push(number);
    }

    pub(crate) fn of(&self, at: u32) -> &[u32] {
        self.0.get(at as usize).map_or(&[], Vec::as_slice)
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

/// Marks the atomics whose result no instruction reads. Such an atomic is a reduction if `red` has
/// the operation and the order, because `ptxas` replaces it with `red`.
pub(crate) fn mark_unread(insts: &mut [Inst]) {
    if !insts.iter().any(|inst| matches!(inst.op, Op::Atomic(_))) {
        return;
    }
    let mut reads = FxHashSet::default();
    for inst in insts.iter() {
        registers(inst, &mut |reg, _| _ = reads.insert(reg), &mut |_| ());
    }
    for inst in insts {
        if let Op::Atomic(atom) = &mut inst.op {
            atom.unread = written(atom.dst).is_none_or(|reg| !reads.contains(&reg));
            let is_red = !matches!(atom.op, AtomOp::Cas | AtomOp::Exch)
                && matches!(atom.memory.order, Order::Relaxed | Order::Release);
            if atom.unread && is_red {
                atom.kind = AccessKind::Reduction;
            }
        }
    }
}

impl Flow {
    /// Analyses a kernel. Returns `None` if there is nothing to track.
    pub(crate) fn new(insts: &[Inst]) -> Option<Flow> {
        let unset = unset(insts);
        let copied = copied(insts);
        let sources: Vec<bool> = insts
            .iter()
            .zip(&copied)
            .map(|(inst, copied)| *copied != 0 || is_shuffle(&inst.op))
            .collect();
        if unset.is_empty() && !sources.contains(&true) {
            return None;
        }
        let watch = watch(insts, &unset, &sources);
        Some(Flow { unset, watch, copied })
    }
}

/// Limit on the steps of the search. Beyond this limit, the remaining registers count as unset.
const MOST_STEPS: usize = 1 << 22;

/// Returns the registers that are live at the entry. Each read is followed back to the writes that
/// reach it. A guarded write might not happen, so it does not end a path.
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

/// Returns, for each instruction, the bytes that a load may read although they are uninitialized.
/// These are the bytes of destinations that are copied into stores and used in no other way and, if
/// the load also has destinations that are read, the bytes of destinations that no instruction
/// reads. A value that may be selected away counts only where it is used, like the value of a
/// volatile or relaxed load, which a compiler cannot move into the branch that uses it.
fn copied(insts: &[Inst]) -> Vec<u64> {
    let mut used: FxHashSet<Reg> = FxHashSet::default();
    let mut stored: FxHashSet<Reg> = FxHashSet::default();
    // The registers that are copied into each register.
    let mut copies = Table::default();
    for inst in insts {
        let mut dsts = Vec::new();
        inst.op.registers(&mut |_, _| {}, &mut |dst| dsts.extend(written(dst)));
        registers(
            inst,
            &mut |reg, role| match role {
                Role::Copy => {
                    dsts.iter().for_each(|dst| copies.push(*dst, reg));
                }
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
    for set in [&mut used, &mut stored] {
        let mut work: Vec<Reg> = set.iter().copied().collect();
        while let Some(reg) = work.pop() {
            work.extend(copies.of(reg).iter().filter(|from| set.insert(**from)));
        }
    }
    let selected = selected(insts);
    let mut out = vec![0; insts.len()];
    for (pc, inst) in insts.iter().enumerate() {
        if let Op::Atomic(atom) = &inst.op
            && atom.op == AtomOp::Exch
            && atom.unread
        {
            // The old value is dropped.
            out[pc] = (1 << atom.memory.ty.bytes()) - 1;
        }
        if let Op::Load { memory, dsts } = &inst.op {
            let width = memory.ty.bytes();
            let of =
                |set: &FxHashSet<Reg>, dst: &Dst| written(*dst).is_some_and(|r| set.contains(&r));
            let strong = memory.order != Order::Weak;
            let late = |dst: &Dst| strong || !of(&used, dst) || of(&selected, dst);
            if strong || dsts.iter().any(|dst| of(&used, dst) || of(&stored, dst)) {
                for (i, _) in dsts.iter().enumerate().filter(|(_, dst)| late(dst)) {
                    out[pc] |= ((1 << width) - 1) << (i as u32 * width);
                }
            }
        }
    }
    out
}

/// Returns the registers from whose values an operand of a selection is computed.
fn selected(insts: &[Inst]) -> FxHashSet<Reg> {
    let (mut found, mut sources) = (FxHashSet::default(), Table::default());
    for inst in insts {
        let selects = matches!(&inst.op, Op::Alu { alu, .. } if alu.f == F::Selp);
        let mut dsts = Vec::new();
        inst.op.registers(&mut |_, _| {}, &mut |dst| dsts.extend(written(dst)));
        inst.op.registers(
            &mut |src, role| {
                if let (Some(reg), Role::Copy | Role::Value) = (read(src), role) {
                    dsts.iter().for_each(|dst| sources.push(*dst, reg));
                    if selects && role == Role::Copy {
                        found.insert(reg);
                    }
                }
            },
            &mut |_| {},
        );
    }
    let mut work: Vec<Reg> = found.iter().copied().collect();
    while let Some(reg) = work.pop() {
        work.extend(sources.of(reg).iter().filter(|from| found.insert(**from)));
    }
    found
}

/// Returns whether an operation is a shuffle, whose source lane might not take part.
pub(crate) fn is_shuffle(op: &Op) -> bool {
    matches!(op, Op::Sync { op, .. } if matches!(**op, Sync::Shuffle { .. }))
}

/// Returns, for each instruction, whether it accesses a register that may be uninitialized. The
/// results of `sources` may be uninitialized.
fn watch(insts: &[Inst], unset: &[Reg], sources: &[bool]) -> Vec<bool> {
    let (mut readers, mut writes) = (Table::default(), Table::default());
    for (pc, inst) in (0..).zip(insts) {
        let on_read = &mut |reg, _| readers.push(reg, pc);
        registers(inst, on_read, &mut |reg| writes.push(pc, reg));
    }
    let mut may: FxHashSet<Reg> = unset.iter().copied().collect();
    let (mut watch, mut work) = (vec![false; insts.len()], unset.to_vec());
    let mut touched: Vec<u32> =
        (0..).zip(sources).filter(|(_, source)| **source).map(|(pc, _)| pc).collect();
    loop {
        for pc in touched.drain(..) {
            if !std::mem::replace(&mut watch[pc as usize], true) {
                work.extend(writes.of(pc).iter().filter(|reg| may.insert(**reg)));
            }
        }
        let Some(reg) = work.pop() else { break };
        touched.extend(readers.of(reg));
    }
    for (pc, watch) in (0..).zip(&mut watch) {
        *watch |= writes.of(pc).iter().any(|reg| may.contains(reg));
    }
    watch
}
