//! Barriers of blocks and clusters.

use super::env::Fault;
use super::stuck::ALL_MUST_COME;
use super::team::{Bar as BarState, Team};
use super::warp::{Flow, Split, State, each};
use crate::TrapKind;
use crate::inst::{Bar, Dst, Op, Red, Src};
use crate::observer::{Arrive, At, Complete, Level, Observer, Scope};

/// Number of barriers per block.
const BARRIERS: u64 = 16;

impl Team<'_> {
    pub(super) fn bar<O: Observer>(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        bar: &Bar,
        obs: &mut O,
    ) -> Result<Flow, Fault> {
        let at = self.at(w, pc, active);
        if active == 0 {
            obs.inst(&at);
            return Ok(Flow::Next);
        }
        let lead = active.trailing_zeros() as usize;
        let id = self.lane(w, lead, bar.id) & 0xffff_ffff;
        let mut same = active;
        if !matches!(bar.id, Src::Imm(_)) {
            same = 0;
            each(active, |lane| {
                same |= u32::from(self.lane(w, lane, bar.id) & 0xffff_ffff == id) << lane;
            });
        }
        if same != active {
            return Ok(Flow::Only(same));
        }
        obs.inst(&at);
        if id >= BARRIERS {
            return Err(Fault::new(
                TrapKind::BadBarrier,
                lead,
                format!("barrier {id}: a block has only {BARRIERS} barriers, numbered from 0"),
            ));
        }
        let count = bar.count.map(|c| self.lane(w, lead, c) as u32);
        if let Some(n) = count
            && (n == 0 || n % 32 != 0)
        {
            return Err(Fault::new(
                TrapKind::BadBarrier,
                lead,
                format!("{n} threads: the number must be a positive multiple of 32, the warp size"),
            ));
        }
        let warp = &self.warps[w];
        let (block, index, members) = (warp.block, warp.index as usize, warp.live);
        obs.arrive(
            &at,
            &Arrive {
                level: Level::Block,
                id: id as u32,
                mask: active,
                members,
                count,
                arrive_only: bar.arrive,
                aligned: bar.aligned,
                relaxed: false,
            },
        );
        let held = bar.red.map(|(_, _, p)| warp.regs.pred(p) & active);
        let warps = self.per_block();
        let bars = &mut self.blocks[block].bars;
        if bars.is_empty() {
            bars.resize(BARRIERS as usize, BarState::default());
        }
        let state = &mut bars[id as usize];
        if !state.active {
            state.waiting.clear();
            state.waiting.resize(warps, 0);
            state.arrived.clear();
            state.arrived.resize(warps, 0);
            (state.active, state.count, state.aligned) = (true, count, bar.aligned);
            (state.held, state.asked) = (0, 0);
        } else if state.count != count {
            let detail = format!(
                "{} threads, but other threads at barrier {id} expect {}",
                said(count),
                said(state.count)
            );
            return Err(Fault::new(TrapKind::BadBarrier, lead, detail));
        }
        if let Some(held) = held {
            state.held += held.count_ones();
            state.asked += active.count_ones();
        }
        if bar.arrive {
            state.arrived[index] |= active;
            return Ok(Flow::Next);
        }
        state.waiting[index] |= active;
        Ok(Flow::Wait(active, State::Bar { id: id as u8 }))
    }

    /// Completes each block barrier at which all expected threads have arrived. Called after
    /// arrivals and exits.
    pub(super) fn open_bars<O: Observer>(
        &mut self,
        block: usize,
        obs: &mut O,
    ) -> Result<(), (usize, u32, Fault)> {
        for id in 0..self.blocks[block].bars.len() {
            if !self.blocks[block].bars[id].active {
                continue;
            }
            let first = block * self.per_block();
            let state = &self.blocks[block].bars[id];
            let complete = match state.count {
                None => (0..self.per_block()).all(|i| {
                    (state.waiting[i] | state.arrived[i]) & self.warps[first + i].live
                        == self.warps[first + i].live
                }),
                Some(n) => {
                    let met = |i: usize| {
                        let here = state.waiting[i] | state.arrived[i];
                        if here != 0 && here == self.warps[first + i].live {
                            32
                        } else {
                            here.count_ones()
                        }
                    };
                    (0..self.per_block()).map(met).sum::<u32>() >= n
                }
            };
            if complete {
                self.open(block, id, obs)?;
            }
        }
        Ok(())
    }

    fn open<O: Observer>(
        &mut self,
        block: usize,
        id: usize,
        obs: &mut O,
    ) -> Result<(), (usize, u32, Fault)> {
        let first = block * self.per_block();
        if self.blocks[block].bars[id].aligned {
            let waits = |s: &&Split| s.state == State::Bar { id: id as u8 };
            for w in (first..first + self.per_block()).filter(|w| self.warps[*w].strayed != 0) {
                let Some(split) = self.warps[w].splits.iter().find(waits) else { continue };
                if self.went_round(w, split) {
                    return Err((w, split.pc, self.strayed(split, block)));
                }
                obs.returned_early(&self.at(w, split.pc, split.mask), self.warps[w].strayed);
            }
        }
        let state = &mut self.blocks[block].bars[id];
        state.active = false;
        let (waiting, arrived, aligned) =
            (std::mem::take(&mut state.waiting), std::mem::take(&mut state.arrived), state.aligned);
        let (held, asked) = (state.held, state.asked);
        let lanes: Vec<u32> = waiting.iter().zip(&arrived).map(|(a, b)| a | b).collect();
        obs.complete(&Complete {
            level: Level::Block,
            id: id as u32,
            block: self.blocks[block].id,
            lanes: &lanes,
        });
        self.blocks[block].id.round += 1;
        for (i, lanes) in waiting.iter().enumerate().filter(|(_, lanes)| **lanes != 0) {
            let w = first + i;
            self.sees(w, *lanes, Scope::Cta);
            let mut at_pc = None;
            for s in 0..self.warps[w].splits.len() {
                let split = self.warps[w].splits[s];
                if split.state != (State::Bar { id: id as u8 }) {
                    continue;
                }
                if aligned && at_pc.is_some_and(|pc| pc != split.pc) {
                    let detail = format!(
                        "other threads of the warp wait at another barrier: {ALL_MUST_COME}"
                    );
                    let lane = split.mask.trailing_zeros() as usize;
                    return Err((
                        w,
                        split.pc,
                        Fault::new(TrapKind::DivergentBarrier, lane, detail),
                    ));
                }
                at_pc = Some(split.pc);
                if let Op::Bar(bar) = &self.env.info.kernel.insts[split.pc as usize].op
                    && let Some((red, dst, _)) = bar.red
                {
                    let yes = match red {
                        Red::Popc => held,
                        Red::And => u32::from(held == asked),
                        Red::Or => u32::from(held != 0),
                    };
                    let regs = &mut self.warps[w].regs;
                    each(split.mask, |lane| regs.put(dst, lane, yes.into()));
                }
                let split = &mut self.warps[w].splits[s];
                (split.state, split.pc) = (State::Ready, split.pc + 1);
            }
            if self.warps[w].splits.len() > 1 {
                self.warps[w].merge();
            }
        }
        // The vectors are kept, so that the next use of the barrier does not need to allocate.
        let state = &mut self.blocks[block].bars[id];
        (state.waiting, state.arrived) = (waiting, arrived);
        Ok(())
    }

    /// Returns whether any exited lanes executed code after a barrier at which other lanes still
    /// wait.
    fn went_round(&self, w: usize, split: &Split) -> bool {
        let warp = &self.warps[w];
        let behind = self.tails.behind.iter().filter(|(pc, _)| *pc == split.pc);
        behind.filter_map(|(_, tail)| warp.passed.get(tail)).any(|passed| {
            let of = |mask: u32| (0..32).filter(move |i| mask >> i & 1 == 1).map(|i| passed[i]);
            of(warp.strayed).max() > of(split.mask).min()
        })
    }

    pub(super) fn cluster_arrive<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        relaxed: bool,
        obs: &mut O,
    ) -> Result<(), Fault> {
        let again = self.cluster_owing[w] & at.mask;
        if again != 0 {
            let lane = again.trailing_zeros() as usize;
            return Err(Fault::new(
                TrapKind::BadBarrier,
                lane,
                "arrives twice at the cluster barrier without a wait in between",
            ));
        }
        obs.arrive(
            at,
            &Arrive {
                level: Level::Cluster,
                id: 0,
                mask: at.mask,
                members: self.warps[w].live,
                count: None,
                arrive_only: true,
                aligned: true,
                relaxed,
            },
        );
        self.cluster_arrived[w] |= at.mask;
        self.cluster_owing[w] |= at.mask;
        self.open_cluster(obs);
        Ok(())
    }

    /// Makes lanes wait if they have arrived at a cluster barrier that has not completed. The other
    /// lanes continue.
    pub(super) fn cluster_wait(&mut self, w: usize, active: u32) -> Flow {
        self.cluster_owing[w] &= !active;
        match active & self.cluster_arrived[w] {
            0 => Flow::Next,
            waits => Flow::Wait(waits, State::Cluster),
        }
    }

    /// Completes the cluster barrier once all live lanes have arrived.
    pub(super) fn open_cluster<O: Observer>(&mut self, obs: &mut O) {
        let arrived = &self.cluster_arrived;
        let all = self.warps.iter().zip(arrived).all(|(warp, a)| warp.live & !a == 0);
        if !all || arrived.iter().all(|a| *a == 0) {
            return;
        }
        for (block, lanes) in self.blocks.iter().zip(arrived.chunks(self.per_block())) {
            obs.complete(&Complete { level: Level::Cluster, id: 0, block: block.id, lanes });
        }
        for w in 0..self.warps.len() {
            self.sees(w, self.cluster_arrived[w], Scope::Cluster);
        }
        self.cluster_arrived.fill(0);
        for warp in &mut self.warps {
            for split in warp.splits.iter_mut().filter(|s| s.state == State::Cluster) {
                (split.state, split.pc) = (State::Ready, split.pc + 1);
            }
            warp.merge();
        }
    }

    /// Writes an instruction's result after its wait has ended.
    pub(super) fn put_result(&mut self, w: usize, mask: u32, dst: Dst, value: u64) {
        each(mask, |lane| self.warps[w].regs.put(dst, lane, value));
    }
}

fn said(count: Option<u32>) -> String {
    count.map_or_else(|| "all".to_string(), |n| n.to_string())
}
