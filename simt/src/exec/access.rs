//! Performs loads and stores, and reads and writes bytes at checked addresses.

use std::sync::atomic::Ordering;

use super::env::Fault;
use super::locate::{Group, Place, Want};
use super::team::{Late, Team};
use super::warp::{FULL, each};
use crate::TrapKind;
use crate::alu::fast::Doubles;
use crate::alu::{sext, trim};
use crate::inst::{AtomOp, Dst, Memory, Src, Window};
use crate::model::{Order, acquires, releases};
use crate::observer::{Access, AccessKind, At, Observer, Same, Space, Stored};

impl Team<'_> {
    #[inline]
    pub(super) fn get(
        &self,
        w: usize,
        place: &Place<'_>,
        lane: usize,
        addr: u64,
        width: u32,
    ) -> u64 {
        let n = width as usize;
        match place {
            Place::Slot(_, slot) => slot.get(addr - slot.base, width),
            Place::Global => match self.env.global.find(addr, width.into()) {
                Some((_, slot)) => slot.get(addr - slot.base, width),
                None => 0,
            },
            Place::Shared => little(&self.shared[self.shared_index(w, addr)..], n),
            Place::Local => {
                let start = lane * self.env.info.kernel.local as usize + addr as usize;
                little(&self.warps[w].local[start..], n)
            }
            Place::Param => little(&self.env.info.params[addr as usize..], n),
        }
    }

    #[inline]
    pub(super) fn put(
        &mut self,
        w: usize,
        place: &Place<'_>,
        lane: usize,
        addr: u64,
        width: u32,
        value: u64,
    ) {
        let n = width as usize;
        let bytes = value.to_le_bytes();
        match place {
            Place::Slot(_, slot) => slot.put(addr - slot.base, width, value),
            Place::Global => {
                if let Some((_, slot)) = self.env.global.find(addr, width.into()) {
                    slot.put(addr - slot.base, width, value);
                }
            }
            Place::Shared => {
                let i = self.shared_index(w, addr);
                self.shared[i..i + n].copy_from_slice(&bytes[..n]);
            }
            Place::Local => {
                let start = lane * self.env.info.kernel.local as usize + addr as usize;
                self.warps[w].local[start..start + n].copy_from_slice(&bytes[..n]);
            }
            Place::Param => {}
        }
    }

    pub(super) fn load<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        memory: &Memory,
        dsts: &[Dst],
        obs: &mut O,
    ) -> Result<(), Fault> {
        if let (Window::Param, Src::Imm(base), [dst]) = (memory.window, memory.addr.base, dsts) {
            return self.load_param(w, at, memory, base, *dst, obs);
        }
        let width = memory.ty.bytes();
        let addrs = self.addresses(w, at.mask, &memory.addr);
        let mut left = at.mask;
        while left != 0 {
            let mut group = self.group(w, memory.window, &addrs, left);
            left &= !group.mask;
            let place = self.place(&group, Want::new(memory, dsts.len()))?;
            if !self.late.is_empty() {
                self.catch_up(&group, width * dsts.len() as u32, None);
            }
            report(at, memory, (AccessKind::Load, dsts.len()), &group, &place, NOTHING, obs);
            if self.flow.is_some()
                && let Some(missing) = obs.missing()
            {
                self.loaded_unset(w, (at.pc, group.mask), &missing, dsts, width);
            }
            match memory.order {
                // A loop that polls may keep its state in local memory.
                Order::Weak if memory.window == Window::Local => {}
                Order::Weak => self.moves(),
                _ => self.looks(group.addrs[group.mask.trailing_zeros() as usize & 31]),
            }
            if memory.order != Order::Weak && self.env.stale && group.space == Space::Global {
                self.load_strong(w, at, memory, dsts, (&group, &place), obs);
                continue;
            }
            if width == 4 && dsts.iter().all(|dst| matches!(dst, Dst::W(_))) {
                for dst in dsts {
                    let words = self.load_words(w, &group, &place);
                    self.warps[w].regs.put_words(*dst, group.mask, &words);
                    group.addrs.iter_mut().for_each(|addr| *addr = addr.wrapping_add(4));
                }
                continue;
            }
            let signed = memory.ty.is_signed();
            each(group.mask, |lane| {
                let mut addr = group.addrs[lane];
                for dst in dsts {
                    let mut value = self.get(w, &place, lane, addr, width);
                    if signed {
                        value = sext(value, 8 * width) as u64;
                    }
                    self.warps[w].regs.put(*dst, lane, value);
                    addr += u64::from(width);
                }
            });
        }
        if acquires(memory.order) {
            self.sees(w, at.mask, memory.scope);
        }
        Ok(())
    }

    /// Loads a parameter once for all lanes, because parameters are the same for all of them.
    fn load_param<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        memory: &Memory,
        base: u64,
        dst: Dst,
        obs: &mut O,
    ) -> Result<(), Fault> {
        let (width, addr) = (memory.ty.bytes(), base.wrapping_add_signed(memory.addr.offset));
        let group = Group { space: Space::Param, mask: at.mask, addrs: [addr; 32] };
        let place = self.place(&group, Want::new(memory, 1))?;
        report(at, memory, (AccessKind::Load, 1), &group, &place, NOTHING, obs);
        let value = little(&self.env.info.params[addr as usize..], width as usize);
        let value = if memory.ty.is_signed() { sext(value, 8 * width) as u64 } else { value };
        match dst {
            Dst::W(_) => self.warps[w].regs.put_words(dst, at.mask, &[value as u32; 32]),
            _ => self.warps[w].regs.put_doubles(dst, at.mask, &[value; 32]),
        }
        Ok(())
    }

    /// Loads one word per lane, at addresses that were checked.
    fn load_words(&self, w: usize, group: &Group, place: &Place<'_>) -> [u32; 32] {
        let mut out = [0; 32];
        let first = group.addrs[0];
        match place {
            Place::Slot(_, slot) => {
                let base = slot.base;
                if group.mask == FULL && consecutive(&group.addrs, 4) {
                    let start = ((first - base) / 4) as usize;
                    match slot.words.get(start..start + 32) {
                        Some(words) => {
                            for (out, word) in out.iter_mut().zip(words) {
                                *out = word.load(Ordering::Relaxed);
                            }
                        }
                        None => each(FULL, |i| out[i] = slot.get(group.addrs[i] - base, 4) as u32),
                    }
                } else {
                    each(group.mask, |i| out[i] = slot.get(group.addrs[i] - base, 4) as u32);
                }
            }
            Place::Shared if self.blocks.len() == 1 => {
                let shared = &self.shared;
                each(group.mask, |i| {
                    out[i] = little(&shared[(group.addrs[i] & 0xff_ffff) as usize..], 4) as u32
                });
            }
            place => each(group.mask, |i| out[i] = self.get(w, place, i, group.addrs[i], 4) as u32),
        }
        out
    }

    /// Returns the values that a store will write.
    #[inline]
    fn stored(&self, w: usize, srcs: &[Src]) -> Stored<'_> {
        let regs = &self.warps[w].regs;
        match srcs {
            [Src::W(r)] => Stored::Words(&regs.w[*r as usize]),
            [Src::D(r)] => Stored::Doubles(&regs.d[*r as usize]),
            [Src::Imm(_) | Src::ConstW(_) | Src::ConstD(_)] => Stored::Same,
            _ => Stored::Unknown,
        }
    }

    /// Returns whether a lane stores the same bytes as another lane, or the bytes that memory
    /// already holds.
    #[cold]
    fn stores_same(
        &self,
        w: usize,
        place: &Place<'_>,
        group: &Group,
        (srcs, width): (&[Src], u32),
        lane: u32,
        other: Option<u32>,
    ) -> bool {
        let lane = lane as usize & 31;
        let mut addr = group.addrs[lane];
        srcs.iter().all(|src| {
            let old = match other {
                Some(other) => trim(self.lane(w, other as usize & 31, *src), 8 * width),
                None => self.get(w, place, lane, addr, width),
            };
            addr += u64::from(width);
            old == trim(self.lane(w, lane, *src), 8 * width)
        })
    }

    pub(super) fn store<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        memory: &Memory,
        srcs: &[Src],
        obs: &mut O,
    ) -> Result<(), Fault> {
        let width = memory.ty.bytes();
        let addrs = self.addresses(w, at.mask, &memory.addr);
        let mut left = at.mask;
        while left != 0 {
            let group = self.group(w, memory.window, &addrs, left);
            left &= !group.mask;
            let place = self.place(&group, Want::new(memory, srcs.len()))?;
            if matches!(place, Place::Param) {
                return Err(Fault::new(
                    TrapKind::ReadOnly,
                    group.mask.trailing_zeros() as usize,
                    "",
                ));
            }
            self.check_protected(&group, &place, memory)?;
            if !self.late.is_empty() {
                match releases(memory.order, memory.scope) {
                    true => self.catch_up_all(),
                    false => self.catch_up(&group, width * srcs.len() as u32, None),
                }
            }
            if memory.window != Window::Local {
                self.moves();
            }
            let stored = self.stored(w, srcs);
            let same =
                |lane, other| self.stores_same(w, &place, &group, (srcs, width), lane, other);
            let wrote = Wrote { lanes: group.mask, stored, same: Same(Some(&same)), ..NOTHING };
            report(at, memory, (AccessKind::Store, srcs.len()), &group, &place, wrote, obs);
            if self.flow.is_some() && !self.warps[w].regs.unset.is_empty() {
                let lanes = (group.space, group.mask, &group.addrs);
                self.stored_unset(w, at, lanes, srcs, width, obs);
            }
            if let ([Src::W(r)], 4, Place::Shared, 1) = (srcs, width, &place, self.blocks.len()) {
                let value = &self.warps[w].regs.w[*r as usize];
                let shared = &mut self.shared;
                each(group.mask, |i| {
                    let at = (group.addrs[i] & 0xff_ffff) as usize;
                    shared[at..at + 4].copy_from_slice(&value[i].to_le_bytes());
                });
                continue;
            }
            let late = self.is_late_store(memory, group.space);
            let tells = self.env.stale && group.space == Space::Global && !late;
            each(group.mask, |lane| {
                let mut addr = group.addrs[lane];
                for src in srcs {
                    let value = self.lane(w, lane, *src);
                    match late {
                        true => {
                            let (address, op, ty) = (addr, AtomOp::Exch, memory.ty);
                            self.put_off(Late { address, op, ty, ftz: false, value });
                        }
                        false => {
                            if tells {
                                let old = self.get(w, &place, lane, addr, width);
                                let values = [old, trim(value, 8 * width)];
                                self.writes(addr, width, memory.order, values);
                            }
                            self.put(w, &place, lane, addr, width, value);
                        }
                    }
                    addr += u64::from(width);
                }
            });
        }
        Ok(())
    }
}

