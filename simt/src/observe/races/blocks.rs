//! Remedies for unordered accesses of two blocks, which describe what is wrong with the fences.

use super::code::{changes_in_place, is_global, memory, polls};
use super::pair::{Apart, Pair};
use crate::inst::{MbarOp, Op, Sync};
use crate::kernel::Kernel;
use crate::model::{Order, Scope};

/// Returns the remedy for a store and another access by another block.
pub(super) fn cure(pair: &Pair<'_>) -> String {
    let fences = match Fences::of(pair) {
        Ok(fences) => fences,
        Err(text) => return text,
    };
    let (kernel, signal, test) = (pair.kernel, fences.signal, fences.test);
    if changes_in_place(kernel, signal, signal) && !polls(kernel, test) {
        return format!(
            "each block reads the counter at {} and writes it back, so blocks can have the same \
             ticket; take tickets with one atomic, such as `atomicAdd`",
            kernel.place(signal)
        );
    }
    if fences.signal < fences.store {
        return format!(
            "this store follows the {} at {}, which therefore does not show that the value is \
             complete; store the value before it",
            noun(kernel, signal),
            kernel.place(signal)
        );
    }
    fences.lack().or_else(|| fences.split()).unwrap_or_else(|| {
        format!(
            "the fences are there, but this block does not know that the value is complete; use it \
             only if the {} at {} shows that",
            noun(kernel, test),
            kernel.place(test)
        )
    })
}

/// Returns what the fences lack between two volatile accesses to data, if a ticket or a flag lies
/// between the two.
pub(super) fn lack(pair: &Pair<'_>) -> Option<String> {
    let fences = Fences::of(pair).ok()?;
    let kernel = pair.kernel;
    // Other accesses to the same data are no flags.
    let is_flag = |pc: u32| {
        let is_atomic = matches!(kernel.insts[pc as usize].op, Op::Atomic(_));
        is_atomic || polls(kernel, pc)
    };
    let passes = fences.store < fences.signal && is_flag(fences.test);
    fences.lack().filter(|_| passes)
}

/// Returns whether the kernel has other atomics or flags than the two accesses.
pub(super) fn communicates(pair: &Pair<'_>) -> bool {
    let insts = (0..).zip(&pair.kernel.insts);
    insts.filter(|(pc, _)| ![pair.a.pc, pair.b.pc].contains(pc)).any(|(_, i)| signals(&i.op))
}

/// Returns the remedy if no instruction tests a signal.
fn untested(kernel: &Kernel, signal: u32) -> String {
    match kernel.insts[signal as usize].op {
        Op::Atomic(_) => format!(
            "nothing tests the result of the atomic at {}, so this block does not know that the \
             value is complete; use it only in the block that takes the last ticket (if the \
             source tests the result, the compiler has removed the test, because the variable \
             that keeps it is not set on every path)",
            kernel.place(signal)
        ),
        _ => format!(
            "nothing tests the flag that is stored at {}, so this block does not know that the \
             value is complete; let it poll the flag first",
            kernel.place(signal)
        ),
    }
}

/// The fences of a kernel, and the accesses by which its blocks communicate.
struct Fences<'a> {
    pair: &'a Pair<'a>,
    /// The atomic or strong store that follows the store.
    signal: u32,
    /// The atomic or strong load that precedes the read, and tests the signal.
    test: u32,
    store: u32,
    read: u32,
    /// The warp and the lane that store.
    storer: (u32, u32),
    fences: Vec<u32>,
}

