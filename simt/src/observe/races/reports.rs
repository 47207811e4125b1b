//! What the race check has found: each pair of instructions once.

use std::collections::HashMap;
use std::sync::Arc;

use super::shadow::{Entry, Strength};
use crate::model::Space;
use crate::observe::finding::{Allocations, Fault, Finding, Scene};

/// What was found, each pair of instructions once.
#[derive(Debug, Clone, Default)]
pub(super) struct Reports {
    pub(super) findings: Vec<Finding>,
    pub(super) seen: HashMap<(u32, u32, Fault, Space), usize>,
    pub(super) scene: Option<Arc<Scene>>,
    pub(super) names: Arc<Allocations>,
}

/// One side of a pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) pc: u32,
    pub(super) strength: Strength,
    pub(super) writes: bool,
}

impl Side {
    pub(super) fn of(e: &Entry, writes: bool, not: u32) -> Side {
        let lanes = if e.strength() == Strength::Async { 1 } else { e.lanes };
        let others = if lanes & !not != 0 { lanes & !not } else { lanes };
        let lane = others.trailing_zeros() & 31;
        Side { block: e.block, warp: e.warp(), lane, pc: e.pc(), strength: e.strength(), writes }
    }

    fn what(&self) -> &'static str {
        match (self.strength, self.writes) {
            (Strength::Weak, true) => "write",
            (Strength::Weak, false) => "read",
            (Strength::Volatile, true) => "volatile write",
            (Strength::Volatile, false) => "volatile read",
            (Strength::Strong, true) => "atomic write",
            (Strength::Strong, false) => "atomic read",
            (Strength::Async, _) => "asynchronous copy",
        }
    }
}

impl Reports {
    #[cold]
    pub(super) fn race(&mut self, a: Side, b: Side, reach: bool, space: Space, address: u64) {
        let strong = |s: Strength| matches!(s, Strength::Volatile | Strength::Strong);
        let fault = match (a.strength, b.strength) {
            (Strength::Volatile, Strength::Volatile) if reach => Fault::UnorderedVolatile,
            // Atomics and the like may meet: that is what they are for.
            (x, y) if strong(x) && strong(y) && reach => return,
            _ => Fault::DataRace,
        };
        let Some(scene) = &self.scene else { return };
        if let Some(&i) = self.seen.get(&(a.pc, b.pc, fault, space)) {
            self.findings[i].times += 1;
            return;
        }
        self.seen.insert((a.pc, b.pc, fault, space), self.findings.len());
        let sites =
            [a, b].map(|s| scene.site(u64::from(s.block), s.warp * 32 + s.lane, s.pc, s.what()));
        self.findings.push(Finding {
            fault,
            entry: scene.kernel.name().to_owned(),
            space: Some(space),
            address,
            place: self.names.place(space, address),
            sites: sites.into(),
            detail: if reach {
                String::new()
            } else {
                "the scope of an access does not reach the other".into()
            },
            times: 1,
        });
    }

    pub(super) fn merge(&mut self, fork: Reports) {
        let keys: HashMap<usize, _> = fork.seen.iter().map(|(&key, &i)| (i, key)).collect();
        for (i, finding) in fork.findings.into_iter().enumerate() {
            let key = keys[&i];
            match self.seen.get(&key) {
                Some(&mine) => self.findings[mine].times += finding.times,
                None => {
                    self.seen.insert(key, self.findings.len());
                    self.findings.push(finding);
                }
            }
        }
    }
}
