//! The synchronisation check: divergent barriers, missing lanes, deadlocks, absent source lanes.
//!
//! Each of them stops the kernel, for what follows has no defined meaning: this observer turns
//! the trap into a finding.

use super::finding::{Fault, Finding};
use super::memory::from_trap;
use crate::observer::Observer;
use crate::{Trap, TrapKind};

/// Finds barriers and warp-wide exchanges that are used against their rules.
#[derive(Debug, Clone, Default)]
pub struct Sync {
    findings: Vec<Finding>,
}

impl Sync {
    /// An observer that has found nothing yet.
    pub fn new() -> Sync {
        Sync::default()
    }

    /// What was found.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl Observer for Sync {
    fn fork(&self) -> Self {
        Sync::default()
    }

    fn merge(&mut self, fork: Self) {
        self.findings.extend(fork.findings);
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
