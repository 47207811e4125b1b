//! The device: global memory, and launches.

use std::collections::HashMap;

use crate::exec::{self, Env};
use crate::global::Global;
use crate::observer::{HostEvent, LaunchInfo, Observer};
use crate::{Config, Error, Kernel, Launch, Module};

/// An imitated device: owns global memory.
#[derive(Debug, Default)]
pub struct Gpu {
    config: Config,
    global: Global,
    /// Where the variables of each module lie.
    modules: HashMap<u64, u64>,
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
    pub fn alloc(&mut self, bytes: u64) -> Result<u64, Error> {
        let (alloc, base) = self.global.alloc(bytes, self.config.memory).map_err(Error::Memory)?;
        self.note(HostEvent::Alloc { alloc, base, bytes });
        Ok(base)
    }

    /// Gives memory back.
    pub fn free(&mut self, address: u64) -> Result<(), Error> {
        let (alloc, bytes) = self.global.free(address).map_err(Error::Memory)?;
        self.note(HostEvent::Free { alloc, base: address, bytes });
        Ok(())
    }

    /// Copies to the device.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        self.global
            .write(address, bytes)
            .map_err(|(_, detail)| Error::Memory(format!("copy to the device: {detail}")))?;
        self.note(HostEvent::Write { base: address, bytes: bytes.len() as u64 });
        Ok(())
    }

    /// Copies from the device.
    pub fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.global
            .read(address, bytes)
            .map_err(|(_, detail)| Error::Memory(format!("copy from the device: {detail}")))?;
        self.note(HostEvent::Read { base: address, bytes: bytes.len() as u64 });
        Ok(())
    }

    /// Sets bytes on the device.
    pub fn fill(&mut self, address: u64, byte: u8, bytes: u64) -> Result<(), Error> {
        self.global
            .fill(address, byte, bytes)
            .map_err(|(_, detail)| Error::Memory(format!("fill: {detail}")))?;
        self.note(HostEvent::Write { base: address, bytes });
        Ok(())
    }

    /// Runs a kernel to its end.
    pub fn launch<O: Observer>(
        &mut self,
        module: &Module,
        launch: &Launch<'_>,
        observer: &mut O,
    ) -> Result<(), Error> {
        let Some(kernel) = module.kernel(launch.entry) else {
            let names: Vec<_> = module.entries().map(|n| format!("`{n}`")).collect();
            let have = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            return Err(Error::Launch(format!(
                "no entry `{}` in the module, which has {have}",
                launch.entry
            )));
        };
        let params = check(kernel, launch, &self.config).map_err(Error::Launch)?;
        let module_base = self.variables(module)?;
        self.report_host_events(observer);
        let static_shared = match launch.shared {
            0 => kernel.static_shared,
            _ => kernel.dynamic_base,
        };
        let info = LaunchInfo {
            kernel,
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            shared: static_shared + launch.shared,
            interleaved: kernel.interacts,
        };
        let env = Env::new(info, &self.global, &self.config, params, module_base, launch.shared);
        exec::run(&env, &self.config, observer).map_err(|trap| {
            observer.trap(&trap);
            Error::Trap(trap)
        })
    }

    /// Reports what the host did since the last launch; a launch does so by itself.
    pub fn report_host_events<O: Observer>(&mut self, observer: &mut O) {
        self.events.drain(..).for_each(|event| observer.host(event));
    }

    /// Keeps an event; repeats say nothing new and would pile up where nobody launches.
    fn note(&mut self, event: HostEvent) {
        if self.events.last() != Some(&event) {
            self.events.push(event);
        }
    }

    /// The address of a module's variables, made at its first launch.
    fn variables(&mut self, module: &Module) -> Result<u64, Error> {
        if module.image.is_empty() {
            return Ok(0);
        }
        if let Some(base) = self.modules.get(&module.id) {
            return Ok(*base);
        }
        let base = self.alloc(module.image.len() as u64)?;
        self.write(base, &module.image)?;
        self.modules.insert(module.id, base);
        Ok(base)
    }
}

/// Checks a launch against kernel and device; the parameters as they lie in memory.
fn check(kernel: &Kernel, launch: &Launch<'_>, config: &Config) -> Result<Vec<u8>, String> {
    let name = launch.entry;
    let (grid, block, cluster) = (launch.grid, launch.block, launch.cluster);
    if grid.contains(&0) || grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
        return Err(format!(
            "a grid of {grid:?} blocks: each side is at least 1, and at most 2^31-1, 65535 and 65535"
        ));
    }
    let threads = block.iter().map(|d| u64::from(*d)).product::<u64>();
    if threads == 0 || threads > 1024 || block[2] > 64 {
        return Err(format!(
            "a block of {block:?} threads: {threads} in all, where 1 to 1024 are allowed"
        ));
    }
    if let Some(want) = kernel.reqntid
        && want != block
    {
        return Err(format!(
            "entry `{name}` wants blocks of {want:?} threads, {block:?} were given"
        ));
    }
    if let Some([x, y, z]) = kernel.maxntid
        && threads > u64::from(x) * u64::from(y) * u64::from(z)
    {
        return Err(format!(
            "entry `{name}` allows {} threads a block, {threads} were given",
            x * y * z
        ));
    }
    if let Some(want) = kernel.cluster
        && want != cluster
    {
        return Err(format!(
            "entry `{name}` wants clusters of {want:?} blocks, {cluster:?} were given"
        ));
    }
    let size = cluster.iter().map(|d| u64::from(*d)).product::<u64>();
    if size == 0 || size > 16 || (0..3).any(|i| !grid[i].is_multiple_of(cluster[i])) {
        return Err(format!(
            "clusters of {cluster:?} blocks: at most 16 blocks, in a grid of whole clusters, not {grid:?}"
        ));
    }
    let dynamic = if launch.shared == 0 { kernel.static_shared } else { kernel.dynamic_base };
    let shared = u64::from(dynamic) + u64::from(launch.shared);
    if shared > u64::from(config.shared_limit) {
        return Err(format!(
            "entry `{name}` would have {shared} bytes of shared memory, the device has {}",
            config.shared_limit
        ));
    }
    if launch.args.len() != kernel.params.len() {
        let (takes, given) = (kernel.params.len(), launch.args.len());
        let (s, were) =
            (if takes == 1 { "" } else { "s" }, if given == 1 { "was" } else { "were" });
        return Err(format!("entry `{name}` takes {takes} parameter{s}, {given} {were} given"));
    }
    let mut bytes = Vec::new();
    for (i, (arg, param)) in launch.args.iter().zip(&kernel.params).enumerate() {
        let arg = arg.bytes();
        if arg.len() != param.bytes as usize {
            return Err(format!(
                "parameter {i} of entry `{name}` has {} bytes, the argument has {}",
                param.bytes,
                arg.len()
            ));
        }
        bytes.resize(param.offset as usize, 0);
        bytes.extend_from_slice(&arg);
    }
    Ok(bytes)
}
