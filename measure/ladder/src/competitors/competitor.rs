//! A competitor for one type and size, with its buffers. A competitor is verified, then timed.

use std::time::Instant;

use common::{
    Result,
    device::{Address, Device, Stopwatch},
    plan::Call,
    run::Job,
    sum::{Scalar, Verdict, Workload},
};
use measured::Variant;

use super::{blas, cub, limits, reduce};

/// The bound on consecutive additions in a peer's sum. For 2^30 elements, CUB makes about 840
/// consecutive additions; the other peers do not document how many they make.
const PEERS_DEPTH: u32 = 4096;

/// A competitor: anything that can be timed.
#[derive(Debug)]
pub struct Competitor<'d> {
    /// The competitor's name, role and description.
    pub variant: Variant,
    /// The number of threads per block; 0 if the competitor chooses the number.
    pub threads: u32,
    device: &'d Device,
    work: Work<'d>,
}

/// The kinds of work that a competitor can do.
#[derive(Debug)]
pub(super) enum Work<'d> {
    Step(Job<'d>),
    Reduce(reduce::Prepared<'d>),
    Cub(cub::Prepared<'d>),
    Blas(blas::Prepared<'d>),
    Limit(limits::Prepared<'d>),
}

impl<'d> Competitor<'d> {
    pub(super) fn new(
        device: &'d Device,
        variant: Variant,
        threads: u32,
        work: Work<'d>,
    ) -> Competitor<'d> {
        Competitor { variant, threads, device, work }
    }

    /// Returns whether the competitor returns only once the sum is on the host, and must therefore
    /// not be gated.
    pub fn waits(&self) -> bool {
        matches!(&self.work, Work::Cub(cub) if cub.peer.waits)
    }

    /// Returns whether the competitor computes a sum.
    pub fn sums(&self) -> bool {
        self.variant.role.sums()
    }

    /// Returns whether the competitor leaves the L2 cache full of dirty lines.
    pub fn writes(&self) -> bool {
        matches!(self.work, Work::Limit(limits::Prepared::Copy { .. }))
    }

    /// Runs the competitor on the workload, and compares its sum with the exact sum; for a step,
    /// each partial sum is compared too. Returns `None` for limits, which add nothing.
    pub fn verify<T: Scalar>(&self, workload: &Workload<T>) -> Result<Option<Verdict>> {
        if let Work::Step(job) = &self.work {
            return job.verify_once(workload)?.into_verified().map(Some);
        }
        self.start(workload.warm())?;
        self.verify_last(workload)
    }

    /// Runs the second half of a step's verification, while the workload has inputs whose sums are
    /// exact. Returns `None` for a competitor that is not a step.
    pub fn verify_exactly<T: Scalar>(&self, workload: &Workload<T>) -> Result<Option<Verdict>> {
        match &self.work {
            Work::Step(job) => job.verify_exactly(workload)?.into_verified().map(Some),
            _ => Ok(None),
        }
    }

    /// Compares the sum from the last run with the exact sum. Returns `None` for limits, which add
    /// nothing.
    pub fn verify_last<T: Scalar>(&self, workload: &Workload<T>) -> Result<Option<Verdict>> {
        if let Work::Step(job) = &self.work {
            return job.verify_last(workload)?.into_verified().map(Some);
        }
        let mut sum = [T::ZERO];
        self.device.finish()?;
        self.fetch(bytemuck::cast_slice_mut(&mut sum))?;
        Ok(self.sums().then(|| Verdict::of(sum[0], &workload.reference, PEERS_DEPTH)))
    }

    /// Runs the competitor once on the elements at an address. On a GPU, the run may still be in
    /// progress when this function returns.
    pub fn start(&self, input: Address<'_>) -> Result<()> {
        self.launch(&self.calls(input)?, input)
    }

    /// Returns the time between the GPU's events, in nanoseconds, as measured by the stopwatch.
    pub fn gpu_time(&self, stopwatch: &mut Stopwatch<'_>, input: Address<'_>) -> Result<u64> {
        let calls = self.calls(input)?;
        stopwatch.time(|| self.launch(&calls, input)).map(nanoseconds)
    }

    /// Returns the wall time in nanoseconds, from the call on an idle stream until the sum is in
    /// host memory. The time includes a launch, a copy and a wait, unless the competitor has its
    /// own blocking call.
    pub fn host_time(&self, input: Address<'_>) -> Result<u64> {
        let calls = self.calls(input)?;
        // The time to copy four bytes is also valid for a sum of eight bytes, because either copy
        // is one small transfer.
        let mut sum = [0u8; 4];
        self.device.finish()?;
        let started = Instant::now();
        match &self.work {
            Work::Reduce(reduce) => reduce.sum(input)?,
            _ => {
                self.launch(&calls, input)?;
                self.fetch(&mut sum)?;
            }
        }
        Ok(nanoseconds(started.elapsed().as_secs_f64()))
    }

    /// Prepares the calls of a run, with everything that they need.
    fn calls<'c>(&'c self, input: Address<'c>) -> Result<Vec<Call<'c>>> {
        match &self.work {
            Work::Step(job) => job.calls(input),
            Work::Limit(limit) => limit.calls(input),
            Work::Reduce(_) | Work::Cub(_) | Work::Blas(_) => Ok(Vec::new()),
        }
    }

    fn launch(&self, calls: &[Call<'_>], input: Address<'_>) -> Result<()> {
        match &self.work {
            Work::Step(job) => job.launch(calls),
            Work::Reduce(reduce) => reduce.launch(input),
            Work::Cub(cub) => cub.launch(input),
            Work::Blas(blas) => blas.launch(input),
            Work::Limit(limit) => limit.launch(self.device, calls, input),
        }
    }

    /// Waits for the sum, and copies as many of its bytes as fit into the buffer. For limits, which
    /// add nothing, the function only waits.
    fn fetch(&self, sum: &mut [u8]) -> Result<()> {
        match &self.work {
            Work::Step(job) => job.fetch(sum),
            Work::Reduce(reduce) => reduce.read(sum),
            Work::Cub(cub) => cub.read(sum),
            Work::Blas(blas) => blas.read(sum),
            Work::Limit(_) => self.device.finish(),
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_whole_nanoseconds_and_never_zero() {
        assert_eq!([0.0, 1e-12, 1.4e-9, 1.6e-9, 2e-3].map(nanoseconds), [1, 1, 1, 2, 2_000_000]);
    }
}
