//! Asynchronous copies. Under an adversarial schedule, they complete as late as the rules allow: a
//! `cp.async` copy when its thread waits for it, and a copy of the copy engine when no thread can
//! run, or at random. Under other schedules, they complete immediately, which the rules also allow.

use super::copies::{Copies, Engine, From, Own, Pending};
use super::env::Fault;
use super::team::Team;
use super::warp::each;
use crate::Schedule;
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
        let mut data = vec![0; copy.bytes];
        match &copy.from {
            // The addresses were checked at issue, and no memory is freed while a kernel runs.
            From::Global(address, read) => {
                let _ = self.env.global.read(*address, &mut data[..*read]);
            }
            From::Shared(at) => data.copy_from_slice(&self.shared[*at..at + copy.bytes]),
            From::Value(value) => data.copy_from_slice(value),
        }
        self.shared[copy.to..copy.to + copy.bytes].copy_from_slice(&data);
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
    ) {
        obs.copy_group(at, group);
        if !self.delays() {
            return;
        }
        if group == CopyGroup::Commit {
            let warps = self.warps.len();
            self.copies.groups.resize(warps, [0; 32]);
            each(at.mask, |lane| self.copies.groups[w][lane] += 1);
            return;
        }
        let Copies { own, groups, .. } = &mut self.copies;
        let made = |lane: usize| groups.get(w).map_or(0, |lanes| lanes[lane]);
        let over = |copy: &Own| {
            copy.warp == w
                && at.mask >> copy.lane & 1 == 1
                && group.ends(copy.group, made(copy.lane))
        };
        let ready: Vec<Own> = own.extract_if(.., |copy| over(copy)).collect();
        ready.iter().for_each(|own| self.arrive(&own.copy));
    }

    /// Issues a copy of the engine, which completes immediately, or later.
    pub(super) fn engage<O: Observer>(
        &mut self,
        at: &At<'_>,
        engine: Engine,
        obs: &mut O,
    ) -> Result<(), Fault> {
        if self.delays() {
            self.copies.engine.push(engine);
            return Ok(());
        }
        self.arrive(&engine.copy);
        match engine.mbarrier {
            Some(mbarrier) => {
                self.complete_tx(engine.warp, at, engine.lane, mbarrier, engine.bytes, obs)
            }
            None => Ok(()),
        }
    }

    /// Completes one random copy of the engine. Returns whether there was one.
    pub(super) fn one_arrives<O: Observer>(
        &mut self,
        obs: &mut O,
    ) -> Result<bool, Box<crate::Trap>> {
        if self.copies.engine.is_empty() {
            return Ok(false);
        }
        let which = self.rng.below(self.copies.engine.len());
        let Engine { warp, pc, lane, bytes, mbarrier, copy } =
            self.copies.engine.swap_remove(which);
        self.arrive(&copy);
        self.moves();
        if let Some(mbarrier) = mbarrier {
            let at = self.at(warp, pc, 1 << lane);
            self.complete_tx(warp, &at, lane, mbarrier, bytes, obs)
                .map_err(|fault| self.trap(warp, pc, fault))?;
        }
        Ok(true)
    }
}
