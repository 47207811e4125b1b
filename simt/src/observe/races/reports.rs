//! What the race check has found: each pair of instructions once.

use std::sync::Arc;

use super::shadow::{Entry, Strength};
use crate::model::Space;
use crate::observe::finding::{Fault, Finding};
use crate::observe::found::{BEYOND, BLOCK, Found, Key, WARP};
use crate::observe::scene::Scene;

/// What was found, each pair of instructions once.
#[derive(Debug, Clone, Default)]
pub(super) struct Reports {
    pub(super) found: Found,
    pub(super) scene: Option<Arc<Scene>>,
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
        let lanes = match (e.strength(), u32::MAX - e.lanes) {
            (Strength::Async, lane @ 0..32) => 1 << lane,
            (Strength::Async, _) => 1,
            _ => e.lanes,
        };
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

/// Why two accesses are not ordered, which says what would order them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Apart {
    /// Nothing orders them.
    Unordered,
    /// Nothing orders them, and they are of two blocks of one cluster.
    Cluster,
    /// Nothing orders them, and nothing need: one instruction of a warp stores one value.
    Same,
    /// They are atomic, but the scope of one does not reach the other.
    Scope,
}

impl Reports {
    #[cold]
    pub(super) fn race(&mut self, a: Side, b: Side, apart: Apart, space: Space, address: u64) {
        let strong = |s: Strength| matches!(s, Strength::Volatile | Strength::Strong);
        let reach = apart != Apart::Scope;
        let fault = match (a.strength, b.strength) {
            (Strength::Volatile, Strength::Volatile) if reach => Fault::UnorderedVolatile,
            _ if apart == Apart::Same => Fault::SameValue,
            // Atomics and the like may meet: that is what they are for.
            (x, y) if strong(x) && strong(y) && reach => return,
            _ => Fault::DataRace,
        };
        let Some(scene) = &self.scene else { return };
        if scene.is_reserved(space, address) {
            return;
        }
        let (cure, rank) = cure(&a, &b, apart, space);
        let key = Key { fault, space: Some(space), pcs: (a.pc, b.pc), rank };
        self.found.add(key, 1, || {
            let sites = [a, b]
                .map(|s| scene.site(u64::from(s.block), s.warp * 32 + s.lane, s.pc, s.what()));
            let width = scene.width(b.pc);
            // Words are watched; the element is what a reader knows.
            let address = address - address % u64::from(width);
            Finding {
                space: Some(space),
                address,
                place: scene.place(space, address, width),
                cure: cure.into(),
                ..scene.finding(fault, sites.into())
            }
        });
    }
}

impl Reports {
    /// A read that nothing keeps coherent, and a write, of one launch.
    #[cold]
    pub(super) fn stale(&mut self, read: Side, write: Side, space: Space, address: u64) {
        self.pair(
            Fault::StaleRead,
            [read, write],
            space,
            address,
            "read it by a plain load: without \
             `__ldg`, and without `const` and `__restrict__` on its pointer",
        );
    }

    /// A thread's write, and a copy of the engine behind it, with no proxy fence in between.
    #[cold]
    pub(super) fn unfenced(&mut self, sides: [Side; 2], address: u64) {
        let cure = "let the writers execute `fence.proxy.async` before the block meets, or whoever starts \
                    the copy after that";
        self.pair(Fault::ProxyFence, sides, Space::Shared, address, cure);
    }

    /// Two accesses that are at fault together.
    fn pair(&mut self, fault: Fault, sides: [Side; 2], space: Space, address: u64, cure: &str) {
        let Some(scene) = &self.scene else { return };
        let [a, b] = sides;
        let key = Key { fault, space: Some(space), pcs: (a.pc, b.pc), rank: BEYOND };
        self.found.add(key, 1, || {
            let sites =
                sides.map(|s| scene.site(u64::from(s.block), s.warp * 32 + s.lane, s.pc, s.what()));
            let width = scene.width(a.pc);
            let address = address - address % u64::from(width);
            Finding {
                space: Some(space),
                address,
                place: scene.place(space, address, width),
                cure: cure.into(),
                ..scene.finding(fault, sites.into())
            }
        });
    }
}

/// What would order two accesses, and its rank.
fn cure(a: &Side, b: &Side, apart: Apart, space: Space) -> (&'static str, u8) {
    let either = |s: Strength| a.strength == s || b.strength == s;
    match (a, b) {
        _ if apart == Apart::Scope => {
            ("the scope of one does not reach the other; widen it to the device's", BEYOND)
        }
        _ if apart == Apart::Same => {
            ("they store the same value, so no harm is done; let one thread write it", BEYOND)
        }
        _ if either(Strength::Async) && a.block != b.block => (
            "another block sends it; wait for its mbarrier with `.acquire.cluster`, for the usual \
             `.acquire.cta` reaches the own block only, then let the block meet at a barrier",
            BEYOND,
        ),
        _ if either(Strength::Async) => (
            "nobody waits for the copy; wait for its mbarrier or its group, then let the block meet \
             at a barrier",
            BEYOND,
        ),
        _ if a.pc == b.pc && a.writes && b.writes => {
            ("let one thread write it, or use an atomic such as `atomicAdd`", BEYOND)
        }
        _ if a.block == b.block && a.warp == b.warp => {
            ("a `__syncwarp()` is missing between them", WARP)
        }
        _ if a.block == b.block => ("a `__syncthreads()` is missing between them", BLOCK),
        _ if apart == Apart::Cluster || space == Space::Shared => {
            ("a `cluster.sync()` is missing between them", BEYOND)
        }
        _ => (
            "nothing orders two blocks of a launch; let each have elements of its own, or hand \
             over by an atomic with a `__threadfence()` before and after",
            BEYOND,
        ),
    }
}
