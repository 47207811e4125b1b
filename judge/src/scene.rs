//! A kernel with its memory: launched twice, over the same memory, and watched.

use std::ops::Range;

use numbers::{Element, group};
use simt::observe::{Fault, Finding, Memory, Races, State, Sync};
use simt::{Arg, Config, Counters, Error, Gpu, Launch, Module, Schedule};

use crate::task::{PARTIALS, Shape, Task};
use crate::values::{Values, read};
use crate::verdict::{Failure, Stage};

/// A launch of a kernel.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) task: &'static Task,
    pub(crate) module: &'a Module,
    pub(crate) element: Element,
    pub(crate) n: u64,
    pub(crate) threads: u32,
    pub(crate) grid: u32,
    pub(crate) schedule: Schedule,
    /// Whether every access is looked at: else nothing is found, and nothing is counted.
    pub(crate) watched: bool,
}

/// What a launch left.
pub(crate) struct Left {
    /// Each array of results.
    pub(crate) results: Vec<Vec<f64>>,
    /// The same, as it lies in memory.
    pub(crate) bits: Vec<Vec<u8>>,
    /// Whether a place was never written.
    pub(crate) unwritten: Vec<Vec<bool>>,
    /// The first element of the input that is another one now.
    pub(crate) changed: Option<usize>,
}

/// What was seen of all launches.
pub(crate) struct Seen {
    pub(crate) left: Vec<Left>,
    pub(crate) findings: Vec<Finding>,
    /// What explains a later launch that is wrong where the first was right.
    pub(crate) state: Vec<Finding>,
    pub(crate) counters: Counters,
}

/// Warp instructions that a block may take: far more than any kernel here, and soon over.
const BLOCK_BUDGET: u64 = 1 << 19;
/// The same on very many elements.
const LONG_BUDGET: u64 = 1 << 22;

