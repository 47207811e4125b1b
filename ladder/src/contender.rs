//! Whatever can be timed in a round: a step, a peer, a floor, a ceiling.

use std::time::Instant;

use common::{
    Element, Error, Result, Step,
    device::{Cuda, Device, Program, Stopwatch, cuda},
    plan::{Block, Call, Number, Plan, Problem},
    ptx,
    run::Job,
    sum::{Reference, Scalar, Verdict},
};
use measured::{Role, Variant};

use crate::{blas, library, peer};

/// The kernels of the floor and of the reading ceiling.
static BOUNDS: common::Kernel = common::kernel!();

/// The name of the floor.
pub const FLOOR: &str = "empty-kernel";
/// The name of the reading ceiling.
pub const READ: &str = "read-only";
/// The name of the copying ceiling.
pub const COPY: &str = "copy";

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
    work: Work<'d>,
}

#[derive(Debug)]
enum Work<'d> {
    Step { job: Job<'d> },
    Peer(peer::Bound<'d>),
    Blas(blas::Bound<'d>),
    Library { bound: library::Bound<'d>, out: cuda::Memory },
    Empty { program: &'d Program },
    Read { program: &'d Program, out: common::device::Memory, n: u64, blocks: u32 },
    Copy { to: cuda::Memory, bytes: u64 },
}

/// A step with its kernel loaded and its plan made: what its job borrows.
#[derive(Debug)]
pub struct Loaded {
    /// The step.
    pub step: &'static Step,
    /// Threads of a block; 0 where the kernel has its own.
    pub threads: u32,
    role: Role,
    up_to: u64,
    program: Program,
    plan: Plan,
    element: Element,
}

impl Loaded {
    /// Loads a step for one problem.
    pub fn new(device: &Device, step: &'static Step, problem: &Problem) -> Result<Loaded> {
        let program = device.load(&ptx::of(&step.kernel, problem.element, None)?)?;
        let (plan, element) = ((step.plan)(problem), problem.element);
        let threads = problem.block.threads();
        Ok(Loaded { step, threads, role: Role::Step, up_to: 0, program, plan, element })
    }

    /// Loads a study's way to a sum of up to that many bytes.
    pub fn way(
        device: &Device,
        way: &'static Step,
        up_to: u64,
        problem: &Problem,
    ) -> Result<Loaded> {
        let loaded = Loaded::new(device, way, problem)?;
        Ok(Loaded { threads: 0, role: Role::Study, up_to, ..loaded })
    }

    /// The step, ready to be timed.
    pub fn contender<'d>(&'d self, device: &'d Device) -> Result<Contender<'d>> {
        let job = Job::new(device, &self.program, &self.plan, self.element)?;
        let what = self.step.cures.to_owned();
        let (name, up_to) = (self.step.name.into(), self.up_to);
        let variant = Variant { name, role: self.role, what, moves: 1, up_to };
        let work = Work::Step { job };
        Ok(Contender { variant, threads: self.threads, work })
    }
}

/// Loads the kernels of the bounds.
pub fn bounds(device: &Device) -> Result<Program> {
    device.load(&ptx::of(&BOUNDS, Element::F32, None)?)
}

impl<'d> Contender<'d> {
    /// An empty kernel: what any measurement costs.
    pub fn floor(program: &'d Program) -> Contender<'d> {
        let what = "an empty kernel between the two events: the floor of this method";
        Contender::bound(FLOOR, Role::Floor, what, 1, Work::Empty { program })
    }

    /// A kernel that reads the input and adds nothing.
    pub fn read(device: &Device, program: &'d Program, bytes: u64) -> Result<Contender<'d>> {
        let out = device.alloc("what was read", 4)?;
        // As much as fits at once, and no more than there is to do.
        let blocks = (bytes / 16).div_ceil(4 * 512).clamp(1, u64::from(4 * device.facts().sms));
        let what = "reads the input in vectors of 16 bytes, four in flight a thread; adds nothing";
        let work = Work::Read { program, out, n: bytes / 16, blocks: blocks as u32 };
        Ok(Contender::bound(READ, Role::Ceiling, what, 1, work))
    }

    /// The driver's copy from device to device.
    pub fn copy(cuda: &Cuda, bytes: u64) -> Result<Contender<'d>> {
        let to = cuda.alloc("a copy of the input", bytes)?;
        let what = "the driver's copy of the input to other device memory: reads and writes it";
        Ok(Contender::bound(COPY, Role::Ceiling, what, 2, Work::Copy { to, bytes }))
    }

    fn bound(name: &str, role: Role, what: &str, moves: u32, work: Work<'d>) -> Contender<'d> {
        let variant = Variant { name: name.into(), role, what: what.into(), moves, up_to: 0 };
        Contender { variant, threads: 0, work }
    }

    /// The library that the ladder ends in.
    pub fn library<T: reduce::Element + 'd>(cuda: &'d Cuda, n: u64) -> Result<Contender<'d>> {
        let out = library::out(cuda)?;
        let bound = library::Bound::new::<T>(cuda, n, out.address())?;
        let what = "the library that the ladder ends in: one launch, the same bits everywhere";
        let work = Work::Library { bound, out };
        Ok(Contender::bound(library::NAME, Role::Library, what, 1, work))
    }

    /// A sum of CUB or Thrust.
    pub fn peer(bound: peer::Bound<'d>, version: &str) -> Contender<'d> {
        let name = bound.peer.name.clone();
        let what = match bound.peer.waits {
            true => format!(
                "{version}; it returns its sum to the host, so only the host's clock can time it"
            ),
            false => version.to_owned(),
        };
        Contender::bound(&name, Role::Peer, &what, 1, Work::Peer(bound))
    }

    /// A sum of cuBLAS.
    pub fn blas(bound: blas::Bound<'d>, routine: blas::Routine, version: &str) -> Contender<'d> {
        let what = match routine {
            blas::Routine::Asum => format!("cuBLAS {version}: the sum of absolute values"),
            blas::Routine::Dot => {
                format!("cuBLAS {version}: the dot product with ones, which it reads too")
            }
        };
        Contender::bound(routine.name(), Role::Peer, &what, 1, Work::Blas(bound))
    }

    /// Whether it returns only when the sum is on the host: nothing may hold the stream back.
    pub fn waits(&self) -> bool {
        matches!(&self.work, Work::Peer(bound) if bound.peer.waits)
    }

    /// Whether it computes the sum.
    pub fn sums(&self) -> bool {
        self.variant.role.sums()
    }

    /// Whether it leaves the L2 cache full of lines that still have to be written.
    pub fn writes(&self) -> bool {
        matches!(self.work, Work::Copy { .. })
    }

    /// Makes everything that a launch needs but the launch.
    fn calls(&self, input: u64) -> Vec<Call> {
        match &self.work {
            Work::Step { job } => job.calls(input),
            Work::Empty { .. } => vec![call("empty", 1, 32, vec![])],
            Work::Read { out, n, blocks, .. } => {
                let args = vec![Number::U64(input), Number::U64(out.address()), Number::U64(*n)];
                vec![call("read", *blocks, 512, args)]
            }
            _ => Vec::new(),
        }
    }

    fn launch(&self, device: &Device, calls: &[Call], input: u64) -> Result<()> {
        match &self.work {
            Work::Step { job } => job.launch(calls),
            Work::Empty { program } | Work::Read { program, .. } => {
                calls.iter().try_for_each(|call| device.launch(program, call))
            }
            Work::Peer(bound) => bound.launch(input),
            Work::Blas(bound) => bound.launch(input),
            Work::Library { bound, .. } => bound.launch(input),
            Work::Copy { to, bytes } => gpu(device)?.copy(input, to, *bytes),
        }
    }

    /// Runs it once on the elements at that address; on a GPU it may still run when this returns.
    pub fn start(&self, device: &Device, input: u64) -> Result<()> {
        self.launch(device, &self.calls(input), input)
    }

    /// Nanoseconds by the GPU's events.
    pub fn gpu_time(
        &self,
        device: &Device,
        stopwatch: &mut Stopwatch<'_>,
        input: u64,
    ) -> Result<u64> {
        let calls = self.calls(input);
        let seconds = stopwatch.time(|| self.launch(device, &calls, input))?;
        Ok(nanoseconds(seconds))
    }

    /// Nanoseconds by the GPU's events around one call on an idle stream, nothing held back.
    pub fn ungated_time(
        &self,
        device: &Device,
        stopwatch: &mut Stopwatch<'_>,
        input: u64,
    ) -> Result<u64> {
        let calls = self.calls(input);
        let seconds = stopwatch.time_ungated(|| self.launch(device, &calls, input))?;
        Ok(nanoseconds(seconds))
    }

    /// Nanoseconds by the host's clock, from the call on an idle stream until the sum is in host
    /// memory.
    pub fn host_time(&self, device: &Device, input: u64) -> Result<u64> {
        let calls = self.calls(input);
        // Four bytes of eight are one small copy too.
        let mut sum = [0u8; 4];
        device.finish()?;
        let started = Instant::now();
        self.launch(device, &calls, input)?;
        self.fetch(device, &mut sum)?;
        Ok(nanoseconds(started.elapsed().as_secs_f64()))
    }

    /// Waits for the sum, of which as many bytes are copied as there is room for; for what adds
    /// nothing, only waits.
    fn fetch(&self, device: &Device, sum: &mut [u8]) -> Result<()> {
        match &self.work {
            Work::Step { job } => job.fetch(sum),
            Work::Peer(bound) => bound.read(gpu(device)?, sum),
            Work::Blas(bound) => bound.read(gpu(device)?, sum),
            Work::Library { out, .. } => gpu(device)?.read(out, sum),
            Work::Empty { .. } | Work::Read { .. } | Work::Copy { .. } => device.finish(),
        }
    }

    /// Runs it once and holds its sum against the exact one. `None` for what adds nothing.
    pub fn verify<T: Scalar>(
        &self,
        device: &Device,
        input: u64,
        reference: &Reference,
    ) -> Result<Option<Verdict>> {
        if let Work::Step { job } = &self.work {
            return job.verify::<T>(input, reference).map(Some);
        }
        let mut sum = [T::ZERO];
        self.start(device, input)?;
        device.finish()?;
        self.fetch(device, bytemuck::cast_slice_mut(&mut sum))?;
        Ok(self.sums().then(|| Verdict::of(sum[0], reference, PEERS_DEPTH)))
    }
}

/// The problem of one size, with the device's own number of multiprocessors.
pub fn problem(device: &Device, element: Element, n: u64, block: Block) -> Problem {
    Problem { n, block, element, sms: device.facts().sms }
}

fn call(entry: &str, grid: u32, block: u32, args: Vec<Number>) -> Call {
    Call { entry: entry.into(), grid, block, cluster: 1, shared: 0, args }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round().max(1.0) as u64
}

/// The GPU behind a device.
pub fn gpu(device: &Device) -> Result<&Cuda> {
    match device {
        Device::Cuda(cuda) => Ok(cuda),
        Device::Simt(_) => Err(Error::NoGpu),
    }
}
