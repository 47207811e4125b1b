//! Launches a kernel several times over the same memory, and observes it.

use std::ops::Range;

use numbers::{Element, group};
use simt::observe::Finding;
use simt::observe::{BlockTrace, Prints, State, Trace};
use simt::{Arch, Arg, Config, Counters, Error, Gpu, Launch, Module, Schedule, Watch};

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
    /// Whether accesses are observed. Without observation there are no findings and no counts.
    pub(crate) watched: bool,
    /// Whether the events of the first blocks are recorded.
    pub(crate) traced: bool,
    /// The simulated GPU, if it is not the default one.
    pub(crate) gpu: Option<Arch>,
    /// The first block that runs and the block after the last one, if only some blocks run.
    pub(crate) window: Option<(u64, u64)>,
    /// The latest output of `printf`.
    pub(crate) prints: &'a Printed,
}

/// The output of the latest launch that called `printf`: a description of the launch, the first
/// lines, and the number of calls of `printf`.
pub(crate) type Printed = std::cell::RefCell<Option<(String, Vec<String>, u64)>>;

/// The number of blocks that a trace records.
const TRACED: u64 = 64;

/// The bytes of shared memory that a block gets if the host does not ask for more.
const SHARED_MEMORY: u32 = 48 << 10;

/// The number of output lines that a verdict shows.
const SHOWN: usize = 8;

/// The state after a launch.
pub(crate) struct Left {
    /// Each array of results.
    pub(crate) results: Vec<Vec<f64>>,
    /// The bytes of the results.
    pub(crate) bits: Vec<Vec<u8>>,
    /// For each result, whether it was never written.
    pub(crate) unwritten: Vec<Vec<bool>>,
    /// The first input element that the kernel changed.
    pub(crate) changed: Option<usize>,
    /// The ticket counter, if the task has one.
    pub(crate) tickets: u32,
    /// The first word of the mailbox whose flag is set.
    pub(crate) flag: Option<usize>,
    /// The words of the mailbox.
    pub(crate) words: Vec<u64>,
}

/// The observations of all launches.
pub(crate) struct Seen {
    pub(crate) left: Vec<Left>,
    pub(crate) findings: Vec<Finding>,
    /// Findings that explain why a later launch is wrong although the first one was correct.
    pub(crate) state: Vec<Finding>,
    pub(crate) counters: Counters,
    /// The first blocks, if they were traced.
    pub(crate) traced: Vec<BlockTrace>,
    /// The range of addresses of the input.
    pub(crate) input: Range<u64>,
    /// The range of addresses of the mailbox, if the task has one.
    pub(crate) slots: Option<Range<u64>>,
    /// The addresses of `partials` and of the ticket.
    pub(crate) partials: Option<(Range<u64>, u64)>,
}

/// The maximum number of warp instructions that a block may execute: far more than any correct
/// kernel here needs, but few enough to run quickly.
const BLOCK_BUDGET: u64 = 1 << 19;
/// The maximum number of warp instructions that a block may execute in launches with very many
/// elements.
const LONG_BUDGET: u64 = 1 << 22;

