//! The interpreter as a device: the same PTX, run and counted on the CPU.

use std::{cell::RefCell, rc::Rc, str::FromStr, time::Duration};

#[cfg(not(target_family = "wasm"))]
use simt::observe::State;
use simt::observe::{Fault, Finding, Printed, Prints, Races, Sync, Trace};

use super::{
    address::Address,
    facts::Facts,
    host,
    ptx::{self, Ptx},
};
use crate::{
    Error, Result,
    plan::{Call, Chip, Value},
};

/// How the interpreter runs, and what it looks at.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// In which order lanes, warps and blocks run.
    pub schedule: simt::Schedule,
    /// The GPU that it plays: what a launch may ask for, and how many multiprocessors it has.
    pub gpu: simt::Arch,
    /// How long a launch may go on with no block of it ending; none for the interpreter's own, and
    /// zero for as long as it likes.
    pub patience: Option<Duration>,
    /// Warp instructions that a launch may execute; none for the interpreter's own.
    pub budget: Option<u64>,
    /// What is checked; by default everything, up to [`CHECKED`] elements.
    pub checks: Option<Vec<Check>>,
    /// Blocks of each launch whose every access is recorded.
    pub traced: u64,
}

/// The most elements whose every access is checked where nothing else is asked for.
pub const CHECKED: u64 = 1 << 20;

/// Texts of `printf` that are kept.
const PRINTED: usize = 1000;

/// Something to look for while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Accesses to one place that nothing orders.
    Races,
    /// Reads of memory that nobody wrote.
    Memory,
    /// Barriers and masks used against their rules.
    Sync,
}

impl Check {
    /// All checks.
    pub const ALL: [Check; 3] = [Check::Races, Check::Memory, Check::Sync];
}

impl FromStr for Check {
    type Err = Error;

    fn from_str(text: &str) -> Result<Check> {
        match text {
            "races" => Ok(Check::Races),
            "memory" => Ok(Check::Memory),
            "sync" => Ok(Check::Sync),
            _ => Err(Error::Usage(format!(
                "`{text}` is no check: take races, memory or sync, or none"
            ))),
        }
    }
}

/// The interpreter, with its memory and what watches it.
#[derive(Debug)]
pub struct Interpreter {
    gpu: Rc<RefCell<simt::Gpu>>,
    settings: Settings,
    /// Who watches; nobody, between runs that are watched.
    observers: RefCell<Option<Observers>>,
    /// What was loaded last, with its text and source: tests load the same again and again, and to
    /// parse a long one takes longer than to run it.
    last: RefCell<Option<(String, String, Rc<simt::Module>)>>,
    facts: Facts,
}

/// Everything that can watch a launch.
type Observers = (
    Option<(simt::Counters, Prints)>,
    Option<Races>,
    Option<simt::observe::Memory>,
    Option<Sync>,
    (Option<Trace>, Leaves),
);

/// What launches leave to each other. A page, which fetches all of this, is told without the line.
#[cfg(not(target_family = "wasm"))]
type Leaves = Option<State>;
#[cfg(target_family = "wasm")]
type Leaves = ();

/// What was seen of one run.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The counts.
    pub counters: simt::Counters,
    /// What was checked.
    pub checks: Vec<Check>,
    /// What the checks found.
    pub findings: Vec<Finding>,
    /// The first texts that threads printed.
    pub printed: Vec<Printed>,
    /// How many they printed in all.
    pub prints: u64,
    /// Every access of the first blocks, where it was asked for.
    pub trace: Option<Trace>,
}

/// Memory of the interpreter; freed when dropped.
#[derive(Debug)]
pub struct Memory {
    address: u64,
    bytes: u64,
    gpu: Rc<RefCell<simt::Gpu>>,
}

/// PTX that the interpreter has loaded.
#[derive(Debug)]
pub struct Program {
    module: Rc<simt::Module>,
}

impl Interpreter {
    /// An interpreter.
    pub fn new(settings: &Settings) -> Interpreter {
        let mut config = simt::Config::default();
        config.schedule = settings.schedule;
        config.play(settings.gpu);
        if let Some(patience) = settings.patience {
            config.patience = (!patience.is_zero()).then_some(patience);
        }
        config.budget = settings.budget.unwrap_or(config.budget);
        config.memory = host::free_bytes();
        let chip = chip(&settings.gpu);
        let played = match settings.gpu == simt::Arch::default() {
            true => String::new(),
            false => format!(" as {} of {} SMs", settings.gpu, chip.sms),
        };
        let schedule = config.schedule;
        let line = format!("the interpreter{played}, {schedule} schedule: counts, not times");
        Interpreter {
            gpu: Rc::new(RefCell::new(simt::Gpu::with(config))),
            settings: settings.clone(),
            observers: RefCell::default(),
            last: RefCell::default(),
            facts: Facts { name: "simt".into(), chip, l2: 0, bus: None, line },
        }
    }

