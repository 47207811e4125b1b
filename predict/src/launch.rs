//! Predicts the time of one launch, which is the time of the multiprocessor that runs the last
//! block.

use crate::{
    flight::in_flight,
    gpu::Gpu,
    occupancy::resident,
    sm::{Ran, Work, run},
    spent::Spent,
    trace::{Blocks, Op},
};

/// The predicted cycles of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Launched {
    /// The outcome of the simulation of one multiprocessor.
    pub ran: Ran,
    /// The number of blocks that are resident on a multiprocessor.
    pub resident: u32,
    /// The number of registers per thread.
    pub registers: u32,
    /// The number of blocks that this multiprocessor runs.
    pub blocks: u64,
    /// The number of input bytes that are in flight at the same time for all resident blocks
    /// together.
    pub flight: f64,
    /// The number of atomic operations in the whole grid.
    pub atomics: f64,
    /// Whether warps may poll.
    pub polls: bool,
}

/// The maximum number of blocks on a multiprocessor for which all blocks are recorded.
const RECORDED: u64 = 8;

/// Returns the blocks to record for [`launch`]: those of the multiprocessor that runs the last
/// block and those of a multiprocessor with typical blocks, or only two blocks if each
/// multiprocessor has more than `RECORDED`.
pub fn wanted(gpu: &Gpu, grid: u64) -> Vec<u64> {
    let (sms, last) = (u64::from(gpu.sms), grid.saturating_sub(1));
    let blocks = last / sms + 1;
    if blocks <= RECORDED {
        let mut all: Vec<u64> =
            own(gpu, grid, last).chain(own(gpu, grid, middle(gpu, grid))).collect();
        all.dedup();
        return all;
    }
    // All blocks except the first and the last do the same work.
    vec![grid / 2, last]
}

impl Launched {
    /// If the launch is shorter than the time that the bus needs to transfer all `bytes` bytes of
    /// the input, extends it to that time. Multiprocessors with less work leave their share of the
    /// bus to the others, but the simulation does not count these multiprocessors.
    #[must_use]
    pub fn at_least(mut self, gpu: &Gpu, bytes: f64) -> Launched {
        let least = bytes / gpu.dram + gpu.load[0][1];
        let more = (least / self.ran.cycles).max(1.0);
        self.ran.cycles *= more;
        // In the added cycles, the bus is busy.
        self.ran.spent = self.ran.spent.map(|spent| spent / more);
        self.ran.spent[Spent::Dram as usize] += 1.0 - 1.0 / more;
        self
    }

    /// Extrapolates the launch to more input: `bytes` bytes for each of the `busy` multiprocessors.
    /// `half` is the same launch with half of the input. Each further byte takes as long as a byte
    /// of the second half, but never less than its transfer time on the bus.
    #[must_use]
    pub fn continued(self, gpu: &Gpu, half: &Launched, bytes: f64, busy: f64) -> Launched {
        let (whole, half) = (self.ran, half.ran);
        let each = (whole.cycles - half.cycles) / (whole.bytes - half.bytes).max(1.0);
        let more = (bytes - whole.bytes).max(0.0);
        let cycles = whole.cycles + each.max(busy / gpu.dram) * more;
        let scale = bytes / whole.bytes.max(1.0);
        let issued = (whole.issued as f64 * scale) as u64;
        Launched { ran: Ran { cycles, issued, bytes, ..whole }, ..self }
    }
}

/// Returns a block of the first wave that is neither the first block nor the last, if there is one.
fn middle(gpu: &Gpu, grid: u64) -> u64 {
    grid.min(u64::from(gpu.sms)) / 2
}

/// Returns the blocks of the multiprocessor that runs this block.
fn own(gpu: &Gpu, grid: u64, block: u64) -> impl Iterator<Item = u64> {
    let sms = u64::from(gpu.sms);
    (block % sms..grid).step_by(gpu.sms.max(1) as usize)
}

/// The number of waves of blocks that are simulated. Each further wave is assumed to take as long
/// as the last simulated waves.
const WAVES: usize = 6;

/// Predicts a launch of `grid` blocks, a few of which were recorded.
pub fn launch(gpu: &Gpu, recorded: &Blocks, grid: u64, registers: Option<u32>) -> Launched {
    let (resident, registers) = resident(gpu, recorded, registers);
    let sms = u64::from(gpu.sms);
    let blocks = grid.saturating_sub(1) / sms + 1;
    let simulated = |blocks| {
        let busy = grid.min(sms) as u32;
        run(gpu, &Work { code: &recorded.code, blocks, resident: resident as usize, busy })
    };
    let work = |count: u64| simulated(blocks_of(gpu, recorded, grid, count));
    let most = WAVES as u64 * u64::from(resident);
    let mut ran = work(blocks.min(most));
    if blocks <= RECORDED.min(most) {
        // The last block may have less work than the others.
        let others = own(gpu, grid, middle(gpu, grid)).map(|at| nearest(recorded, at)).collect();
        let other = simulated(others);
        if other.cycles > ran.cycles {
            ran = other;
        }
    }
    if blocks > most {
        let half = work(most / 2);
        let each = (ran.cycles - half.cycles) / (most - most / 2) as f64;
        // Faster multiprocessors take over work from slower ones, so each runs the average number
        // of blocks.
        let more = grid as f64 / sms as f64 - most as f64;
        let scale =
            |whole: f64, half: f64| whole + (whole - half) / (most - most / 2) as f64 * more;
        ran.bytes = scale(ran.bytes, half.bytes);
        ran.issued = scale(ran.issued as f64, half.issued as f64) as u64;
        ran.cycles += each * more;
    }
    let flight = in_flight(recorded) * f64::from(resident.min(blocks as u32));
    // The last block may poll, so the count is taken from a typical block.
    let mut atomics = recorded.atomics.clone();
    atomics.sort_unstable();
    let atomics = atomics.get(atomics.len() / 2).map_or(0.0, |&each| each as f64 * grid as f64);
    Launched { ran, resident, registers, blocks, flight, atomics, polls: recorded.code.polls }
}

/// Returns the first blocks of the multiprocessor that runs the last block of the grid. The last
/// block of the grid is the last of these blocks.
pub(crate) fn blocks_of<'r>(
    gpu: &Gpu,
    recorded: &'r Blocks,
    grid: u64,
    most: u64,
) -> Vec<&'r [Vec<Op>]> {
    let (sms, last) = (u64::from(gpu.sms), grid.saturating_sub(1));
    let count = (last / sms + 1).min(most);
    let index = |at: u64| if at + 1 == count { last } else { last % sms + at * sms };
    (0..count).map(|at| nearest(recorded, index(at))).collect()
}

/// Returns the recorded block with this index. If there is none, returns a typical block: not the
/// first, which may do more work, and not the last.
fn nearest(recorded: &Blocks, index: u64) -> &[Vec<Op>] {
    let all = &recorded.blocks;
    let exact = all.iter().find(|(at, _)| *at == index);
    let like = || all.get(all.len() / 2).or(all.first());
    exact.or_else(like).map_or(&[], |(_, warps)| warps.as_slice())
}
