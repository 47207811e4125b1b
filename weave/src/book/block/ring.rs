//! Implements `{{ring STEP}}`, which shows the stages of a ring in shared memory, copy by copy.
//!
//! While the book is built, the interpreter runs one block of the kernel, on the first chunk of a
//! long input, so that the ring is used more than once. The figure shows the order of events, not
//! time.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context, Result, anyhow, ensure};
use common::{
    Element,
    plan::{Arg, Block, Buffer, Chip, Launch, Problem},
};
use simt::observer::{Access, AccessKind, At, Copy, Observer, Space};

use crate::book::source::{Sources, counts::THREADS, file::read};

/// The number of elements, chosen so that the first chunk has eight tiles.
const N: u64 = 1 << 24;
/// The width and the height of a cell.
const CELL: (u32, u32) = (76, 34);
const LEFT: u32 = 64;
const TOP: u32 = 26;

/// An event in the first block's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A copy to this shared address is issued.
    Copy(u64),
    /// A lane reads from this shared address.
    Read(u64),
}

/// Records the first block's copies to shared memory and reads from it, in order.
#[derive(Debug, Default)]
struct Watch(Vec<Event>);

impl Observer for Watch {
    fn fork(&self) -> Watch {
        Watch::default()
    }

    fn merge(&mut self, fork: Watch) {
        self.0.extend(fork.0);
    }

    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        if at.block.index == 0 && access.space == Space::Shared && access.kind == AccessKind::Load {
            self.0.push(Event::Read(access.addrs[access.mask.trailing_zeros() as usize]));
        }
    }

    fn copy(&mut self, at: &At<'_>, copy: &Copy) {
        if at.block.index == 0 && copy.to == Space::Shared {
            self.0.push(Event::Copy(copy.target));
        }
    }
}

/// The state of a stage in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// The copy of this tile is issued.
    Asked(usize),
    /// The tile is being copied, or is waiting to be added.
    Coming(usize),
    /// The threads are adding the tile.
    Added(usize),
}

pub(crate) fn html(sources: &Sources, step: &str) -> Result<String> {
    let kernel = sources.kernel(step)?;
    let ptx = read(&kernel.folder.join(kernel.ptx("f32")))?;
    let columns = columns(&events(step, &ptx)?);
    ensure!(columns.len() > 3, "{step} makes no bulk copies, or too few to draw");
    Ok(format!("\n<figure>\n<div class=\"drawing\">{}</div>\n", picture(&columns)))
}

/// Runs the first block of a step as if its chunk were the only chunk.
fn events(step: &str, ptx: &str) -> Result<Vec<Event>> {
    let found = ladder::STEPS.iter().find(|known| known.name == step);
    let step = found.with_context(|| format!("the ladder has no step `{step}`"))?;
    let block = Block::new(THREADS).map_err(|error| anyhow!("{error}"))?;
    let block = step.block(Some(block));
    let mut plan = (step.plan)(&Problem { n: N, block, element: Element::F32, chip: Chip::H200 });
    let launch = &mut plan.launches[0];
    let parts = launch.args.iter_mut().find(|arg| matches!(arg, Arg::U32(_)));
    *parts.context("the kernel has no argument for the number of chunks")? = Arg::U32(1);
    launch.grid = 1;
    let mut gpu = simt::Gpu::new();
    let input = zeros(&mut gpu, N * 4)?;
    let result = zeros(&mut gpu, 4)?;
    let scratch = (0..plan.scratch.len())
        .map(|index| zeros(&mut gpu, plan.scratch_bytes(index, Element::F32)))
        .collect::<Result<Vec<u64>>>()?;
    let address = |buffer| match buffer {
        Buffer::Input => input,
        Buffer::Result => result,
        Buffer::Scratch(index) => scratch[index],
    };
    let mut watch = Watch::default();
    let module = simt::Module::parse(ptx)?;
    let Launch { entry, grid, block, cluster, shared, args, .. } = &plan.launches[0];
    let arg = |arg: &Arg| match *arg {
        Arg::Address(buffer) => simt::Arg::U64(address(buffer)),
        Arg::U64(value) => simt::Arg::U64(value),
        Arg::U32(value) => simt::Arg::U32(value),
    };
    let launch = simt::Launch {
        entry,
        grid: [*grid, 1, 1],
        block: [*block, 1, 1],
        cluster: [*cluster, 1, 1],
        shared: *shared,
        args: args.iter().map(arg).collect(),
    };
    gpu.launch(&module, &launch, &mut watch)?;
    Ok(watch.0)
}

