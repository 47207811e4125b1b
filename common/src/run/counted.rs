//! The counts for a step's launches, from the interpreter and from the GPU.

use super::job::Job;
use crate::{
    Error, Result, Step,
    device::{
        Check, Cuda, Device, Ptx, Settings,
        cupti::counters::{METRICS, Session, Values},
    },
    plan::{Block, Chip},
    sum::{Input, Scalar, Workload},
};

/// The counts for a run.
#[derive(Clone, Debug)]
pub struct Counted {
    /// CUPTI's version.
    pub version: String,
    /// The number of times that each launch ran while it was counted.
    pub passes: usize,
    /// The GPU's counts for each launch.
    pub hardware: Vec<Values>,
    /// The interpreter's counts for each launch, or the reason why there are none.
    pub interpreter: Result<Vec<simt::Counts>, String>,
}

/// The largest input that the interpreter adds for a comparison with a GPU, in elements.
const INTERPRETED: u64 = (1 << 21) - 1;

/// The parameters from which a workload was generated, so that the interpreter can generate it
/// again.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// The kind of input.
    pub input: Input,
    /// The seed of the input.
    pub seed: u64,
    /// The number of elements left out at the start of the memory.
    pub offset: u64,
}

/// A function that returns the interpreter's count with the same definition as a hardware counter.
type Same = fn(&simt::Counts) -> u64;

/// The counts in the order of [`METRICS`]. The last two metrics have no counterpart in the
/// interpreter, because the branches and instructions in PTX differ from those that the chip
/// executes.
pub const SAME: [Same; METRICS.len() - 2] = [
    |c| c.shared_ld,
    |c| c.shared_st,
    |c| c.shared_ld_wavefronts,
    |c| c.shared_st_wavefronts,
    |c| c.global_ld_requests,
    |c| c.global_st_requests,
    |c| c.global_ld_sectors,
    |c| c.global_st_sectors,
];

impl Counted {
    /// Returns the number of counts that both devices report, and the number of these counts that
    /// differ.
    pub fn compared(&self) -> (usize, usize) {
        let Ok(interpreter) = &self.interpreter else { return (0, 0) };
        let pairs = interpreter.iter().zip(&self.hardware);
        let pairs = pairs.flat_map(|(ours, theirs)| SAME.iter().map(|same| same(ours)).zip(theirs));
        let equal: Vec<bool> = pairs.map(|(ours, theirs)| ours as f64 == *theirs).collect();
        (equal.len(), equal.iter().filter(|equal| !**equal).count())
    }
}

/// Runs a verified step again and counts its operations on the GPU and, if the input is small, in
/// the interpreter.
///
/// Nothing is timed and no gate is closed, because launches run one at a time and each runs several
/// times.
pub fn count<T: Scalar>(
    session: &Session<'_>,
    step: &Step,
    ptx: &Ptx,
    device: &Device,
    workload: &Workload<T>,
    block: Block,
    drawn: Drawn,
) -> Result<Counted> {
    let n = workload.values.len() as u64;
    let job = Job::load(device, step, ptx, device.problem(n, block, T::ELEMENT))?;
    let hardware = by_hardware(session, device, &job, workload)?;
    let cuda = device.gpu()?;
    let interpreter = match n {
        ..=INTERPRETED => interpreted::<T>(step, ptx, cuda, n, block, drawn)
            .map_err(|error| format!("the interpreter stopped: {error}")),
        _ => Err("the interpreter counts only inputs of fewer than 2^21 elements".into()),
    };
    Ok(Counted { version: session.version(), passes: session.passes, hardware, interpreter })
}

/// Counts the operations in a job's launches on the GPU.
pub fn by_hardware<T: Scalar>(
    session: &Session<'_>,
    device: &Device,
    job: &Job<'_>,
    workload: &Workload<T>,
) -> Result<Vec<Values>> {
    job.poison_sum()?;
    let calls = job.calls(workload.warm())?;
    let hardware = session.count(calls.len(), || {
        job.launch(&calls)?;
        device.finish()
    })?;
    // The sum after the replays is verified like any other sum.
    job.verify_last(workload)?.into_verified()?;
    Ok(hardware)
}

/// Counts the operations of a run in the interpreter, which simulates this GPU.
fn interpreted<T: Scalar>(
    step: &Step,
    ptx: &Ptx,
    cuda: &Cuda,
    n: u64,
    block: Block,
    drawn: Drawn,
) -> Result<Vec<simt::Counts>> {
    let none: Vec<Check> = Vec::new();
    let gpu = played(&cuda.architecture(), cuda.facts().chip);
    let settings = Settings { gpu, checks: Some(none), ..Settings::default() };
    let device = Device::open(crate::device::Choice::Simt, &settings)?;
    let Device::Simt(simt) = &device else { return Err(Error::NoGpu) };
    let Drawn { input, seed, offset } = drawn;
    let workload = Workload::<T>::shifted(&device, input, n, seed, offset)?;
    let job = Job::load(&device, step, ptx, device.problem(n, block, T::ELEMENT))?;
    simt.watch(n);
    job.verify_once(&workload)?.into_verified()?;
    Ok(simt.observed().counters.launches.iter().map(|launch| launch.counts).collect())
}

/// Returns the GPU to simulate, which has the limits of the real GPU, so that the plans are the
/// same.
fn played(architecture: &str, chip: Chip) -> simt::Arch {
    let number: u32 = architecture.trim_start_matches("sm_").parse().unwrap_or(0);
    let not_younger = simt::Arch::ALL.into_iter().rev().find(|arch| arch.number() <= number);
    let mut arch = not_younger.unwrap_or(simt::Arch::ALL[0]);
    arch.sms = chip.sms;
    arch.threads_per_sm = chip.threads;
    arch.blocks_per_sm = chip.blocks;
    arch.shared_per_sm = chip.shared;
    arch.shared_per_block = chip.shared_block;
    arch.cluster = chip.cluster;
    arch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulated_gpu_has_the_real_one_s_limits() {
        let slice = Chip { sms: 60, cluster: 8, ..Chip::H200 };
        for (architecture, base) in
            [("sm_75", "sm_70"), ("sm_89", "sm_86"), ("sm_90", "sm_90"), ("sm_100", "sm_90")]
        {
            let gpu = played(architecture, slice);
            assert_eq!(gpu.name, base, "{architecture}");
            let settings = Settings { gpu, ..Settings::default() };
            let device = Device::open(crate::device::Choice::Simt, &settings).unwrap();
            assert_eq!(device.facts().chip, slice);
        }
    }

    #[test]
    fn differing_counts_are_counted() {
        let counts = simt::Counts { shared_ld: 7, global_ld_sectors: 9, ..Default::default() };
        let mut values = [0.0; METRICS.len()];
        (values[0], values[6], values[9]) = (7.0, 9.0, 1234.0);
        let counted = |hardware| Counted {
            version: String::new(),
            passes: 1,
            hardware: vec![hardware, hardware],
            interpreter: Ok(vec![counts; 2]),
        };
        assert_eq!(counted(values).compared(), (16, 0));
        values[6] = 8.0;
        assert_eq!(counted(values).compared(), (16, 2));
        let alone = Counted { interpreter: Err(String::new()), ..counted(values) };
        assert_eq!(alone.compared(), (0, 0));
    }
}
