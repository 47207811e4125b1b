//! The findings of the race check. Each pair of instructions is listed once.

use std::sync::Arc;

use super::shadow::{Entry, Strength};
use crate::flow::{Reg, read, written};
use crate::inst::{Inst, MbarOp, Op, Role, Sync};
use crate::kernel::Kernel;
use crate::model::{Order, Scope, Space};
use crate::observe::finding::{Fault, Finding};
use crate::observe::found::{BEYOND, BLOCK, Found, Key, ONE_WARP, WARP};
use crate::observe::scene::Scene;

/// The findings. Each pair of instructions is listed once.
#[derive(Debug, Clone, Default)]
pub(super) struct Reports {
    pub(super) found: Found,
    pub(super) scene: Option<Arc<Scene>>,
}

/// One access of a pair.
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
            (Strength::Async, true) => "asynchronous copy",
            (Strength::Async, false) => "asynchronous read",
        }
    }
}

/// The reason why two accesses are unordered. The remedy depends on the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Apart {
    /// Nothing orders the two accesses.
    Unordered,
    /// Nothing orders the two accesses, which come from two blocks of the same cluster.
    Cluster,
    /// Another lane of the warp is ordered after the access, which another block performed.
    Lane,
    /// Another warp of the block is ordered after the access, which another block performed.
    Warp,
    /// The second access runs after the first, but the barrier between them orders no memory
    /// accesses, or only those of one block.
    Relaxed,
    /// Nothing orders the accesses, and no order is needed, because one instruction of a warp
    /// stores the same value.
    Same,
    /// The accesses are atomic, but the scope of one does not include the other.
    Scope,
}

impl Reports {
    /// Returns whether an instruction runs only if an atomic returned a certain value.
    pub(super) fn is_decided(&self, pc: u32) -> bool {
        let scene = self.scene.as_ref();
        scene.is_some_and(|s| s.kernel.decided().get(pc as usize).copied().unwrap_or(false))
    }

