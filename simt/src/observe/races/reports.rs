//! The findings of the race check. Each pair of instructions is listed once.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::code::changes_in_place;
use super::done::Done;
use super::pair::{Apart, Pair, Side};
use super::shadow::Strength;
use crate::flags::Use;
use crate::inst::Op;
use crate::model::{Order, Space};
use crate::observe::finding::{Fault, Finding};
use crate::observe::found::{BEYOND, Found, Key};
use crate::observe::scene::Scene;

/// The findings. Each pair of instructions is listed once.
#[derive(Debug, Clone, Default)]
pub(super) struct Reports {
    pub(super) found: Found,
    pub(super) scene: Option<Arc<Scene>>,
    pub(super) done: Done,
    /// The uses of the values of volatile loads, by instruction.
    pub(super) uses: FxHashMap<u32, Use>,
}

impl Reports {
    /// Returns whether an instruction runs only if an atomic returned a certain value.
    pub(super) fn is_decided(&self, pc: u32) -> bool {
        let scene = self.scene.as_ref();
        let by_atomic = |s: &Arc<Scene>| s.kernel.decided().by_atomic.get(pc as usize).copied();
        scene.and_then(by_atomic).unwrap_or(false)
    }

    /// Returns whether an instruction runs only if a strong load returned a certain value.
    pub(super) fn is_polled(&self, pc: u32) -> bool {
        let scene = self.scene.as_ref();
        let by_load = |s: &Arc<Scene>| s.kernel.decided().by_load.get(pc as usize).copied();
        scene.and_then(by_load).unwrap_or(false)
    }

    /// Returns whether two instructions access the same number of bytes.
    pub(super) fn is_as_wide(&self, a: u32, b: u32) -> bool {
        let Some(scene) = &self.scene else { return false };
        let width = |pc: u32| scene.kernel.insts.get(pc as usize).map(|inst| inst.op.width());
        width(a) == width(b)
    }

    /// Returns whether a race between two instructions is listed already, and is not one that a
    /// barrier of a block or warp removes.
    pub(super) fn lists(&self, a: u32, b: u32, space: Space) -> bool {
        let (fault, space) = (Fault::DataRace, Some(space));
        self.found.contains(Key { fault, space, pcs: (a, b), rank: BEYOND })
    }

    /// Returns whether a plain read races only with an atomic, and its value is a guess that a
    /// compare-and-swap confirms.
    pub(super) fn is_guess(&self, a: &Side, b: &Side) -> bool {
        let Some(scene) = &self.scene else { return false };
        let (insts, guesses) = (&scene.kernel.insts, scene.kernel.guesses());
        let op = |side: &Side| insts.get(side.pc as usize).map(|inst| &inst.op);
        let guess = |read: &Side, other: &Side| {
            (read.strength, other.strength) == (Strength::Weak, Strength::Strong)
                && guesses.get(read.pc as usize).copied().unwrap_or(false)
                && matches!(op(other), Some(Op::Atomic(_)))
                && op(read).map(Op::width) == op(other).map(Op::width)
        };
        guess(a, b) || guess(b, a)
    }

    /// Returns whether two accesses are a volatile store and a volatile load; `None` if they are not.
    /// The result states whether the word is a flag: the loaded value is only compared, and decides
    /// whether it is loaded again, or a loop without stores waits for the very word that is stored. If
    /// the store is the first one after a fence, and therefore recorded as strong, it is sufficient
    /// that the value is only compared, or that it decides whether it is loaded again.
    fn is_flag(&mut self, a: &Side, b: &Side) -> Option<bool> {
        let insts = &self.scene.as_ref()?.kernel.insts;
        let (store, load) = if a.writes { (a, b) } else { (b, a) };
        let (Op::Store { memory: to, srcs, .. }, Op::Load { memory: from, .. }) =
            (&insts.get(store.pc as usize)?.op, &insts.get(load.pc as usize)?.op)
        else {
            return None;
        };
        if [to.order, from.order] != [Order::Volatile; 2] {
            return None;
        }
        let publishes = store.strength == Strength::Strong;
        let of = || Use::of(insts, load.pc as usize);
        let word = srcs.len() == 1;
        let Use { polls, tests, awaits } = *self.uses.entry(load.pc).or_insert_with(of);
        Some(polls && tests || word && awaits || publishes && (polls || tests))
    }