    /// What it is.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Loads PTX.
    pub fn load(&self, ptx: &Ptx) -> Result<Program> {
        if let Some((text, source, module)) = &*self.last.borrow()
            && (text, source) == (&ptx.text, &ptx.source)
        {
            return Ok(Program { module: Rc::clone(module) });
        }
        let (target, gpu) = (ptx::target(&ptx.text), self.settings.gpu);
        match simt::Module::parse(&ptx.text) {
            Ok(_) if simt::Arch::that_runs(target).is_some_and(|a| a.number() > gpu.number()) => {
                Err(Error::OldGpu { target: target.to_owned(), gpu: gpu.name.to_owned() })
            }
            Ok(mut module) => {
                module.name_params_as_in(&ptx.source);
                let module = Rc::new(module);
                let last = (ptx.text.clone(), ptx.source.clone(), Rc::clone(&module));
                self.last.replace(Some(last));
                Ok(Program { module })
            }
            Err(error) if !ptx.source.is_empty() => Err(Error::Simt {
                doing: format!("interpreting {}", ptx.file),
                text: error.to_string(),
            }),
            Err(error) => Err(Error::BadPtx { file: ptx.file.clone(), reason: error.to_string() }),
        }
    }

    /// Allocates memory.
    pub fn alloc(&self, what: &str, bytes: u64) -> Result<Memory> {
        let free = host::free_bytes();
        if bytes > free {
            return Err(Error::Memory {
                what: what.to_owned(),
                place: "host",
                needed: bytes,
                free,
            });
        }
        let address =
            self.gpu.borrow_mut().alloc(bytes).map_err(stopped(format!("allocating {what}")))?;
        Ok(Memory { address, bytes, gpu: self.gpu.clone() })
    }

    /// What tells its memory from that of all others.
    fn identity(&self) -> usize {
        Rc::as_ptr(&self.gpu).addr()
    }

    /// The address of so many bytes, if they are there and its own.
    fn own(&self, address: Address<'_>, bytes: u64) -> Result<u64> {
        address.first(bytes)?.on(self.identity())
    }

    /// Copies bytes from the host, to so many bytes behind the start of the memory.
    pub fn write(&self, memory: &Memory, at: u64, bytes: &[u8]) -> Result<()> {
        let to = self.own(memory.address().behind(at), bytes.len() as u64)?;
        self.gpu.borrow_mut().write(to, bytes).map_err(stopped("copying to the interpreter"))
    }

    /// Copies bytes to the host.
    pub fn read(&self, memory: &Memory, bytes: &mut [u8]) -> Result<()> {
        let from = self.own(memory.address(), bytes.len() as u64)?;
        self.gpu.borrow_mut().read(from, bytes).map_err(stopped("copying from the interpreter"))
    }

    /// Sets every byte.
    pub fn fill(&self, memory: &Memory, byte: u8) -> Result<()> {
        let to = self.own(memory.address(), memory.bytes)?;
        self.gpu
            .borrow_mut()
            .fill(to, byte, memory.bytes)
            .map_err(stopped("filling memory of the interpreter"))
    }

    /// The memory holds nothing, as if it were new.
    pub fn forget(&self, memory: &Memory) -> Result<()> {
        let at = self.own(memory.address(), memory.bytes)?;
        self.gpu
            .borrow_mut()
            .forget(at, memory.bytes)
            .map_err(stopped("forgetting memory of the interpreter"))
    }

    /// The next launch is number 1 again.
    pub fn restart(&self) {
        self.gpu.borrow_mut().restart();
    }

    /// Runs a kernel to its end.
    pub fn launch(&self, program: &Program, call: &Call<'_>) -> Result<()> {
        let launch = self.interpreted(call)?;
        let mut gpu = self.gpu.borrow_mut();
        let result = match &mut *self.observers.borrow_mut() {
            Some(observers) => gpu.launch(&program.module, &launch, observers),
            // Nobody watches: the interpreter is compiled a second time for that, and is faster. A
            // page fetches it, and has it once.
            None if cfg!(target_family = "wasm") => {
                gpu.launch(&program.module, &launch, &mut Observers::default())
            }
            None => gpu.launch(&program.module, &launch, &mut ()),
        };
        result.map_err(stopped(format!("interpreting {}", call.entry)))
    }

