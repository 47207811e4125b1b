//! Reports deadlocks and endless loops, with the places where threads wait or the loop that
//! repeats.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::env::Fault;
use super::team::{Sample, Team};
use super::warp::{Split, State};
use crate::inst::Op;
use crate::observer::Observer;
use crate::place::count;
use crate::{Trap, TrapKind};

/// Number of instructions that are sampled to find the loop.
const SAMPLE: u64 = 1 << 15;

/// Threads that wait at one instruction.
struct Place {
    pc: u32,
    threads: u32,
    what: &'static str,
}

impl Team<'_> {
    pub(super) fn check_budget<O: Observer>(&mut self, obs: &mut O) -> Result<(), Box<Trap>> {
        if self.executed <= self.env.block_budget || self.sample.is_some() {
            return Ok(());
        }
        let budget = self.env.block_budget;
        let spent = format!("the block has used up its budget of {budget} warp instructions");
        Err(self.endless(&spent, obs))
    }

    /// Returns the trap for a launch that does not end, with the loop that it executes.
    #[cold]
    pub(super) fn endless<O: Observer>(&mut self, what: &str, obs: &mut O) -> Box<Trap> {
        self.sample = Some(Sample::default());
        // The kernel's results no longer matter. The observer stays attached, because a second
        // observer type would compile the whole interpreter a second time and double the download
        // of a page.
        let _ = self.turn(SAMPLE, obs);
        let sample = self.sample.clone().unwrap_or_default();
        let (env, kernel) = (self.env, self.env.info.kernel);
        let most = sample.warps.iter().max_by_key(|(_, (times, _))| *times);
        let blocks = env.info.blocks();
        let ended = format!("{} of {} ended", env.progress.ended(), count(blocks, "block"));
        let Some(((block, warp), (_, pcs))) = most else {
            return self.trap(0, 0, Fault::new(TrapKind::Budget, 0, format!("{what}; {ended}")));
        };
        let mut lines: Vec<u32> =
            pcs.iter().map(|pc| kernel.line(*pc)).filter(|l| *l != 0).collect();
        let mut word = "line";
        if lines.is_empty() {
            (lines, word) = (pcs.iter().map(|pc| kernel.ptx_line(*pc)).collect(), "PTX line");
        }
        let (first, last) = (lines.iter().min(), lines.iter().max());
        let lines = match (first, last) {
            (Some(a), Some(b)) if a != b => format!("{word}s {a} to {b}"),
            (Some(a), _) => format!("{word} {a}"),
            _ => "an unknown line".into(),
        };
        let others = blocks - env.progress.ended() > self.blocks.len() as u64;
        let why = match (self.waits(), others) {
            (true, false) => {
                "all threads that have not ended only poll or wait, so they wait for a value or a \
                 message that no thread sends: does each sender run, for each value, and does it \
                 store what the poll tests?"
            }
            (true, true) => {
                "this block only polls or waits: does another block send what it waits for, for each \
                 value?"
            }
            (false, _) => {
                "does the condition of that loop ever change? If the loop is merely long, raise the \
                 budget"
            }
        };
        let detail = format!("{what}; {ended}. Warp {warp} repeats {lines}: {why}");
        let w = (0..self.warps.len())
            .find(|w| {
                self.warps[*w].index == *warp
                    && self.blocks[self.warps[*w].block].id.index == *block
            })
            .unwrap_or(0);
        let lane = self.warps[w].live.trailing_zeros() as usize & 31;
        let pc = pcs.iter().find(|pc| kernel.line(**pc) != 0).or(pcs.first());
        self.trap(w, pc.copied().unwrap_or(0), Fault::new(TrapKind::Budget, lane, detail))
    }

    /// Counts an instruction while sampling.
    #[cold]
    pub(super) fn sample(&mut self, w: usize, pc: u32) {
        let warp = &self.warps[w];
        let of = (self.blocks[warp.block].id.index, warp.index);
        if let Some(sample) = &mut self.sample {
            let (times, pcs) = sample.warps.entry(of).or_default();
            *times += 1;
            pcs.insert(pc);
        }
    }

    /// Returns the trap for resident blocks that wait for blocks that do not fit on the device.
    #[cold]
    pub(super) fn crowded<O: Observer>(
        &mut self,
        room: u64,
        config: &crate::Config,
        obs: &mut O,
    ) -> Box<Trap> {
        let blocks = self.env.info.blocks();
        let mut trap = self.endless("", obs);
        let (sms, threads) = (config.sm_count, self.env.info.threads());
        trap.kind = TrapKind::Deadlock;
        trap.detail = format!(
            "the resident blocks wait for blocks that are not resident: the simulated GPU ({}, {}) \
             holds {room} of the {} of {} at once; launch no more blocks than fit, as a cooperative launch ensures, or let no block wait for a later block",
            config.arch,
            count(sms.into(), "multiprocessor"),
            count(blocks, "block"),
            count(threads.into(), "thread"),
        );
        trap
    }

    /// Returns the trap for a team in which no thread can run, with the places where threads wait.
    #[cold]
    pub(super) fn stuck(&self) -> Box<Trap> {
        let insts = &self.env.info.kernel.insts;
        let mut first: Option<(usize, Split, bool)> = None;
        let mut places: Vec<Place> = Vec::new();
        for (w, warp) in self.warps.iter().enumerate() {
            for split in &warp.splits {
                let what = match split.state {
                    State::Sync { .. } => WARP_WIDE,
                    State::Bar { .. } => "a block barrier",
                    State::Cluster => "the cluster barrier",
                    State::Mbarrier { .. } => MBARRIER,
                    State::Ready => continue,
                };
                let same =
                    warp.splits.iter().filter(|s| s.pc == split.pc && s.state == split.state);
                let together = same.fold(0, |all, s| all | s.mask);
                let divergent = together != warp.live
                    && matches!(&insts[split.pc as usize].op, Op::Bar(bar) if bar.aligned);
                // A lane that does not arrive although the mask names it is the more direct cause.
                let nearer = |old: &Split| {
                    matches!((split.state, old.state), (State::Sync { .. }, State::Bar { .. }))
                };
                let further = |old: &Split| {
                    matches!((split.state, old.state), (State::Bar { .. }, State::Sync { .. }))
                };
                if first.is_none_or(|(_, old, d)| nearer(&old) || divergent && !d && !further(&old))
                {
                    first = Some((w, *split, divergent));
                }
                let threads = split.mask.count_ones();
                match places.iter_mut().find(|p| p.pc == split.pc) {
                    Some(place) => place.threads += threads,
                    None => places.push(Place { pc: split.pc, threads, what }),
                }
            }
        }
        let Some((w, split, divergent)) = first else {
            return self.trap(0, 0, Fault::new(TrapKind::Deadlock, 0, "no thread can continue"));
        };
        let mut parts: Vec<String> = self.absent(split.pc);
        let absent = parts.len();
        parts.extend(places.iter().map(|p| self.waiting(p.threads, p.what, p.pc)));
        let (kind, cure) = match (divergent, self.no_phase_ends()) {
            _ if places.iter().any(|place| place.what == WARP_WIDE) => {
                (TrapKind::Deadlock, ALL_NAMED_MUST_COME.into())
            }
            // The threads at the mbarrier would reach the other barrier later.
            (_, Some(phase)) => (TrapKind::Deadlock, phase),
            (true, None) => (TrapKind::DivergentBarrier, ALL_MUST_COME.into()),
            (false, None) => {
                // Threads that have returned wait for no others.
                let alone = places.len() == 1 && absent <= 1;
                let lacks = alone.then(|| self.lacks(w, split.state)).flatten();
                (TrapKind::Deadlock, lacks.unwrap_or_else(|| EACH_WAITS.to_string()))
            }
        };
        let lane = split.mask.trailing_zeros() as usize;
        self.trap(w, split.pc, Fault::new(kind, lane, format!("{}: {cure}", list(&parts))))
    }

    /// Returns the fault for a barrier that completed although lanes of a warp had exited
    /// elsewhere.
    #[cold]
    pub(super) fn strayed(&self, split: &Split, block: usize) -> Fault {
        let of = self.warps.iter().filter(|warp| warp.block == block);
        let splits = of.flat_map(|warp| &warp.splits).filter(|s| s.pc == split.pc);
        let waiting: u32 = splits.map(|s| s.mask.count_ones()).sum();
        let mut parts = self.absent(split.pc);
        parts.push(self.waiting(waiting, "a block barrier", split.pc));
        let detail = format!("{}: {ALL_MUST_COME}", list(&parts));
        Fault::new(TrapKind::DivergentBarrier, split.mask.trailing_zeros() as usize, detail)
    }

    /// Describes a block barrier that gives a number of threads, if fewer threads have come to it.
    fn lacks(&self, w: usize, state: State) -> Option<String> {
        let State::Bar { id } = state else { return None };
        let bar = self.blocks[self.warps[w].block].bars.get(usize::from(id))?;
        let expected = bar.count?;
        let lanes =
            bar.waiting.iter().zip(&bar.arrived).map(|(waiting, arrived)| waiting | arrived);
        let come: u32 = lanes.map(u32::count_ones).sum();
        (come < expected).then(|| {
            format!(
                "barrier {id} expects {}, but only {come} have come since it last opened, and no \
                 others can come; let as many threads come as it expects, and let none arrive for \
                 a later use before it has opened for the earlier one",
                count(expected.into(), "thread")
            )
        })
    }

    /// Describes the threads that do not reach an instruction: those that have returned, and those
    /// that wait at a later instruction.
    fn absent(&self, pc: u32) -> Vec<String> {
        let info = &self.env.info;
        let insts = &info.kernel.insts;
        let exits = |pc: u32| matches!(insts[pc as usize].op, Op::Exit);
        let threads = info.threads() * self.blocks.len() as u32;
        let live: u32 = self.warps.iter().map(|warp| warp.live.count_ones()).sum();
        let mut returned = threads - live;
        let mut beyond: BTreeMap<u32, u32> = BTreeMap::new();
        for warp in &self.warps {
            // Lanes that wait elsewhere are counted there.
            let elsewhere = warp.splits.iter().fold(0, |all, split| all | split.mask);
            for conv in &warp.convs {
                let arrived = conv.arrived & conv.members & warp.live & !elsewhere;
                let lanes = arrived.count_ones();
                match exits(conv.pc) {
                    true => returned += lanes,
                    false if lanes != 0 => *beyond.entry(conv.from).or_default() += lanes,
                    false => {}
                }
            }
        }
        let mut parts = Vec::new();
        if returned != 0 {
            // The source lines of the exits that precede the barrier.
            let mut lines: Vec<String> = (0..pc)
                .filter(|at| match insts[*at as usize].op {
                    Op::Branch(target) => exits(target),
                    Op::Exit => true,
                    _ => false,
                })
                .map(|at| self.exit_line(at))
                .collect();
            lines.dedup();
            let at = if lines.is_empty() {
                String::new()
            } else {
                format!(" at {}", lines.join(" or "))
            };
            parts.push(format!("{} returned{at}", count(returned.into(), "thread")));
        }
        for (from, lanes) in beyond {
            let s = if lanes == 1 { "skips" } else { "skip" };
            parts.push(format!("{} {s} it at {}", count(lanes.into(), "thread"), self.line(from)));
        }
        parts
    }

    fn waiting(&self, threads: u32, what: &str, pc: u32) -> String {
        let s = if threads == 1 { "waits" } else { "wait" };
        format!("{} {s} at {what} on {}", count(threads.into(), "thread"), self.line(pc))
    }

    /// Returns the line at which a thread returns. The compiler gives the instruction that ends an
    /// inlined function the line of the kernel's header, so the line before it is the nearest.
    fn exit_line(&self, pc: u32) -> String {
        let kernel = self.env.info.kernel;
        let line = kernel.line(pc);
        let header = (0..pc).map(|pc| kernel.line(pc)).find(|line| *line != 0);
        let before = pc.checked_sub(1).filter(|before| {
            let inst = &kernel.insts[*before as usize];
            let falls_through =
                inst.guard.is_some() || !matches!(inst.op, Op::Branch(_) | Op::Exit | Op::Trap);
            falls_through && Some(line) == header
        });
        self.line(before.unwrap_or(pc))
    }

    fn line(&self, pc: u32) -> String {
        self.env.info.kernel.place(pc)
    }
}

