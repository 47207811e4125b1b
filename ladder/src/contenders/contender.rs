//! One who takes part in rounds on one type and size, with its buffers: verified, then timed.

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

/// Additions in a row that a peer's sum may have: CUB's are about 840 at 2^30; the others do not
/// say.
const PEERS_DEPTH: u32 = 4096;

/// Something to time.
#[derive(Debug)]
pub struct Contender<'d> {
    /// What it is.
    pub variant: Variant,
    /// Threads of a block; 0 where it has its own.
    pub threads: u32,
    device: &'d Device,
    work: Work<'d>,
}

/// What it runs: a closed set.
#[derive(Debug)]
pub(super) enum Work<'d> {
    Step(Job<'d>),
    Reduce(reduce::Prepared<'d>),
    Cub(cub::Prepared<'d>),
    Blas(blas::Prepared<'d>),
    Limit(limits::Prepared<'d>),
}

impl<'d> Contender<'d> {
    pub(super) fn new(
        device: &'d Device,
        variant: Variant,
        threads: u32,
        work: Work<'d>,
    ) -> Contender<'d> {
        Contender { variant, threads, device, work }
    }

    /// Whether it returns only when the sum is on the host: nothing may hold the stream back.
    pub fn waits(&self) -> bool {
        matches!(&self.work, Work::Cub(cub) if cub.peer.waits)
    }

    /// Whether it computes the sum.
    pub fn sums(&self) -> bool {
        self.variant.role.sums()
    }

    /// Whether it leaves the L2 cache full of lines that still have to be written.
    pub fn writes(&self) -> bool {
        matches!(self.work, Work::Limit(limits::Prepared::Copy { .. }))
    }

    /// Runs it on the workload and holds its sum against the exact one; of a step, also each partial
    /// sum. `None` for what adds nothing.
    pub fn verify<T: Scalar>(&self, workload: &Workload<T>) -> Result<Option<Verdict>> {
        if let Work::Step(job) = &self.work {
            return job.verify_once(workload)?.right().map(Some);
        }
        self.start(workload.warm())?;
        self.verify_last(workload)
    }

    /// Of a step, the second half of its verdict, while the workload is exact: others have none.
    pub fn verify_exactly<T: Scalar>(&self, workload: &Workload<T>) -> Result<Option<Verdict>> {
        match &self.work {
            Work::Step(job) => job.verify_exactly(workload)?.right().map(Some),
            _ => Ok(None),
        }
    }

    /// Holds the sum of its last run against the exact one. `None` for what adds nothing.
    pub fn verify_last<T: Scalar>(&self, workload: &Workload<T>) -> Result<Option<Verdict>> {
        if let Work::Step(job) = &self.work {
            return job.verify_last(workload)?.right().map(Some);
        }
        let mut sum = [T::ZERO];
        self.device.finish()?;
        self.fetch(bytemuck::cast_slice_mut(&mut sum))?;
        Ok(self.sums().then(|| Verdict::of(sum[0], &workload.reference, PEERS_DEPTH)))
    }

    /// Runs it once on the elements at that address; on a GPU it may still run when this returns.
    pub fn start(&self, input: Address<'_>) -> Result<()> {
        self.launch(&self.calls(input)?, input)
    }

    /// Nanoseconds by the GPU's events, as that stopwatch takes them.
    pub fn gpu_time(&self, stopwatch: &mut Stopwatch<'_>, input: Address<'_>) -> Result<u64> {
        let calls = self.calls(input)?;
        stopwatch.time(|| self.launch(&calls, input)).map(nanoseconds)
    }

    /// Nanoseconds by the host's clock, from the call on an idle stream until the sum is in host
    /// memory: a launch, a copy and a wait, unless it has a call of its own for that.
    pub fn host_time(&self, input: Address<'_>) -> Result<u64> {
        let calls = self.calls(input)?;
        // Four bytes of eight are one small copy too.
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

    /// Makes everything that a launch needs but the launch.
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

    /// Waits for the sum, of which as many bytes are copied as there is room for; for what adds
    /// nothing, only waits.
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
    fn a_time_is_whole_nanoseconds_and_never_none() {
        assert_eq!([0.0, 1e-12, 1.4e-9, 1.6e-9, 2e-3].map(nanoseconds), [1, 1, 1, 2, 2_000_000]);
    }
}