impl<'a> Fences<'a> {
    /// Finds the signal, its test and the fences. If one of the first two is missing, returns the
    /// remedy.
    fn of(pair: &'a Pair<'a>) -> Result<Fences<'a>, String> {
        let (writer, reader) = if pair.a.writes { (&pair.a, &pair.b) } else { (&pair.b, &pair.a) };
        let own = [writer.pc, reader.pc];
        let kernel = pair.kernel;
        let all = |is: fn(&Op) -> bool| -> Vec<u32> {
            let insts =
                (0..).zip(&kernel.insts).filter(|(pc, inst)| is(&inst.op) && !own.contains(pc));
            insts.map(|(pc, _)| pc).collect()
        };
        let (signals, tests, fences) = (all(signals), all(tests), all(is_fence));
        let after = signals.iter().copied().find(|at| *at > writer.pc);
        let Some(signal) = after.or(signals.last().copied()) else { return Err(NOTHING.into()) };
        let Some(test) = tests.iter().copied().rev().find(|at| *at < reader.pc) else {
            return Err(match tests.is_empty() {
                true => untested(kernel, signal),
                false => EARLY.into(),
            });
        };
        let (store, read, storer) = (writer.pc, reader.pc, (writer.warp, writer.lane));
        Ok(Fences { pair, signal, test, store, read, storer, fences })
    }

    /// Describes what is missing before the signal or after its test, if something is.
    fn lack(&self) -> Option<String> {
        let released = self.pair.apart == Apart::Blocks { released: true };
        let release = if released { None } else { self.release() };
        release.or_else(|| self.acquire())
    }

    /// Returns the last barrier between the store and another instruction. After a barrier, another
    /// thread may release the store.
    fn barrier(&self, before: u32) -> Option<Barrier> {
        let (store, (warp, _)) = (self.store, self.storer);
        let in_warp = self.pair.done.is_by_warp(self.signal, warp);
        (store.min(before)..before).rev().find_map(|pc| {
            let name = match &self.pair.kernel.insts[pc as usize].op {
                Op::Bar(_) => "`__syncthreads()`",
                Op::Sync { op, .. } if in_warp && **op == Sync::Barrier => "`__syncwarp()`",
                Op::ClusterWait => "`cluster.sync()`",
                Op::Mbar(mbar) if matches!(mbar.op, MbarOp::Test { .. }) => "wait",
                _ => return None,
            };
            Some(Barrier { pc, name })
        })
    }

    /// Describes what is missing between the store and the signal, if something is.
    fn release(&self) -> Option<String> {
        let (kernel, done, signal) = (self.pair.kernel, self.pair.done, self.signal);
        let (store, (warp, lane)) = (self.store, self.storer);
        let line = |pc: u32| kernel.place(pc);
        let name = format!("the {} at {}", noun(kernel, signal), line(signal));
        if let Some(memory) = memory(&kernel.insts[signal as usize])
            && memory.scope < Scope::Gpu
            && memory.order != Order::Volatile
        {
            return Some(format!(
                "{name} has the scope of a block or cluster; let it have the scope of the device"
            ));
        }
        let releases = memory(&kernel.insts[signal as usize]).is_some_and(|memory| {
            matches!(memory.order, Order::Release | Order::AcqRel | Order::SeqCst)
        });
        let met = |pc: u32| self.barrier(pc).is_some();
        if releases {
            return (!done.is_by(signal, warp, lane) && !met(signal)).then(|| {
                format!(
                    "another thread executes {name}, which releases the value, and nothing orders \
                     this thread after the store; put a `__syncthreads()` between them, or let the \
                     thread that stores execute both"
                )
            });
        }
        let between = |pc: &u32| store < *pc && *pc < signal;
        let (wide, narrow): (Vec<u32>, Vec<u32>) =
            self.fences.iter().filter(|pc| between(pc)).partition(|pc| self.is_wide(**pc));
        let signals = |fence: &&u32| done.share(**fence, signal);
        if wide.iter().any(|fence| met(*fence) && done.share(*fence, signal)) {
            return None;
        }
        if let Some(fence) = wide.iter().find(|fence| done.is_by(**fence, warp, lane)) {
            if done.is_by(signal, warp, lane) {
                return None;
            }
            if let Some(fence) = wide.iter().find(signals) {
                return Some(self.of_other_thread(*fence, &name));
            }
            return Some(format!(
                "the thread that stores executes the `__threadfence()` at {}, but another thread \
                 executes {name}; let one thread execute the fence and then the {}, after a \
                 `__syncthreads()` if it does not store itself",
                line(*fence),
                noun(kernel, signal)
            ));
        }
        if let Some(fence) = wide.first() {
            let fence_line = line(*fence);
            return Some(match done.share(*fence, signal) {
                true => format!(
                    "another thread executes the `__threadfence()` at {fence_line} and {name}, and \
                     nothing orders this thread after the store; put a `__syncthreads()` between \
                     the store and the fence, or let the thread that stores execute all three"
                ),
                false => format!(
                    "the `__threadfence()` at {fence_line} is executed neither by the thread that \
                     stores nor by the thread that executes {name}; let the thread that stores \
                     execute all three"
                ),
            });
        }
        if let Some(fence) = narrow.first() {
            return Some(self.is_narrow(*fence));
        }
        let elsewhere = match self.fences.iter().find(|pc| self.is_wide(**pc)) {
            Some(fence) if *fence < store => {
                format!(" (the one at {} precedes the store)", line(*fence))
            }
            Some(fence) => {
                format!(" (the one at {} follows the {})", line(*fence), noun(kernel, signal))
            }
            None => String::new(),
        };
        let another = match self.acquires() {
            true => String::new(),
            false if self.test == signal => {
                format!(", and another one after the {}", noun(kernel, self.test))
            }
            false => format!(
                ", and another one after the {} at {}",
                noun(kernel, self.test),
                kernel.place(self.test)
            ),
        };
        Some(format!(
            "no `__threadfence()` lies between the store and {name}{elsewhere}; put one between \
             them{another}"
        ))
    }

    /// Describes what is missing if all threads execute a fence after the store, but another thread
    /// than the one that stores gives the signal.
    fn of_other_thread(&self, fence: u32, name: &str) -> String {
        let kernel = self.pair.kernel;
        let noun = noun(kernel, self.signal);
        match self.barrier(self.signal) {
            Some(Barrier { pc, name: barrier }) => format!(
                "another thread executes {name}; put a `__threadfence()` in that thread, between \
                 the {barrier} at {} and the {noun}",
                kernel.place(pc)
            ),
            None => format!(
                "another thread executes {name}, and nothing orders that thread after the store; \
                 put a `__syncthreads()` between them, and move the `__threadfence()` at {} between \
                 the `__syncthreads()` and the {noun}",
                kernel.place(fence)
            ),
        }
    }

    /// Describes what is missing between the test and the read, if something is.
    fn acquire(&self) -> Option<String> {
        let (kernel, test) = (self.pair.kernel, self.test);
        let line = |pc: u32| kernel.place(pc);
        let noun = noun(kernel, test);
        if self.acquires() {
            return None;
        }
        let after = self.fences.iter().filter(|pc| test < **pc && **pc < self.read);
        if let Some(fence) = after.clone().find(|pc| self.is_wide(**pc)) {
            if !self.pair.done.is_by_any(*fence) {
                return Some(format!(
                    "nothing orders this access after the `__threadfence()` at {}, which no \
                     thread has executed yet; put a `__syncthreads()` between the two",
                    line(*fence)
                ));
            }
            return Some(format!(
                "the thread that executes the {noun} at {} does not execute the `__threadfence()` \
                 at {}; let the same thread execute both",
                line(test),
                line(*fence)
            ));
        }
        if let Some(fence) = after.clone().next() {
            return Some(self.is_narrow(*fence));
        }
        let before = self.fences.iter().rev().find(|pc| **pc < test);
        let which = before
            .map_or(String::new(), |fence| format!(" (the one at {} precedes it)", line(*fence)));
        Some(format!(
            "no `__threadfence()` follows the {noun} at {}{which}, so what it shows is not \
             acquired; put one after it, in the same thread",
            line(test)
        ))
    }

    /// Describes what is wrong if a counter is changed by a load and a store.
    fn split(&self) -> Option<String> {
        let kernel = self.pair.kernel;
        let of = |pc: u32| &kernel.insts[pc as usize].op;
        let (Op::Load { memory: read, .. }, Op::Store { memory: written, .. }) =
            (of(self.test), of(self.signal))
        else {
            return None;
        };
        (read.addr == written.addr && self.test < self.signal).then(|| {
            format!(
                "two blocks may both load the counter at {} before either stores it at {}; load \
                 and change it in one atomic, such as `atomicInc`",
                kernel.place(self.test),
                kernel.place(self.signal)
            )
        })
    }

    /// Returns whether the thread that tests the signal acquires what it shows.
    fn acquires(&self) -> bool {
        let acquires = memory(&self.pair.kernel.insts[self.test as usize]).is_some_and(|memory| {
            matches!(memory.order, Order::Acquire | Order::AcqRel | Order::SeqCst)
        });
        let mut after = self.fences.iter().filter(|pc| self.test < **pc && **pc < self.read);
        acquires || after.any(|pc| self.is_wide(*pc) && self.pair.done.share(*pc, self.test))
    }

    fn is_wide(&self, fence: u32) -> bool {
        matches!(self.pair.kernel.insts[fence as usize].op, Op::Fence(_, scope) if scope >= Scope::Gpu)
    }

    fn is_narrow(&self, fence: u32) -> String {
        format!(
            "the fence at {} orders only the threads of one block or cluster; use \
             `__threadfence()`, which orders those of the device",
            self.pair.kernel.place(fence)
        )
    }
}

