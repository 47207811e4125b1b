//! The GPU, and everything that can be measured on it.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use common::{
    Error, Result, Step,
    device::{Choice, Device, Memory, Settings},
    plan::Block,
};

use crate::{
    LIMITS, STEPS, STUDIES,
    clock::Monitor,
    competitors::{self, Competitor, Entry, Limits, Peers},
};

/// A GPU, and the kernels that are loaded on it once for all measurements.
#[derive(Debug)]
pub struct Rig {
    /// The peers. This field is the first, so that the peers are dropped before the GPU, to which
    /// the cuBLAS handle belongs.
    pub peers: Peers,
    /// The monitor of the GPU's clock rates.
    pub monitor: Monitor,
    /// The loaded kernels that measure the minimum time and the maximum read bandwidth.
    pub limits: Limits,
    /// The reader's own kernels; each is a step with another kernel.
    pub own: Vec<&'static Step>,
    /// Memory of three times the size of L2. Reading this memory evicts everything else from L2,
    /// and leaves no modified lines there.
    flush: Memory,
    flush_bytes: u64,
    /// The GPU.
    pub device: Device,
}

impl Rig {
    /// Opens a GPU. The interpreter is refused, because it measures no times.
    pub fn open(choice: Choice, cub: Option<&Path>) -> Result<Rig> {
        let choice = match choice {
            Choice::Auto => Choice::Cuda(0),
            Choice::Simt => return Err(Error::Interpreter),
            choice => choice,
        };
        Rig::on(Device::open(choice, &Settings::default())?, cub)
    }

    /// Loads everything that measurements on a GPU need.
    pub fn on(device: Device, cub: Option<&Path>) -> Result<Rig> {
        let cuda = device.gpu()?;
        let (monitor, peers) = (Monitor::new(cuda), Peers::load(cuda, cub));
        let limits = Limits::load(&device, &LIMITS)?;
        let flush_bytes = (3 * device.facts().l2).max(1 << 20);
        let flush = device.alloc("the memory that evicts the L2 cache", flush_bytes)?;
        device.fill(&flush, 1)?;
        Ok(Rig { device, peers, monitor, limits, own: Vec::new(), flush, flush_bytes })
    }

    /// Returns all entries that can run on this machine.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let mut all = competitors::all(&STEPS, &STUDIES, &self.peers);
        all.extend(self.own.iter().map(|step| Entry::Experiment(step)));
        all
    }

    /// Keeps the GPU busy until its clock rate has ramped up, and returns the rate in MHz.
    pub fn wake(&self) -> Result<u32> {
        let flush = self.flusher()?;
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(500) {
            for _ in 0..100 {
                flush()?;
            }
            self.device.finish()?;
        }
        Ok(self.monitor.sm_mhz().unwrap_or(0))
    }

    /// Returns a function that queues the eviction of the L2 cache's contents, without waiting for
    /// it.
    pub fn flusher(&self) -> Result<impl Fn() -> Result<()>> {
        let elements = self.flush_bytes / 4;
        let reader: Competitor<'_> =
            Entry::Read.competitor::<f32>(&self.device, &self.limits, elements, Block::ALL[0])?;
        Ok(move || reader.start(self.flush.address()))
    }
}
