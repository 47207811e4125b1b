//! The synchronization check, which finds divergent barriers, missing lanes, deadlocks, and
//! shuffles from lanes that do not take part.
//!
//! Most of these faults stop the kernel, because its further behaviour is undefined. This observer
//! turns the trap into a finding. After a shuffle from a lane that does not take part, the kernel
//! continues with an undefined value, and only a use of this value is reported.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::finding::{Fault, Finding};
use super::found::{Found, Key};
use super::older::Older;
use super::scene::Scene;
use super::uses;
use crate::inst::{self, Op};
use crate::observer::{Arrive, At, Complete, LaunchInfo, Level, Observer, Parted, Unwritten, Use};
use crate::{Trap, TrapKind};

/// Finds misused barriers, misused warp-wide exchanges and failed assertions.
#[derive(Debug, Clone, Default)]
pub struct Sync {
    found: Found,
    scene: Option<Arc<Scene>>,
    /// The first arrival at each block barrier that has not completed, by block and barrier: its
    /// instruction, warp and lanes.
    first: FxHashMap<(u64, u32), (u32, u32, u32)>,
    /// Operations that the simulated GPU allows but some other GPUs do not.
    notes: Found,
    older: Older,
}

impl Sync {
    /// Creates an observer without findings.
    pub fn new() -> Sync {
        Sync::default()
    }

    /// Returns the findings.
    pub fn findings(&self) -> &[Finding] {
        self.found.findings()
    }

    /// Returns notes on portability, none of which is an error on the simulated GPU.
    pub fn notes(&self) -> &[Finding] {
        self.notes.findings()
    }

    /// Describes the last load that returned an older value, which may explain a wrong result, with
    /// the remedy. Such a value alone is no error. Only a random schedule has such loads.
    pub fn older(&self) -> Option<&str> {
        self.older.said()
    }
}

impl Observer for Sync {
    fn fork(&self) -> Self {
        let (found, notes) = (self.found.fork(), self.notes.fork());
        Sync { scene: self.scene.clone(), found, notes, ..Sync::default() }
    }

    fn merge(&mut self, fork: Self) {
        self.found.merge(fork.found);
        self.notes.merge(fork.notes);
        self.older.merge(fork.older);
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        self.found.begin(launch.kernel.name(), launch.number);
        self.notes.begin(launch.kernel.name(), launch.number);
        self.scene = Some(Arc::new(Scene::new(launch)));
        self.first.clear();
        self.older.begin();
    }

    /// Compares the places at which the warps of a block reach a barrier of the whole block. Copies
    /// of one `__syncthreads()` that the compiler makes have the same place.
    fn arrive(&mut self, at: &At<'_>, arrive: &Arrive) {
        let whole = arrive.count.is_none() && !arrive.arrive_only;
        // `__syncthreads()` is the aligned barrier 0 of the whole block.
        if arrive.level != Level::Block || arrive.id != 0 || !arrive.aligned || !whole {
            return;
        }
        let here = (at.pc, at.warp, arrive.mask);
        let &mut (pc, warp, mask) = self.first.entry((at.block.index, arrive.id)).or_insert(here);
        let Some(scene) = self.scene.as_ref().filter(|_| pc != at.pc) else { return };
        if [pc, at.pc].iter().any(|pc| scene.kernel.line(*pc) == 0)
            || scene.kernel.place(pc) == scene.kernel.place(at.pc)
            || [pc, at.pc].iter().all(|pc| scene.kernel.is_assembly(*pc))
        {
            return;
        }
        let key = Key { pcs: (pc, at.pc), ..Key::new(Fault::DivergentBarrier, None, pc) };
        self.found.add(key, 1, || {
            let site = |warp: u32, lanes: u32, pc: u32| {
                let thread = warp * 32 + (lanes.trailing_zeros() & 31);
                scene.site(at.block.index, thread, pc, "wait")
            };
            let (one, other) = (site(warp, mask, pc), site(at.warp, arrive.mask, at.pc));
            Finding {
                detail: format!(
                    "{} waits at the block barrier at {} while {} waits at another one at {}",
                    crate::place::thread(one.thread),
                    one.at,
                    crate::place::thread(other.thread),
                    other.at
                ),
                cure: "CUDA C++ does not define this; let every thread of the block reach the \
                       same `__syncthreads()`, and put the condition around the work, not around \
                       the barrier"
                    .into(),
                ..scene.finding(Fault::DivergentBarrier, vec![one])
            }
        });
    }

