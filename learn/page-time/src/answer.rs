//! Answers a question with a film and a prediction.

use common::{
    Result,
    device::Ptx,
    run::{film, timed},
};
use predict::{Film, Gpu, Part};
use serde::Serialize;
use steps::step;

use crate::{
    question::Question,
    words::{Row, blocks, row, summary},
};

/// The answer to a question.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Answer {
    /// The reason why the answer is incomplete.
    pub stopped: Option<String>,
    /// The film.
    pub film: Option<Filmed>,
    /// The predicted time.
    pub predicted: Option<Predicted>,
}

/// A predicted time.
#[derive(Clone, Debug, Serialize)]
pub struct Predicted {
    /// Microseconds.
    pub us: f64,
    /// The range of the prediction, from the validation; `None` if the GPU has been changed.
    pub range: Option<[f64; 2]>,
    /// The parts of the time, in microseconds, largest first.
    pub parts: Vec<(&'static str, f64)>,
}

/// A film of one multiprocessor. Cycles are integers, and are counted from the start of the
/// launch's first block.
#[derive(Clone, Debug, Serialize)]
pub struct Filmed {
    /// Cycles.
    pub cycles: u32,
    /// Threads per block.
    pub threads: u32,
    /// The largest number of blocks that are resident at the same time in the film.
    pub resident: u32,
    /// The number of blocks that fit on the multiprocessor, and the resource that limits this
    /// number.
    pub fits: (u32, &'static str),
    /// The number of blocks of the launch that run on this multiprocessor.
    pub blocks: u64,
    /// The multiprocessor's clock rate, in MHz.
    pub mhz: f64,
    /// The latency of a load, in cycles, when nothing else is in flight.
    pub latency: f64,
    /// The multiprocessor's share of the bus, in bytes per cycle.
    pub rate: f64,
    /// For each scheduler, its warp slots.
    pub lanes: Vec<Vec<Lane>>,
    /// For each load: the scheduler, the slot, the instruction, the number of bytes, and the cycles
    /// in which the load is issued, in which its bus transfer begins and ends, and in which it is
    /// complete.
    pub flights: Vec<[u32; 8]>,
    /// For each instruction, its line of the source; 0 if it has none.
    pub lines: Vec<u32>,
    /// The number of KiB that the bus transfers.
    pub kib: f64,
    /// The caption of the table, which describes the blocks.
    pub caption: String,
    /// The film in words.
    pub words: String,
    /// The film as a table.
    pub rows: Vec<Row>,
}

/// A warp slot.
#[derive(Clone, Debug, Serialize)]
pub struct Lane {
    /// The states of the slot: for each state, the number of cycles since the start of the previous
    /// state, and the state + 16 × the instruction.
    pub states: Vec<u32>,
    /// The warps in the slot: for each warp, the cycle of its start, its block's number on this
    /// multiprocessor, and its number in the block.
    pub warps: Vec<[u32; 3]>,
}

/// The number of rows in the table.
const ROWS: u32 = 4;

impl Answer {
    /// Returns an answer that has no film and gives the reason.
    pub(crate) fn refused(why: impl ToString) -> Answer {
        Answer { stopped: Some(why.to_string()), ..Answer::default() }
    }
}

/// Answers a question.
pub fn run(question: &Question) -> Answer {
    let mut answer = Answer::default();
    if let Err(error) = tried(question, &mut answer) {
        answer.stopped = Some(error.to_string());
    }
    answer
}

fn tried(question: &Question, answer: &mut Answer) -> Result<()> {
    let (step, gpu) = (step(&question.step)?, question.gpu()?);
    let text = question.ptx.clone();
    let file = "this PTX".into();
    let ptx = Ptx { text, source: String::new(), origin: "the page".into(), file };
    let cycles = question.cycles()?;
    if cycles > 0 {
        let problem = question.problem(step, None)?;
        (step.plan)(&problem).check(&problem.chip)?;
        let filmed = film(step, &ptx, &gpu, problem, cycles)?;
        answer.film = Some(Filmed::of(&filmed, &gpu, problem.block.threads()));
    }
    if let Some(n) = question.elements()? {
        let problem = question.problem(step, Some(n))?;
        let prediction = timed(step, &ptx, &gpu, problem)?;
        answer.predicted = Some(Predicted {
            us: prediction.us,
            range: question.is_h200().then_some(prediction.range),
            parts: prediction.parts,
        });
    }
    Ok(())
}

impl Filmed {
    fn of(film: &Film, gpu: &Gpu, threads: u32) -> Filmed {
        let part = |from, to| film.part(gpu, [from, to]);
        let at = |row: u32| u64::from(film.cycles) * u64::from(row) / u64::from(ROWS);
        let parts: Vec<Part> =
            (0..ROWS).map(|row| part(at(row) as u32, at(row + 1) as u32)).collect();
        let all = part(0, film.cycles);
        let whole = |at: f64| at.round() as u32;
        let flight = |load: &predict::Flight| {
            let ([scheduler, slot], [from, to]) = (load.lane, load.bus.map(whole));
            let (bytes, leaves, back) = (whole(load.bytes), whole(load.leaves), whole(load.back));
            [scheduler, slot, load.pc, bytes, leaves, from, to, back]
        };
        Filmed {
            cycles: film.cycles,
            threads,
            resident: film.resident,
            fits: film.fits,
            blocks: film.blocks,
            mhz: gpu.mhz,
            latency: gpu.load[0][1],
            rate: film.rate,
            lanes: film.lanes.iter().map(|lanes| lanes.iter().map(lane).collect()).collect(),
            flights: film.flights.iter().map(flight).collect(),
            lines: film.lines.clone(),
            kib: all.bytes / 1024.0,
            caption: blocks(film, threads),
            words: summary(&all, film, gpu),
            rows: parts.iter().map(row).collect(),
        }
    }
}

fn lane(lane: &predict::Lane) -> Lane {
    let mut last = 0;
    let state = |shown: &predict::Shown| {
        let since = shown.from - last;
        last = shown.from;
        [since, shown.state as u32 + 16 * shown.pc]
    };
    Lane { states: lane.states.iter().flat_map(state).collect(), warps: lane.warps.clone() }
}
