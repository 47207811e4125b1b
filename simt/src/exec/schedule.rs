//! Chooses the warp and the lanes that run next.

use super::team::Team;
use super::warp::{Flow, NONE, Split, State, Warp, each};
use crate::inst::{Inst, MbarOp, Op, Window};
use crate::model::Order;
use crate::observer::Observer;
use crate::{Schedule, Trap};

/// Number of instructions in a time slice, after which other warps run. Lanes that spin must not
/// block the lanes that they wait for.
const TURN: u32 = 1 << 14;

/// Number of instructions after which a time slice may end early; it divides [`TURN`].
const LOOK: u32 = 1 << 7;

/// Number of time slices for which a warp may spin before its lanes no longer wait for each other
/// to converge.
const SPINS: u32 = 16;

/// Number of consecutive waits that may time out without progress. If more waits time out, the
/// warps count as deadlocked.
const MOST_VAIN_WAITS: u32 = 64;

/// The result of a team's time slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// All threads have exited.
    Done,
    /// Some threads have not exited.
    More,
}

type Ran<T> = Result<T, Box<Trap>>;

impl Team<'_> {
    /// Runs about `quantum` instructions, or fewer if the team ends or waits.
    pub(super) fn turn<O: Observer>(&mut self, quantum: u64, obs: &mut O) -> Ran<Turn> {
        let stop = self.executed.saturating_add(quantum);
        while !self.is_done() {
            let mut progress = false;
            match self.env.schedule {
                Schedule::Converged => {
                    for w in 0..self.warps.len() {
                        while self.warps[w].is_runnable() || self.let_go(w) {
                            progress = true;
                            let spun = self.run_converged(w, obs)?;
                            if spun > 0 {
                                self.let_others_through(w, spun);
                            }
                            if spun > 0 || self.executed >= stop {
                                break;
                            }
                        }
                    }
                }
                Schedule::MinPc => {
                    for w in 0..self.warps.len() {
                        progress |= self.run_min_pc(w, obs)?;
                    }
                }
                Schedule::Adversarial(_) => progress = self.run_adversarial(obs)?,
            }
            self.check_budget(obs)?;
            if !progress {
                progress = self.one_arrives(obs)?;
            }
            if !progress && !self.give_up_waits() {
                return Err(self.stuck());
            }
            if self.stall.at_write {
                return Ok(Turn::More);
            }
            if (self.executed >= stop || self.waits()) && !self.is_done() {
                return Ok(Turn::More);
            }
        }
        // After the block's end, what is late happens one by one, and other blocks run in between.
        if !self.late.is_empty() {
            match std::mem::take(&mut self.stall.released) {
                true => self.one_happens(),
                false => self.stall.long = true,
            }
        }
        self.stall.at_write = !self.late.is_empty();
        Ok(if self.late.is_empty() { Turn::Done } else { Turn::More })
    }

    /// Returns whether lanes that wait to converge may run so that a `.sync` can complete. The
    /// lanes may not run if an aligned barrier requires the whole warp, because then the kernel is
    /// wrong.
    fn may_release(&self, w: usize) -> bool {
        let insts = &self.env.info.kernel.insts;
        let aligned = |s: &Split| match &insts[s.pc as usize].op {
            Op::Bar(bar) => bar.aligned,
            _ => false,
        };
        !self.warps[w].splits.iter().any(|s| matches!(s.state, State::Bar { .. }) && aligned(s))
    }

    /// Releases lanes that wait to converge, so that the other lanes can continue. Lanes that are
    /// about to exit may always be released, because no barrier waits for them. Returns whether
    /// lanes were released.
    fn let_go(&mut self, w: usize) -> bool {
        let insts = &self.env.info.kernel.insts;
        let exits = |pc: u32| matches!(insts[pc as usize].op, Op::Exit);
        match self.may_release(w) {
            true => self.warps[w].release(),
            false => self.warps[w].release_at(exits),
        }
    }

    /// Releases lanes that wait to converge if the other lanes of the warp only poll, or have spun
    /// for a long time, because these other lanes may wait for a lock that a waiting lane holds. If
    /// the other lanes do not poll, lanes are released only in kernels whose blocks may
    /// communicate, because in other kernels a long loop need not be a wait.
    fn let_others_through(&mut self, w: usize, spun: u32) {
        let (may, polls) = (self.may_release(w), self.waits());
        let (spins, insts) = (self.env.info.interleaved, &self.env.info.kernel.insts);
        let warp = &mut self.warps[w];
        warp.spun = warp.spun.saturating_add(spun);
        let long = spins && warp.spun >= SPINS * TURN;
        // Releasing lanes does not help if the next step of these lanes is a block barrier.
        let helps = |pc: u32| {
            let plain = |inst: &&Inst| matches!(inst.op, Op::Alu { .. } | Op::Setp { .. });
            let next = insts[pc as usize..].iter().find(|inst| !plain(inst));
            !next.is_some_and(|inst| matches!(inst.op, Op::Bar(_)))
        };
        if may && (polls && warp.release_at(helps) || long && warp.release()) {
            warp.spun = 0;
        }
    }

    /// Runs one split, with convergence barriers, until it must wait. If the time slice ends before
    /// the split must wait, returns the number of instructions that ran; otherwise returns 0.
    fn run_converged<O: Observer>(&mut self, w: usize, obs: &mut O) -> Ran<u32> {
        let Some(s) = self.warps[w].splits.iter().rposition(|s| s.state == State::Ready) else {
            return Ok(0);
        };
        let Split { mut pc, mut mask, mut conv, .. } = self.warps[w].splits.swap_remove(s);
        let insts = &self.env.info.kernel.insts;
        let mut issued = 0;
        loop {
            // Check whether the split has reached the point where its lanes reconverge.
            while conv != NONE && self.warps[w].convs[conv as usize].pc == pc {
                let warp = &mut self.warps[w];
                warp.convs[conv as usize].arrived |= mask;
                match warp.open_if_complete(conv) {
                    Some(split) => (mask, conv) = (split.mask, split.conv),
                    None => return Ok(0),
                }
            }
            issued += 1;
            // The state of the warp is checked at intervals, so that a split that only waits for
            // other blocks stops early.
            if issued % LOOK == 1 && issued > LOOK && (issued > TURN || self.spins()) {
                // The split goes to the end of the queue, behind the splits that are ready.
                self.warps[w].splits.insert(0, Split { pc, mask, conv, state: State::Ready });
                return Ok(issued - 1);
            }
            let flow = match self.issue(w, pc, mask, obs) {
                Ok(flow) => flow,
                Err(fault) => return Err(self.trap(w, pc, fault)),
            };
            match flow {
                Flow::Next => {
                    if matches!(insts[pc as usize].op, Op::Bar(_)) {
                        self.opened(w, obs)?;
                    }
                    pc += 1;
                }
                Flow::Jump(target) => pc = target,
                Flow::Part(taken) => {
                    let inst = &insts[pc as usize];
                    let Op::Branch(target) = inst.op else { return Ok(0) };
                    let split = Split { pc, mask, conv, state: State::Ready };
                    Split { pc, mask, conv, .. } =
                        self.warps[w].part(split, taken, target, inst.join);
                }
                Flow::Exit(gone) => {
                    self.stray(w, pc, gone);
                    self.warps[w].leave(gone, conv);
                    self.left(w, obs)?;
                    mask &= !gone;
                    if mask == 0 {
                        return Ok(0);
                    }
                    // The barrier can complete without these lanes only if none of them still waits
                    // at the barrier.
                    pc += 1;
                }
                Flow::Wait(waits, state) => {
                    let stays = mask & !waits;
                    if stays != 0 {
                        let warp = &mut self.warps[w];
                        conv = warp.new_conv(mask, [pc, pc + 1], conv);
                        warp.splits.push(Split {
                            pc: pc + 1,
                            mask: stays,
                            conv,
                            state: State::Ready,
                        });
                    }
                    self.warps[w].splits.push(Split { pc, mask: waits, conv, state });
                    return self.waited(w, state, obs).map(|()| 0);
                }
                Flow::Only(first) => {
                    let warp = &mut self.warps[w];
                    conv = warp.new_conv(mask, [pc, pc + 1], conv);
                    warp.splits.push(Split { pc, mask: mask & !first, conv, state: State::Ready });
                    mask = first;
                }
            }
        }
    }

    /// Updates barriers after lanes have begun to wait.
    fn waited<O: Observer>(&mut self, w: usize, state: State, obs: &mut O) -> Ran<()> {
        match state {
            State::Sync { .. } => self.try_sync(w, obs),
            State::Bar { .. } => return self.opened(w, obs),
            _ => {}
        }
        Ok(())
    }

    fn opened<O: Observer>(&mut self, w: usize, obs: &mut O) -> Ran<()> {
        let block = self.warps[w].block;
        self.open_bars(block, obs).map_err(|(w, pc, fault)| self.trap(w, pc, fault))
    }

    /// Updates barriers after lanes have exited.
    fn left<O: Observer>(&mut self, w: usize, obs: &mut O) -> Ran<()> {
        let block = self.warps[w].block;
        let warps = block * self.per_block()..(block + 1) * self.per_block();
        self.try_sync(w, obs);
        self.opened(w, obs)?;
        // If the exit of the last thread completes a barrier, the barrier completes before the
        // block ends.
        self.open_cluster(obs);
        if self.warps[warps].iter().all(|warp| warp.live == 0) && !self.blocks[block].ended {
            self.blocks[block].ended = true;
            self.env.progress.block_ended();
            obs.block_end(&self.env.info, &self.blocks[block].id);
        }
        Ok(())
    }

    /// Records lanes that exit while other lanes of their warp continue, because an aligned barrier
    /// may wait for the exited lanes in vain. Lanes that exit under a guard do not count, because
    /// the other lanes were at the same instruction.
    fn stray(&mut self, w: usize, pc: u32, gone: u32) {
        let warp = &mut self.warps[w];
        if warp.live & !gone != 0 && self.env.info.kernel.insts[pc as usize].guard.is_none() {
            warp.strayed |= gone;
        }
    }

    /// Executes one instruction for some lanes of a split, without convergence barriers.
    fn issue_apart<O: Observer>(&mut self, w: usize, s: usize, lanes: u32, obs: &mut O) -> Ran<()> {
        let split = self.warps[w].splits.swap_remove(s);
        let pc = split.pc;
        if split.mask != lanes {
            self.warps[w].splits.push(Split { mask: split.mask & !lanes, ..split });
        }
        let flow = match self.issue(w, pc, lanes, obs) {
            Ok(flow) => flow,
            Err(fault) => return Err(self.trap(w, pc, fault)),
        };
        let insts = &self.env.info.kernel.insts;
        let warp = &mut self.warps[w];
        let tail = self.tails.at[pc as usize];
        if tail != 0 && !matches!(flow, Flow::Only(_)) {
            let passed = warp.passed.entry(tail).or_insert([0; 32]);
            each(lanes, |lane| passed[lane] += 1);
        }
        let mut go = |pc: u32, mask: u32, state: State| {
            if mask != 0 {
                warp.splits.push(Split { pc, mask, conv: NONE, state });
            }
        };
        match flow {
            Flow::Next => {
                go(pc + 1, lanes, State::Ready);
                if matches!(insts[pc as usize].op, Op::Bar(_)) {
                    self.opened(w, obs)?;
                }
            }
            Flow::Jump(target) => go(target, lanes, State::Ready),
            Flow::Part(taken) => {
                go(pc + 1, lanes & !taken, State::Ready);
                if let Op::Branch(target) = insts[pc as usize].op {
                    go(target, taken, State::Ready);
                }
            }
            Flow::Exit(gone) => {
                go(pc + 1, lanes & !gone, State::Ready);
                self.stray(w, pc, gone);
                self.warps[w].leave(gone, NONE);
                self.left(w, obs)?;
            }
            Flow::Wait(waits, state) => {
                go(pc + 1, lanes & !waits, State::Ready);
                go(pc, waits, state);
                self.waited(w, state, obs)?;
            }
            Flow::Only(first) => {
                go(pc, lanes & !first, State::Ready);
                go(pc, first, State::Ready);
                // The lanes now have their own splits, so this recursion ends.
                let s = self.warps[w].splits.len() - 1;
                return self.issue_apart(w, s, first, obs);
            }
        }
        Ok(())
    }

    /// Runs a warp until it must wait, or for one time slice. The lanes with the lowest program
    /// counter run first. Returns whether an instruction ran.
    fn run_min_pc<O: Observer>(&mut self, w: usize, obs: &mut O) -> Ran<bool> {
        for issued in 0..512 {
            let warp = &mut self.warps[w];
            if warp.splits.len() > 1 {
                warp.merge();
            }
            let ready = warp.splits.iter().enumerate().filter(|(_, s)| s.state == State::Ready);
            let Some((s, split)) = ready.min_by_key(|(_, s)| s.pc) else { return Ok(issued > 0) };
            let lanes = split.mask;
            self.issue_apart(w, s, lanes, obs)?;
        }
        // Lanes that spin at a low program counter would block the others for ever, so each split
        // executes one instruction.
        for s in (0..self.warps[w].splits.len()).rev() {
            if let Some(split) = self.warps[w].splits.get(s).copied()
                && split.state == State::Ready
            {
                self.issue_apart(w, s, split.mask, obs)?;
            }
        }
        Ok(true)
    }

    /// Returns whether other blocks must first have a chance to run, because the team's next
    /// instruction writes memory that they may access.
    fn is_stalled(&mut self, pc: u32) -> bool {
        let op = &self.env.info.kernel.insts[pc as usize].op;
        // A fence performs the late reductions, so it also writes memory that other blocks may
        // access.
        let ends_delay = !self.late.is_empty() && matches!(op, Op::Fence(..));
        if !(ends_delay || self.env.stalls && writes_for_others(op)) {
            return false;
        }
        self.stall.long = ends_delay;
        self.stall.at_write = !std::mem::take(&mut self.stall.released);
        self.stall.at_write
    }

    /// Runs some lanes of a random warp ahead of all others, for a random number of instructions.
    /// Returns whether a warp could run.
    fn run_adversarial<O: Observer>(&mut self, obs: &mut O) -> Ran<bool> {
        // At random times, and while the block only polls, a copy completes early.
        if self.has_copies() && (self.rng.next() & 63 == 0 || self.waits()) {
            self.one_arrives(obs)?;
        }
        if !self.late.is_empty() && (self.rng.next() & 63 == 0 || self.waits()) {
            self.one_happens();
        }
        let count = self.warps.len();
        let start = self.rng.below(count);
        let Some(w) =
            (0..count).map(|i| (start + i) % count).find(|w| self.warps[*w].is_runnable())
        else {
            return Ok(false);
        };
        let ready: Vec<usize> = (0..self.warps[w].splits.len())
            .filter(|s| self.warps[w].splits[*s].state == State::Ready)
            .collect();
        let s = ready[self.rng.below(ready.len())];
        if self.is_stalled(self.warps[w].splits[s].pc) {
            return Ok(true);
        }
        let mask = self.warps[w].splits[s].mask;
        let roll = self.rng.next();
        // Either all lanes of the split run, or one lane, or a random subset of the lanes.
        let lanes = match roll & 3 {
            0 | 1 => mask,
            2 => {
                let n = self.rng.below(mask.count_ones() as usize);
                let mut left = mask;
                for _ in 0..n {
                    left &= left - 1;
                }
                left & left.wrapping_neg()
            }
            _ => match mask & (roll >> 32) as u32 {
                0 => mask,
                some => some,
            },
        };
        // These lanes run for one instruction, for a few instructions, or up to the next `.sync`.
        let burst = match roll >> 2 & 3 {
            0 => 1,
            1 => 1 + (roll >> 8 & 7),
            2 => 1 + (roll >> 8 & 63),
            _ => 1024,
        };
        self.issue_apart(w, s, lanes, obs)?;
        for _ in 1..burst {
            let warp = &self.warps[w];
            // The lanes that ran are at the end of the list. If these lanes diverged, only one of
            // their splits continues.
            let Some(s) = warp.splits.iter().rposition(|s| {
                s.state == State::Ready && s.mask & lanes != 0 && s.mask & !lanes == 0
            }) else {
                break;
            };
            let Split { mask, pc, .. } = warp.splits[s];
            if self.is_stalled(pc) {
                break;
            }
            self.issue_apart(w, s, mask, obs)?;
        }
        if self.rng.next() & 3 == 0 {
            self.warps[w].merge();
        }
        Ok(true)
    }

    /// Ends all `mbarrier.try_wait`s with `false`, which PTX allows after some time. Called when no
    /// thread can run. Returns whether a wait ended. If waits have timed out repeatedly without
    /// progress, ends none of them, because the threads are deadlocked.
    fn give_up_waits(&mut self) -> bool {
        self.vain_waits += 1;
        if self.vain_waits > MOST_VAIN_WAITS {
            return false;
        }
        let insts = &self.env.info.kernel.insts;
        let mut any = false;
        for warp in &mut self.warps {
            let Warp { splits, regs, .. } = warp;
            for split in splits {
                if let (State::Mbarrier { .. }, Op::Mbar(mbar)) =
                    (split.state, &insts[split.pc as usize].op)
                    && let MbarOp::Test { dst, .. } = mbar.op
                {
                    regs.put_pred(dst, split.mask, 0);
                    (split.state, split.pc) = (State::Ready, split.pc + 1);
                    any = true;
                }
            }
        }
        any
    }
}

/// Returns whether an instruction is an atomic, or a volatile or relaxed store, on global memory.
fn writes_for_others(op: &Op) -> bool {
    let (window, strong) = match op {
        Op::Atomic(atom) => (atom.memory.window, true),
        Op::Store { memory, .. } => (memory.window, memory.order != Order::Weak),
        _ => return false,
    };
    strong && matches!(window, Window::Global | Window::Generic)
}
