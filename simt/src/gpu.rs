//! The device, which has global memory and runs launches.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use crate::check::check;
use crate::exec::{self, Env};
use crate::global::{Global, POISON};
use crate::observer::{Buffer, HostEvent, LaunchInfo, Observer};
use crate::place::Places;
use crate::progress::Progress;
use crate::{Config, Error, Kernel, Launch, Module};

/// A simulated device, which owns its global memory.
#[derive(Debug, Default)]
pub struct Gpu {
    config: Config,
    global: Global,
    /// The address of each module's variables, keyed by the module's number.
    modules: FxHashMap<u64, u64>,
    events: Vec<HostEvent>,
    /// Number of launches, not counting those that were refused.
    launches: u64,
    progress: Arc<Progress>,
}

impl Gpu {
    /// Creates a device with the default configuration.
    pub fn new() -> Gpu {
        Gpu::default()
    }

    /// Creates a device with the given configuration.
    pub fn with(config: Config) -> Gpu {
        Gpu { config, ..Gpu::default() }
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the configuration, which may be changed between launches.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Allocates global memory that is aligned to 256 bytes and filled with a poison pattern.
    pub fn alloc(&mut self, bytes: u64) -> Result<u64, Error> {
        let (alloc, base) = self.global.alloc(bytes, self.config.memory).map_err(Error::Memory)?;
        self.note(HostEvent::Alloc { alloc, base, bytes });
        Ok(base)
    }

    /// Allocates global memory that uses this machine's memory only for the pages that are written.
    /// Until a page of [`Gpu::PAGE`] bytes is written, each of its words has the value that `word`
    /// returns for the page. Use sparse memory for inputs that are larger than the machine's
    /// memory.
    pub fn alloc_sparse(&mut self, bytes: u64, word: impl Fn(u64) -> u32) -> Result<u64, Error> {
        // Observers receive no event for this allocation, so all of the memory counts as
        // initialized.
        let (_, base) = self.global.alloc_sparse(bytes, word).map_err(Error::Memory)?;
        Ok(base)
    }

    /// Bytes per page of sparse memory.
    pub const PAGE: u64 = crate::global::PAGE;

    /// Frees an allocation.
    pub fn free(&mut self, address: u64) -> Result<(), Error> {
        let (alloc, bytes) = self.global.free(address).map_err(Error::Memory)?;
        self.note(HostEvent::Free { alloc, base: address, bytes });
        Ok(())
    }

    /// Copies bytes from the host to the device.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        self.global
            .write(address, bytes)
            .map_err(|detail| Error::Memory(format!("copy to the device: {detail}")))?;
        self.note(HostEvent::Write { base: address, bytes: bytes.len() as u64 });
        Ok(())
    }

    /// Copies bytes from the device to the host.
    pub fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.global
            .read(address, bytes)
            .map_err(|detail| Error::Memory(format!("copy from the device: {detail}")))?;
        self.note(HostEvent::Read { base: address, bytes: bytes.len() as u64 });
        Ok(())
    }

    /// Sets `bytes` bytes on the device to `byte`.
    pub fn fill(&mut self, address: u64, byte: u8, bytes: u64) -> Result<(), Error> {
        self.global
            .fill(address, byte, bytes)
            .map_err(|detail| Error::Memory(format!("fill: {detail}")))?;
        self.note(HostEvent::Write { base: address, bytes });
        Ok(())
    }

    /// Makes memory uninitialized again, as if it were new. Reading the memory is an error until it
    /// is written.
    pub fn forget(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.global
            .fill(address, POISON, bytes)
            .map_err(|detail| Error::Memory(format!("forget: {detail}")))?;
        if let Some((_, slot)) = self.global.find(address, bytes) {
            let of = Buffer { base: slot.base, bytes: slot.bytes };
            self.note(HostEvent::Forget { base: address, bytes, of });
        }
        Ok(())
    }

    /// Runs a kernel to completion.
    pub fn launch<O: Observer>(
        &mut self,
        module: &Module,
        launch: &Launch<'_>,
        observer: &mut O,
    ) -> Result<(), Error> {
        let kernel = module.find(launch.entry).map_err(Error::Launch)?;
        let params = check(kernel, launch, &self.config).map_err(Error::Launch)?;
        let variables = self.variables(module)?;
        self.report_host_events(observer);
        self.launches += 1;
        let buffers = self.pointed_into(kernel, &params);
        let info = LaunchInfo {
            kernel,
            number: self.launches,
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            shared: kernel.shared_bytes(launch.shared) + launch.shared,
            params: &params,
            buffers: &buffers,
            module: variables,
            interleaved: kernel.interacts,
        };
        self.progress.begin(self.launches, info.blocks());
        let (config, progress) = (&self.config, &self.progress);
        let env = Env::new(info, &self.global, config, progress, launch.shared);
        exec::run(&env, config, observer).map_err(|trap| {
            observer.trap(&trap);
            Error::Trap(trap)
        })
    }

    /// Returns the live allocations that a parameter points into.
    fn pointed_into(&self, kernel: &Kernel, params: &[u8]) -> Vec<Buffer> {
        let places = Places { kernel, params, module: 0 };
        let slots = places.pointers().filter_map(|(_, pointer)| self.global.find(pointer, 0));
        slots.map(|(_, slot)| Buffer { base: slot.base, bytes: slot.bytes }).collect()
    }

    /// Discards the values of a module's variables, so that the module's next launch starts with
    /// the initial values.
    pub fn unload(&mut self, module: &Module) -> Result<(), Error> {
        self.modules.remove(&module.id).map_or(Ok(()), |base| self.free(base))
    }

    /// Returns the progress of the running launch, which other threads may read.
    pub fn progress(&self) -> Arc<Progress> {
        self.progress.clone()
    }

    /// Restarts the numbering of launches at 1.
    pub fn restart(&mut self) {
        self.launches = 0;
    }

    /// Reports the operations that the host has performed since the last launch. A launch also
    /// reports these operations before it runs.
    pub fn report_host_events<O: Observer>(&mut self, observer: &mut O) {
        self.events.drain(..).for_each(|event| observer.host(event));
    }

    /// Stores an event. Repeated events are dropped, because otherwise they would accumulate if no
    /// launch followed.
    fn note(&mut self, event: HostEvent) {
        if self.events.last() != Some(&event) {
            self.events.push(event);
        }
    }

    /// Returns the address of a module's variables, which its first launch allocates.
    fn variables(&mut self, module: &Module) -> Result<u64, Error> {
        if module.image.is_empty() {
            return Ok(0);
        }
        if let Some(base) = self.modules.get(&module.id) {
            return Ok(*base);
        }
        let base = self.alloc(module.image.len() as u64)?;
        let mut image = module.image.clone();
        for (at, target) in &module.addresses {
            image[*at..at + 8].copy_from_slice(&(base + target).to_le_bytes());
        }
        self.write(base, &image)?;
        self.modules.insert(module.id, base);
        Ok(base)
    }
}