    fn complete(&mut self, complete: &Complete<'_>) {
        if complete.level == Level::Block {
            self.first.remove(&(complete.block.index, complete.id));
        }
    }

    fn returned_early(&mut self, at: &At<'_>, exited: u32) {
        let Some(scene) = &self.scene else { return };
        let key = Key::new(Fault::EarlyReturn, None, at.pc);
        self.notes.add(key, exited.count_ones().into(), || {
            let lane = at.mask.trailing_zeros() & 31;
            let site = scene.site(at.block.index, at.linear(lane), at.pc, "wait");
            let old = match scene.kernel.is_before_volta() {
                true => format!(
                    "; this module is compiled for {}, and on GPUs before sm_70 the barrier \
                     counts warps",
                    scene.kernel.target()
                ),
                false => String::new(),
            };
            Finding {
                detail: format!(
                    "{} of warp {} returned before the block barrier at {}: from sm_70 on, the \
                     barrier waits only for threads that have not exited{old}",
                    crate::place::count(exited.count_ones().into(), "thread"),
                    at.warp,
                    site.at
                ),
                ..scene.finding(Fault::EarlyReturn, vec![site])
            }
        });
    }

    fn tracks(&self) -> bool {
        true
    }

    fn older(&mut self, at: &At<'_>, place: &str) {
        self.older.add(at, place);
    }

    /// Reports the use of a value from a lane that does not take part in a shuffle. PTX leaves the
    /// value undefined, but not the behaviour, so a value that is not used is not an error.
    fn unset(&mut self, at: &At<'_>, lanes: u32, of: Use) {
        let (Some(scene), Unwritten::Shuffle(pc)) = (&self.scene, of.from) else { return };
        let key = Key::new(Fault::BadLane, None, at.pc);
        let times = lanes.count_ones().into();
        self.found.add(key, times, || uses::of_shuffle(scene, at, lanes, (of.what, pc)));
    }

    fn parted(&mut self, at: &At<'_>, parted: &Parted) {
        let Some(scene) = &self.scene else { return };
        let key = Key::new(Fault::DivergentBarrier, None, at.pc);
        self.found.add(key, 1, || {
            let lane = at.mask.trailing_zeros() & 31;
            let site = scene.site(at.block.index, at.linear(lane), at.pc, "wait");
            let (noun, more) = match &scene.kernel.insts[at.pc as usize].op {
                Op::Sync { op, .. } if **op != inst::Sync::Barrier => {
                    ("warp-wide operation", ", and use the value of no other lane")
                }
                _ => ("`__syncwarp()`", ""),
            };
            let count = |lanes: u32| lanes.count_ones();
            let mut others = Vec::new();
            if let Some(pc) = parted.other {
                let other = scene.site(at.block.index, at.linear(lane), pc, "wait");
                let same = other.at == site.at;
                let there =
                    if same { "at the same line".into() } else { format!("at {}", other.at) };
                others.push(format!("{} reach another one {there}", count(parted.elsewhere)));
            }
            let exited = count(parted.members & !at.mask & !parted.elsewhere);
            if exited != 0 {
                others.push(format!("{exited} have exited"));
            }
            Finding {
                detail: format!(
                    "{} of the {} lanes in the mask of the {noun} at {} reach it, and {}: \
                     PTX for {} requires all of them to converge there{}",
                    count(at.mask),
                    count(parted.members),
                    site.at,
                    others.join(", and "),
                    scene.kernel.target(),
                    // A value from an exited lane is undefined for sm_70 too.
                    if exited == 0 || more.is_empty() { " (PTX for sm_70 does not)" } else { "" }
                ),
                cure: format!(
                    "put the condition around the work, not around the {noun}, or put only the \
                     lanes that reach it in its mask{more}"
                ),
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