fn zeros(gpu: &mut simt::Gpu, bytes: u64) -> Result<u64> {
    let address = gpu.alloc(bytes)?;
    gpu.fill(address, 0, bytes)?;
    Ok(address)
}

/// Returns the states of all stages: a column for each tile that is added, and one for the time
/// before the first tile.
fn columns(events: &[Event]) -> Vec<Vec<State>> {
    let mut starts: Vec<u64> = events
        .iter()
        .filter_map(|e| if let Event::Copy(to) = e { Some(*to) } else { None })
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let pitch = starts.windows(2).map(|two| two[1] - two[0]).min().unwrap_or(u64::MAX);
    let stage = |at: u64| {
        let stage = starts.partition_point(|start| *start <= at).checked_sub(1)?;
        (at - starts[stage] < pitch).then_some(stage)
    };
    let mut now = vec![State::Free; starts.len()];
    let (mut columns, mut asked) = (Vec::new(), 0);
    for event in events {
        match *event {
            Event::Copy(to) => {
                let Some(stage) = stage(to) else { continue };
                now[stage] = State::Asked(asked);
                asked += 1;
            }
            Event::Read(at) => {
                let Some(stage) = stage(at) else { continue };
                let (State::Asked(piece) | State::Coming(piece)) = now[stage] else { continue };
                // Another tile begins, so the states before it form a column.
                columns.push(now.clone());
                for state in &mut now {
                    *state = match *state {
                        State::Asked(piece) => State::Coming(piece),
                        State::Added(_) => State::Free,
                        state => state,
                    };
                }
                now[stage] = State::Added(piece);
            }
        }
    }
    columns.push(now);
    columns
}

fn picture(columns: &[Vec<State>]) -> String {
    let stages = columns[0].len() as u32;
    let (wide, tall) = CELL;
    let (width, height) = (LEFT + wide * columns.len() as u32, TOP + tall * stages + 34);
    let names: BTreeMap<usize, char> = (0..26).zip('A'..='Z').collect();
    let name = |piece: usize| names.get(&piece).copied().unwrap_or('…');
    let mut words = String::new();
    let mut cells = String::new();
    for (column, states) in columns.iter().enumerate() {
        let x = LEFT + wide * column as u32;
        let mut doing = Vec::new();
        for (stage, state) in states.iter().enumerate() {
            let y = TOP + tall * stage as u32;
            let (class, text) = match *state {
                State::Free => ("free", String::new()),
                State::Asked(piece) => ("asked", format!("request {}", name(piece))),
                State::Coming(piece) => ("coming", format!("({})", name(piece))),
                State::Added(piece) => ("added", format!("add {}", name(piece))),
            };
            if !text.is_empty() {
                doing.push(format!("stage {stage}: {text}"));
            }
            let _ = writeln!(
                cells,
                "<rect class=\"ring {class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/><text class=\"ring {class}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
                x + 2,
                y + 2,
                wide - 4,
                tall - 4,
                x + wide / 2,
                y + tall / 2 + 4
            );
        }
        let _ = write!(words, " {}: {}.", column + 1, doing.join(", "));
    }
    for stage in 0..stages {
        let _ = writeln!(
            cells,
            "<text x=\"0\" y=\"{}\">stage {stage}</text>",
            TOP + tall * stage + tall / 2 + 4
        );
    }
    format!(
        "<svg role=\"img\" aria-label=\"A ring of {stages} stages, from left to right.{words}\" viewBox=\"0 0 {width} {height}\">\n<text x=\"{LEFT}\" y=\"14\">order of events in one block →</text>\n{cells}<text x=\"{LEFT}\" y=\"{}\">(A): in flight, or arrived but not yet added</text>\n</svg>",
        height - 10
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_issued_arrives_is_added_and_is_free() {
        use Event::{Copy, Read};
        use State::{Added, Asked, Coming, Free};
        let events = [Copy(0), Copy(128), Read(4), Read(8), Read(999), Read(128), Copy(0), Read(0)];
        assert_eq!(
            columns(&events),
            [
                vec![Asked(0), Asked(1)],
                vec![Added(0), Coming(1)],
                vec![Asked(2), Added(1)],
                vec![Added(2), Free],
            ]
        );
    }
}
