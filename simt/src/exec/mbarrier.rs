//! Operations on `mbarrier` objects, which count arrivals and bytes in phases.

use super::env::Fault;
use super::mbarriers::Object;
use super::parts::Part;
use super::team::Team;
use super::warp::{Flow, State, each};
use crate::TrapKind;
use crate::inst::{Mbar, MbarOp, Op};
use crate::observer::{At, Mbarrier, MbarrierOp, Observer, Order, Scope};
use crate::place::count;

/// Maximum number of arrivals per phase.
const MOST: u64 = (1 << 20) - 1;

impl Team<'_> {
    pub(super) fn mbar<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        mbar: &Mbar,
        obs: &mut O,
    ) -> Result<Flow, Fault> {
        if let MbarOp::Pending { dst, state } = &mbar.op {
            each(at.mask, |lane| {
                let token = self.lane(w, lane, *state);
                self.warps[w].regs.put(*dst, lane, token >> 40 & MOST);
            });
            return Ok(Flow::Next);
        }
        let addrs = self.addresses(w, at.mask, &mbar.addr);
        if let MbarOp::Test { .. } = mbar.op {
            return self.test(w, at, mbar, &addrs, obs);
        }
        let mut result = Ok(());
        each(at.mask, |lane| {
            if result.is_ok() {
                result = self.mbar_lane(w, at, mbar, lane, addrs[lane], obs);
            }
        });
        result.map(|()| Flow::Next)
    }

    fn mbar_lane<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        mbar: &Mbar,
        lane: usize,
        addr: u64,
        obs: &mut O,
    ) -> Result<(), Fault> {
        let addr = self.shared_one(w, mbar.window, lane, addr, Part::Mbarrier)?;
        let key = self.shared_index(w, addr);
        let bad = |detail: String| Fault::new(TrapKind::BadBarrier, lane, detail);
        let event = |op, phase, completes| Mbarrier {
            op,
            addr,
            mask: 1 << lane,
            phase,
            completes,
            order: mbar.order,
            scope: mbar.scope,
        };
        match &mbar.op {
            MbarOp::Init { count } => {
                let count = self.lane(w, lane, *count) & 0xffff_ffff;
                if count == 0 || count > MOST {
                    return Err(bad(format!(
                        "an mbarrier for {count} arrivals: the number must be from 1 to {MOST}"
                    )));
                }
                if self.mbarriers.contains_key(&key) {
                    return Err(bad(self.again(addr)));
                }
                let count = count as u32;
                self.mbarriers.insert(key, Object { count, pending: count, bytes: 0, phase: 0 });
                obs.mbarrier(at, &event(MbarrierOp::Init(count), 0, false));
            }
            MbarOp::Invalidate => {
                let Some(object) = self.mbarriers.remove(&key) else {
                    return Err(bad(self.none(addr)));
                };
                obs.mbarrier(at, &event(MbarrierOp::Invalidate, object.phase, false));
            }
            MbarOp::Arrive { dst, count, expect, drop } => {
                if let Some(expect) = expect {
                    let bytes = self.lane(w, lane, *expect) as u32;
                    self.change(
                        at,
                        key,
                        event(MbarrierOp::ExpectTx(bytes), 0, false),
                        lane,
                        0,
                        i64::from(bytes),
                        obs,
                    )?;
                }
                let count = self.lane(w, lane, *count) as u32;
                if *drop && let Some(object) = self.mbarriers.get_mut(&key) {
                    object.count = object.count.saturating_sub(count).max(1);
                }
                let token = self.change(
                    at,
                    key,
                    event(MbarrierOp::Arrive(count), 0, false),
                    lane,
                    count,
                    0,
                    obs,
                )?;
                self.warps[w].regs.put(*dst, lane, token);
            }
            MbarOp::Expect { bytes } => {
                let bytes = self.lane(w, lane, *bytes) as u32;
                self.change(
                    at,
                    key,
                    event(MbarrierOp::ExpectTx(bytes), 0, false),
                    lane,
                    0,
                    i64::from(bytes),
                    obs,
                )?;
            }
            MbarOp::Complete { bytes } => {
                let bytes = self.lane(w, lane, *bytes) as u32;
                self.change(
                    at,
                    key,
                    event(MbarrierOp::CompleteTx(bytes), 0, false),
                    lane,
                    0,
                    -i64::from(bytes),
                    obs,
                )?;
            }
            MbarOp::Test { .. } | MbarOp::Pending { .. } => {}
        }
        Ok(())
    }

    /// Adds the bytes of a lane's copies to the bytes that the phase expects, and counts the lane's
    /// arrivals.
    pub(super) fn arrive_lane<O: Observer>(
        &mut self,
        at: &At<'_>,
        mbar: &Mbar,
        lane: usize,
        addr: u64,
        [arrivals, bytes]: [u32; 2],
        obs: &mut O,
    ) -> Result<(), Fault> {
        let key = self.shared_index(at.warp as usize, addr);
        let (order, scope, mask) = (mbar.order, mbar.scope, 1 << lane);
        let op = MbarrierOp::ExpectTx(bytes);
        let event = Mbarrier { op, addr, mask, phase: 0, completes: false, order, scope };
        self.change(at, key, event, lane, 0, bytes.into(), obs)?;
        if arrivals > 0 {
            let event = Mbarrier { op: MbarrierOp::Arrive(arrivals), ..event };
            self.change(at, key, event, lane, arrivals, 0, obs)?;
        }
        Ok(())
    }

    /// Counts bytes of a bulk copy that have arrived.
    pub(super) fn complete_tx<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        lane: usize,
        addr: u64,
        bytes: u32,
        obs: &mut O,
    ) -> Result<(), Fault> {
        let key = self.shared_index(w, addr);
        let op = MbarrierOp::CompleteTx(bytes);
        let event = Mbarrier {
            op,
            addr,
            mask: 1 << lane,
            phase: 0,
            completes: false,
            order: Order::Release,
            scope: Scope::Cluster,
        };
        self.change(at, key, event, lane, 0, -i64::from(bytes), obs).map(|_| ())
    }

    /// Counts arrivals and bytes, and ends the phase if it is complete. Returns the token of the
    /// phase.
    #[allow(clippy::too_many_arguments)] // One change of one object, reported as one event.
    fn change<O: Observer>(
        &mut self,
        at: &At<'_>,
        key: usize,
        event: Mbarrier,
        lane: usize,
        arrivals: u32,
        bytes: i64,
        obs: &mut O,
    ) -> Result<u64, Fault> {
        let Some(object) = self.mbarriers.get_mut(&key) else {
            return Err(Fault::new(TrapKind::BadBarrier, lane, self.none(event.addr)));
        };
        if arrivals > object.pending {
            let detail = format!(
                "{} at an mbarrier whose phase lacks only {}: let fewer threads arrive, or \
                 initialize the mbarrier with a larger count than {}",
                count(arrivals.into(), "arrival"),
                object.pending,
                object.count
            );
            return Err(Fault::new(TrapKind::BadBarrier, lane, detail));
        }
        self.vain_waits = 0;
        self.moved = self.executed;
        let phase = object.phase;
        let token = phase | u64::from(object.pending) << 40;
        object.pending -= arrivals;
        object.bytes += bytes;
        let completes = object.pending == 0 && object.bytes == 0;
        if completes {
            object.phase += 1;
            object.pending = object.count;
        }
        obs.mbarrier(at, &Mbarrier { phase, completes, ..event });
        if completes {
            self.wake(key, phase, obs);
        }
        Ok(token)
    }

    /// Wakes the lanes that wait for a phase.
    fn wake<O: Observer>(&mut self, key: usize, ended: u64, obs: &mut O) {
        for w in 0..self.warps.len() {
            for s in 0..self.warps[w].splits.len() {
                let split = self.warps[w].splits[s];
                let State::Mbarrier { addr, phase } = split.state else { continue };
                if self.shared_index(w, addr.into()) != key || phase != ended {
                    continue;
                }
                let insts = &self.env.info.kernel.insts;
                if let Op::Mbar(mbar) = &insts[split.pc as usize].op
                    && let MbarOp::Test { dst, .. } = mbar.op
                {
                    self.put_result(w, split.mask, dst, 1);
                    self.sees(w, split.mask, Scope::Cta);
                    let at = self.at(w, split.pc, split.mask);
                    let op = MbarrierOp::TestPasses;
                    obs.mbarrier(
                        &at,
                        &Mbarrier {
                            op,
                            addr: addr.into(),
                            mask: split.mask,
                            phase,
                            completes: false,
                            order: mbar.order,
                            scope: mbar.scope,
                        },
                    );
                }
                let split = &mut self.warps[w].splits[s];
                (split.state, split.pc) = (State::Ready, split.pc + 1);
            }
        }
    }

    fn test<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        mbar: &Mbar,
        addrs: &[u64; 32],
        obs: &mut O,
    ) -> Result<Flow, Fault> {
        let MbarOp::Test { dst, parity, state, wait } = &mbar.op else { return Ok(Flow::Next) };
        // A `try_wait` may return before the phase is complete.
        let wait = *wait && !(self.delays() && self.rng.next() & 7 == 0);
        let mut result = Ok(());
        let mut waits: Option<(u32, u64)> = None;
        let (mut later, mut passes) = (0u32, 0u32);
        each(at.mask, |lane| {
            if result.is_err() {
                return;
            }
            let found = self
                .shared_one(w, mbar.window, lane, addrs[lane], Part::Mbarrier)
                .and_then(|addr| {
                    let key = self.shared_index(w, addr);
                    let object = self.mbarriers.get(&key).copied();
                    object
                        .map(|o| (addr, o))
                        .ok_or_else(|| Fault::new(TrapKind::BadBarrier, lane, self.none(addr)))
                });
            let (addr, object) = match found {
                Ok(found) => found,
                Err(fault) => {
                    result = Err(fault);
                    return;
                }
            };
            let state = self.lane(w, lane, *state);
            // The queried phase is the current phase or the previous one.
            let phase = match parity {
                true if object.phase & 1 == state & 1 => object.phase,
                true => object.phase.wrapping_sub(1),
                false => state & ((1 << 40) - 1),
            };
            let done = phase.wrapping_add(1) <= object.phase || phase == u64::MAX;
            if !done && wait {
                match waits {
                    None => waits = Some((addr as u32, phase)),
                    Some(first) if first == (addr as u32, phase) => {}
                    Some(_) => {
                        later |= 1 << lane;
                        return;
                    }
                }
                later |= 1 << lane;
                return;
            }
            passes |= u32::from(done) << lane;
            match done {
                true => self.moves(),
                false => self.looks(addr),
            }
            let op = if done { MbarrierOp::TestPasses } else { MbarrierOp::TestFails };
            obs.mbarrier(
                at,
                &Mbarrier {
                    op,
                    addr,
                    mask: 1 << lane,
                    phase,
                    completes: false,
                    order: mbar.order,
                    scope: mbar.scope,
                },
            );
            self.warps[w].regs.put(*dst, lane, done.into());
        });
        result?;
        self.sees(w, passes, Scope::Cta);
        match waits {
            None => Ok(Flow::Next),
            // Lanes that wait at another object get `false`, and poll again because they are in a
            // loop.
            Some((addr, phase)) => {
                let mut same = 0u32;
                each(later, |lane| {
                    let mine = self
                        .shared_one(w, mbar.window, lane, addrs[lane], Part::Mbarrier)
                        .is_ok_and(|a| a as u32 == addr);
                    if mine {
                        same |= 1 << lane;
                    } else {
                        self.warps[w].regs.put(*dst, lane, 0);
                    }
                });
                Ok(Flow::Wait(same, State::Mbarrier { addr, phase }))
            }
        }
    }
}

impl Team<'_> {
    fn none(&self, addr: u64) -> String {
        let name = self.mbarrier_name(addr);
        match addr >> 24 {
            0 => format!(
                "there is no mbarrier at {name}: initialize it first (`mbarrier.init`), and put a \
                 `__syncthreads()` between the initialization and the first use, or keep the index \
                 below the number of mbarriers"
            ),
            rank => format!(
                "there is no mbarrier at {name} of the block with rank {}: initialize it first \
                 (`mbarrier.init`), and call `cluster.sync()` between the initialization and the \
                 first use",
                rank - 1
            ),
        }
    }

    fn again(&self, addr: u64) -> String {
        format!(
            "the mbarrier {} is initialized again, which PTX does not define: initialize it once \
             and use its phases, or execute `mbarrier.inval` first",
            self.mbarrier_name(addr)
        )
    }
}