fn consecutive(addrs: &Doubles, stride: u64) -> bool {
    let mut off = 0;
    for (i, addr) in addrs.iter().enumerate() {
        off |= addr.wrapping_sub(addrs[0]).wrapping_sub(i as u64 * stride);
    }
    off == 0
}

#[inline]
fn little(bytes: &[u8], n: usize) -> u64 {
    match n {
        4 => u64::from(u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))),
        8 => u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")),
        _ => bytes[..n].iter().rev().fold(0, |v, b| v << 8 | u64::from(*b)),
    }
}

/// The effect of an access: the lanes that write, and the values that they write.
pub(super) struct Wrote<'a> {
    /// Mask of the lanes that write.
    pub(super) lanes: u32,
    pub(super) stored: Stored<'a>,
    /// The values that an atomic has read.
    pub(super) found: Stored<'a>,
    /// The first operands of an atomic.
    pub(super) operand: Stored<'a>,
    pub(super) same: Same<'a>,
}

/// Reports an access to the observer.
#[inline]
pub(super) fn report<O: Observer>(
    at: &At<'_>,
    memory: &Memory,
    access: (AccessKind, usize),
    group: &Group,
    place: &Place<'_>,
    Wrote { lanes: wrote, stored, found, operand, same }: Wrote<'_>,
    obs: &mut O,
) {
    let alloc = match place {
        Place::Slot(id, _) => Some(*id),
        _ => None,
    };
    let (kind, vector) = access;
    obs.access(
        at,
        &Access {
            space: group.space,
            kind,
            width: memory.ty.bytes(),
            vector: vector as u32,
            order: memory.order,
            scope: memory.scope,
            mask: group.mask,
            wrote,
            stored,
            found,
            operand,
            same,
            addrs: &group.addrs,
            alloc,
        },
    );
}

/// The effect of a load, which writes nothing.
pub(super) const NOTHING: Wrote<'static> = {
    const UNKNOWN: Stored<'static> = Stored::Unknown;
    Wrote { lanes: 0, stored: UNKNOWN, found: UNKNOWN, operand: UNKNOWN, same: Same(None) }
};
