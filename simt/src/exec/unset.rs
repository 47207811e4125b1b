//! Tracks uninitialized registers, lane by lane.
//!
//! Only kernels with a [`Flow`] are tracked, and only in the instructions that it lists. A result
//! that is computed from an uninitialized register is itself uninitialized. An operand that is not
//! selected does not count as used.

use super::team::Team;
use super::warp::{NONE, Unset, each};
use crate::flow::{Flow, is_shuffle, read, written};
use crate::inst::{Alu, Bool, Dst, F, Op, Role, Src, Window};
use crate::observer::{At, Observer, Space, Unwritten, Use};

/// Returns a mask of all bytes of a destination register.
fn whole(dst: Dst) -> u8 {
    match dst {
        Dst::W(_) => 0x0f,
        Dst::D(_) => 0xff,
        Dst::P(_) | Dst::Sink => 1,
    }
}

impl Team<'_> {
    /// Marks as uninitialized, in all warps, the registers that some path reads before writing
    /// them.
    pub(super) fn begin_unset(&mut self, flow: &Flow) {
        for warp in &mut self.warps {
            for reg in &flow.unset {
                let bytes = [0x0f, 0xff, 1, 1][*reg as usize & 3];
                warp.regs.set_unset(*reg, u32::MAX, &Unset::of(warp.live, bytes));
            }
        }
    }

    /// Updates the uninitialized registers for an instruction. Called before the instruction runs.
    #[inline(never)]
    pub(super) fn unset<O: Observer>(
        &mut self,
        w: usize,
        pc: u32,
        mask: u32,
        active: u32,
        obs: &mut O,
    ) {
        if self.warps[w].regs.unset.is_empty() {
            return;
        }
        let at = self.at(w, pc, active);
        let inst = &self.env.info.kernel.insts[pc as usize];
        if let Some((p, _)) = inst.guard {
            self.used(w, &self.at(w, pc, mask), Src::P(p), 1, "a condition", obs);
        }
        let mut uses = Vec::new();
        let mut dsts = Vec::new();
        inst.op.registers(
            &mut |src, role| {
                if read(src).is_some() {
                    uses.push((src, role));
                }
            },
            &mut |dst| dsts.push(dst),
        );
        for (src, role) in &uses {
            if let Role::Use(what) = role {
                self.used(w, &at, *src, 0xff, what, obs);
            }
        }
        if let Op::Store { memory, srcs } = &inst.op {
            // The compiler may keep a variable in the thread's local memory, so a store to local
            // memory is not a use of the variable.
            if memory.window == Window::Local {
                return;
            }
            let bytes = ((1u16 << memory.ty.bytes()) - 1) as u8;
            for src in srcs {
                if !self.warps[w].regs.unset(*src, active).loaded {
                    self.used(w, &at, *src, bytes, "", obs);
                }
            }
            return;
        }
        if is_shuffle(&inst.op) {
            // The uninitialized bytes of a shuffle's result are known only when all lanes have
            // arrived.
            return;
        }
        for (i, dst) in dsts.into_iter().enumerate() {
            let Some(reg) = written(dst) else { continue };
            let mut new = self.computed(w, active, &inst.op, i, dst, &uses);
            self.trace(w, pc, active, &uses, &mut new);
            self.warps[w].regs.set_unset(reg, active, &new);
        }
    }

    /// Sets the origin of the uninitialized bytes of an instruction's result. A copy of a variable
    /// has no origin of its own.
    fn trace(&self, w: usize, pc: u32, active: u32, uses: &[(Src, Role)], new: &mut Unset) {
        if new.bytes == [0; 32] {
            return;
        }
        new.from = [NONE; 32];
        for (src, role) in uses {
            let unset = self.warps[w].regs.unset(*src, active);
            each(unset.lanes(0xff), |i| {
                let own = if *role == Role::Copy { NONE } else { pc };
                match unset.from[i] {
                    NONE if new.from[i] == NONE => new.from[i] = own,
                    NONE => {}
                    from => new.from[i] = from,
                }
            });
        }
    }

    /// Reports the lanes in which an operand is uninitialized, once per instruction.
    fn used<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        src: Src,
        bytes: u8,
        what: &'static str,
        obs: &mut O,
    ) {
        let unset = self.warps[w].regs.unset(src, at.mask);
        let lanes = unset.lanes(bytes);
        if let (true, Some(reg)) = (lanes != 0, read(src)) {
            let mut left = lanes;
            while left != 0 {
                let pc = unset.from[left.trailing_zeros() as usize & 31];
                let mut same = 0;
                each(left, |i| same |= u32::from(unset.from[i] == pc) << i);
                let insts = &self.env.info.kernel.insts;
                let from = match insts.get(pc as usize).map(|inst| &inst.op) {
                    Some(op) if is_shuffle(op) => Unwritten::Shuffle(pc),
                    Some(Op::Load { .. }) => Unwritten::Load(pc),
                    Some(_) => Unwritten::Value(pc),
                    None => Unwritten::Variable,
                };
                obs.unset(at, same, Use { what, from });
                left &= !same;
            }
            self.warps[w].regs.set_unset(reg, lanes, &Unset::NONE);
        }
    }

    /// Returns the uninitialized bytes of a result.
    fn computed(
        &self,
        w: usize,
        active: u32,
        op: &Op,
        nth: usize,
        dst: Dst,
        uses: &[(Src, Role)],
    ) -> Unset {
        let regs = &self.warps[w].regs;
        let of = |src: Src| regs.unset(src, active);
        let any = || {
            let lanes = uses.iter().fold(0, |all, (src, role)| match role {
                Role::Use(_) => all,
                _ => all | of(*src).lanes(0xff),
            });
            if lanes == 0 { Unset::NONE } else { Unset::of(lanes, whole(dst)) }
        };
        match op {
            Op::Alu { alu, src, .. } => self.of_alu(w, active, alu, src, dst).unwrap_or_else(any),
            Op::Pred { op, a, b, .. } => {
                let (x, y) = (of(*a).lanes(1), of(*b).lanes(1));
                let lanes = decided(*op, (x, regs.pred(*a)), (y, regs.pred(*b)));
                if lanes == 0 { Unset::NONE } else { Unset::of(lanes, 1) }
            }
            Op::Pack { parts, bits, .. } => {
                let (mut out, bytes) = (Unset::NONE, bits / 8);
                for (i, part) in parts.iter().enumerate() {
                    let part = of(*part);
                    out.loaded &= part.loaded || part.bytes == [0; 32];
                    each(active, |lane| {
                        let low = u16::from(part.bytes[lane]) & ((1 << bytes) - 1);
                        out.bytes[lane] |= (low << (i as u32 * bytes)) as u8;
                    });
                }
                out
            }
            Op::Unpack { src, bits, .. } => {
                let (mut out, bytes) = (of(*src), bits / 8);
                each(active, |lane| {
                    let part = u16::from(out.bytes[lane]) >> (nth as u32 * bytes);
                    out.bytes[lane] = (part & ((1 << bytes) - 1)) as u8;
                });
                out
            }
            _ => any(),
        }
    }

    /// Returns the uninitialized bytes of the result, for arithmetic that copies bytes or does not
    /// depend on all of them; `None` for other arithmetic.
    fn of_alu(&self, w: usize, active: u32, alu: &Alu, src: &[Src; 4], dst: Dst) -> Option<Unset> {
        let regs = &self.warps[w].regs;
        let [a, b] = [src[0], src[1]].map(|src| regs.unset(src, active));
        let mut out = a;
        match alu.f {
            F::Mov => {}
            F::Cvt { from, .. } if !from.is_float() && !alu.ty.is_float() && !alu.sat => {
                let kept = ((1u16 << from.bytes().min(alu.ty.bytes())) - 1) as u8;
                let extends = from.is_signed() && from.bytes() < 8;
                let top = 1u8 << (from.bytes() - 1);
                each(active, |i| {
                    let fill = extends && out.bytes[i] & top != 0;
                    out.bytes[i] = out.bytes[i] & kept | if fill { whole(dst) & !kept } else { 0 };
                });
            }
            F::Selp => {
                let (p, taken) = (regs.unset(src[2], active).lanes(1), regs.pred(src[2]));
                each(active, |i| {
                    out.bytes[i] = match (p >> i & 1, taken >> i & 1) {
                        (1, _) => whole(dst),
                        (_, 1) => a.bytes[i],
                        _ => b.bytes[i],
                    }
                });
                out.loaded =
                    p == 0 && (a.loaded || a.bytes == [0; 32]) && (b.loaded || b.bytes == [0; 32]);
            }
            F::And | F::Or => {
                // A byte of zeros determines the result of `and`, and a byte of ones determines the
                // result of `or`.
                let decides = if alu.f == F::And { 0 } else { 0xff };
                each(active, |i| {
                    let (x, y) = (self.lane(w, i, src[0]), self.lane(w, i, src[1]));
                    let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
                    out.bytes[i] = (0..8).fold(0, |all, k| {
                        let (ua, ub) = (a.bytes[i] >> k & 1, b.bytes[i] >> k & 1);
                        let open = ua == 1 && (ub == 1 || y[k] != decides)
                            || ub == 1 && (ua == 1 || x[k] != decides);
                        all | u8::from(open) << k
                    });
                });
                out.loaded = false;
            }
            _ if alu.ty.is_packed() => {
                let all: Vec<Unset> = src.iter().map(|src| regs.unset(*src, active)).collect();
                each(active, |i| {
                    let bytes = all.iter().fold(0, |bytes, unset| bytes | unset.bytes[i]);
                    let half = |mask: u8| if bytes & mask == 0 { 0 } else { mask };
                    out.bytes[i] = half(0x03) | half(0x0c);
                });
                out.loaded = false;
            }
            _ => return None,
        }
        Some(out)
    }

    /// Collects the uninitialized bytes of a shuffle's operand, for the lanes of `mask`.
    pub(super) fn shuffled(&self, w: usize, mask: u32, src: Src, into: &mut Unset) {
        let unset = self.warps[w].regs.unset(src, mask);
        each(mask, |i| (into.bytes[i], into.from[i]) = (unset.bytes[i], unset.from[i]));
        into.loaded &= unset.loaded || unset.bytes == [0; 32];
    }

    /// Marks the bytes of a shuffle's result that are uninitialized in the source lanes.
    pub(super) fn put_shuffled(&mut self, w: usize, mask: u32, dsts: [Dst; 2], new: &Unset) {
        let regs = &mut self.warps[w].regs;
        for (dst, new) in dsts.into_iter().zip([new, &Unset::NONE]) {
            if let Some(reg) = written(dst) {
                regs.set_unset(reg, mask, new);
            }
        }
    }

    /// Marks the registers into which a load has read uninitialized bytes. For each lane, `missing`
    /// has a bit for each byte, starting at the lane's address.
    #[cold]
    pub(super) fn loaded_unset(
        &mut self,
        w: usize,
        (pc, lanes): (u32, u32),
        missing: &[u64; 32],
        dsts: &[Dst],
        width: u32,
    ) {
        for (i, dst) in dsts.iter().enumerate() {
            let Some(reg) = written(*dst) else { continue };
            let mut new = Unset::NONE;
            each(lanes, |lane| {
                let part = missing[lane] >> (i as u32 * width);
                new.bytes[lane] = (part & ((1 << width) - 1)) as u8;
                new.from[lane] = pc;
            });
            self.warps[w].regs.set_unset(reg, lanes, &new);
        }
    }

    /// Reports a store of uninitialized bytes, which makes the memory that it writes uninitialized.
    #[cold]
    pub(super) fn stored_unset<O: Observer>(
        &self,
        w: usize,
        at: &At<'_>,
        (space, lanes, addrs): (Space, u32, &[u64; 32]),
        srcs: &[Src],
        width: u32,
        obs: &mut O,
    ) {
        for (i, src) in srcs.iter().enumerate() {
            let unset = self.warps[w].regs.unset(*src, lanes);
            each(unset.lanes(((1u16 << width) - 1) as u8), |lane| {
                let address = addrs[lane] + u64::from(i as u32 * width);
                obs.carried(at, lane as u32, space, address, unset.bytes[lane]);
            });
        }
    }
}

/// Returns the lanes in which the resulting predicate is uninitialized, because neither operand
/// determines it.
fn decided(op: Bool, (ua, a): (u32, u32), (ub, b): (u32, u32)) -> u32 {
    let open = |value: u32| match op {
        Bool::And => value,
        Bool::Or => !value,
        Bool::Xor => u32::MAX,
    };
    ua & (ub | open(b)) | ub & (ua | open(a))
}
