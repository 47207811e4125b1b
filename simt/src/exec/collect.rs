//! Performs warp-wide operations under a member mask.

use super::env::Fault;
use super::team::Team;
use super::warp::{Flow, State, Unset, each};
use crate::TrapKind;
use crate::alu::{compare, eval};
use crate::inst::{Alu, AtomOp, Cmp, F, Op, Rounding, Shfl, Src, Sync, Ty};
use crate::observer::{Arrive, At, Collective, Complete, Level, Observer, Parted, Scope};

/// The value that a shuffle returns if it reads from a lane that does not take part. A test is
/// unlikely to expect this value.
const UNDEFINED: u32 = 0xffff_dead;

impl Team<'_> {
    pub(super) fn sync<O: Observer>(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        op: &Sync,
        members: Src,
        obs: &mut O,
    ) -> Result<Flow, Fault> {
        let at = self.at(w, pc, active);
        if active == 0 {
            obs.inst(&at);
            return Ok(Flow::Next);
        }
        let lead = active.trailing_zeros() as usize;
        let mask = self.lane(w, lead, members) as u32;
        let mut same = active;
        if !matches!(members, Src::Imm(_)) {
            same = 0;
            each(active, |lane| {
                same |= u32::from(self.lane(w, lane, members) as u32 == mask) << lane
            });
        }
        if same != active {
            return Ok(Flow::Only(same));
        }
        obs.inst(&at);
        if active & !mask != 0 {
            let lane = (active & !mask).trailing_zeros() as usize;
            return Err(Fault::new(
                TrapKind::BadMask,
                lane,
                format!(
                    "lane {lane} executes it, but is not in the member mask {mask:#010x}: name \
                     every lane that executes it (0xffffffff for a whole warp), or exclude the \
                     others with a condition"
                ),
            ));
        }
        if *op == Sync::Barrier {
            let arrive = Arrive {
                level: Level::Warp,
                id: 0,
                mask: active,
                members: mask,
                count: None,
                arrive_only: false,
                aligned: false,
                relaxed: false,
            };
            obs.arrive(&at, &arrive);
        }
        if mask & self.warps[w].live & !active == 0 {
            self.perform(w, &[(pc, active)], mask, obs);
            return Ok(Flow::Next);
        }
        Ok(Flow::Wait(active, State::Sync { members: mask }))
    }

    /// Performs each warp-wide operation at which all members have arrived. Called after waits and
    /// exits.
    pub(super) fn try_sync<O: Observer>(&mut self, w: usize, obs: &mut O) {
        let insts = &self.env.info.kernel.insts;
        let mut i = 0;
        while i < self.warps[w].splits.len() {
            let split = self.warps[w].splits[i];
            i += 1;
            let State::Sync { members } = split.state else { continue };
            let like = |pc: u32| match (&insts[pc as usize].op, &insts[split.pc as usize].op) {
                (Op::Sync { op: a, .. }, Op::Sync { op: b, .. }) => key(a) == key(b),
                _ => false,
            };
            let warp = &mut self.warps[w];
            let with = warp.splits.iter().filter(|s| s.state == split.state && like(s.pc));
            let parts: Vec<(u32, u32)> = with.map(|s| (s.pc, s.mask)).collect();
            let here = parts.iter().fold(0, |all, (_, mask)| all | mask);
            if members & warp.live & !here != 0 {
                continue;
            }
            for s in &mut warp.splits {
                if s.state == split.state && here & s.mask != 0 {
                    (s.state, s.pc) = (State::Ready, s.pc + 1);
                }
            }
            self.perform(w, &parts, members, obs);
            self.warps[w].merge();
            i = 0;
        }
    }

    /// Performs a warp-wide operation. Lanes may have arrived at several instructions of the same
    /// kind.
    fn perform<O: Observer>(&mut self, w: usize, parts: &[(u32, u32)], members: u32, obs: &mut O) {
        let insts = &self.env.info.kernel.insts;
        let here = parts.iter().fold(0, |all, (_, mask)| all | mask);
        let ops = parts.iter().filter_map(|(pc, mask)| match &insts[*pc as usize].op {
            Op::Sync { op, .. } => Some((*pc, *mask, op.as_ref())),
            _ => None,
        });
        let tracks = self.flow.is_some() && !self.warps[w].regs.unset.is_empty();
        let mut given = Given { a: [0; 32], lanes: here, reads: [(0, 0); 32], unset: Unset::NONE };
        let mut asked = None;
        for (pc, mask, op) in ops.clone() {
            asked = Some(op);
            let at = self.at(w, pc, mask);
            self.give(w, &at, op, members, tracks, &mut given, obs);
        }
        let a = given.a;
        let held = (0..32).fold(0u32, |all, i| all | (a[i] as u32 & 1) << i) & here;
        let redux = match asked {
            Some(Sync::Redux { op, ty, abs, nan, .. }) => reduce(*op, *ty, *abs, *nan, here, &a),
            _ => 0,
        };
        for (pc, mask, op) in ops {
            match *op {
                Sync::Barrier => {}
                Sync::Shuffle { .. } => self.shuffle(w, [pc, mask], op, tracks, &given),
                Sync::VoteAll { dst, .. } => self.put_result(w, mask, dst, u64::from(held == here)),
                Sync::VoteAny { dst, .. } => self.put_result(w, mask, dst, u64::from(held != 0)),
                Sync::VoteUni { dst, .. } => {
                    self.put_result(w, mask, dst, u64::from(held == 0 || held == here))
                }
                Sync::Ballot { dst, .. } => self.put_result(w, mask, dst, held.into()),
                Sync::MatchAny { dst, .. } => each(mask, |i| {
                    let mut same = 0u64;
                    each(here, |j| same |= u64::from(a[i] == a[j]) << j);
                    self.warps[w].regs.put(dst, i, same);
                }),
                Sync::MatchAll { dst, p, .. } => {
                    let first = a[here.trailing_zeros() as usize & 31];
                    let mut all = true;
                    each(here, |i| all &= a[i] == first);
                    self.put_result(w, mask, dst, if all { here.into() } else { 0 });
                    self.put_result(w, mask, p, all.into());
                }
                Sync::Redux { dst, .. } => self.put_result(w, mask, dst, redux),
                Sync::Elect { dst, p } => {
                    let leader = here.trailing_zeros();
                    self.put_result(w, mask, dst, leader.into());
                    self.warps[w].regs.put_pred(p, mask, 1 << leader);
                }
            }
        }
        if self.env.in_convergence {
            self.in_convergence(w, parts, members, obs);
        }
        if asked == Some(&Sync::Barrier) {
            self.sees(w, here, Scope::Cta);
            let mut lanes = vec![0; self.per_block()];
            lanes[self.warps[w].index as usize] = here;
            let block = self.blocks[self.warps[w].block].id;
            obs.complete(&Complete { level: Level::Warp, id: 0, block, lanes: &lanes });
        }
    }
}

