//! The device: global memory, and launches.

use crate::observer::{HostEvent, Observer};
use crate::{Config, Error, Launch, Module};

/// An imitated device: owns global memory.
#[derive(Debug, Default)]
pub struct Gpu {
    config: Config,
    events: Vec<HostEvent>,
}

impl Gpu {
    /// A device with the default configuration.
    pub fn new() -> Gpu {
        Gpu::default()
    }

    /// A device with a configuration of your own.
    pub fn with(config: Config) -> Gpu {
        Gpu { config, ..Gpu::default() }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its configuration, to be changed between launches.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// New global memory, aligned to 256 bytes, filled with a poison pattern.
    pub fn alloc(&mut self, _bytes: u64) -> Result<u64, Error> {
        todo!()
    }

    /// Gives memory back.
    pub fn free(&mut self, _address: u64) -> Result<(), Error> {
        todo!()
    }

    /// Copies to the device.
    pub fn write(&mut self, _address: u64, _bytes: &[u8]) -> Result<(), Error> {
        todo!()
    }

    /// Copies from the device.
    pub fn read(&mut self, _address: u64, _bytes: &mut [u8]) -> Result<(), Error> {
        todo!()
    }

    /// Sets bytes on the device.
    pub fn fill(&mut self, _address: u64, _byte: u8, _bytes: u64) -> Result<(), Error> {
        todo!()
    }

    /// Runs a kernel to its end.
    pub fn launch<O: Observer>(
        &mut self,
        _module: &Module,
        _launch: &Launch<'_>,
        observer: &mut O,
    ) -> Result<(), Error> {
        self.report_host_events(observer);
        todo!()
    }

    /// Reports what the host did since the last launch; a launch does so by itself.
    pub fn report_host_events<O: Observer>(&mut self, observer: &mut O) {
        self.events.drain(..).for_each(|event| observer.host(event));
    }
}
