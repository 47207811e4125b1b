//! Remedies for two unordered accesses.

use super::code::{changes_in_place, has};
use super::pair::{Apart, Cure, Pair, Side};
use super::polled::ONE_PLAIN;
use super::shadow::Strength;
use super::{between, blocks, copied, counts, polled};
use crate::flags::Use;
use crate::flow::read;
use crate::inst::{Address, AtomOp, Inst, MbarOp, Op, Sync};
use crate::kernel::Kernel;
use crate::model::{Order, Space};
use crate::observe::found::{BEYOND, BLOCK, ONE_WARP, WARP};

impl Pair<'_> {
    /// Returns the text of a remedy.
    pub(super) fn text(&self, cure: Cure, place: impl Fn(u32) -> String) -> String {
        match cure {
            Cure::Is(text) => text.into(),
            Cure::Back(pc, next) => format!(
                "a `__syncthreads()` is missing between {} and the next execution of {}",
                self.kernel.place(pc),
                self.kernel.place(next)
            ),
            Cure::Copy => copied::cure(self, place),
            Cure::Between(pc, between) => between::text(self, pc, between),
            Cure::Blocks => blocks::cure(self),
            Cure::Volatile => match blocks::lack(self) {
                Some(lack) => format!("`volatile` orders no accesses, and {lack}"),
                None => polled::VOLATILE.into(),
            },
            Cure::Mask(pc, mask, other) => {
                let omitted = if mask >> other & 1 == 0 { other } else { self.b.lane };
                format!(
                    "the `__syncwarp()` at {} does not order lane {} after lane {other}, because \
                     its mask {mask:#010x} omits lane {omitted}; name both lanes in the mask \
                     (0xffffffff for a whole warp)",
                    self.kernel.place(pc),
                    self.b.lane
                )
            }
        }
    }

    /// Returns the remedy, and its rank.
    pub(super) fn cure(&self) -> (Cure, u8) {
        let Pair { kernel, a, b, apart, space, .. } = self;
        let one_block = a.block == b.block;
        let either = |s: Strength| a.strength == s || b.strength == s;
        let (text, rank) = match apart {
            Apart::Scope => (SCOPE, BEYOND),
            Apart::Read if has(kernel, waits_relaxed) => (RELAXED_WAIT, BLOCK),
            Apart::Read => (READ, BLOCK),
            Apart::Ended => (ENDED, BLOCK),
            _ if changes_in_place(kernel, a.pc, b.pc) && has(kernel, locks) => (LOCKED, BEYOND),
            _ if changes_in_place(kernel, a.pc, b.pc) => (ATOMIC, BEYOND),
            _ if self.is_mixed() => (MIXED, BEYOND),
            _ if self.starts() => (starting(kernel, !one_block, *apart), BEYOND),
            Apart::Same => (SAME, BEYOND),
            _ if either(Strength::Async) => return (Cure::Copy, BEYOND),
            Apart::Lane(lane) => match self.mask(*lane) {
                Some(cure) => return (cure, BEYOND),
                None => (LANE, BEYOND),
            },
            Apart::Warp => (OTHER_WARP, BEYOND),
            Apart::Relaxed if arrives_relaxed(kernel) => {
                (RELAXED_ARRIVAL, if one_block { BLOCK } else { BEYOND })
            }
            Apart::Relaxed if has(kernel, counts_relaxed) => match one_block {
                true => (RELAXED_COUNT, BLOCK),
                false => (RELAXED_COUNT_FAR, BEYOND),
            },
            Apart::Relaxed if !one_block => (NARROW_MBARRIER, BEYOND),
            _ if let Some(cure) = polled::cure(self) => return (cure, BEYOND),
            _ if let Some(cure) = counts::cure(self) => return (cure, BEYOND),
            _ if either(Strength::Strong) && one_block => (BOTH_ATOMIC, BEYOND),
            _ if a.pc == b.pc && a.writes && b.writes && one_block => {
                (if repeats(kernel, a.pc, b.pc) { ROUNDS } else { ONE_WRITER }, BEYOND)
            }
            _ if a.pc == b.pc && a.writes && b.writes => (ONE_THREAD, BEYOND),
            _ if one_block
                && a.warp == b.warp
                && let Some(cure) = self.mask(a.lane) =>
            {
                return (cure, WARP);
            }
            _ if one_block && use_one_index(kernel, a.pc, b.pc) => match a.warp == b.warp {
                true => (ONE_INDEX_WARP, WARP),
                false => (ONE_INDEX, BLOCK),
            },
            _ if one_block && a.warp == b.warp => match kernel.place(a.pc) == kernel.place(b.pc) {
                true => (ONE_LINE, WARP),
                false => ("a `__syncwarp()` is missing between them", WARP),
            },
            _ if one_block && [a, b].iter().all(|s| follows_warp_barrier(kernel, s.pc)) => {
                (SEVERAL_WARPS, ONE_WARP)
            }
            _ if one_block
                && a.strength == Strength::Volatile
                && b.strength == Strength::Volatile =>
            {
                (VOLATILE_WORD, BLOCK)
            }
            _ if one_block => {
                return (between::cure(self).unwrap_or_else(|| self.missing()), BLOCK);
            }
            _ if (*apart == Apart::Cluster || *space == Space::Shared)
                && let Some(cure) = between::half(self) =>
            {
                return (cure, BEYOND);
            }
            _ if *apart == Apart::Cluster || *space == Space::Shared => {
                ("a `cluster.sync()` is missing between them", BEYOND)
            }
            _ if a.strength == Strength::Volatile && b.strength == Strength::Volatile => {
                match self.tests() {
                    true => (polled::VOLATILE, BEYOND),
                    false => return (Cure::Volatile, BEYOND),
                }
            }
            // Polled words and counters; data that are read plainly may be ordered by fences.
            _ if self.is_plain_beside_atomic() => (ONE_PLAIN, BEYOND),
            _ => return (Cure::Blocks, BEYOND),
        };
        (Cure::Is(text), rank)
    }

    /// Returns the remedy for a missing block barrier. If a barrier is between the two instructions of
    /// a loop, the missing one is between the rounds.
    pub(super) fn missing(&self) -> Cure {
        let (first, last) = (self.a.pc.min(self.b.pc), self.a.pc.max(self.b.pc));
        let between = &self.kernel.insts[first as usize..last as usize];
        let met = between.iter().any(|inst| matches!(inst.op, Op::Bar(_)));
        let (pc, next) = match met && repeats(self.kernel, first, last) {
            true => (last, first),
            false => (first, last),
        };
        match self.kernel.line(pc) > self.kernel.line(next) {
            true => Cure::Back(pc, next),
            false => Cure::Is("a `__syncthreads()` is missing between them"),
        }
    }

    /// Returns whether the first access is the initialization of an `mbarrier`.
    pub(super) fn starts(&self) -> bool {
        starts(self.kernel, self.a.pc)
    }

    /// Returns whether both accesses are stores, or one is a load whose value is only compared.
    fn tests(&self) -> bool {
        let load = if self.a.writes { &self.b } else { &self.a };
        load.writes || Use::of(&self.kernel.insts, load.pc as usize).tests
    }

    /// Returns whether a plain store meets an atomic or volatile access, or a plain read meets one
    /// in a kernel without other atomics or flags.
    pub(super) fn is_plain_beside_atomic(&self) -> bool {
        let strong = |s: &Side| matches!(s.strength, Strength::Volatile | Strength::Strong);
        match (strong(&self.a), strong(&self.b)) {
            (true, false) => self.b.writes || !blocks::communicates(self),
            (false, true) => self.a.writes || !blocks::communicates(self),
            _ => false,
        }
    }

    /// Returns whether two strong accesses have different sizes; such accesses are not atomic with
    /// respect to each other.
    pub(super) fn is_mixed(&self) -> bool {
        let strong = |s: &Side| matches!(s.strength, Strength::Volatile | Strength::Strong);
        let width = |s: &Side| self.kernel.insts.get(s.pc as usize).map(|inst| inst.op.width());
        strong(&self.a) && strong(&self.b) && width(&self.a) != width(&self.b)
    }

    /// Returns the remedy for a warp barrier that does not order this lane after another one,
    /// because its mask omits one of them. The barrier is between the two instructions or, if there
    /// is none, elsewhere in the loop that contains them.
    fn mask(&self, other: u32) -> Option<Cure> {
        let (a, b) = (self.a.pc, self.b.pc);
        let lanes = 1 << other | 1 << self.b.lane;
        let between = |pc: u32| a.min(b) < pc && pc < a.max(b);
        // The innermost loop that contains both instructions.
        let jumps = (a.max(b)..).zip(&self.kernel.insts[a.max(b) as usize..]);
        let jump = jumps.map(|(pc, inst)| (pc, &inst.op)).find_map(|(pc, op)| match op {
            Op::Branch(target) if *target <= a.min(b) => Some(*target..pc),
            _ => None,
        });
        let around = |pc: u32| jump.as_ref().is_some_and(|range| range.contains(&pc));
        let masks = &self.done.masks;
        let any = masks.iter().any(|&(pc, _)| between(pc));
        let mut masks = masks.iter().filter(|&&(pc, _)| between(pc) || !any && around(pc));
        if masks.clone().any(|&(_, mask)| mask & lanes == lanes) {
            return None;
        }
        let &(pc, mask) = masks.find(|&&(_, mask)| mask & lanes != 0)?;
        Some(Cure::Mask(pc, mask, other))
    }
}

