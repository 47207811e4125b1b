//! The interpreter as a device. It runs the same PTX on the CPU, and counts operations.

use std::{cell::RefCell, rc::Rc, str::FromStr, time::Duration};

use simt::{
    Watch,
    observe::{Finding, Printed, Prints, Races, State, Sync, Trace},
};

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

/// The settings of the interpreter: how it runs and which checks it makes.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The order in which lanes, warps and blocks run.
    pub schedule: simt::Schedule,
    /// The simulated GPU, which defines the limits and the number of multiprocessors.
    pub gpu: simt::Arch,
    /// The longest time that a launch may run without finishing a block. `None` means the
    /// interpreter's default, and zero means no limit.
    pub patience: Option<Duration>,
    /// The number of warp instructions that a launch may execute; `None` means the interpreter's
    /// default.
    pub budget: Option<u64>,
    /// The checks that run. `None` means all checks for inputs of up to [`CHECKED`] elements, and
    /// no checks for larger inputs.
    pub checks: Option<Vec<Check>>,
    /// The number of blocks in each launch whose accesses are recorded.
    pub traced: u64,
}

/// The largest input, in elements, that is checked by default.
pub const CHECKED: u64 = 1 << 20;

/// The maximum number of `printf` texts that are kept.
const PRINTED: usize = 1000;

/// A check that runs during execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Detects accesses to the same location that are not ordered by synchronization.
    Races,
    /// Detects reads of uninitialized memory.
    Memory,
    /// Detects violations of the rules for barriers and masks.
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
                "`{text}` is not a check: use races, memory, sync or none"
            ))),
        }
    }
}

/// The interpreter, with its memory and observers.
#[derive(Debug)]
pub struct Interpreter {
    gpu: Rc<RefCell<simt::Gpu>>,
    settings: Settings,
    /// The observers; `None` while no run is observed.
    watch: RefCell<Option<Watch>>,
    /// The last module that was loaded, with its PTX and source. Tests load the same module many
    /// times, and parsing a long module takes longer than running it.
    last: RefCell<Option<(String, String, Rc<simt::Module>)>>,
    facts: Facts,
}

/// The observations from one run.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The counts of the run.
    pub counters: simt::Counters,
    /// The order of execution.
    pub schedule: simt::Schedule,
    /// The checks that ran.
    pub checks: Vec<Check>,
    /// The findings of the checks.
    pub findings: Vec<Finding>,
    /// The last load that returned an older value, which may explain a wrong sum, and the remedy.
    pub older: Option<String>,
    /// The first texts that threads printed, up to a limit.
    pub printed: Vec<Printed>,
    /// The total number of texts that threads printed.
    pub prints: u64,
    /// The accesses by the first blocks, if they were recorded.
    pub trace: Option<Trace>,
}

/// Memory in the interpreter, which is freed when dropped.
#[derive(Debug)]
pub struct Memory {
    address: u64,
    bytes: u64,
    gpu: Rc<RefCell<simt::Gpu>>,
}

/// A module that the interpreter has loaded from PTX.
#[derive(Debug)]
pub struct Program {
    module: Rc<simt::Module>,
}

