//! Executes one instruction of one warp.

use super::env::{Fault, tag};
use super::team::Team;
use super::warp::{FULL, Flow, Regs, each};
use crate::TrapKind;
use crate::alu::fast::{self, Doubles, Words};
use crate::alu::{compare, divides_by_zero, eval};
use crate::inst::{Alu, Cmp, Dst, F, Fast, Op, Src, Ty, Window};
use crate::kernel::Kernel;
use crate::model::releases;
use crate::observer::{Collective, Observer};

impl Team<'_> {
    /// Executes the instruction at `pc` for the lanes of `mask`.
    #[inline]
    pub(super) fn issue<O: Observer>(
        &mut self,
        w: usize,
        pc: u32,
        mask: u32,
        obs: &mut O,
    ) -> Result<Flow, Fault> {
        let env = self.env;
        let inst = &env.info.kernel.insts[pc as usize];
        let active = match inst.guard {
            None => mask,
            Some((p, not)) => {
                let p = self.warps[w].regs.p[p as usize];
                mask & if not { !p } else { p }
            }
        };
        self.executed += 1;
        if self.sample.is_some() {
            self.sample(w, pc);
        }
        if let Some(flow) = self.flow
            && flow.watch[pc as usize]
        {
            self.unset(w, pc, mask, active, obs);
        }
        match &inst.op {
            Op::Alu { alu, fast, dst, src } => {
                let at = self.at(w, pc, active);
                obs.inst(&at);
                // A page of the book does not look for narrow integers.
                if cfg!(not(target_family = "wasm")) && alu.may_widen() {
                    obs.widened(&at, |operand, lane| self.lane(w, lane, src[operand]));
                }
                self.alu(w, active, alu, *fast, *dst, src)?;
            }
            Op::Setp { cmp, ty, ftz, join, p, q, a, b } => {
                obs.inst(&self.at(w, pc, active));
                // A comparison of pairs yields one predicate for each half.
                let (mut yes, mut no) = if ty.is_packed() {
                    self.compare_halves(w, active, *cmp, *ty, *ftz, [*a, *b])
                } else {
                    let yes = self.compare(w, active, *cmp, *ty, *ftz, *a, *b);
                    (yes, !yes)
                };
                let regs = &mut self.warps[w].regs;
                if let Some((op, c)) = join {
                    let c = regs.pred(*c);
                    (yes, no) = (op.of(yes, c), op.of(no, c));
                }
                regs.put_pred(*p, active, yes);
                regs.put_pred(*q, active, no);
            }
            Op::Pred { op, dst, a, b } => {
                obs.inst(&self.at(w, pc, active));
                let regs = &mut self.warps[w].regs;
                let value = op.of(regs.pred(*a), regs.pred(*b));
                regs.put_pred(*dst, active, value);
            }
            Op::Special { dst, special } => {
                obs.inst(&self.at(w, pc, active));
                self.put_special(w, active, *dst, *special);
            }
            Op::Load { memory, dsts } => {
                let at = self.at(w, pc, active);
                obs.inst(&at);
                if active != 0 {
                    self.load(w, &at, memory, dsts, obs)?;
                }
            }
            Op::Store { memory, srcs } => {
                let at = self.at(w, pc, active);
                obs.inst(&at);
                if active != 0 {
                    self.store(w, &at, memory, srcs, obs)?;
                }
            }
            Op::Branch(target) => {
                let at = self.at(w, pc, active);
                obs.inst(&at);
                if inst.guard.is_some() {
                    obs.branch(&at, active, mask & !active);
                }
                return Ok(if active == mask {
                    Flow::Jump(*target)
                } else if active == 0 {
                    Flow::Next
                } else {
                    Flow::Part(active)
                });
            }
            Op::Exit => {
                let at = self.at(w, pc, active);
                obs.inst(&at);
                if active != 0 {
                    obs.exit(&at, active);
                    return Ok(Flow::Exit(active));
                }
            }
            Op::Bar(bar) => return self.bar(w, pc, active, bar, obs),
            Op::Sync { op, members } => return self.sync(w, pc, active, op, *members, obs),
            Op::Nop => obs.inst(&self.at(w, pc, active)),
            other => return self.rare(w, pc, active, other, obs),
        }
        Ok(Flow::Next)
    }

    /// Executes an instruction that rarely occurs in inner loops.
    #[inline(never)]
    fn rare<O: Observer>(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        op: &Op,
        obs: &mut O,
    ) -> Result<Flow, Fault> {
        let at = self.at(w, pc, active);
        obs.inst(&at);
        if active == 0 {
            return Ok(Flow::Next);
        }
        match op {
            Op::Pack { dst, parts, bits } => each(active, |lane| {
                let part = |src: &Src| crate::alu::trim(self.lane(w, lane, *src), *bits);
                let value = parts.iter().rev().fold(0, |v, src| v << bits | part(src));
                self.warps[w].regs.put(*dst, lane, value);
            }),
            Op::Unpack { dsts, src, bits } => each(active, |lane| {
                let mut value = self.lane(w, lane, *src);
                for dst in dsts {
                    self.warps[w].regs.put(*dst, lane, crate::alu::trim(value, *bits));
                    value >>= bits;
                }
            }),
            Op::Atomic(atom) => self.atomic(w, &at, atom, obs)?,
            Op::Host(call) => self.host(w, &at, call, obs)?,
            Op::ActiveMask(dst) => {
                obs.collective(&at, Collective::ActiveMask, active);
                each(active, |lane| self.warps[w].regs.put(*dst, lane, active.into()));
            }
            Op::Ballot { dst, a } => {
                obs.collective(&at, Collective::Vote, active);
                let held = self.warps[w].regs.pred(*a) & active;
                each(active, |lane| self.warps[w].regs.put(*dst, lane, held.into()));
            }
            Op::Carry(carry) => self.carry(w, active, carry),
            Op::Fence(order, scope) => {
                if releases(*order, *scope) {
                    self.catch_up_all();
                }
                self.sees(w, active, *scope);
                obs.fence(&at, *order, *scope);
            }
            Op::InitFence => obs.init_fence(&at),
            Op::ClusterArrive { relaxed } => self.cluster_arrive(w, &at, *relaxed, obs)?,
            Op::ClusterWait => {
                obs.cluster_wait(&at);
                return Ok(self.cluster_wait(w, active));
            }
            Op::Mbar(mbar) => return self.mbar(w, &at, mbar, obs),
            Op::Async(copy) => {
                self.catch_up_all();
                self.copy(w, &at, copy, obs)?;
            }
            Op::CopyGroup(group) => self.copy_group(w, &at, *group, obs)?,
            Op::CopyArrive { mbar, counts } => self.copy_arrive(w, &at, mbar, *counts, obs)?,
            Op::ProxyFence => obs.proxy_fence(&at),
            Op::LaunchDependents => {}
            Op::LaunchWait => obs.launch_wait(&at),
            Op::Trap => {
                let detail = "the kernel calls `__trap()`, or the compiler inserted a trap because \
                              the source's behaviour is undefined here, for example because a \
                              pointer is uninitialized";
                let lane = active.trailing_zeros() as usize;
                return Err(Fault::new(TrapKind::Explicit, lane, detail));
            }
            other => self.address(w, active, other)?,
        }
        Ok(Flow::Next)
    }

    /// Converts addresses: from one block of a cluster to another, or from one state space to
    /// another.
    fn address(&mut self, w: usize, active: u32, op: &Op) -> Result<(), Fault> {
        match op {
            Op::Mapa { dst, addr, offset, rank, generic } => {
                let size = self.blocks.len() as u64;
                let mut bad = None;
                each(active, |lane| {
                    let addr = self.lane(w, lane, *addr).wrapping_add_signed(*offset);
                    let rank = self.lane(w, lane, *rank) & 0xffff_ffff;
                    if rank >= size {
                        bad = Some((lane, rank));
                    }
                    let base = if *generic { tag::SHARED } else { 0 };
                    self.warps[w].regs.put(*dst, lane, base | (rank + 1) << 24 | addr & 0xff_ffff);
                });
                if let Some((lane, rank)) = bad {
                    return Err(Fault::new(
                        TrapKind::OutOfBounds,
                        lane,
                        format!("rank {rank} in a cluster of {size} blocks"),
                    ));
                }
            }
            Op::GetRank { dst, addr, .. } => {
                let own = self.blocks[self.warps[w].block].id.rank;
                each(active, |lane| {
                    let rank = self.lane(w, lane, *addr) >> 24 & 0xff;
                    let rank = if rank == 0 { own.into() } else { rank - 1 };
                    self.warps[w].regs.put(*dst, lane, rank);
                });
            }
            Op::IsSpace { dst, window, addr } => each(active, |lane| {
                let addr = self.lane(w, lane, *addr);
                let own = self.blocks[self.warps[w].block].id.rank;
                let rank = addr >> 24 & 0xff;
                let yes = match window {
                    Window::Shared => {
                        addr >> 56 == tag::SHARED >> 56 && (rank == 0 || rank == u64::from(own) + 1)
                    }
                    Window::SharedCluster => addr >> 56 == tag::SHARED >> 56,
                    Window::Local => addr >> 56 == tag::LOCAL >> 56,
                    Window::Param => addr >> 56 == tag::PARAM >> 56,
                    Window::Global => addr >> 56 == 0,
                    _ => false,
                };
                self.warps[w].regs.put(*dst, lane, yes.into());
            }),
            Op::Cvta { window, to, dst, src, offset } => {
                let base = match window {
                    Window::Shared | Window::SharedCluster => tag::SHARED,
                    Window::Local => tag::LOCAL,
                    Window::Param => tag::PARAM,
                    _ => 0,
                };
                each(active, |lane| {
                    let addr = self.lane(w, lane, *src).wrapping_add_signed(*offset);
                    let value = if *to { addr.wrapping_sub(base) } else { addr.wrapping_add(base) };
                    self.warps[w].regs.put(*dst, lane, value);
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the value of an operand for one lane.
    #[inline]
    pub(super) fn lane(&self, w: usize, lane: usize, src: Src) -> u64 {
        let regs = &self.warps[w].regs;
        match src {
            Src::W(r) => u64::from(regs.w[r as usize][lane]),
            Src::D(r) => regs.d[r as usize][lane],
            Src::Imm(v) => v,
            Src::ConstW(i) => u64::from(self.env.info.kernel.words[i as usize][lane]),
            Src::ConstD(i) => self.env.info.kernel.doubles[i as usize][lane],
            Src::P(_) | Src::NotP(_) => u64::from(regs.pred(src) >> lane & 1),
            Src::Special(special) => self.special(w, lane, special),
        }
    }

    fn alu(
        &mut self,
        w: usize,
        active: u32,
        alu: &Alu,
        fast: Fast,
        dst: Dst,
        src: &[Src; 4],
    ) -> Result<(), Fault> {
        if fast != Fast::No {
            let kernel = self.env.info.kernel;
            let regs = &mut self.warps[w].regs;
            if fast == Fast::RemU32 && (Planes { regs, kernel }).words(src[1]).contains(&0) {
                self.check_divisor(w, active, alu, src[1])?;
            }
            run_fast(kernel, &mut self.warps[w].regs, active, fast, dst, src);
            return Ok(());
        }
        if matches!(alu.f, F::Div | F::Rem) && !alu.ty.is_float() {
            self.check_divisor(w, active, alu, src[1])?;
        }
        let extend = matches!(alu.f, F::Cvt { .. }) && alu.ty.is_signed();
        each(active, |lane| {
            // Using `map` on an array would add a function call for each lane.
            let [a, b, c, d] = *src;
            let of = |src| self.lane(w, lane, src);
            let mut value = eval(alu, [of(a), of(b), of(c), of(d)]);
            if extend {
                value = crate::alu::sext(value, alu.ty.bits()) as u64;
            }
            self.warps[w].regs.put(dst, lane, value);
        });
        Ok(())
    }

    fn check_divisor(&self, w: usize, active: u32, alu: &Alu, divisor: Src) -> Result<(), Fault> {
        let mut zero = None;
        each(active, |lane| {
            if zero.is_none() && divides_by_zero(alu, self.lane(w, lane, divisor)) {
                zero = Some(lane);
            }
        });
        zero.map_or(Ok(()), |lane| Err(Fault::new(TrapKind::DivideByZero, lane, "")))
    }

    /// Returns the lanes for which a comparison holds.
    #[allow(clippy::too_many_arguments)] // The fields of one instruction.
    fn compare(&self, w: usize, active: u32, cmp: Cmp, ty: Ty, ftz: bool, a: Src, b: Src) -> u32 {
        let planes = Planes { regs: &self.warps[w].regs, kernel: self.env.info.kernel };
        let in_planes =
            |s: Src| matches!(s, Src::W(_) | Src::D(_) | Src::ConstW(_) | Src::ConstD(_));
        if !ty.is_float() && in_planes(a) && in_planes(b) {
            if ty.bits() == 32 {
                return words_compare(cmp, ty.is_signed(), planes.words(a), planes.words(b));
            }
            if ty.bits() == 64 {
                return doubles_compare(cmp, ty.is_signed(), planes.doubles(a), planes.doubles(b));
            }
        }
        let mut out = 0;
        each(active, |lane| {
            let yes = compare(cmp, ty, ftz, self.lane(w, lane, a), self.lane(w, lane, b));
            out |= u32::from(yes) << lane;
        });
        out
    }

    /// Returns the lanes for which a comparison of the low halves holds, and the lanes for which a
    /// comparison of the high halves holds.
    fn compare_halves(
        &self,
        w: usize,
        active: u32,
        cmp: Cmp,
        ty: Ty,
        ftz: bool,
        pair: [Src; 2],
    ) -> (u32, u32) {
        let mut out = [0; 2];
        each(active, |lane| {
            let [a, b] = pair.map(|src| self.lane(w, lane, src));
            for (half, held) in out.iter_mut().enumerate() {
                let [a, b] = [a, b].map(|v| v >> (16 * half) & 0xffff);
                *held |= u32::from(compare(cmp, ty.half(), ftz, a, b)) << lane;
            }
        });
        (out[0], out[1])
    }
}

/// Returns a mask with a bit for each lane for which `f` holds.
fn bits(f: impl Fn(usize) -> bool) -> u32 {
    let mut out = 0;
    for lane in 0..32 {
        out |= u32::from(f(lane)) << lane;
    }
    out
}

fn words_compare(cmp: Cmp, signed: bool, a: &Words, b: &Words) -> u32 {
    let flip = if signed { 1 << 31 } else { 0 };
    let less = |a: &Words, b: &Words| bits(|i| (a[i] ^ flip) < (b[i] ^ flip));
    match cmp {
        Cmp::Eq | Cmp::Equ => bits(|i| a[i] == b[i]),
        Cmp::Ne | Cmp::Neu => bits(|i| a[i] != b[i]),
        Cmp::Lt | Cmp::Ltu => less(a, b),
        Cmp::Gt | Cmp::Gtu => less(b, a),
        Cmp::Ge | Cmp::Geu => !less(a, b),
        Cmp::Le | Cmp::Leu => !less(b, a),
        Cmp::Num => FULL,
        Cmp::Nan => 0,
    }
}

fn doubles_compare(cmp: Cmp, signed: bool, a: &Doubles, b: &Doubles) -> u32 {
    let flip = if signed { 1 << 63 } else { 0 };
    let less = |a: &Doubles, b: &Doubles| bits(|i| (a[i] ^ flip) < (b[i] ^ flip));
    match cmp {
        Cmp::Eq | Cmp::Equ => bits(|i| a[i] == b[i]),
        Cmp::Ne | Cmp::Neu => bits(|i| a[i] != b[i]),
        Cmp::Lt | Cmp::Ltu => less(a, b),
        Cmp::Gt | Cmp::Gtu => less(b, a),
        Cmp::Ge | Cmp::Geu => !less(a, b),
        Cmp::Le | Cmp::Leu => !less(b, a),
        Cmp::Num => FULL,
        Cmp::Nan => 0,
    }
}

/// The constant planes of a kernel, and the registers of a warp.
struct Planes<'a> {
    regs: &'a Regs,
    kernel: &'a Kernel,
}

impl<'a> Planes<'a> {
    #[inline(always)]
    fn words(&self, src: Src) -> &'a Words {
        match src {
            Src::W(r) => &self.regs.w[r as usize],
            Src::ConstW(i) => &self.kernel.words[i as usize],
            _ => &[0; 32],
        }
    }

    #[inline(always)]
    fn doubles(&self, src: Src) -> &'a Doubles {
        match src {
            Src::D(r) => &self.regs.d[r as usize],
            Src::ConstD(i) => &self.kernel.doubles[i as usize],
            _ => &[0; 32],
        }
    }
}

/// Computes whole planes in a fast loop, and writes the results of the active lanes.
fn run_fast(
    kernel: &Kernel,
    regs: &mut Regs,
    active: u32,
    fast: Fast,
    dst: Dst,
    [a, b, c, _]: &[Src; 4],
) {
    let from = Planes { regs, kernel };
    match fast {
        Fast::Mov64 | Fast::Add64 | Fast::Sub64 | Fast::AddF64 | Fast::MulF64 | Fast::FmaF64 => {
            let out = fast::doubles(fast, from.doubles(*a), from.doubles(*b), from.doubles(*c));
            regs.put_doubles(dst, active, &out);
        }
        Fast::Shl64 => {
            let out = fast::shl64(from.doubles(*a), from.words(*b));
            regs.put_doubles(dst, active, &out);
        }
        Fast::WideU32 | Fast::WideS32 | Fast::ZextU32 | Fast::SextS32 => {
            let out = fast::widening(fast, from.words(*a), from.words(*b));
            regs.put_doubles(dst, active, &out);
        }
        Fast::Trunc64 => {
            let out = fast::truncate(from.doubles(*a));
            regs.put_words(dst, active, &out);
        }
        _ => {
            let out = fast::words(fast, from.words(*a), from.words(*b), from.words(*c));
            regs.put_words(dst, active, &out);
        }
    }
}