const SCOPE: &str = "the scope of one access excludes the other; widen this scope to the device";

const READ: &str = "this thread has read the flag that is set after the access, but has not acquired it; \
                    put a `__threadfence_block()` after the read of the flag, or read it with \
                    `.acquire`";

const ENDED: &str = "the thread that writes ends before the barrier, which therefore does not order its \
                     write; let it reach the barrier before it returns";

const SAME: &str = "they store the same value, so the result is correct; let one thread write it";

const LANE: &str = "another lane of the warp has acquired the value, and this lane has not; put a \
                    `__syncwarp()` before this access, or a `__syncthreads()` if other warps make \
                    such accesses too";

const OTHER_WARP: &str = "another warp of the block has acquired the value, and this warp has \
                          not; put a `__syncthreads()` before this access";

const RELAXED_ARRIVAL: &str = "`.relaxed` on `barrier.cluster.arrive` orders no memory accesses; \
                               arrive with `.release` (without `.relaxed`), or put a \
                               `fence.acq_rel.cluster` before it";

const RELAXED_COUNT: &str = "an mbarrier is between them, but `.relaxed` on `mbarrier.arrive` orders no \
                             memory accesses; arrive with `.release` (which is the default), or \
                             put a fence before it";

const RELAXED_COUNT_FAR: &str = "an mbarrier is between them, but `.relaxed` on `mbarrier.arrive` \
                                 orders no memory accesses; arrive with `.release.cluster`, and \
                                 wait with `.acquire.cluster`";

