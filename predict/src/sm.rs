//! Simulates one multiprocessor, cycle by cycle: its four schedulers issue the instructions of the
//! resident warps.

use crate::{
    code::{Code, Kind},
    gpu::Gpu,
    reel::{Reel, State},
    spent::Spent,
    trace::{Op, What},
};

/// The blocks that one multiprocessor runs, in order.
#[derive(Clone, Debug)]
pub struct Work<'w> {
    /// The code of the kernel.
    pub code: &'w Code,
    /// For each block, the instructions of each of its warps.
    pub blocks: Vec<&'w [Vec<Op>]>,
    /// The number of blocks that are resident at the same time.
    pub resident: usize,
    /// The number of multiprocessors that work at the same time and share the memory bandwidth.
    pub busy: u32,
}

/// The outcome of a simulation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    /// Cycles from the start of the first block to the end of the last.
    pub cycles: f64,
    /// The fraction of the schedulers' cycles in each state, in the order of [`Spent::ALL`].
    pub spent: [f64; 9],
    /// The number of machine instructions that were issued.
    pub issued: u64,
    /// The bytes of the input that were loaded.
    pub bytes: f64,
}

const SCHEDULERS: usize = 4;
const NEVER: f64 = f64::INFINITY;

struct Warp<'w> {
    ops: &'w [Op],
    /// The index of the block among the blocks of this multiprocessor.
    block: usize,
    at: usize,
    /// The number of machine instructions of the current operation that have not been issued.
    left: u16,
    /// The cycle from which the warp can issue, and the reason why it waits until then.
    wakes: f64,
    waits: Spent,
    /// The same two values for the operation that follows the barrier at which the warp waits.
    after: (f64, Spent),
    /// For each register, the cycle in which its value is ready, and the reason for the wait.
    ready: Vec<(f64, Spent)>,
    /// The cycle by which all stores of the warp have arrived.
    stored: f64,
    /// The warp slot, and the cycle of the last issue, for a film.
    lane: usize,
    issued: f64,
}

struct Resident {
    warps: usize,
    ended: usize,
    at_barrier: usize,
    /// For each bulk copy: the address of its `mbarrier`, and the cycle in which the copy completes
    /// a phase of the `mbarrier`.
    copies: Vec<(u32, f64)>,
}

/// The model of L2 and DRAM for one multiprocessor.
struct Memory<'g> {
    gpu: &'g Gpu,
    busy: f64,
    /// This multiprocessor's share of the bandwidth, in bytes per cycle.
    rate: f64,
    free: f64,
    link: f64,
    /// The number of bytes that were loaded from memory.
    bytes: f64,
    /// The throughput in bytes per cycle, averaged over about one memory latency.
    recent: f64,
    last: f64,
    first: bool,
    counted: bool,
    /// The cycles in which the bus transfer of the last load began and ended, as computed for this
    /// multiprocessor.
    bus: [f64; 2],
    /// The cycle in which the values of the last load are ready.
    done: f64,
}

/// Returns the number of bytes that an operation loads from memory.
fn loads(op: &Op) -> Option<f64> {
    match op.what {
        What::Load { sectors, far: true } => Some(32.0 * f64::from(sectors)),
        What::Copy { bytes, .. } => Some(f64::from(bytes)),
        _ => None,
    }
}

/// The code that the multiprocessor has fetched.
struct Lines {
    /// For each line of 128 bytes, the cycle in which it arrives.
    ready: Vec<f64>,
    free: f64,
    each: f64,
}

impl Lines {
    fn ready(&mut self, line: u32, now: f64) -> f64 {
        let ready = &mut self.ready[line as usize];
        if *ready == NEVER {
            self.free = self.free.max(now) + self.each;
            *ready = self.free;
        }
        *ready
    }
}

/// The time over which throughput is averaged, in cycles: about one memory latency.
const WINDOW: f64 = 700.0;

