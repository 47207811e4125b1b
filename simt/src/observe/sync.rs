//! The synchronisation check: divergent barriers, missing lanes, deadlocks, absent source lanes.
//!
//! Most of them stop the kernel, for what follows has no defined meaning: this observer turns the
//! trap into a finding. A shuffle from a lane that takes no part goes on, with a value that nobody
//! should use: it is reported all the same.

use std::sync::Arc;

use super::finding::{Fault, Finding};
use super::found::{Found, Key};
use super::scene::Scene;
use crate::observer::{At, LaunchInfo, Observer, Parted};
use crate::{Trap, TrapKind};

/// Finds barriers and warp-wide exchanges that are used against their rules, and assertions that
/// do not hold.
#[derive(Debug, Clone, Default)]
pub struct Sync {
    found: Found,
    scene: Option<Arc<Scene>>,
}

impl Sync {
    /// An observer that has found nothing yet.
    pub fn new() -> Sync {
        Sync::default()
    }

    /// What was found.
    pub fn findings(&self) -> &[Finding] {
        self.found.findings()
    }
}

impl Observer for Sync {
    fn fork(&self) -> Self {
        Sync { scene: self.scene.clone(), found: self.found.fork() }
    }

    fn merge(&mut self, fork: Self) {
        self.found.merge(fork.found);
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        self.found.begin(launch.kernel.name(), launch.number);
        self.scene = Some(Arc::new(Scene::new(launch)));
    }

    fn undefined_lanes(&mut self, at: &At<'_>, lanes: u32) {
        let Some(scene) = &self.scene else { return };
        let lane = lanes.trailing_zeros() & 31;
        let key = Key::new(Fault::BadLane, None, at.pc);
        self.found.add(key, u64::from(lanes.count_ones()), || {
            let site = scene.site(at.block.index, at.linear(lane), at.pc, "shuffle");
            Finding {
                detail: "a shuffle from a lane that takes no part".into(),
                cure: "what it gets is undefined; let the lanes that are read take part".into(),
                ..scene.finding(Fault::BadLane, vec![site])
            }
        });
    }

    fn parted(&mut self, at: &At<'_>, parted: &Parted) {
        let Some(scene) = &self.scene else { return };
        let key = Key::new(Fault::DivergentBarrier, None, at.pc);
        self.found.add(key, 1, || {
            let lane = at.mask.trailing_zeros() & 31;
            let site = scene.site(at.block.index, at.linear(lane), at.pc, "wait");
            let count = |lanes: u32| lanes.count_ones();
            let mut others = Vec::new();
            if let Some(pc) = parted.other {
                let other = scene.site(at.block.index, at.linear(lane), pc, "wait");
                let same = other.at() == site.at();
                let there = if same { "there too".into() } else { format!("at {}", other.at()) };
                others.push(format!("{} to another one {there}", count(parted.elsewhere)));
            }
            let exited = count(parted.members & !at.mask & !parted.elsewhere);
            if exited != 0 {
                others.push(format!("{exited} have exited"));
            }
            Finding {
                detail: format!(
                    "{} of the {} lanes that its mask names come to the `__syncwarp()` at {}, and {}: \
                     text for {} asks for all of them at once (sm_70 does not)",
                    count(at.mask),
                    count(parted.members),
                    site.at(),
                    others.join(", and "),
                    scene.kernel.target()
                ),
                cure: "put the condition around the work, and not around the `__syncwarp()`, or \
                       name those that come in its mask"
                    .into(),
                ..scene.finding(Fault::DivergentBarrier, vec![site])
            }
        });
    }

    fn trap(&mut self, trap: &Trap) {
        let fault = match trap.kind {
            TrapKind::DivergentBarrier => Fault::DivergentBarrier,
            TrapKind::BadMask => Fault::BadMask,
            TrapKind::BadLane => Fault::BadLane,
            TrapKind::Deadlock => Fault::Deadlock,
            TrapKind::BadBarrier => Fault::BadBarrier,
            TrapKind::Assert => Fault::Assert,
            _ => return,
        };
        self.found.trap(fault, trap, "wait");
    }
}