/// The operands of a warp-wide operation, and the lanes that take part.
struct Given {
    /// The first operand of each lane.
    a: [u64; 32],
    /// The lanes that take part.
    lanes: u32,
    /// For a shuffle: for each lane, the distance or the source lane, and the bounds of the
    /// segment.
    reads: [(u64, u64); 32],
    unset: Unset,
}

impl Team<'_> {
    /// Records the operands of the lanes at one instruction.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments describe one operation, its lanes and its observer"
    )]
    fn give<O: Observer>(
        &self,
        w: usize,
        at: &At<'_>,
        op: &Sync,
        members: u32,
        tracks: bool,
        given: &mut Given,
        obs: &mut O,
    ) {
        match op {
            Sync::Barrier => {}
            Sync::Shuffle { a: src, b, c, .. } => {
                obs.collective(at, Collective::Shuffle, members);
                if tracks {
                    self.shuffled(w, at.mask, *src, &mut given.unset);
                }
                each(at.mask, |i| {
                    given.a[i] = self.lane(w, i, *src);
                    given.reads[i] = (self.lane(w, i, *b), self.lane(w, i, *c));
                });
            }
            Sync::VoteAll { a: src, .. }
            | Sync::VoteAny { a: src, .. }
            | Sync::VoteUni { a: src, .. }
            | Sync::Ballot { a: src, .. } => {
                obs.collective(at, Collective::Vote, members);
                let held = self.warps[w].regs.pred(*src);
                each(at.mask, |i| given.a[i] = u64::from(held >> i & 1));
            }
            Sync::MatchAny { a: src, .. } | Sync::MatchAll { a: src, .. } => {
                obs.collective(at, Collective::Match, members);
                each(at.mask, |i| given.a[i] = self.lane(w, i, *src));
            }
            Sync::Redux { a: src, .. } => {
                obs.collective(at, Collective::Redux, members);
                each(at.mask, |i| given.a[i] = self.lane(w, i, *src));
            }
            Sync::Elect { .. } => obs.collective(at, Collective::Elect, members),
        }
    }

    /// Gives each lane at one instruction the value of its source lane.
    fn shuffle(&mut self, w: usize, [pc, mask]: [u32; 2], op: &Sync, tracks: bool, given: &Given) {
        let &Sync::Shuffle { mode, dst, p, .. } = op else { return };
        let mut out = [0u32; 32];
        let mut inside = 0u32;
        let mut undefined = 0;
        let mut without = Unset { bytes: [0; 32], ..given.unset };
        each(mask, |i| {
            let (distance, bounds) = given.reads[i];
            let (source, yes) = source_lane(mode, i as u32, distance as u32, bounds as u32);
            inside |= u32::from(yes) << i;
            let from = source as usize & 31;
            (without.bytes[i], without.from[i]) = (given.unset.bytes[from], given.unset.from[from]);
            out[i] = if given.lanes >> source & 1 == 1 {
                given.a[source as usize] as u32
            } else {
                undefined |= 1 << i;
                UNDEFINED
            };
        });
        if undefined != 0 && self.flow.is_some() {
            // The value is undefined, which is an error only if an instruction uses it.
            each(undefined, |i| (without.bytes[i], without.from[i]) = (0x0f, pc));
            without.loaded = false;
        }
        if tracks || without.bytes != [0; 32] {
            self.put_shuffled(w, mask, [dst, p], &without);
        }
        let regs = &mut self.warps[w].regs;
        regs.put_words(dst, mask, &out);
        regs.put_pred(p, mask, inside);
    }
}