    #[cold]
    pub(super) fn race(&mut self, a: Side, b: Side, apart: Apart, space: Space, address: u64) {
        let strong = |s: Strength| matches!(s, Strength::Volatile | Strength::Strong);
        let reach = apart != Apart::Scope;
        if self.is_guess(&a, &b) {
            return;
        }
        let flag = self.is_flag(&a, &b);
        let [a, b] = [a, b].map(|side| match flag {
            Some(_) => Side { strength: Strength::Volatile, ..side },
            None => side,
        });
        let Some(scene) = &self.scene else { return };
        // If several threads update the same element, updates are lost even if the stored values
        // happen to be equal.
        let changes = apart == Apart::Same && changes_in_place(&scene.kernel, a.pc, b.pc);
        let apart = if changes { Apart::Unordered } else { apart };
        let pair = Pair { kernel: &scene.kernel, a, b, apart, space, done: &self.done };
        let mixed = pair.is_mixed();
        let fault = match (a.strength, b.strength) {
            (Strength::Volatile, Strength::Volatile) if reach && !mixed && flag != Some(true) => {
                Fault::UnorderedVolatile
            }
            _ if apart == Apart::Same => Fault::SameValue,
            // Atomics and other strong accesses to the same bytes may conflict, because they are
            // intended for concurrent access.
            (x, y) if strong(x) && strong(y) && reach && !mixed => return,
            _ => Fault::DataRace,
        };
        if scene.is_reserved(space, address) {
            return;
        }
        let (cure, rank) = pair.cure();
        let key = Key { fault, space: Some(space), pcs: (a.pc, b.pc), rank };
        self.found.add(key, 1, || {
            let sites = [a, b]
                .map(|s| scene.site(u64::from(s.block), s.warp * 32 + s.lane, s.pc, s.what()));
            // The check compares words, but the report names the element. A copy has no elements, and
            // one that signals an mbarrier is reported at that mbarrier.
            let copies = scene.is_copy(b.pc) || pair.starts();
            let typed = if copies { a.pc } else { b.pc };
            let (place, address) = scene.element(space, address, typed);
            let mbarrier = |offset: u32| scene.place(Space::Shared, offset.into(), 8);
            Finding {
                space: Some(space),
                address,
                place,
                cure: pair.text(cure, mbarrier),
                ..scene.finding(fault, sites.into())
            }
        });
    }
}

impl Reports {
    /// Reports a non-coherent read and a write in one launch.
    #[cold]
    pub(super) fn stale(&mut self, read: Side, write: Side, space: Space, address: u64) {
        self.pair(
            Fault::StaleRead,
            [read, write],
            space,
            address,
            "use a plain load (`ld.global`, and no `__ldg` and no pointer that is both `const` and \
             `__restrict__`)",
        );
    }

    /// Reports a thread's write and a later copy by the copy engine, without a proxy fence in
    /// between.
    #[cold]
    pub(super) fn unfenced(&mut self, sides: [Side; 2], address: u64) {
        let cure = "execute `fence.proxy.async` in the writers before the barrier, or after the \
                    barrier in the thread that starts the copy";
        self.pair(Fault::ProxyFence, sides, Space::Shared, address, cure);
    }

    /// Reports the initialization of an `mbarrier` and a copy by the copy engine that signals it,
    /// without a fence in between.
    #[cold]
    pub(super) fn uninitialized(&mut self, sides: [Side; 2], address: u64) {
        let cure = "execute `fence.mbarrier_init.release.cluster` or `fence.proxy.async` after the \
                    initialization, before the barrier that follows it";
        self.pair(Fault::ProxyFence, sides, Space::Shared, address, cure);
    }

    /// Reports an access to the shared memory of a block that may not have started, or that may have
    /// ended.
    #[cold]
    pub(super) fn absent(&mut self, fault: Fault, side: Side, owner: u32, offset: u32) {
        let Some(scene) = &self.scene else { return };
        // A copy may outlive both its source and its target, which are two faults.
        let source = side.strength == Strength::Async && !side.writes;
        let rank = if source { 0 } else { BEYOND };
        let key = Key { rank, ..Key::new(fault, Some(Space::Shared), side.pc) };
        let cure = match fault {
            Fault::NotStarted => {
                "call `cluster.sync()` (or `barrier.cluster.arrive` and `barrier.cluster.wait`) \
                 before the first access to another block's shared memory"
            }
            _ if source => {
                "let the other block wait for the mbarrier that counts the copy, and then call \
                 `cluster.sync()`, before the block ends"
            }
            _ if side.strength == Strength::Async => {
                "let a thread of that block wait for the mbarrier that counts the copy, before the \
                 block ends"
            }
            _ => {
                "call `cluster.sync()` (or `barrier.cluster.arrive` and `barrier.cluster.wait`) \
                 after the last access to another block's shared memory, before the block ends"
            }
        };
        self.found.add(key, 1, || {
            let thread = side.warp * 32 + side.lane;
            let site = scene.site(u64::from(side.block), thread, side.pc, side.what());
            let (place, address) = scene.element(Space::Shared, offset.into(), side.pc);
            Finding {
                space: Some(Space::Shared),
                address,
                place,
                detail: crate::place::block(scene.block(u64::from(owner))),
                cure: cure.into(),
                ..scene.finding(fault, vec![site])
            }
        });
    }

    /// Reports two conflicting accesses.
    fn pair(&mut self, fault: Fault, sides: [Side; 2], space: Space, address: u64, cure: &str) {
        let Some(scene) = &self.scene else { return };
        let [a, b] = sides;
        let key = Key { fault, space: Some(space), pcs: (a.pc, b.pc), rank: BEYOND };
        self.found.add(key, 1, || {
            let sites =
                sides.map(|s| scene.site(u64::from(s.block), s.warp * 32 + s.lane, s.pc, s.what()));
            let (place, address) = scene.element(space, address, a.pc);
            Finding {
                space: Some(space),
                address,
                place,
                cure: cure.into(),
                ..scene.finding(fault, sites.into())
            }
        });
    }
}