const RELAXED_WAIT: &str = "the thread has seen that the other one arrived or set a flag after the \
                            access, but a relaxed wait or load orders no memory accesses; use \
                            `.acquire`, or put a `__threadfence_block()` after it";

const NARROW_MBARRIER: &str = "an mbarrier is between them, but its default scope `.cta` covers \
                               only the thread's own block; arrive with `.release.cluster`, and \
                               wait with `.acquire.cluster`";

const BOTH_ATOMIC: &str = "make both accesses atomic, or put a `__syncthreads()` between them";

const VOLATILE_WORD: &str = "`volatile` is not for communication between threads; put a `__syncthreads()` \
                             between them, or, if the word itself tells that it is complete, \
                             store and load it with an atomic or with `.relaxed` (`st.relaxed` \
                             and `ld.relaxed`, or `cuda::atomic_ref`)";

const ROUNDS: &str = "if these are two rounds of a loop, a barrier is missing between the rounds; \
                      otherwise, let one thread write it";

const ONE_WRITER: &str = "let one thread write it, or give each thread its own element";

const ONE_THREAD: &str = "let each block write its own element, let one thread write it, or use an \
                          atomic such as `atomicAdd`";

const ONE_INDEX_WARP: &str = "a `__syncwarp()` is missing between two rounds of a loop, or both \
                              threads have the same index and each needs its own";

const ONE_INDEX: &str = "a `__syncthreads()` is missing between two rounds of a loop, or both \
                         threads have the same index and each needs its own";

const ONE_LINE: &str = "a `__syncwarp()` is missing: after this line if these are two rounds of a loop, \
                        and otherwise between its reads and its writes (read into a variable, \
                        execute `__syncwarp()`, and then write)";

const SEVERAL_WARPS: &str = "a `__syncwarp()` orders only the lanes of one warp, but several \
                             warps run this code; let one warp run it (`tid < 32`), or put a \
                             `__syncthreads()` between the accesses";

const MIXED: &str = "they access a different number of bytes, and only accesses to the same bytes are atomic with respect to each other; \
                     let both access all of them at once";

const ATOMIC: &str = "each thread reads the element, changes it and writes it back, so changes are \
                      lost; use one atomic operation, such as `atomicAdd`";

const LOCKED: &str = "each thread reads the element, changes it and writes it back; if a lock \
                      protects it, put a `__threadfence()` after the lock is taken and before it is \
                      released, and otherwise use one atomic operation, such as `atomicAdd`";

/// Returns whether an operation may take a lock.
fn locks(op: &Op) -> bool {
    matches!(op, Op::Atomic(atom) if matches!(atom.op, AtomOp::Cas | AtomOp::Exch))
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
    let indexed = |(_, addr): (_, &Address)| read(addr.base).is_some();
    a != b && !barrier && memory(a).is_some_and(indexed) && memory(a) == memory(b)
}

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
        _ if other || has(kernel, |op| matches!(op, Op::Mapa { .. })) => {
            "put a `cluster.sync()` between the initialization and the first use"
        }
        _ => "put a `__syncthreads()` between the initialization and the first use",
    }
}

/// Returns whether a loop contains the instructions from one to another.
fn repeats(kernel: &Kernel, first: u32, last: u32) -> bool {
    let after = &kernel.insts[last as usize..];
    after.iter().any(|inst| matches!(inst.op, Op::Branch(target) if target <= first))
}

/// Returns whether a kernel arrives at the barrier of the cluster without ordering memory accesses.
fn arrives_relaxed(kernel: &Kernel) -> bool {
    has(kernel, |op| matches!(op, Op::ClusterArrive { relaxed: true }))
}

/// Returns whether an operation arrives at an `mbarrier` without ordering memory accesses.
fn counts_relaxed(op: &Op) -> bool {
    matches!(op, Op::Mbar(mbar)
        if mbar.order == Order::Relaxed && matches!(mbar.op, MbarOp::Arrive { .. }))
}

/// Returns whether an operation waits for an `mbarrier` without ordering memory accesses.
fn waits_relaxed(op: &Op) -> bool {
    matches!(op, Op::Mbar(mbar)
        if mbar.order == Order::Relaxed && matches!(mbar.op, MbarOp::Test { .. }))
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
