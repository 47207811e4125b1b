//! Loads, stores and atomics: addresses to bytes.

use std::sync::atomic::Ordering;

use super::env::{Fault, tag};
use super::team::Team;
use super::warp::{FULL, each};
use crate::TrapKind;
use crate::alu::fast::Doubles;
use crate::alu::sext;
use crate::global::{Miss, Slot, same_range};
use crate::inst::{Address, Dst, Memory, Src, Window};
use crate::observer::{Access, AccessKind, At, Observer, Space};

/// Lanes of an access that end in one space, with their addresses there.
pub(super) struct Group {
    pub(super) space: Space,
    pub(super) mask: u32,
    pub(super) addrs: Doubles,
}

/// Where the data of a group lies.
pub(super) enum Place<'g> {
    /// All in one allocation.
    Slot(u32, &'g Slot),
    /// In allocations that each lane finds on its own.
    Global,
    Shared,
    Local,
    Param,
}

impl<'e> Team<'e> {
    /// The addresses of the active lanes.
    pub(super) fn addresses(&self, w: usize, active: u32, addr: &Address) -> Doubles {
        let offset = addr.offset as u64;
        let regs = &self.warps[w].regs;
        let mut out = [0; 32];
        match addr.base {
            Src::D(r) => {
                let base = &regs.d[r as usize];
                for i in 0..32 {
                    out[i] = base[i].wrapping_add(offset);
                }
            }
            Src::W(r) => {
                let base = &regs.w[r as usize];
                for i in 0..32 {
                    out[i] = u64::from(base[i].wrapping_add(offset as u32));
                }
            }
            Src::Imm(base) => out = [base.wrapping_add(offset); 32],
            other => each(active, |i| out[i] = self.lane(w, i, other).wrapping_add(offset)),
        }
        out
    }

    /// The first group of the lanes in `mask`: those that end in the space of the lowest of them.
    pub(super) fn group(&self, w: usize, window: Window, addrs: &Doubles, mask: u32) -> Group {
        let space = match window {
            Window::Global => Space::Global,
            Window::Shared | Window::SharedCluster => Space::Shared,
            Window::Local => Space::Local,
            Window::Const => Space::Const,
            Window::Param => Space::Param,
            Window::Generic => return self.generic(w, addrs, mask),
        };
        let mut group = Group { space, mask, addrs: *addrs };
        if space == Space::Shared {
            self.own(w, &mut group);
        }
        group
    }

    fn generic(&self, w: usize, addrs: &Doubles, mask: u32) -> Group {
        let tag_of = |lane: usize| addrs[lane] >> 56;
        let first = tag_of(mask.trailing_zeros() as usize);
        let mut same = 0;
        each(mask, |lane| same |= u32::from(tag_of(lane) == first) << lane);
        let (space, base) = match first << 56 {
            tag::SHARED => (Space::Shared, tag::SHARED),
            tag::LOCAL => (Space::Local, tag::LOCAL),
            tag::PARAM => (Space::Param, tag::PARAM),
            _ => (Space::Global, 0),
        };
        let mut group = Group { space, mask: same, addrs: addrs.map(|a| a.wrapping_sub(base)) };
        if space == Space::Shared {
            self.own(w, &mut group);
        }
        group
    }

    /// Addresses of the own block have no rank.
    fn own(&self, w: usize, group: &mut Group) {
        if self.blocks.len() == 1 && group.addrs.iter().all(|a| a >> 24 == 0) {
            return;
        }
        let rank = u64::from(self.blocks[self.warps[w].block].id.rank) + 1;
        for addr in &mut group.addrs {
            if *addr >> 24 == rank {
                *addr &= 0xff_ffff;
            }
        }
    }