    fn interpreted<'c>(&self, call: &'c Call<'_>) -> Result<simt::Launch<'c>> {
        let arg = |value: &Value<'_>| match *value {
            Value::U32(value) => Ok(simt::Arg::U32(value)),
            Value::U64(value) => Ok(simt::Arg::U64(value)),
            Value::Address(address) => address.on(self.identity()).map(simt::Arg::U64),
        };
        Ok(simt::Launch {
            entry: &call.entry,
            grid: [call.grid, 1, 1],
            block: [call.block, 1, 1],
            cluster: [call.cluster, 1, 1],
            shared: call.shared,
            args: call.args.iter().map(arg).collect::<Result<_>>()?,
        })
    }

    /// Starts to watch a run on `n` elements.
    pub fn watch(&self, n: u64) {
        let all = || if n <= CHECKED { Check::ALL.to_vec() } else { Vec::new() };
        let checks = self.settings.checks.clone().unwrap_or_else(all);
        let on = |check| checks.contains(&check);
        *self.observers.borrow_mut() = Some((
            Some((simt::Counters::default(), Prints::first(PRINTED))),
            on(Check::Races).then(Races::new),
            on(Check::Memory).then(simt::observe::Memory::new),
            on(Check::Sync).then(Sync::new),
            (
                (self.settings.traced > 0).then(|| Trace::new(self.settings.traced)),
                Leaves::default(),
            ),
        ));
    }

    /// What was seen since [`watch`](Interpreter::watch).
    pub fn observed(&self) -> Observed {
        let (counted, races, memory, sync, (trace, _)) = self.observers.take().unwrap_or_default();
        let (counters, prints) = counted.unwrap_or_default();
        let on = [
            (Check::Races, races.as_ref().map(Races::findings)),
            (Check::Memory, memory.as_ref().map(simt::observe::Memory::findings)),
            (Check::Sync, sync.as_ref().map(Sync::findings)),
        ];
        let checks =
            on.iter().filter(|(_, found)| found.is_some()).map(|(check, _)| *check).collect();
        let found = on.iter().filter_map(|(_, found)| *found).flatten();
        let mut findings: Vec<Finding> = found.cloned().collect();
        // Races behind a barrier that is not met as it should be have their cause in it.
        findings.sort_by_key(|finding| finding.fault != Fault::DivergentBarrier);
        let (printed, prints) = (prints.printed().to_vec(), prints.total());
        Observed { counters, checks, findings, printed, prints, trace }
    }

    /// What some launches on `n` elements leave to each other, as far as their atomics tell.
    #[cfg(target_family = "wasm")]
    pub fn state_of(&self, _: u64, _: impl FnOnce() -> Result<()>) -> Vec<Finding> {
        Vec::new()
    }

    /// What some launches on `n` elements leave to each other, as far as their atomics tell.
    #[cfg(not(target_family = "wasm"))]
    pub fn state_of(&self, n: u64, work: impl FnOnce() -> Result<()>) -> Vec<Finding> {
        if n > CHECKED {
            return Vec::new();
        }
        let watch = (None, None, None, None, (None, Some(State::new())));
        let before = self.observers.replace(Some(watch));
        // Whether they come to their end or not.
        let _ = work();
        let watched = self.observers.replace(before).unwrap_or_default();
        watched.4.1.map_or(Vec::new(), |state| state.findings().to_vec())
    }

    /// Does something that nobody watches.
    pub fn unwatched<R>(&self, work: impl FnOnce() -> R) -> R {
        let watching = self.observers.take();
        let done = work();
        self.observers.replace(watching);
        done
    }
}

impl Memory {
    /// Where all of it lies.
    pub fn address(&self) -> Address<'_> {
        Address::of(self, self.address, self.bytes, Rc::as_ptr(&self.gpu).addr())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // An error at the end has no reader.
        let _ = self.gpu.borrow_mut().free(self.address);
    }
}

/// The figures of a GPU that is played, as plans ask for them.
fn chip(gpu: &simt::Arch) -> Chip {
    Chip {
        sms: gpu.sms,
        threads: gpu.threads_per_sm,
        blocks: gpu.blocks_per_sm,
        shared: gpu.shared_per_sm,
        shared_block: gpu.shared_per_block,
        cluster: gpu.cluster,
    }
}

fn stopped(doing: impl Into<String>) -> impl FnOnce(simt::Error) -> Error {
    let doing = doing.into();
    move |error| match error {
        simt::Error::Trap(trap) => Error::Trap(format!(
            "{} (`{}`, PTX line {}: `{}`)",
            trap.sentence(),
            trap.entry,
            trap.ptx_line,
            trap.text
        )),
        other => Error::Simt { doing, text: other.to_string() },
    }
}

#[cfg(test)]
mod tests;