impl Team<'_> {
    /// Reports a warp-wide operation whose members are not all at the same instruction; PTX for
    /// targets before sm_70 forbids such an operation.
    fn in_convergence<O: Observer>(
        &self,
        w: usize,
        parts: &[(u32, u32)],
        members: u32,
        obs: &mut O,
    ) {
        let warp = &self.warps[w];
        let born = (self.env.info.threads() - warp.index * 32).min(32);
        let members = members & (u32::MAX >> (32 - born));
        let [(pc, _), ..] = *parts else { return };
        let lanes = |here: bool| {
            let parts = parts.iter().filter(|(at, _)| (*at == pc) == here);
            parts.fold(0, |all, (_, mask)| all | mask)
        };
        let (here, elsewhere) = (lanes(true), lanes(false));
        if here != members {
            let other = parts.iter().find(|(at, _)| *at != pc).map(|(at, _)| *at);
            obs.parted(&self.at(w, pc, here), &Parted { members, elsewhere, other });
        }
    }
}

/// Returns the kind of an operation. Lanes can execute one operation together if their operations
/// are of the same kind, even at different instructions.
fn key(op: &Sync) -> (u8, u8) {
    match op {
        Sync::Barrier => (0, 0),
        Sync::Shuffle { mode, .. } => (1, *mode as u8),
        Sync::VoteAll { .. } => (2, 0),
        Sync::VoteAny { .. } => (2, 1),
        Sync::VoteUni { .. } => (2, 2),
        Sync::Ballot { .. } => (2, 3),
        Sync::MatchAny { .. } => (3, 0),
        Sync::MatchAll { .. } => (3, 1),
        Sync::Redux { op, .. } => (4, *op as u8),
        Sync::Elect { .. } => (5, 0),
    }
}

/// Returns the lane that a shuffle reads, and whether the requested lane lies within the segment.
fn source_lane(mode: Shfl, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let most = lane & segment | clamp & !segment;
    let least = lane & segment;
    let (source, inside) = match mode {
        Shfl::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= most as i32),
        Shfl::Down => (lane + b, lane + b <= most),
        Shfl::Bfly => (lane ^ b, lane ^ b <= most),
        Shfl::Idx => {
            let source = least | b & !segment;
            (source, source <= most)
        }
    };
    if inside { (source & 31, true) } else { (lane, false) }
}

fn reduce(op: AtomOp, ty: Ty, abs: bool, nan: bool, here: u32, a: &[u64; 32]) -> u64 {
    let f = match op {
        AtomOp::Add => F::Add,
        AtomOp::Min => F::Min { nan, xorsign: false },
        AtomOp::Max => F::Max { nan, xorsign: false },
        AtomOp::And => F::And,
        AtomOp::Or => F::Or,
        _ => F::Xor,
    };
    let alu = Alu { f, ty, round: Rounding::Near, ftz: false, sat: false };
    let value = |i: usize| if abs { a[i] & 0x7fff_ffff } else { a[i] };
    let mut all = None;
    each(here, |i| {
        all = Some(match all {
            None => value(i),
            Some(sum) => eval(&alu, [sum, value(i), 0, 0]),
        });
    });
    let all = all.unwrap_or(0);
    if ty == Ty::F32 && compare(Cmp::Nan, ty, false, all, all) { 0x7fff_ffff } else { all }
}
