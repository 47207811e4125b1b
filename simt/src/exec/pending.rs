//! Asynchronous copies. Under an adversarial schedule, copies complete as late as the rules allow:
//! a `cp.async` copy when its thread waits for it, and a copy of the copy engine when no thread can
//! run, or at random. Under other schedules, they complete immediately, which the rules also allow.

use super::copies::{Copies, Engine, From, Own, Pending};
use super::env::Fault;
use super::parts::Part;
use super::team::Team;
use super::warp::each;
use crate::Schedule;
use crate::inst::Mbar;
use crate::model::CopyGroup;
use crate::observer::{At, Observer};

impl Team<'_> {
    /// Returns whether copies are delayed.
    pub(super) fn delays(&self) -> bool {
        matches!(self.env.schedule, Schedule::Adversarial(_))
    }

    /// Returns whether the engine has pending copies.
    #[inline]
    pub(super) fn has_copies(&self) -> bool {
        !self.copies.engine.is_empty()
    }

    /// Moves the bytes of a copy.
    pub(super) fn arrive(&mut self, copy: &Pending) {
        let to = copy.to..copy.to + copy.bytes;
        match &copy.from {
            // The addresses were checked when the copy was issued, and no memory is freed while a
            // kernel runs.
            From::Global(address, read) => {
                let (data, zeros) = self.shared[to].split_at_mut(*read);
                let _ = self.env.global.read(*address, data);
                zeros.fill(0);
            }
            From::Shared(at) => self.shared.copy_within(*at..at + copy.bytes, copy.to),
            From::Value(value) => self.shared[to].copy_from_slice(value),
        }
    }

    /// Issues a thread's `cp.async`, which completes immediately, or when the thread waits.
    pub(super) fn send(&mut self, warp: usize, lane: usize, copy: Pending) {
        if self.delays() {
            let group = self.copies.group(warp, lane);
            self.copies.own.push(Own { warp, lane, group, copy });
        } else {
            self.arrive(&copy);
        }
    }

    /// Commits copies to a group, or waits for groups.
    pub(super) fn copy_group<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        group: CopyGroup,
        obs: &mut O,
    ) -> Result<(), Fault> {
        obs.copy_group(at, group);
        if !self.delays() {
            return Ok(());
        }
        if group == CopyGroup::Commit {
            let warps = self.warps.len();
            self.copies.groups.resize(warps, [0; 32]);
            each(at.mask, |lane| self.copies.groups[w][lane] += 1);
            return Ok(());
        }
        let Copies { own, groups, engine } = &mut self.copies;
        let made = |lane: usize| groups.get(w).map_or(0, |lanes| lanes[lane]);
        let over = |warp: usize, lane: usize, number: u32| {
            warp == w && at.mask >> lane & 1 == 1 && group.ends(number, made(lane))
        };
        let ready: Vec<Own> =
            own.extract_if(.., |own| over(own.warp, own.lane, own.group)).collect();
        let counted: Vec<Engine> = engine
            .extract_if(.., |e| e.group.is_some_and(|number| over(e.warp, e.lane, number)))
            .collect();
        ready.iter().for_each(|own| self.arrive(&own.copy));
        for engine in counted {
            self.lands(&engine, obs)?;
        }
        Ok(())
    }

    /// Makes an `mbarrier` count the copies of these lanes and, if `counts` is true, also one
    /// arrival for each lane. The phase expects the bytes of the copies, so it ends after they have
    /// arrived.
    pub(super) fn copy_arrive<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        mbar: &Mbar,
        counts: bool,
        obs: &mut O,
    ) -> Result<(), Fault> {
        let addrs = self.addresses(w, at.mask, &mbar.addr);
        for lane in (0..32).filter(|lane| at.mask >> lane & 1 == 1) {
            let mbarrier = self.shared_one(w, mbar.window, lane, addrs[lane], Part::Mbarrier)?;
            obs.copy_arrive(at, lane as u32, mbarrier);
            let own: Vec<Own> =
                self.copies.own.extract_if(.., |own| (own.warp, own.lane) == (w, lane)).collect();
            let bytes = own.iter().map(|own| own.copy.bytes as u32).sum();
            self.arrive_lane(at, mbar, lane, mbarrier, [u32::from(counts), bytes], obs)?;
            self.copies.engine.extend(own.into_iter().map(|own| Engine {
                warp: w,
                pc: at.pc,
                lane,
                bytes: own.copy.bytes as u32,
                mbarrier: Some(mbarrier),
                copy: own.copy,
                group: Some(own.group),
            }));
        }
        Ok(())
    }

    /// Issues a copy of the engine, which completes either immediately or later.
    pub(super) fn engage<O: Observer>(&mut self, engine: Engine, obs: &mut O) -> Result<(), Fault> {
        if self.delays() {
            self.copies.engine.push(engine);
            return Ok(());
        }
        self.lands(&engine, obs)
    }

    /// Moves the bytes of a copy, and counts them.
    fn lands<O: Observer>(&mut self, engine: &Engine, obs: &mut O) -> Result<(), Fault> {
        let Engine { warp, pc, lane, bytes, mbarrier, copy, .. } = engine;
        self.arrive(copy);
        self.moves();
        let at = self.at(*warp, *pc, 1 << lane);
        match mbarrier {
            Some(mbarrier) => self.complete_tx(*warp, &at, *lane, *mbarrier, *bytes, obs),
            None => Ok(()),
        }
    }

    /// Completes one random copy of the engine. Returns whether there was such a copy.
    pub(super) fn one_arrives<O: Observer>(
        &mut self,
        obs: &mut O,
    ) -> Result<bool, Box<crate::Trap>> {
        if self.copies.engine.is_empty() {
            return Ok(false);
        }
        let which = self.rng.below(self.copies.engine.len());
        let engine = self.copies.engine.swap_remove(which);
        let landed = self.lands(&engine, obs);
        landed.map_err(|fault| self.trap(engine.warp, engine.pc, fault)).map(|()| true)
    }
}