/// A barrier that orders threads of a block.
struct Barrier {
    pc: u32,
    name: &'static str,
}

/// Returns whether an operation may signal other blocks.
fn signals(op: &Op) -> bool {
    match op {
        Op::Atomic(atom) => is_global(&atom.memory),
        Op::Store { memory, .. } => is_global(memory) && memory.order != Order::Weak,
        _ => false,
    }
}

/// Returns whether an operation may test a signal of another block.
fn tests(op: &Op) -> bool {
    match op {
        Op::Atomic(atom) => is_global(&atom.memory) && !atom.unread,
        Op::Load { memory, .. } => is_global(memory) && memory.order != Order::Weak,
        _ => false,
    }
}

fn is_fence(op: &Op) -> bool {
    matches!(op, Op::Fence(..))
}

fn noun(kernel: &Kernel, pc: u32) -> &'static str {
    match kernel.insts[pc as usize].op {
        Op::Atomic(_) => "atomic",
        Op::Store { .. } => "store to the flag",
        _ => "load of the flag",
    }
}

const EARLY: &str = "nothing orders the two blocks before this access; let an atomic or the load of \
                     a flag show first that the value is complete";

const NOTHING: &str = "nothing orders two blocks of a launch; let each write its own elements, or \
                       pass the value through an atomic with a `__threadfence()` before and after";