const MBARRIER: &str = "an mbarrier";

const EACH_WAITS: &str = "each waits for the others, so none can continue";

const WARP_WIDE: &str = "a warp-wide operation";

const ALL_NAMED_MUST_COME: &str = "a warp-wide operation waits for every lane in its mask; move \
                                   it out of the condition, or put only the lanes that reach \
                                   it in the mask, and read from no other lane";

pub(super) const ALL_MUST_COME: &str = "every thread of the block has to reach a \
                                        `__syncthreads()`; put the condition around the work, not \
                                        around the barrier";

/// Joins the parts in the form `a, b and c`.
fn list(parts: &[String]) -> String {
    match parts {
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => parts.concat(),
    }
}

/// Checks the time budget, which requires that a block has finished recently.
#[derive(Default)]
pub(super) struct Watch {
    /// The state at the last check that found that more blocks had finished.
    since: Option<Since>,
}

struct Since {
    time: Instant,
    ended: u64,
    executed: u64,
}

impl Watch {
    /// Fails if no block has finished for longer than the configured patience. Called after many
    /// instructions, with the number of instructions that have been executed so far.
    pub(super) fn check<O: Observer>(
        &mut self,
        executed: u64,
        team: &mut Team<'_>,
        obs: &mut O,
    ) -> Result<(), Box<Trap>> {
        let Some(patience) = team.env.patience else { return Ok(()) };
        let ended = team.env.progress.ended();
        match &self.since {
            Some(since) if since.ended == ended => {
                if spent(patience, since.time.elapsed(), executed - since.executed) {
                    let waited = format!("no block has finished in the last {}", said(patience));
                    return Err(team.endless(&waited, obs));
                }
            }
            _ => self.since = Some(Since { time: Instant::now(), ended, executed }),
        }
        Ok(())
    }
}

/// Returns whether a launch has used up its time. This is the case if the time has passed and the
/// launch has executed at least as many warp instructions as usually run in that time with all
/// checks on. If the launch has executed fewer instructions, a check or the machine is slow.
fn spent(patience: Duration, passed: Duration, executed: u64) -> bool {
    const A_SECOND: f64 = 1e6;
    passed > patience && executed as f64 >= patience.as_secs_f64() * A_SECOND
}

fn said(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 1.0 { format!("{seconds} s") } else { format!("{} ms", time.as_millis()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_check_is_no_endless_loop() {
        let [second, hour] = [Duration::from_secs(1), Duration::from_secs(3600)];
        assert!(spent(10 * second, 11 * second, 10_000_000));
        assert!(!spent(10 * second, 9 * second, u64::MAX));
        // A block that polls executes few instructions if each of them takes long to check.
        assert!(!spent(10 * second, hour, 9_999_999));
        assert!(spent(Duration::ZERO, second, 0));
    }
}