impl Scene<'_> {
    /// A device for kernels that may do anything; nobody waits long for it, and it asks no clock.
    pub(crate) fn gpu(&self) -> Gpu {
        let mut config = Config::default();
        config.schedule = self.schedule;
        config.patience = None;
        config.block_budget = if self.watched { BLOCK_BUDGET } else { LONG_BUDGET };
        config.budget = 8 * config.block_budget;
        Gpu::with(config)
    }

    /// Launches it on one input after the other.
    pub(crate) fn run(&self, inputs: &[Values]) -> Result<Seen, Box<Failure>> {
        let mut gpu = self.gpu();
        let size = self.element.size();
        let places = if self.task.shape.by_block() { u64::from(self.grid) } else { 1 };
        let refused = |error: Error| Box::new(self.refused(&error));
        let input = gpu.alloc(size * self.n).map_err(refused)?;
        let mut outputs = Vec::new();
        for _ in 0..self.task.operation.outputs() {
            outputs.push(gpu.alloc(size * places).map_err(refused)?);
        }
        let mut args: Vec<u64> = [&[input][..], &outputs, &[self.n]].concat();
        if matches!(self.task.shape, Shape::Single { .. }) {
            let partials = gpu.alloc(size * PARTIALS).map_err(refused)?;
            let tickets = gpu.alloc(4).map_err(refused)?;
            gpu.fill(tickets, 0, 4).map_err(refused)?;
            args.extend([partials, tickets]);
        }
        let entry = self.entry()?;
        let launch = Launch {
            entry: &entry,
            grid: [self.grid, 1, 1],
            block: [self.threads, 1, 1],
            cluster: [1, 1, 1],
            shared: self.task.shared(self.threads, self.element),
            args: args.into_iter().map(Arg::U64).collect(),
        };
        let mut watch = self.watched.then(|| {
            ((Memory::new(), Races::new(), Sync::new()), State::new(), Counters::default())
        });
        let mut left = Vec::new();
        for values in inputs {
            let bytes = values.bytes();
            gpu.write(input, &bytes).map_err(refused)?;
            let mut before = Vec::new();
            for output in &outputs {
                gpu.forget(*output, size * places).map_err(refused)?;
                let mut poison = vec![0; (size * places) as usize];
                gpu.read(*output, &mut poison).map_err(refused)?;
                before.push(poison);
            }
            gpu.launch(self.module, &launch, &mut watch).map_err(refused)?;
            left.push(self.left(&mut gpu, input, &bytes, &outputs, &before).map_err(refused)?);
        }
        let ((memory, races, sync), state, counters) = watch.unwrap_or_default();
        let found = memory.findings().iter().chain(races.findings()).chain(sync.findings());
        let mut findings: Vec<Finding> = found.cloned().collect();
        // Races behind a barrier that is not met as it should be have their cause in it.
        findings.sort_by_key(|finding| finding.fault != Fault::DivergentBarrier);
        Ok(Seen { left, findings, state: state.findings().to_vec(), counters })
    }

    fn left(
        &self,
        gpu: &mut Gpu,
        input: u64,
        given: &[u8],
        outputs: &[u64],
        before: &[Vec<u8>],
    ) -> Result<Left, Error> {
        let size = self.element.size() as usize;
        let mut left = Left { results: vec![], bits: vec![], unwritten: vec![], changed: None };
        for (output, before) in outputs.iter().zip(before) {
            let mut bytes = vec![0; before.len()];
            gpu.read(*output, &mut bytes)?;
            let same = bytes.chunks(size).zip(before.chunks(size)).map(|(a, b)| a == b);
            left.unwritten.push(same.collect());
            left.results.push(read(self.element, &bytes));
            left.bits.push(bytes);
        }
        let mut now = vec![0; given.len()];
        gpu.read(input, &mut now)?;
        left.changed = now.chunks(size).zip(given.chunks(size)).position(|(a, b)| a != b);
        Ok(left)
    }

    /// The name of the kernel: one for all block sizes, or one for each.
    pub(crate) fn entry(&self) -> Result<String, Box<Failure>> {
        let one = format!("reduce_{}", self.threads);
        let found = [one.as_str(), "reduce"].into_iter().find(|e| self.module.kernel(e).is_some());
        found.map(str::to_owned).ok_or_else(|| {
            let entries: Vec<String> = self.module.entries().map(|e| format!("`{e}`")).collect();
            let has = if entries.is_empty() { "none".into() } else { entries.join(", ") };
            Box::new(Failure::new(Stage::Right, format!(
                "there is no kernel `reduce` and no `{one}` among those of the file ({has}): begin it with `extern \"C\" __global__ void reduce(`"
            )))
        })
    }

    /// What a launch was that did not come to its end.
    pub(crate) fn refused(&self, error: &Error) -> Failure {
        match error {
            Error::Trap(trap) => {
                let said = format!("{}, {}", self.what(), trap.sentence());
                // What a reader cannot do is no way out.
                let said = said
                    .replace(" If it only takes long, raise the budget", "")
                    .replace("ask for more bytes at the launch, or keep", "keep")
                    .replace(", or ask for more at the launch", "");
                Failure::new(Stage::Right, said).at([trap.line])
            }
            Error::Launch(why) if why.contains("parameter") => {
                let said = format!(
                    "{why}: exercise {} launches it with `({})`",
                    self.task.number,
                    self.task.parameters()
                );
                Failure { idea: Some(self.task.idea.1), ..Failure::new(Stage::Right, said) }
            }
            other => Failure::new(Stage::Right, format!("{}, {other}", self.what())),
        }
    }

    /// The launch, for people.
    pub(crate) fn what(&self) -> String {
        let none = if self.n == 0 { " (no element)" } else { "" };
        let blocks = blocks(self.grid);
        let order = match self.schedule {
            Schedule::Converged => String::new(),
            other => format!(" under the order {other}"),
        };
        let (n, threads) = (numbers::size(self.n), self.threads);
        format!("n = {n} {}{none} in {blocks} of {threads} threads{order}", self.element)
    }
}

/// A grid, for people.
pub(crate) fn blocks(grid: u32) -> String {
    if grid == 1 { "1 block".into() } else { format!("{} blocks", group(grid.into())) }
}

/// Some neighbours, for people.
pub(crate) fn elements(range: &Range<usize>) -> String {
    match range.len() {
        0 => "no element".into(),
        1 => format!("element {}", range.start),
        _ => format!("the elements {} to {}", range.start, range.end - 1),
    }
}
