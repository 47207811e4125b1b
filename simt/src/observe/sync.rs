//! The synchronisation check: divergent barriers, missing lanes, deadlocks, absent source lanes.
//!
//! Most of them stop the kernel, for what follows has no defined meaning: this observer turns the
//! trap into a finding. A shuffle from a lane that takes no part goes on, with a value that nobody
//! should use: it is reported all the same.

use std::collections::HashMap;
use std::sync::Arc;

use super::finding::{Fault, Finding, Scene};
use super::memory::from_trap;
use crate::observer::{At, LaunchInfo, Observer};
use crate::{Trap, TrapKind};

/// Finds barriers and warp-wide exchanges that are used against their rules.
#[derive(Debug, Clone, Default)]
pub struct Sync {
    findings: Vec<Finding>,
    /// Instruction of each finding of this launch that does not stop it.
    seen: HashMap<u32, usize>,
    scene: Option<Arc<Scene>>,
}

impl Sync {
    /// An observer that has found nothing yet.
    pub fn new() -> Sync {
        Sync::default()
    }

    fn add(&mut self, pc: u32, finding: Finding) {
        match self.seen.get(&pc) {
            Some(&i) => self.findings[i].times += finding.times,
            None => {
                self.seen.insert(pc, self.findings.len());
                self.findings.push(finding);
            }
        }
    }

    /// What was found.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl Observer for Sync {
    fn fork(&self) -> Self {
        Sync { scene: self.scene.clone(), ..Sync::default() }
    }

    fn merge(&mut self, fork: Self) {
        let keys: HashMap<usize, u32> = fork.seen.iter().map(|(&pc, &i)| (i, pc)).collect();
        for (i, finding) in fork.findings.into_iter().enumerate() {
            match keys.get(&i) {
                Some(&pc) => self.add(pc, finding),
                None => self.findings.push(finding),
            }
        }
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        self.seen.clear();
        self.scene = Some(Arc::new(Scene::new(launch)));
    }

    fn undefined_lanes(&mut self, at: &At<'_>, lanes: u32) {
        let Some(scene) = &self.scene else { return };
        let lane = lanes.trailing_zeros() & 31;
        let finding = Finding {
            fault: Fault::BadLane,
            entry: scene.kernel.name().to_owned(),
            space: None,
            address: 0,
            place: String::new(),
            sites: vec![scene.site(at.block.index, at.linear(lane), at.pc, "shuffle")],
            detail: format!("lane {lane} reads a lane that takes no part"),
            times: u64::from(lanes.count_ones()),
        };
        self.add(at.pc, finding);
    }

    fn trap(&mut self, trap: &Trap) {
        let fault = match trap.kind {
            TrapKind::DivergentBarrier => Fault::DivergentBarrier,
            TrapKind::BadMask => Fault::BadMask,
            TrapKind::BadLane => Fault::BadLane,
            TrapKind::Deadlock => Fault::Deadlock,
            TrapKind::BadBarrier => Fault::BadBarrier,
            _ => return,
        };
        self.findings.push(from_trap(fault, trap, "wait"));
    }
}