    #[cold]
    pub(super) fn race(&mut self, a: Side, b: Side, apart: Apart, space: Space, address: u64) {
        let strong = |s: Strength| matches!(s, Strength::Volatile | Strength::Strong);
        let reach = apart != Apart::Scope;
        let Some(scene) = &self.scene else { return };
        // If several threads update the same element, updates are lost even if the stored values
        // happen to be equal.
        let changes = changes_in_place(&scene.kernel, a.pc, b.pc);
        let apart = if changes && apart == Apart::Same { Apart::Unordered } else { apart };
        // Accesses of different sizes are not atomic with respect to each other.
        let both = strong(a.strength) && strong(b.strength);
        let mixed = both && scene.width(a.pc) != scene.width(b.pc);
        let fault = match (a.strength, b.strength) {
            (Strength::Volatile, Strength::Volatile) if reach && !mixed => Fault::UnorderedVolatile,
            _ if apart == Apart::Same => Fault::SameValue,
            // Atomics and other strong accesses to the same bytes may conflict, because they are
            // intended for concurrent access.
            (x, y) if strong(x) && strong(y) && reach && !mixed => return,
            _ => Fault::DataRace,
        };
        if scene.is_reserved(space, address) {
            return;
        }
        let (cure, rank) = match apart != Apart::Scope {
            true if changes => (ATOMIC, BEYOND),
            true if mixed => (MIXED, BEYOND),
            true if starts(&scene.kernel, a.pc) => {
                (starting(&scene.kernel, a.block != b.block, apart), BEYOND)
            }
            _ => cure(&a, &b, apart, space, &scene.kernel),
        };
        let key = Key { fault, space: Some(space), pcs: (a.pc, b.pc), rank };
        self.found.add(key, 1, || {
            let sites = [a, b]
                .map(|s| scene.site(u64::from(s.block), s.warp * 32 + s.lane, s.pc, s.what()));
            // A copy that signals an mbarrier has the width of its own elements.
            let width = scene.width(if starts(&scene.kernel, a.pc) { a.pc } else { b.pc });
            // The check compares words, but the report names the element.
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
    /// Reports a non-coherent read and a write in one launch.
    #[cold]
    pub(super) fn stale(&mut self, read: Side, write: Side, space: Space, address: u64) {
        self.pair(
            Fault::StaleRead,
            [read, write],
            space,
            address,
            "use a plain load: remove \
             `__ldg`, and remove `const` and `__restrict__` from its pointer",
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
            let width = scene.width(side.pc);
            let address = u64::from(offset - offset % width.max(1));
            Finding {
                space: Some(Space::Shared),
                address,
                place: scene.place(Space::Shared, address, width),
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

const MIXED: &str = "they access a different number of bytes, and only accesses to the same bytes are atomic with respect to each other; \
                     let both access all of them at once";

const ATOMIC: &str = "each thread reads the element, changes it and writes it back, so changes are \
                      lost; use one atomic operation, such as `atomicAdd`";

/// Returns whether the two instructions are the load and the store of one in-place change
/// (`h[i]++`), or are both stores of such a change. A sum of two elements of the array
/// (`a[i] += a[j]`) does not count, because barriers order the threads that compute it.
fn changes_in_place(kernel: &Kernel, a: u32, b: u32) -> bool {
    let store = a.max(b);
    let Some(Op::Store { memory, .. }) = kernel.insts.get(store as usize).map(|inst| &inst.op)
    else {
        return false;
    };
    let loads = |pc: u32, same: bool| match &kernel.insts[pc as usize].op {
        Op::Load { memory: read, .. } => {
            read.window == memory.window && (read.addr == memory.addr) == same
        }
        _ => false,
    };
    let first = store.saturating_sub(FAR);
    let Some(load) = (first..store).rev().find(|pc| loads(*pc, true)) else { return false };
    (a == b || load == a.min(b))
        && reaches(kernel, load, store, |pc| pc == load)
        && !reaches(kernel, first, store, |pc| loads(pc, false))
}

/// Returns whether two instructions access the same address in one thread, with no barrier between
/// them. Two threads then access the same address only if their indices are equal, or in different
/// rounds of a loop.
fn use_one_index(kernel: &Kernel, a: u32, b: u32) -> bool {
    let memory = |pc: u32| match &kernel.insts[pc as usize].op {
        Op::Load { memory, .. } | Op::Store { memory, .. } => Some((memory.window, &memory.addr)),
        _ => None,
    };
    let between = &kernel.insts[a.min(b) as usize..a.max(b) as usize];
    let barrier = between.iter().any(|inst| match &inst.op {
        Op::Bar(_) => true,
        Op::Sync { op, .. } => matches!(**op, Sync::Barrier),
        _ => false,
    });
    a != b && !barrier && memory(a).is_some() && memory(a) == memory(b)
}

/// Returns whether a store's value is computed from a result of the instructions for which `source`
/// holds.
fn reaches(kernel: &Kernel, first: u32, store: u32, source: impl Fn(u32) -> bool) -> bool {
    let mut from: Vec<Reg> = Vec::new();
    for pc in first..store {
        let (mut depends, mut dsts) = (source(pc), Vec::new());
        kernel.insts[pc as usize].op.registers(
            &mut |src, role| {
                let used = !matches!(role, Role::Use(_));
                depends |= used && read(src).is_some_and(|reg| from.contains(&reg));
            },
            &mut |dst| dsts.extend(written(dst)),
        );
        from.retain(|reg| !dsts.contains(reg));
        if depends {
            from.extend(dsts);
        }
    }
    let Op::Store { srcs, .. } = &kernel.insts[store as usize].op else { return false };
    srcs.iter().any(|src| read(*src).is_some_and(|reg| from.contains(&reg)))
}

/// The largest distance, in instructions, between the load and the store of an in-place change.
const FAR: u32 = 256;

/// Returns whether an instruction initializes an `mbarrier`.
fn starts(kernel: &Kernel, pc: u32) -> bool {
    let op = &kernel.insts[pc as usize].op;
    matches!(op, Op::Mbar(mbar) if matches!(mbar.op, MbarOp::Init { .. }))
}

/// Returns the remedy for an `mbarrier` that other threads may use before it is initialized.
fn starting(kernel: &Kernel, other: bool, apart: Apart) -> &'static str {
    let [arrives, waits] = [
        has(kernel, |op| matches!(op, Op::ClusterArrive { .. })),
        has(kernel, |op| matches!(op, Op::ClusterWait)),
    ];
    match (arrives, waits) {
        _ if apart == Apart::Relaxed && arrives_relaxed(kernel) => {
            "`.relaxed` on `barrier.cluster.arrive` does not order the initialization; execute \
             `fence.mbarrier_init.release.cluster` after the initialization, or arrive with \
             `.release`"
        }
        (true, false) => {
            "the blocks arrive at the barrier of the cluster, but none waits; execute \
             `barrier.cluster.wait` before the mbarrier is used"
        }
        (true, true) => "use the mbarrier only after the `barrier.cluster.wait`",
        _ if other => "put a `cluster.sync()` between the initialization and the first use",
        _ => "put a `__syncthreads()` between the initialization and the first use",
    }
}

/// Returns whether a kernel contains an operation.
fn has(kernel: &Kernel, is: fn(&Op) -> bool) -> bool {
    kernel.insts.iter().any(|inst| is(&inst.op))
}

/// Returns whether a kernel arrives at the barrier of the cluster without ordering memory accesses.
fn arrives_relaxed(kernel: &Kernel) -> bool {
    has(kernel, |op| matches!(op, Op::ClusterArrive { relaxed: true }))
}

/// Returns whether a wait for an `mbarrier` acquires the writes of other blocks.
fn acquires_of_cluster(kernel: &Kernel) -> bool {
    kernel.insts.iter().any(|inst| {
        let Op::Mbar(mbar) = &inst.op else { return false };
        matches!(mbar.op, MbarOp::Test { .. })
            && mbar.scope >= Scope::Cluster
            && mbar.order != Order::Relaxed
    })
}

/// Returns whether the last barrier before an instruction is a warp barrier.
fn follows_warp_barrier(kernel: &Kernel, pc: u32) -> bool {
    let barrier = |inst: &Inst| match &inst.op {
        Op::Bar(_) => Some(false),
        Op::Sync { op, .. } if matches!(**op, Sync::Barrier) => Some(true),
        _ => None,
    };
    kernel.insts[..pc as usize].iter().rev().find_map(barrier).unwrap_or(false)
}

/// Returns the remedy for two unordered accesses, and its rank.
fn cure(a: &Side, b: &Side, apart: Apart, space: Space, kernel: &Kernel) -> (&'static str, u8) {
    let either = |s: Strength| a.strength == s || b.strength == s;
    match (a, b) {
        _ if apart == Apart::Scope => {
            ("the scope of one access excludes the other; widen this scope to the device", BEYOND)
        }
        _ if apart == Apart::Same => {
            ("they store the same value, so the result is correct; let one thread write it", BEYOND)
        }
        _ if apart == Apart::Lane => (
            "another lane of the warp has acquired the value, and this lane has not; put a \
             `__syncwarp()` before this access",
            BEYOND,
        ),
        _ if apart == Apart::Warp => (
            "another warp of the block has acquired the value, and this warp has not; put a \
             `__syncthreads()` before this access",
            BEYOND,
        ),
        _ if apart == Apart::Relaxed && !either(Strength::Async) && arrives_relaxed(kernel) => (
            "`.relaxed` on `barrier.cluster.arrive` orders no memory accesses; arrive with \
             `.release` (without `.relaxed`), or put a `fence.acq_rel.cluster` before it",
            BEYOND,
        ),
        _ if apart == Apart::Relaxed && !either(Strength::Async) && a.block != b.block => (
            "an mbarrier is between them, but its default scope `.cta` covers only the thread's \
             own block; arrive with `.release.cluster`, and wait with `.acquire.cluster`",
            BEYOND,
        ),
        _ if either(Strength::Async) && a.block != b.block && acquires_of_cluster(kernel) => (
            "another block sends it, and no wait covers it; let the mbarrier expect the bytes of \
             everything that is sent, and put the wait before this access",
            BEYOND,
        ),
        _ if either(Strength::Async) && a.block != b.block => (
            "another block sends it, and the default `.acquire.cta` covers only the thread's own \
             block; wait for its mbarrier with `.acquire.cluster`, then synchronize the block at a \
             barrier",
            BEYOND,
        ),
        _ if either(Strength::Async) => (
            "no wait covers the copy; let its mbarrier expect all of its bytes, wait for that \
             mbarrier or for the copy's group, then synchronize the block at a barrier",
            BEYOND,
        ),
        _ if either(Strength::Strong) && a.block == b.block => {
            ("make both accesses atomic, or put a `__syncthreads()` between them", BEYOND)
        }
        _ if a.pc == b.pc && a.writes && b.writes && a.block == b.block => (
            "if these are two rounds of a loop, a barrier is missing between the rounds; \
             otherwise, let one thread write it",
            BEYOND,
        ),
        _ if a.pc == b.pc && a.writes && b.writes => {
            ("let one thread write it, or use an atomic such as `atomicAdd`", BEYOND)
        }
        _ if a.block == b.block && use_one_index(kernel, a.pc, b.pc) => match a.warp == b.warp {
            true => (
                "a `__syncwarp()` is missing between two rounds of a loop, or both threads have \
                 the same index and each needs its own",
                WARP,
            ),
            false => (
                "a `__syncthreads()` is missing between two rounds of a loop, or both threads \
                 have the same index and each needs its own",
                BLOCK,
            ),
        },
        _ if a.block == b.block && a.warp == b.warp => {
            ("a `__syncwarp()` is missing between them", WARP)
        }
        _ if a.block == b.block && [a, b].iter().all(|s| follows_warp_barrier(kernel, s.pc)) => (
            "a `__syncwarp()` orders only the lanes of one warp, but several warps run this code; \
             let one warp run it (`tid < 32`), or put a `__syncthreads()` between the accesses",
            ONE_WARP,
        ),
        _ if a.block == b.block => ("a `__syncthreads()` is missing between them", BLOCK),
        _ if apart == Apart::Cluster || space == Space::Shared => {
            ("a `cluster.sync()` is missing between them", BEYOND)
        }
        _ => (
            "nothing orders two blocks of a launch; let each write its own elements, or pass the \
             value through an atomic with a `__threadfence()` before and after",
            BEYOND,
        ),
    }
}
