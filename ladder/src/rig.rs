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
    contenders::{self, Contender, Entry, Limits, Peers},
};

/// A GPU, with what is loaded on it once.
#[derive(Debug)]
pub struct Rig {
    /// What others have written. First, so that it is dropped first: cuBLAS's handle is of the GPU.
    pub peers: Peers,
    /// Its clocks.
    pub monitor: Monitor,
    /// The kernels of the floor and of the reading ceiling.
    pub limits: Limits,
    /// Kernels of a reader's, each a step with another kernel.
    pub own: Vec<&'static Step>,
    /// Three times the L2, clean: reading it drives everything else out.
    flush: Memory,
    flush_bytes: u64,
    /// The GPU.
    pub device: Device,
}

impl Rig {
    /// Opens a GPU; the interpreter has no times.
    pub fn open(choice: Choice, cub: Option<&Path>) -> Result<Rig> {
        let choice = match choice {
            Choice::Auto => Choice::Cuda(0),
            Choice::Simt => return Err(Error::NoGpu),
            choice => choice,
        };
        Rig::on(Device::open(choice, &Settings::default())?, cub)
    }

    /// Loads what is measured with, on a GPU.
    pub fn on(device: Device, cub: Option<&Path>) -> Result<Rig> {
        let cuda = device.gpu()?;
        let (monitor, peers) = (Monitor::new(cuda), Peers::load(cuda, cub));
        let limits = Limits::load(&device, &LIMITS)?;
        let flush_bytes = (3 * device.facts().l2).max(1 << 20);
        let flush = device.alloc("what is read to empty the L2 cache", flush_bytes)?;
        device.fill(&flush, 1)?;
        Ok(Rig { device, peers, monitor, limits, own: Vec::new(), flush, flush_bytes })
    }

    /// Everyone who can take part here.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let mut all = contenders::all(&STEPS, &STUDIES, &self.peers);
        all.extend(self.own.iter().map(|step| Entry::Experiment(step)));
        all
    }

    /// Keeps the GPU busy until its clock has come up, and reads it.
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

    /// What empties the L2 cache. It does not wait.
    pub fn flusher(&self) -> Result<impl Fn() -> Result<()>> {
        let elements = self.flush_bytes / 4;
        let reader: Contender<'_> =
            Entry::Read.contender::<f32>(&self.device, &self.limits, elements, Block::ALL[0])?;
        Ok(move || reader.start(self.flush.address()))
    }
}
