//! Runs a broken sum in the interpreter, twice in a row under each of a fixed set of schedules.

use simt::observe::{Fault, Finding, State};
use simt::{Arch, Arg, Config, Error, Gpu, Launch, Module, Schedule};

use crate::bug::{Before, Bug};

/// The schedules, in the order in which they are tried.
pub const SCHEDULES: [Schedule; 16] = {
    let mut all = [Schedule::Converged; 16];
    all[1] = Schedule::MinPc;
    let mut seed = 1;
    while seed <= 14 {
        all[1 + seed] = Schedule::Adversarial(seed as u64);
        seed += 1;
    }
    all
};

/// The number of launches under each schedule; the second launch starts from the state that the
/// first one leaves.
const LAUNCHES: usize = 2;

/// The number of blocks at the end of a grid that run if the whole grid would take too long.
const WINDOW: u64 = 16;
/// The number of blocks above which a grid takes too long to run in full.
const MANY: u32 = 1 << 16;

/// The results of running a bug.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The simulated GPU.
    pub arch: Arch,
    /// The number of schedules under which all sums were correct.
    pub right: usize,
    /// The first finding of each class of faults, and the schedule that showed it.
    pub found: Vec<(Schedule, Finding)>,
}

impl Outcome {
    /// Returns the first finding of a class, if any.
    pub fn of(&self, fault: Fault) -> Option<&(Schedule, Finding)> {
        self.found.iter().find(|(_, finding)| finding.fault == fault)
    }
}

/// Runs a bug under all schedules.
///
/// # Errors
/// Returns an error if the PTX cannot be run; a wrong result is not an error.
pub fn watch(bug: &Bug) -> Result<Outcome, String> {
    let module = Module::parse(bug.ptx).map_err(|error| error.to_string())?;
    let target = module.kernel("reduce").map_or("", |kernel| kernel.target());
    let mut outcome =
        Outcome { arch: Arch::that_runs(target).unwrap_or_default(), ..Outcome::default() };
    for schedule in SCHEDULES {
        let (right, findings) =
            under(bug, &module, outcome.arch, schedule).map_err(|error| error.to_string())?;
        outcome.right += usize::from(right);
        for finding in findings {
            if outcome.of(finding.fault).is_none() {
                outcome.found.push((schedule, finding));
            }
        }
    }
    Ok(outcome)
}

/// Runs a bug under one schedule. Returns whether the sums were correct, and the findings.
fn under(
    bug: &Bug,
    module: &Module,
    arch: Arch,
    schedule: Schedule,
) -> Result<(bool, Vec<Finding>), Error> {
    let mut config = Config::default();
    config.play(arch);
    config.schedule = schedule;
    config.blocks =
        (bug.blocks > MANY).then(|| u64::from(bug.blocks) - WINDOW..u64::from(bug.blocks));
    let mut gpu = Gpu::with(config);
    let (output, args) = buffers(&mut gpu, bug)?;
    let launch = Launch {
        entry: "reduce",
        grid: [bug.blocks, 1, 1],
        block: [bug.threads, 1, 1],
        cluster: [1, 1, 1],
        shared: 0,
        args: args.into_iter().map(Arg::U64).collect(),
    };
    let bytes = 4 * u64::from(bug.outputs());
    let mut watch = simt::checks();
    watch.4.1 = Some(State::new());
    let mut right = true;
    for _ in 0..LAUNCHES {
        match bug.before {
            Before::Poison => gpu.forget(output, bytes)?,
            Before::Zero => gpu.fill(output, 0, bytes)?,
            Before::Nothing => {}
        }
        match gpu.launch_watched(module, &launch, Some(&mut watch)) {
            Ok(()) => {}
            // A kernel that was stopped has no sum.
            Err(Error::Trap(_)) => {
                right = false;
                break;
            }
            Err(error) => return Err(error),
        }
        let mut found = vec![0; bytes as usize];
        gpu.read(output, &mut found)?;
        right &= bug.sum(&found) == bug.expected();
    }
    let mut findings = simt::findings(&watch);
    // Leftover state is not a fault in itself; it is reported only if a wrong sum has no other
    // explanation.
    if !right && findings.is_empty() {
        findings.extend(watch.4.1.iter().flat_map(State::findings).cloned());
    }
    Ok((right, findings))
}

/// Allocates the buffers. Returns the address of the output, and the arguments.
fn buffers(gpu: &mut Gpu, bug: &Bug) -> Result<(u64, Vec<u64>), Error> {
    let input = if bug.is_long() {
        gpu.alloc_sparse(4 * bug.n, |_| bug.element(0) as u32)?
    } else {
        let input = gpu.alloc(4 * bug.n)?;
        let bytes: Vec<u8> = (0..bug.n).flat_map(|i| bug.element(i).to_le_bytes()).collect();
        gpu.write(input, &bytes)?;
        input
    };
    let output = gpu.alloc(4 * u64::from(bug.outputs()))?;
    let mut args = vec![input, output, bug.n];
    if bug.scratch {
        let (partials, tickets) = (gpu.alloc(4 * u64::from(bug.blocks))?, gpu.alloc(4)?);
        gpu.fill(tickets, 0, 4)?;
        args.extend([partials, tickets]);
    }
    Ok((output, args))
}
