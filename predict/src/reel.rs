//! Records a simulation: the state of each warp slot in each cycle, and the loads.

use crate::spent::Spent;

/// The state of a warp slot in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No warp is resident.
    Empty,
    /// The warp issues an instruction.
    Issue,
    /// The warp could issue, but its scheduler issues an instruction from another warp.
    Ready,
    /// The warp waits for the result of an arithmetic instruction, or for a unit.
    Math,
    /// The warp waits for shared memory or a shuffle.
    Shared,
    /// The warp waits at a barrier.
    Barrier,
    /// The warp waits for memory.
    Memory,
    /// The warp waits for an atomic or a fence.
    Atomic,
    /// The warp waits for an instruction fetch, because of an instruction-cache miss.
    Code,
}

impl State {
    /// The number of states.
    pub const COUNT: usize = 9;

    /// The names of the states, in the order of their discriminants.
    pub const NAMES: [&str; State::COUNT] = [
        "empty",
        "issuing",
        "ready, but another warp issues",
        "waiting for arithmetic",
        "waiting for shared memory or a shuffle",
        "waiting at a barrier",
        "waiting for memory",
        "waiting for an atomic or a fence",
        "waiting for code",
    ];
}

impl From<Spent> for State {
    fn from(waits: Spent) -> State {
        match waits {
            Spent::Issue => State::Issue,
            Spent::Math => State::Math,
            Spent::Shared => State::Shared,
            Spent::Barrier => State::Barrier,
            Spent::Latency | Spent::Dram => State::Memory,
            Spent::Atomic => State::Atomic,
            Spent::Code => State::Code,
            Spent::Idle => State::Ready,
        }
    }
}

/// A state of a warp slot, which lasts until the next state begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The first cycle in this state.
    pub from: u32,
    /// The state of the slot.
    pub state: State,
    /// The instruction that the warp issues in this cycle, or the last one that it issued.
    pub pc: u32,
}

/// A warp slot of a scheduler.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// The states of the slot, in order.
    pub states: Vec<Shown>,
    /// For each warp that occupied the slot: the cycle of its start, its block's number on this
    /// multiprocessor, and its number in the block.
    pub warps: Vec<[u32; 3]>,
}

/// A load from memory, or a bulk copy.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// The scheduler and the slot of its warp.
    pub lane: [u32; 2],
    /// The index of the instruction.
    pub pc: u32,
    /// The number of bytes.
    pub bytes: f64,
    /// The cycle in which the load is issued.
    pub leaves: f64,
    /// The cycles in which the transfer of its bytes on the bus begins and ends.
    pub bus: [f64; 2],
    /// The cycle in which its values can be used.
    pub back: f64,
}

/// A recording of a simulation.
#[derive(Debug, Default)]
pub(crate) struct Reel {
    until: f64,
    /// The latency of a load, in cycles, when nothing else is in flight; half of it passes before
    /// the bus transfer.
    idle: f64,
    pub(crate) lanes: [Vec<Lane>; 4],
    pub(crate) flights: Vec<Flight>,
}

impl Reel {
    /// Creates a reel for the given number of cycles. `idle` is the latency of a load when nothing
    /// else is in flight.
    pub(crate) fn new(cycles: u32, idle: f64) -> Reel {
        Reel { until: f64::from(cycles), idle, ..Reel::default() }
    }

    pub(crate) fn ends(&self, now: f64) -> bool {
        now >= self.until
    }

    /// Records the start of a warp. Returns the warp's slot, which is the first empty one.
    pub(crate) fn enter(&mut self, scheduler: usize, block: usize, warp: usize, now: f64) -> usize {
        let lanes = &mut self.lanes[scheduler];
        let is_empty = |lane: &Lane| lane.states.last().is_none_or(|s| s.state == State::Empty);
        let slot = lanes.iter().position(is_empty).unwrap_or(lanes.len());
        if slot == lanes.len() {
            let empty = Shown { from: 0, state: State::Empty, pc: 0 };
            lanes.push(Lane { states: vec![empty], warps: Vec::new() });
        }
        lanes[slot].warps.push([now as u32, block as u32, warp as u32]);
        // The slot is occupied even if the warp does not issue in this cycle.
        self.show(scheduler, slot, now, State::Ready, Some(0));
        slot
    }

    pub(crate) fn issue(&mut self, scheduler: usize, slot: usize, now: f64, pc: u32) {
        self.show(scheduler, slot, now, State::Issue, Some(pc));
    }

    pub(crate) fn wait(&mut self, scheduler: usize, slot: usize, now: f64, state: State) {
        self.show(scheduler, slot, now, state, None);
    }

    pub(crate) fn exit(&mut self, scheduler: usize, slot: usize, now: f64) {
        self.show(scheduler, slot, now, State::Empty, Some(0));
    }

    fn show(&mut self, scheduler: usize, slot: usize, now: f64, state: State, pc: Option<u32>) {
        let states = &mut self.lanes[scheduler][slot].states;
        let last = states.last().copied().expect("a lane begins empty");
        let shown = Shown { from: now as u32, state, pc: pc.unwrap_or(last.pc) };
        match states.last_mut() {
            Some(last) if last.from == shown.from => *last = shown,
            Some(last) if (last.state, last.pc) == (state, shown.pc) => {}
            _ if now < self.until => states.push(shown),
            _ => {}
        }
    }

    pub(crate) fn load(
        &mut self,
        scheduler: usize,
        slot: usize,
        pc: u32,
        bytes: f64,
        [leaves, back]: [f64; 2],
        bus: [f64; 2],
    ) {
        // Half of the latency passes before the bytes of a request are on the bus.
        let bus = bus.map(|at| at + self.idle / 2.0);
        let lane = [scheduler as u32, slot as u32];
        self.flights.push(Flight { lane, pc, bytes, leaves, bus, back });
    }
}