impl Memory<'_> {
    /// Returns the latency of an atomic, in cycles. For the first atomic, the counter is in DRAM
    /// and not yet in L2.
    fn atomic(&mut self) -> f64 {
        let far = if self.counted { 0.0 } else { self.gpu.first - self.gpu.l2 };
        self.counted = true;
        self.gpu.atomic + far
    }

    /// Returns the cycle in which the values of a load of `bytes` bytes, issued at `now`, are
    /// ready, and the reason for the wait.
    fn load(&mut self, now: f64, bytes: f64, far: bool) -> (f64, Spent) {
        self.link = self.link.max(now) + bytes / self.gpu.sm_bytes[0];
        if !far {
            return (self.link + self.gpu.l2, Spent::Latency);
        }
        self.bytes += bytes;
        self.recent *= (-(now - self.last) / WINDOW).exp();
        self.last = now;
        self.recent += bytes / WINDOW;
        self.free = self.free.max(now) + bytes / self.rate;
        self.bus = [self.free - bytes / self.rate, self.free];
        let idle = self.gpu.load[0][1];
        if self.first {
            self.first = false;
            self.done = now + self.gpu.first;
            return (self.done, Spent::Latency);
        }
        let latency = self.gpu.loaded((self.recent * self.busy).min(self.gpu.dram));
        let (queued, loaded) = (self.free + idle, now + latency);
        let done = queued.max(loaded).max(self.link + idle);
        self.done = done;
        (done, if queued > now + 1.5 * idle { Spent::Dram } else { Spent::Latency })
    }
}

/// Simulates the blocks without recording.
pub fn run(gpu: &Gpu, work: &Work<'_>) -> Ran {
    simulate(gpu, work, None)
}

