//! Records the activity of a multiprocessor over time, for a figure: the state of each warp slot in
//! each cycle, and the loads that are in flight.

use crate::{
    gpu::Gpu,
    launch::blocks_of,
    occupancy::resident,
    reel::{Flight, Lane, Reel, Shown, State},
    sm::{Work, simulate},
    trace::Blocks,
};

/// A film, which is a recording of one multiprocessor.
#[derive(Clone, Debug)]
pub struct Film {
    /// The number of recorded cycles.
    pub cycles: u32,
    /// For each scheduler, its warp slots.
    pub lanes: [Vec<Lane>; 4],
    /// The loads, in the order in which they are issued.
    pub flights: Vec<Flight>,
    /// The multiprocessor's share of the memory bandwidth, in bytes per cycle.
    pub rate: f64,
    /// The largest number of blocks that are resident at the same time during the film.
    pub resident: u32,
    /// The number of blocks that fit on the multiprocessor, and the resource that limits this
    /// number.
    pub fits: (u32, &'static str),
    /// The number of blocks of the launch that run on this multiprocessor.
    pub blocks: u64,
    /// The number of registers per thread.
    pub registers: u32,
    /// For each instruction, its line of the CUDA source, or 0 if it has none.
    pub lines: Vec<u32>,
}

/// Statistics of a part of a film.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The first cycle of the part, and the first cycle after the part.
    pub cycles: [u32; 2],
    /// The fraction of the schedulers' cycles in which an instruction issues.
    pub issue: f64,
    /// For each state, the fraction of the cycles of all warp slots.
    pub states: [f64; State::COUNT],
    /// The average number of bytes in flight.
    pub flight: f64,
    /// The number of bytes that the bus transfers.
    pub bytes: f64,
    /// These bytes as a fraction of the multiprocessor's share of the memory bandwidth.
    pub bus: f64,
}

/// Films the first `cycles` cycles of a launch of `grid` blocks. `recorded` contains a few of these
/// blocks.
pub fn film(gpu: &Gpu, recorded: &Blocks, grid: u64, registers: Option<u32>, cycles: u32) -> Film {
    let (most, registers) = resident(gpu, recorded, registers);
    // A block takes longer than 64 cycles.
    let filmed = blocks_of(gpu, recorded, grid, u64::from(most) + u64::from(cycles / 64));
    let sms = u64::from(gpu.sms);
    let busy = grid.min(sms) as u32;
    let started = filmed.len();
    let work = Work { code: &recorded.code, blocks: filmed, resident: most as usize, busy };
    let mut reel = Reel::new(cycles, gpu.load[0][1]);
    simulate(gpu, &work, Some(&mut reel));
    let (lanes, flights, lines) = (reel.lanes, reel.flights, recorded.code.source.clone());
    let rate = (gpu.dram / f64::from(busy.max(1))).min(gpu.sm_bytes[1]);
    let fits = (most, bound(gpu, recorded.threads, most, registers));
    let blocks = grid.saturating_sub(1) / sms + 1;
    let resident = at_once(&lanes, started);
    Film { cycles, lanes, flights, rate, resident, fits, blocks, registers, lines }
}

/// Returns the resource that limits the number of resident blocks to `most`.
fn bound(gpu: &Gpu, threads: u32, most: u32, registers: u32) -> &'static str {
    let (limits, warps) = (gpu.limits, threads.div_ceil(32) * (most + 1));
    if warps * 32 > limits.threads {
        "threads"
    } else if most + 1 > limits.blocks {
        "blocks"
    } else if warps * (registers * 32).next_multiple_of(256) > limits.registers {
        "registers"
    } else {
        "shared memory"
    }
}

/// Returns the largest number of blocks that are resident at the same time.
fn at_once(lanes: &[Vec<Lane>; 4], blocks: usize) -> u32 {
    // For each block, the cycles of its start and its end.
    let mut lives = vec![[0, 0]; blocks];
    for lane in lanes.iter().flatten() {
        for &[start, block, _] in &lane.warps {
            let ended = |shown: &&Shown| shown.from > start && shown.state == State::Empty;
            let end = lane.states.iter().find(ended).map_or(u32::MAX, |shown| shown.from);
            // All warps of a block start in the same cycle.
            let [from, to] = &mut lives[block as usize];
            (*from, *to) = (start, end.max(*to));
        }
    }
    let at = |cycle| lives.iter().filter(|life| life[0] <= cycle && cycle < life[1]).count();
    lives.iter().map(|life| at(life[0])).max().unwrap_or(0) as u32
}

impl Film {
    /// Returns the statistics of the part of the film from cycle `from` up to cycle `to`.
    pub fn part(&self, gpu: &Gpu, [from, to]: [u32; 2]) -> Part {
        let time = f64::from(to - from).max(1.0);
        let slots = (gpu.limits.threads / 32) as f64;
        let mut states = [0.0; State::COUNT];
        for lane in self.lanes.iter().flatten() {
            let ends = lane.states.iter().skip(1).map(|next| next.from).chain([self.cycles]);
            for (shown, end) in lane.states.iter().zip(ends) {
                let (a, b) = (shown.from.max(from), end.min(to));
                states[shown.state as usize] += f64::from(b.saturating_sub(a)) / time / slots;
            }
        }
        states[State::Empty as usize] += 1.0 - states.iter().sum::<f64>();
        let issue = states[State::Issue as usize] * slots / 4.0;
        let within = |[a, b]: [f64; 2]| (b.min(f64::from(to)) - a.max(f64::from(from))).max(0.0);
        let sum = |of: &dyn Fn(&Flight) -> f64| self.flights.iter().map(of).sum::<f64>();
        let flight = sum(&|load| load.bytes * within([load.leaves, load.back])) / time;
        // Every transfer proceeds at the same rate.
        let bytes = sum(&|load| self.rate * within(load.bus));
        let bus = bytes / self.rate / time;
        Part { cycles: [from, to], issue, states, flight, bytes, bus }
    }

    /// Returns the average number of cycles from a request to its data, weighted by bytes.
    pub fn wait(&self) -> f64 {
        let sum = |of: &dyn Fn(&Flight) -> f64| self.flights.iter().map(of).sum::<f64>();
        sum(&|load| load.bytes * (load.back - load.leaves)) / sum(&|load| load.bytes).max(1.0)
    }

    /// Returns the number of bytes that fill the bus if each load takes as long as on an idle GPU.
    pub fn fills(&self, gpu: &Gpu) -> f64 {
        self.rate * gpu.load[0][1]
    }
}

#[cfg(test)]
mod tests;
