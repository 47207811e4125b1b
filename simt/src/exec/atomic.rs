//! Performs atomics, which read, modify and write memory in one operation.

use super::access::{NOTHING, Wrote, report};
use super::env::Fault;
use super::locate::Want;
use super::team::{Late, Team};
use super::warp::each;
use crate::TrapKind;
use crate::alu::{eval, trim};
use crate::inst::{Alu, Atom, AtomOp, F, Half, Rounding, Ty, Window};
use crate::model::{acquires, releases};
use crate::observer::{At, Observer, Space, Stored};

impl Team<'_> {
    pub(super) fn atomic<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        atom: &Atom,
        obs: &mut O,
    ) -> Result<(), Fault> {
        let memory = &atom.memory;
        let width = memory.ty.bytes();
        let addrs = self.addresses(w, at.mask, &memory.addr);
        let mut left = at.mask;
        while left != 0 {
            let group = self.group(w, memory.window, &addrs, left);
            left &= !group.mask;
            let place = self.place(&group, Want::new(memory, 1))?;
            if !matches!(group.space, Space::Global | Space::Shared) {
                let lane = group.mask.trailing_zeros() as usize;
                return Err(Fault::new(
                    TrapKind::BadOperand,
                    lane,
                    "an atomic outside global and shared memory",
                ));
            }
            self.check_protected(&group, &place, memory)?;
            let ftz = atom.ftz
                || (memory.window == Window::Generic
                    && group.space == Space::Global
                    && memory.ty == Ty::F32);
            let late = self.is_late(atom, group.space);
            let tells = self.env.stale && group.space == Space::Global;
            if releases(memory.order, memory.scope) {
                self.catch_up_all();
            } else if !self.late.is_empty() {
                self.catch_up(&group, width, late.then_some((atom.op, memory.ty)));
            }
            let (mut wrote, mut olds, mut operands, mut changed) = (0, [0; 32], [0; 32], false);
            each(group.mask, |lane| {
                let addr = group.addrs[lane];
                let old = self.get(w, &place, lane, addr, width);
                let (b, c) = (self.lane(w, lane, atom.b), self.lane(w, lane, atom.c));
                let new = update(atom.op, memory.ty, ftz, old, b, c);
                // A failed compare-and-swap reads memory but does not write it.
                let fails = atom.op == AtomOp::Cas && old != trim(b, 8 * width);
                wrote |= u32::from(!fails) << lane;
                match late {
                    true => {
                        let (op, ty, address) = (atom.op, memory.ty, addr);
                        self.put_off(Late { address, op, ty, ftz, value: b });
                    }
                    false => {
                        self.put(w, &place, lane, addr, width, new);
                        if tells {
                            self.updates(addr, width, [old, new]);
                        }
                    }
                }
                self.warps[w].regs.put(atom.dst, lane, old);
                (olds[lane], operands[lane]) = (old, trim(b, 8 * width));
                changed |= old != new;
            });
            match changed {
                true => self.moves(),
                false => self.looks(group.addrs[group.mask.trailing_zeros() as usize & 31]),
            }
            let (found, operand) = (Stored::Doubles(&olds), Stored::Doubles(&operands));
            let wrote = Wrote { lanes: wrote, found, operand, ..NOTHING };
            report(at, memory, (atom.kind, 1), &group, &place, wrote, obs);
        }
        if acquires(memory.order) {
            self.sees(w, at.mask, memory.scope);
        }
        Ok(())
    }
}

/// Returns the value that an atomic writes.
pub(super) fn update(op: AtomOp, ty: Ty, ftz: bool, old: u64, b: u64, c: u64) -> u64 {
    let bits = ty.bits();
    let alu = |f: F| eval(&Alu { f, ty, round: Rounding::Near, ftz, sat: false }, [old, b, 0, 0]);
    match op {
        AtomOp::Add if ty.is_float() => alu(F::Add),
        AtomOp::Add => trim(
            eval(
                &Alu { f: F::Mad(Half::Lo), ty, round: Rounding::Near, ftz: false, sat: false },
                [old, 1, b, 0],
            ),
            bits,
        ),
        AtomOp::Min => alu(F::MIN),
        AtomOp::Max => alu(F::MAX),
        AtomOp::And => old & b,
        AtomOp::Or => old | b,
        AtomOp::Xor => old ^ b,
        AtomOp::Exch => trim(b, bits),
        AtomOp::Cas => {
            if old == trim(b, bits) {
                trim(c, bits)
            } else {
                old
            }
        }
        AtomOp::Inc => {
            if old >= trim(b, 32) {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old == 0 || old > trim(b, 32) {
                trim(b, 32)
            } else {
                old - 1
            }
        }
    }
}