impl Interpreter {
    /// Creates an interpreter.
    pub fn new(settings: &Settings) -> Interpreter {
        let mut config = simt::Config::default();
        config.schedule = settings.schedule;
        // In every other random order, another block may run between any two writes.
        config.stalls =
            matches!(settings.schedule, simt::Schedule::Adversarial(seed) if seed % 2 == 0);
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
            watch: RefCell::default(),
            last: RefCell::default(),
            facts: Facts { name: "simt".into(), chip, l2: 0, bus: None, line },
        }
    }

    /// Returns the properties that plans and reports use.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Loads a module from PTX.
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

    /// Returns a number that identifies this interpreter's memory.
    fn identity(&self) -> usize {
        Rc::as_ptr(&self.gpu).addr()
    }

    /// Returns the address as a number. Fails if there are fewer than `bytes` bytes, or if the
    /// memory belongs to another device.
    fn device_address(&self, address: Address<'_>, bytes: u64) -> Result<u64> {
        address.first(bytes)?.on(self.identity())
    }

    /// Copies bytes from the host into `memory`, starting at byte `at`.
    pub fn write(&self, memory: &Memory, at: u64, bytes: &[u8]) -> Result<()> {
        let to = self.device_address(memory.address().skip(at), bytes.len() as u64)?;
        self.gpu.borrow_mut().write(to, bytes).map_err(stopped("copying to the interpreter"))
    }

    /// Copies bytes to the host.
    pub fn read(&self, memory: &Memory, bytes: &mut [u8]) -> Result<()> {
        let from = self.device_address(memory.address(), bytes.len() as u64)?;
        self.gpu.borrow_mut().read(from, bytes).map_err(stopped("copying from the interpreter"))
    }

    /// Sets every byte of the memory to `byte`.
    pub fn fill(&self, memory: &Memory, byte: u8) -> Result<()> {
        let to = self.device_address(memory.address(), memory.bytes)?;
        self.gpu
            .borrow_mut()
            .fill(to, byte, memory.bytes)
            .map_err(stopped("filling memory of the interpreter"))
    }

    /// Marks memory as uninitialized.
    pub fn forget(&self, memory: &Memory) -> Result<()> {
        let at = self.device_address(memory.address(), memory.bytes)?;
        self.gpu
            .borrow_mut()
            .forget(at, memory.bytes)
            .map_err(stopped("clearing memory of the interpreter"))
    }

    /// Restarts the numbering of launches at 1.
    pub fn restart(&self) {
        self.gpu.borrow_mut().restart();
    }

    /// Runs a kernel until it ends.
    pub fn launch(&self, program: &Program, call: &Call<'_>) -> Result<()> {
        let launch = self.interpreted(call)?;
        let mut watch = self.watch.borrow_mut();
        let input = call.input.map(|input| input.on(self.identity())).transpose()?;
        let mut gpu = self.gpu.borrow_mut();
        input.inspect(|&input| gpu.protect(input, true));
        let result = gpu.launch_watched(&program.module, &launch, watch.as_mut());
        input.inspect(|&input| gpu.protect(input, false));
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

    /// Starts to observe a run on `n` elements.
    pub fn watch(&self, n: u64) {
        let all = || if n <= CHECKED { Check::ALL.to_vec() } else { Vec::new() };
        let checks = self.settings.checks.clone().unwrap_or_else(all);
        let on = |check| checks.contains(&check);
        *self.watch.borrow_mut() = Some((
            Some((simt::Counters::default(), Prints::first(PRINTED))),
            on(Check::Races).then(Races::new),
            on(Check::Memory).then(simt::observe::Memory::new),
            on(Check::Sync).then(Sync::new),
            ((self.settings.traced > 0).then(|| Trace::new(self.settings.traced)), None, None),
        ));
    }

    /// Returns the observations since [`watch`](Interpreter::watch), and stops observing.
    pub fn observed(&self) -> Observed {
        let watch = self.watch.take().unwrap_or_default();
        let findings = simt::findings(&watch);
        let (counted, races, memory, sync, (trace, ..)) = watch;
        let (counters, prints) = counted.unwrap_or_default();
        let on = [
            (Check::Races, races.is_some()),
            (Check::Memory, memory.is_some()),
            (Check::Sync, sync.is_some()),
        ];
        let checks = on.into_iter().filter(|(_, on)| *on).map(|(check, _)| check).collect();
        let older = sync.as_ref().and_then(|sync| sync.older().map(str::to_owned));
        let (printed, prints) = (prints.printed().to_vec(), prints.total());
        let schedule = self.settings.schedule;
        Observed { counters, schedule, checks, findings, older, printed, prints, trace }
    }

    /// Adds to an error that stopped a kernel what the checks found before it.
    pub fn explained(&self, error: Error) -> Error {
        match self.watch.borrow().as_ref().and_then(simt::cause) {
            Some(cause) => error.after(&cause.sentence()),
            None => error,
        }
    }

    /// Finds state that the launches in `work` leave behind for later launches; `n` is the number
    /// of elements. Finds only state that is changed by atomics.
    pub fn state_of(&self, n: u64, work: impl FnOnce() -> Result<()>) -> Vec<Finding> {
        if n > CHECKED {
            return Vec::new();
        }
        let watch = (None, None, None, None, (None, Some(State::new()), None));
        let before = self.watch.replace(Some(watch));
        // The result is ignored, because failed launches also leave state.
        let _ = work();
        let watched = self.watch.replace(before).unwrap_or_default();
        watched.4.1.map_or(Vec::new(), |state| state.findings().to_vec())
    }

    /// Resets the variables of a program to their initial values.
    pub fn renew(&self, program: &Program) -> Result<()> {
        let renewed = self.gpu.borrow_mut().unload(&program.module);
        renewed.map_err(stopped("unloading a module"))
    }

    /// Runs `work` without observers.
    pub fn unwatched<R>(&self, work: impl FnOnce() -> R) -> R {
        let watching = self.watch.take();
        let done = work();
        self.watch.replace(watching);
        done
    }
}

impl Program {
    /// Returns the name of a parameter in the source, if it is known.
    pub(crate) fn parameter(&self, entry: &str, index: usize) -> Option<&str> {
        self.kernel(entry)?.parameter(index)
    }

    /// Returns a kernel of the module.
    pub(crate) fn kernel(&self, entry: &str) -> Option<&simt::Kernel> {
        self.module.kernel(entry)
    }

    /// Runs a kernel of the module on a GPU other than the device that loaded it.
    pub(crate) fn launch(
        &self,
        gpu: &mut simt::Gpu,
        launch: &simt::Launch<'_>,
        watch: Option<&mut Watch>,
    ) -> std::result::Result<(), simt::Error> {
        gpu.launch_watched(&self.module, launch, watch)
    }
}

impl Memory {
    /// Returns the address of the entire memory.
    pub fn address(&self) -> Address<'_> {
        Address::of(self, self.address, self.bytes, Rc::as_ptr(&self.gpu).addr())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A destructor cannot return the error.
        let _ = self.gpu.borrow_mut().free(self.address);
    }
}

/// Returns the limits of a simulated GPU in the form that plans use.
pub(crate) fn chip(gpu: &simt::Arch) -> Chip {
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