impl Scene<'_> {
    /// Returns a device for arbitrary kernels: it stops a launch after a limited number of
    /// instructions, and uses no clock.
    pub(crate) fn gpu(&self) -> Gpu {
        let mut config = Config::default();
        config.schedule = self.schedule;
        config.patience = None;
        // Exercises with messages need no delays, because messages are replaced, not updated, and a
        // poll that is delayed at every attempt never runs out of attempts.
        config.stalls = matches!(self.task.shape, Shape::Single { .. });
        // A launch of a few blocks would end before additional host threads could start.
        config.threads = usize::from(self.grid <= 8);
        if let Some(arch) = self.gpu {
            config.play(arch);
        }
        config.blocks = self.window.map(|(first, end)| first..end);
        config.block_budget = if self.watched { BLOCK_BUDGET } else { LONG_BUDGET };
        config.budget = 8 * config.block_budget;
        Gpu::with(config)
    }

    /// Launches the kernel on one input after another.
    pub(crate) fn run(&self, inputs: &[Values]) -> Result<Seen, Box<Failure>> {
        self.run_on(inputs, &vec![self.grid; inputs.len()])
    }

    /// Launches the kernel once, on elements that are given as bytes.
    pub(crate) fn run_bytes(&self, bytes: &[u8]) -> Result<Seen, Box<Failure>> {
        self.launches(&[bytes.to_vec()], &[self.grid])
    }

    /// Launches the kernel on one input after another, each with its own grid, over the same
    /// memory.
    pub(crate) fn run_on(&self, inputs: &[Values], grids: &[u32]) -> Result<Seen, Box<Failure>> {
        self.launches(&inputs.iter().map(Values::bytes).collect::<Vec<_>>(), grids)
    }

    fn launches(&self, inputs: &[Vec<u8>], grids: &[u32]) -> Result<Seen, Box<Failure>> {
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
        let (mut tickets, mut single) = (None, None);
        if matches!(self.task.shape, Shape::Single { .. }) {
            let partials = gpu.alloc(size * PARTIALS).map_err(refused)?;
            let counter = gpu.alloc(4).map_err(refused)?;
            gpu.fill(counter, 0, 4).map_err(refused)?;
            args.extend([partials, counter]);
            tickets = Some(counter);
            single = Some((partials..partials + size * PARTIALS, counter));
        }
        let mut slots = None;
        if matches!(self.task.shape, Shape::Mailbox { .. }) {
            let words = gpu.alloc(2 * 8 * PARTIALS).map_err(refused)?;
            gpu.fill(words, 0, 2 * 8 * PARTIALS).map_err(refused)?;
            args.push(words);
            slots = Some(words);
        }
        let entry = self.entry()?;
        self.fits(&entry)?;
        let mut launch = Launch {
            entry: &entry,
            grid: [self.grid, 1, 1],
            block: [self.threads, 1, 1],
            cluster: [1, 1, 1],
            shared: self.task.shared(self.threads, self.element),
            args: args.into_iter().map(Arg::U64).collect(),
        };
        let mut watch = (self.watched || self.traced).then(|| {
            // A trace uses a lot of memory, so the checks observe other launches instead.
            let mut watch = if self.traced { Watch::default() } else { simt::checks() };
            watch.0 = Some((Counters::default(), Prints::first(SHOWN)));
            watch.4 = match self.traced {
                true => (Some(Trace::with_copies(TRACED)), None, None),
                false => (None, Some(State::new()), None),
            };
            watch
        });
        let mut left = Vec::new();
        for (bytes, grid) in inputs.iter().zip(grids) {
            launch.grid[0] = *grid;
            gpu.write(input, bytes).map_err(refused)?;
            let mut before = Vec::new();
            for output in &outputs {
                gpu.forget(*output, size * places).map_err(refused)?;
                let mut poison = vec![0; (size * places) as usize];
                gpu.read(*output, &mut poison).map_err(refused)?;
                before.push(poison);
            }
            let ended = gpu.launch_watched(self.module, &launch, watch.as_mut());
            self.note_prints(watch.as_ref());
            ended.map_err(|error| {
                let mut failure = Scene { grid: *grid, ..*self }.refused(&error);
                if let Some(cause) = watch.as_ref().and_then(simt::cause) {
                    failure.said += &format!("; before that, {}", cause.sentence());
                }
                Box::new(failure)
            })?;
            let mut now = self.left(&mut gpu, input, bytes, &outputs, &before).map_err(refused)?;
            if let Some(tickets) = tickets {
                let mut word = [0; 4];
                gpu.read(tickets, &mut word).map_err(refused)?;
                now.tickets = u32::from_le_bytes(word);
            }
            if let Some(slots) = slots {
                let mut words = vec![0; 2 * 8 * PARTIALS as usize];
                gpu.read(slots, &mut words).map_err(refused)?;
                let words = words.chunks_exact(8).map(|word| {
                    u64::from_le_bytes(word.try_into().expect("a chunk has eight bytes"))
                });
                now.words = words.collect();
                now.flag = now.words.iter().position(|word| word >> 32 != 0);
            }
            left.push(now);
        }
        let watch = watch.unwrap_or_default();
        let findings = simt::findings(&watch);
        let (counted, .., (trace, state, _)) = watch;
        let traced = trace.map_or_else(Vec::new, |trace| trace.blocks);
        // The values of messages differ between launches, so findings about leftover state are
        // dropped.
        let state = state.filter(|_| slots.is_none());
        let state = state.map_or_else(Vec::new, |state| state.findings().to_vec());
        let counters = counted.map_or_else(Counters::default, |(counters, _)| counters);
        let input = input..input + size * self.n;
        let slots = slots.map(|first| first..first + 2 * 8 * PARTIALS);
        Ok(Seen { left, findings, state, counters, traced, input, slots, partials: single })
    }

    /// Checks that a launch needs no more shared memory than every launch gets.
    fn fits(&self, entry: &str) -> Result<(), Box<Failure>> {
        let (own, given) = (
            self.module.kernel(entry).map_or(0, simt::Kernel::static_shared),
            self.task.shared(self.threads, self.element),
        );
        if own + given <= SHARED_MEMORY {
            return Ok(());
        }
        let said = format!(
            "{}: the kernel declares {} bytes of shared memory, and the launch adds {}, but a launch gets at most {}: declare smaller arrays, or use the `extern` array",
            self.what(),
            group(own.into()),
            group(given.into()),
            group(SHARED_MEMORY.into())
        );
        Err(Box::new(Failure::new(Stage::Right, said)))
    }

    /// Keeps the output of the kernel for the verdict.
    fn note_prints(&self, watch: Option<&Watch>) {
        let Some((_, prints)) = watch.and_then(|watch| watch.0.as_ref()) else { return };
        if prints.total() > 0 {
            let lines = prints.printed().iter().map(ToString::to_string).collect();
            *self.prints.borrow_mut() = Some((self.what(), lines, prints.total()));
        }
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
        let mut left = Left {
            results: vec![],
            bits: vec![],
            unwritten: vec![],
            changed: None,
            tickets: 0,
            flag: None,
            words: Vec::new(),
        };
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

    /// Returns the name of the kernel: `reduce_N` for blocks of N threads, or else `reduce`.
    pub(crate) fn entry(&self) -> Result<String, Box<Failure>> {
        let one = format!("reduce_{}", self.threads);
        let found = [one.as_str(), "reduce"].into_iter().find(|e| self.module.kernel(e).is_some());
        found.map(str::to_owned).ok_or_else(|| {
            let entries: Vec<String> = self.module.entries().map(|e| format!("`{e}`")).collect();
            let has = if entries.is_empty() { "no kernel".into() } else { entries.join(", ") };
            Box::new(Failure::new(Stage::Right, format!(
                "there is no kernel `reduce` and no `{one}`, but the file has {has}: begin the kernel with `extern \"C\" __global__ void reduce(`"
            )))
        })
    }

    /// Returns the failure for a launch that did not complete.
    pub(crate) fn refused(&self, error: &Error) -> Failure {
        match error {
            Error::Trap(trap) => {
                let said = format!("{}, {}", self.what(), trap.sentence());
                // Removes remedies that the reader cannot apply.
                let said = said
                    .replace(" If the loop is merely long, raise the budget", "")
                    .replace("pass a larger size at the launch, or keep", "keep")
                    .replace(", or pass a larger size at the launch", "");
                Failure::new(Stage::Right, said).at([trap.line])
            }
            Error::Launch(why) if why.contains("parameter") => {
                let said = format!(
                    "{why}: exercise {} launches the kernel with `({})`",
                    self.task.number,
                    self.task.parameters()
                );
                Failure { idea: Some(self.task.idea.1), ..Failure::new(Stage::Right, said) }
            }
            other => Failure::new(Stage::Right, format!("{}, {other}", self.what())),
        }
    }

    /// Describes the launch.
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

/// Describes a grid.
pub(crate) fn blocks(grid: u32) -> String {
    if grid == 1 { "1 block".into() } else { format!("{} blocks", group(grid.into())) }
}

/// Describes a range of elements.
pub(crate) fn elements(range: &Range<usize>) -> String {
    match range.len() {
        0 => "no element".into(),
        1 => format!("element {}", range.start),
        _ => format!("the elements {} to {}", range.start, range.end - 1),
    }
}