/// Simulates the blocks. If there is a reel, records each cycle until the end of the reel.
pub(crate) fn simulate(gpu: &Gpu, work: &Work<'_>, mut reel: Option<&mut Reel>) -> Ran {
    let busy = f64::from(work.busy.max(1));
    let rate = (gpu.dram / busy).min(gpu.sm_bytes[1]);
    let mut memory = Memory {
        gpu,
        busy,
        rate,
        free: 0.0,
        link: 0.0,
        bytes: 0.0,
        recent: 0.0,
        last: 0.0,
        first: true,
        counted: false,
        bus: [0.0; 2],
        done: 0.0,
    };
    let starts = &work.code.lines;
    let count = starts.last().map_or(0, |&last| last as usize + 1);
    let mut lines = Lines { ready: vec![NEVER; count], free: 0.0, each: gpu.fetch };
    lines.ready.iter_mut().take(1).for_each(|first| *first = 0.0);
    let mut schedulers: [Vec<Warp<'_>>; SCHEDULERS] = Default::default();
    let mut blocks: Vec<Resident> = Vec::new();
    // For each place that can hold a resident block, the cycle in which the place becomes free.
    let mut places = vec![0.0f64; work.resident.max(1)];
    // The blocks of the first wave start one after another on all multiprocessors.
    let mut last_start = gpu.block * (busy / f64::from(gpu.sms) - 1.0);
    let mut units = [[0.0f64; Kind::COUNT]; SCHEDULERS];
    let mut shared_unit = 0.0f64;
    let (mut now, mut end) = (0.0f64, 0.0f64);
    let mut spent = [0.0; 9];
    let mut issued = 0;
    let mut turn = [0usize; SCHEDULERS];
    loop {
        // Blocks start one after another, in free slots.
        let mut next_start = NEVER;
        while blocks.len() < work.blocks.len() {
            let place =
                (0..places.len()).min_by(|&a, &b| places[a].total_cmp(&places[b])).unwrap_or(0);
            let start = places[place].max(last_start + gpu.block);
            if start > now {
                next_start = start;
                break;
            }
            (places[place], last_start) = (NEVER, start);
            let block = blocks.len();
            let warps = work.blocks[block];
            blocks.push(Resident {
                warps: warps.len(),
                ended: 0,
                at_barrier: 0,
                copies: Vec::new(),
            });
            for (index, ops) in warps.iter().enumerate() {
                let ready = vec![(0.0, Spent::Math); work.code.registers];
                let (wakes, waits) = (now, Spent::Idle);
                let after = (now, waits);
                let scheduler = (index + block) % SCHEDULERS;
                let lane = reel.as_mut().map_or(0, |reel| reel.enter(scheduler, block, index, now));
                let (at, left, stored, issued) = (0, 0, 0.0, -1.0);
                let mut warp =
                    Warp { ops, block, at, left, wakes, waits, after, ready, stored, lane, issued };
                warp.begin(work.code);
                schedulers[scheduler].push(warp);
            }
        }
        // Each scheduler issues one instruction from a warp that can issue.
        let mut next = next_start;
        let mut doing = [Spent::Idle; SCHEDULERS];
        for s in 0..SCHEDULERS {
            let warps = &mut schedulers[s];
            let mut earliest = (NEVER, Spent::Idle);
            let mut chosen = None;
            for k in 0..warps.len() {
                let index = (turn[s] + k) % warps.len();
                let warp = &mut warps[index];
                if warp.wakes <= now {
                    let line = lines.ready(starts[warp.ops[warp.at].pc as usize], now);
                    if line > now {
                        (warp.wakes, warp.waits) = (line, Spent::Code);
                    }
                }
                if warp.wakes <= now {
                    let kind = warp.kind(work.code);
                    let free = units[s][kind.unit()];
                    if free >= now + 1.0 {
                        (warp.wakes, warp.waits) = (free.floor(), Spent::Math);
                    } else {
                        chosen = Some(index);
                        break;
                    }
                }
                if warp.wakes < earliest.0 {
                    earliest = (warp.wakes, warp.waits);
                } else if earliest.0 == NEVER {
                    earliest.1 = warp.waits;
                }
            }
            let Some(index) = chosen else {
                (next, doing[s]) = (next.min(earliest.0), earliest.1);
                continue;
            };
            turn[s] = index;
            (next, doing[s]) = (now + 1.0, Spent::Issue);
            issued += 1;
            let warp = &mut warps[index];
            let (kind, block) = (warp.kind(work.code), warp.block);
            let resident = &mut blocks[block];
            if !kind.is_shared_unit() {
                let unit = &mut units[s][kind.unit()];
                *unit = unit.max(now) + gpu.cycles[kind as usize] / kind.probed();
            }
            let op = warp.ops[warp.at];
            let opened = warp.issue(gpu, work.code, now, resident, &mut memory, &mut shared_unit);
            warp.issued = now;
            if let Some(reel) = &mut reel {
                reel.issue(s, warp.lane, now, op.pc);
                if let Some(bytes) = loads(&op) {
                    let [bus, done] = [memory.bus, [now, memory.done]];
                    reel.load(s, warp.lane, op.pc, bytes, done, bus);
                }
            }
            let over = warp.at >= warp.ops.len();
            if over {
                if let Some(reel) = &mut reel {
                    reel.exit(s, warp.lane, now + 1.0);
                }
                resident.ended += 1;
                end = end.max(now + 1.0).max(warp.stored);
                warps.swap_remove(index);
                if resident.ended == resident.warps {
                    let place = places.iter_mut().find(|place| **place == NEVER);
                    *place.expect("the block had a place") = now + gpu.replace;
                }
            }
            let resident = &mut blocks[block];
            let meets =
                resident.at_barrier > 0 && resident.at_barrier + resident.ended >= resident.warps;
            if opened || meets {
                let waiting = resident.at_barrier;
                if resident.at_barrier + resident.ended >= resident.warps {
                    resident.at_barrier = 0;
                    let at = now + gpu.barrier[0] + gpu.barrier[1] * waiting as f64 / 2.0;
                    let all = schedulers.iter_mut().flatten();
                    for warp in all.filter(|warp| warp.block == block && warp.wakes == NEVER) {
                        let barrier = (at, Spent::Barrier);
                        (warp.wakes, warp.waits) =
                            if warp.after.0 > at { warp.after } else { barrier };
                    }
                    next = now + 1.0;
                }
            }
        }
        if next == NEVER {
            break;
        }
        let step = (next - now).max(1.0).ceil();
        if let Some(reel) = &mut reel {
            for (scheduler, warps) in schedulers.iter().enumerate() {
                for warp in warps.iter().filter(|warp| warp.issued != now) {
                    let ready = warp.wakes <= now;
                    let state = if ready { State::Ready } else { warp.waits.into() };
                    reel.wait(scheduler, warp.lane, now, state);
                }
            }
            if reel.ends(now) {
                break;
            }
        }
        doing.iter().for_each(|&what| spent[what as usize] += step / SCHEDULERS as f64);
        now += step;
    }
    let cycles = end.max(now);
    let total: f64 = spent.iter().sum::<f64>().max(1.0);
    Ran { cycles, spent: spent.map(|part| part / total), issued, bytes: memory.bytes }
}

impl Warp<'_> {
    /// Advances the warp to its next operation that needs a machine instruction, and records when
    /// that operation can issue.
    fn begin(&mut self, code: &Code) {
        while let Some(op) = self.ops.get(self.at) {
            let inst = &code.insts[op.pc as usize];
            self.left = match op.what {
                What::Skipped([slots, _]) => slots,
                _ => inst.slots,
            };
            let now = self.wakes;
            for &register in &inst.reads {
                let (ready, why) = self.ready[register as usize];
                if ready > self.wakes {
                    (self.wakes, self.waits) = (ready, why);
                }
            }
            if self.left > 0 {
                return;
            }
            // A value that is only renamed is ready when its source is, and the warp does not wait
            // for it.
            let ready = (self.wakes, self.waits);
            if !matches!(op.what, What::Skipped(_)) {
                self.wakes = now;
            }
            inst.writes.iter().for_each(|&register| self.ready[register as usize] = ready);
            self.at += 1;
        }
    }

    fn kind(&self, code: &Code) -> Kind {
        match self.ops[self.at].what {
            What::Skipped(_) => Kind::Other,
            _ => code.insts[self.ops[self.at].pc as usize].kind,
        }
    }

    /// Issues one machine instruction. Returns whether the warp now waits at a barrier.
    fn issue(
        &mut self,
        gpu: &Gpu,
        code: &Code,
        now: f64,
        block: &mut Resident,
        memory: &mut Memory<'_>,
        shared_unit: &mut f64,
    ) -> bool {
        let op = self.ops[self.at];
        let inst = &code.insts[op.pc as usize];
        let kind = self.kind(code);
        let latency = gpu.latency[kind as usize];
        let slots = f64::from(inst.slots.max(1));
        self.left -= 1;
        if self.left > 0 {
            let apart = if matches!(op.what, What::Skipped(_)) { 1.0 } else { latency / slots };
            (self.wakes, self.waits) = (now + apart.max(1.0), Spent::Math);
            return false;
        }
        let mut unit = |cycles: f64| {
            let start = shared_unit.max(now);
            *shared_unit = start + cycles;
            start + cycles - 1.0
        };
        let (done, why) = match op.what {
            What::Shared(passes) => (unit(f64::from(passes)) + latency, Spent::Shared),
            What::Load { sectors, far } => memory.load(now, 32.0 * f64::from(sectors), far),
            What::Store { sectors } => {
                self.stored = now + gpu.l2;
                memory.link = memory.link.max(now) + 32.0 * f64::from(sectors) / gpu.sm_bytes[0];
                (now + 1.0, Spent::Math)
            }
            What::Atomic => (now + memory.atomic(), Spent::Atomic),
            What::Copy { bytes, barrier } => {
                let (done, _) = memory.load(now, f64::from(bytes), true);
                block.copies.push((barrier, done));
                (now + 1.0, Spent::Math)
            }
            What::Wait { barrier, phase } => {
                let mut phases = block.copies.iter().filter(|copy| copy.0 == barrier);
                let done = phases.nth(phase as usize).map_or(now, |copy| copy.1);
                self.wakes = done.max(now + latency);
                self.waits = Spent::Latency;
                (self.wakes, Spent::Latency)
            }
            What::Plain if kind.is_shared_unit() => {
                (unit(gpu.cycles[kind as usize]) + latency, Spent::Shared)
            }
            What::Skipped([_, shared]) if shared > 0 => {
                let all = unit(f64::from(shared)) + gpu.latency[Kind::Shared as usize];
                (all, Spent::Shared)
            }
            What::Plain | What::Skipped(_) => (now + latency / slots, Spent::Math),
        };
        inst.writes.iter().for_each(|&register| self.ready[register as usize] = (done, why));
        self.at += 1;
        (self.wakes, self.waits) = match op.what {
            What::Wait { .. } => (done.max(now + 1.0), Spent::Latency),
            What::Skipped(_) => (done.max(now + 1.0), why),
            _ if inst.fence => (now + gpu.fence, Spent::Atomic),
            _ => (now + 1.0, Spent::Math),
        };
        if inst.barrier {
            block.at_barrier += 1;
            self.begin(code);
            self.after = (self.wakes, self.waits);
            (self.wakes, self.waits) = (NEVER, Spent::Barrier);
            return true;
        }
        self.begin(code);
        false
    }
}

#[cfg(test)]
mod tests;
