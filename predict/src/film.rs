//! Records the activity of a multiprocessor over time, for a figure: the state of each warp slot in
//! each cycle, and the loads that are in flight.

use crate::{
    gpu::Gpu,
    launch::blocks_of,
    occupancy::resident,
    reel::{Flight, Lane, Reel, State},
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
    /// The number of blocks that are resident at the same time.
    pub resident: u32,
    /// The number of registers per thread.
    pub registers: u32,
    /// For each instruction, its line of the CUDA source, or 0.
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
    /// The fraction of the multiprocessor's share of the memory bandwidth that is used.
    pub bus: f64,
}

/// Films the first `cycles` cycles of a launch of `grid` blocks. `recorded` contains a few of these
/// blocks.
pub fn film(gpu: &Gpu, recorded: &Blocks, grid: u64, registers: Option<u32>, cycles: u32) -> Film {
    let (resident, registers) = resident(gpu, recorded, registers);
    // A block takes longer than 64 cycles.
    let most = u64::from(resident) + u64::from(cycles / 64);
    let blocks = blocks_of(gpu, recorded, grid, most);
    let busy = grid.min(u64::from(gpu.sms)) as u32;
    let work = Work { code: &recorded.code, blocks, resident: resident as usize, busy };
    let mut reel = Reel::new(cycles, gpu.load[0][1]);
    simulate(gpu, &work, Some(&mut reel));
    let (lanes, flights, lines) = (reel.lanes, reel.flights, recorded.code.source.clone());
    Film { cycles, lanes, flights, resident, registers, lines }
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
        let bus = sum(&|load| within(load.bus)) / time;
        Part { cycles: [from, to], issue, states, flight, bus }
    }

    /// Returns the number of bytes that have arrived by the end of the film.
    pub fn bytes(&self) -> f64 {
        let back = |load: &&Flight| load.back <= f64::from(self.cycles);
        self.flights.iter().filter(back).map(|load| load.bytes).sum()
    }
}

#[cfg(test)]
mod tests;