    /// Checks alignment and bounds of all lanes.
    pub(super) fn place(&self, group: &Group, bytes: u32) -> Result<Place<'e>, Fault> {
        let env = self.env;
        let Group { space, mask, addrs } = group;
        let low = if *mask == FULL {
            addrs.iter().fold(0, |all, a| all | a)
        } else {
            let mut all = 0;
            each(*mask, |i| all |= addrs[i]);
            all
        };
        if low & u64::from(bytes - 1) != 0 {
            let lane = first(*mask, |i| addrs[i] & u64::from(bytes - 1) != 0);
            return Err(Fault::new(
                TrapKind::Misaligned,
                lane,
                format!("{bytes} bytes at address {:#x}", addrs[lane]),
            ));
        }
        let limit = match space {
            Space::Global | Space::Const => {
                let (mut least, mut most) = (u64::MAX, 0);
                if *mask == FULL {
                    for a in addrs {
                        least = least.min(*a);
                        most = most.max(*a);
                    }
                } else {
                    each(*mask, |i| {
                        least = least.min(addrs[i]);
                        most = most.max(addrs[i]);
                    });
                }
                if same_range(least, most)
                    && let Ok((id, slot)) = env.global.find(least, u64::from(bytes))
                    && most - slot.base <= slot.bytes - u64::from(bytes)
                {
                    return Ok(Place::Slot(id, slot));
                }
                let miss = |i: usize| env.global.find(addrs[i], u64::from(bytes)).err();
                let lane = first(*mask, |i| miss(i).is_some());
                return match miss(lane) {
                    Some((kind, detail)) => Err(Fault::new(kind, lane, detail)),
                    None => Ok(Place::Global),
                };
            }
            Space::Shared => u64::from(env.info.shared),
            Space::Local => u64::from(env.info.kernel.local),
            Space::Param => env.params.len() as u64,
        };
        let blocks = self.blocks.len() as u64;
        let inside = |a: u64| {
            let (offset, rank) =
                if *space == Space::Shared { (a & 0xff_ffff, a >> 24) } else { (a, 0) };
            offset + u64::from(bytes) <= limit && rank <= blocks && offset <= limit
        };
        let mut fine = true;
        if *mask == FULL {
            let all = addrs.iter().fold(0, |all, a| all.max(*a));
            fine = all < 1 << 24 && inside(all);
        }
        if *mask != FULL || !fine {
            let lane = first(*mask, |i| addrs[i] > 1 << 40 || !inside(addrs[i]));
            let a = addrs[lane];
            if mask >> lane & 1 == 1 && (a > 1 << 40 || !inside(a)) {
                let name = match space {
                    Space::Shared => "shared",
                    Space::Local => "local",
                    _ => "parameter",
                };
                let detail = format!(
                    "{bytes} bytes at {name} address {a:#x}, where there are {limit} bytes"
                );
                return Err(Fault::new(TrapKind::OutOfBounds, lane, detail));
            }
        }
        Ok(match space {
            Space::Shared => Place::Shared,
            Space::Local => Place::Local,
            _ => Place::Param,
        })
    }

    /// Index in the team's shared memory of a checked shared address.
    #[inline]
    pub(super) fn shared_index(&self, w: usize, addr: u64) -> usize {
        let rank = match addr >> 24 {
            0 => self.blocks[self.warps[w].block].id.rank as usize,
            rank => rank as usize - 1,
        };
        rank * self.stride + (addr & 0xff_ffff) as usize
    }

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
                Ok((_, slot)) => slot.get(addr - slot.base, width),
                Err(_) => 0,
            },
            Place::Shared => little(&self.shared[self.shared_index(w, addr)..], n),
            Place::Local => {
                let start = lane * self.env.info.kernel.local as usize + addr as usize;
                little(&self.warps[w].local[start..], n)
            }
            Place::Param => little(&self.env.params[addr as usize..], n),
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
                if let Ok((_, slot)) = self.env.global.find(addr, width.into()) {
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
            let group = self.group(w, memory.window, &addrs, left);
            left &= !group.mask;
            let place = self.place(&group, width * dsts.len() as u32)?;
            report(at, memory, AccessKind::Load, dsts.len(), &group, &place, obs);
            if let ([Dst::W(r)], 4) = (dsts, width) {
                let words = self.load_words(w, &group, &place);
                self.warps[w].regs.put_words(Dst::W(*r), group.mask, &words);
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
        Ok(())
    }

    /// Parameters are the same for all lanes.
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
        let place = self.place(&group, width)?;
        report(at, memory, AccessKind::Load, 1, &group, &place, obs);
        let value = little(&self.env.params[addr as usize..], width as usize);
        let value = if memory.ty.is_signed() { sext(value, 8 * width) as u64 } else { value };
        match dst {
            Dst::W(_) => self.warps[w].regs.put_words(dst, at.mask, &[value as u32; 32]),
            _ => self.warps[w].regs.put_doubles(dst, at.mask, &[value; 32]),
        }
        Ok(())
    }

    /// A word a lane, checked before.
    fn load_words(&self, w: usize, group: &Group, place: &Place<'_>) -> [u32; 32] {
        let mut out = [0; 32];
        let first = group.addrs[0];
        match place {
            Place::Slot(_, slot) => {
                let base = slot.base;
                if group.mask == FULL && consecutive(&group.addrs, 4) {
                    let start = ((first - base) / 4) as usize;
                    for (out, word) in out.iter_mut().zip(&slot.words[start..start + 32]) {
                        *out = word.load(Ordering::Relaxed);
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
            let place = self.place(&group, width * srcs.len() as u32)?;
            if matches!(place, Place::Param) {
                return Err(Fault::new(
                    TrapKind::ReadOnly,
                    group.mask.trailing_zeros() as usize,
                    "",
                ));
            }
            report(at, memory, AccessKind::Store, srcs.len(), &group, &place, obs);
            if let ([Src::W(r)], 4, Place::Shared, 1) = (srcs, width, &place, self.blocks.len()) {
                let value = &self.warps[w].regs.w[*r as usize];
                let shared = &mut self.shared;
                each(group.mask, |i| {
                    let at = (group.addrs[i] & 0xff_ffff) as usize;
                    shared[at..at + 4].copy_from_slice(&value[i].to_le_bytes());
                });
                continue;
            }
            each(group.mask, |lane| {
                let mut addr = group.addrs[lane];
                for src in srcs {
                    let value = self.lane(w, lane, *src);
                    self.put(w, &place, lane, addr, width, value);
                    addr += u64::from(width);
                }
            });
        }
        Ok(())
    }

    /// Where one lane's bytes lie in shared memory, for operations of one lane.
    pub(super) fn shared_one(
        &self,
        w: usize,
        window: Window,
        lane: usize,
        addr: u64,
        bytes: u32,
        align: u32,
    ) -> Result<u64, Fault> {
        let mut addrs = [0; 32];
        addrs[lane] = addr;
        let group = self.group(w, window, &addrs, 1 << lane);
        if group.space != Space::Shared {
            return Err(Fault::new(
                TrapKind::OutOfBounds,
                lane,
                format!("address {addr:#x} is not in shared memory"),
            ));
        }
        let addr = group.addrs[lane];
        if !addr.is_multiple_of(align.into()) {
            return Err(Fault::new(
                TrapKind::Misaligned,
                lane,
                format!("shared address {addr:#x} is no multiple of {align}"),
            ));
        }
        let (rank, offset) = (addr >> 24, addr & 0xff_ffff);
        let limit = u64::from(self.env.info.shared);
        if addr >> 40 != 0 || rank > self.blocks.len() as u64 || offset + u64::from(bytes) > limit {
            let detail =
                format!("{bytes} bytes at shared address {addr:#x}, where there are {limit} bytes");
            return Err(Fault::new(TrapKind::OutOfBounds, lane, detail));
        }
        Ok(addr)
    }
}

impl From<Miss> for Fault {
    fn from((kind, detail): Miss) -> Fault {
        Fault::new(kind, 0, detail)
    }
}

/// The first lane of a mask for which something holds, or the first of all.
fn first(mask: u32, f: impl Fn(usize) -> bool) -> usize {
    (0..32).find(|i| mask >> i & 1 == 1 && f(*i)).unwrap_or(mask.trailing_zeros() as usize & 31)
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

#[inline]
pub(super) fn report<O: Observer>(
    at: &At<'_>,
    memory: &Memory,
    kind: AccessKind,
    vector: usize,
    group: &Group,
    place: &Place<'_>,
    obs: &mut O,
) {
    let alloc = match place {
        Place::Slot(id, _) => Some(*id),
        _ => None,
    };
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
            addrs: &group.addrs,
            alloc,
        },
    );
}
