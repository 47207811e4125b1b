//! Checks whether a launch fits its kernel and the simulated GPU.

use crate::{Config, Kernel, Launch};

/// Checks a launch, and returns the bytes of its parameters, laid out as in memory.
pub(crate) fn check(
    kernel: &Kernel,
    launch: &Launch<'_>,
    config: &Config,
) -> Result<Vec<u8>, String> {
    made_for(kernel, config)?;
    shape(kernel, launch, config)?;
    cluster(kernel, launch, config)?;
    shared(kernel, launch, config)?;
    params(kernel, launch)
}

/// Refuses PTX for a newer GPU, because a driver would not load such PTX.
fn made_for(kernel: &Kernel, config: &Config) -> Result<(), String> {
    let (arch, target) = (config.arch, kernel.target.as_str());
    if arch.runs(target) {
        return Ok(());
    }
    let instead = match crate::arch::Arch::that_runs(target) {
        Some(newer) => format!("simulate {newer}, or compile for {arch} or older"),
        None => format!("compile for {arch} or older"),
    };
    Err(format!(
        "entry `{}` is compiled for {target}, but the simulated GPU is {arch}: {instead}",
        kernel.name
    ))
}

fn shape(kernel: &Kernel, launch: &Launch<'_>, config: &Config) -> Result<(), String> {
    let (name, grid, block) = (&kernel.name, launch.grid, launch.block);
    if grid.contains(&0) || grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
        return Err(format!(
            "a grid of {grid:?} blocks: the dimensions must be at least 1, and at most 2^31-1, 65535 and 65535"
        ));
    }
    let most = config.arch.threads_per_block;
    let threads = block.iter().map(|d| u64::from(*d)).product::<u64>();
    if threads == 0 || threads > u64::from(most) || block[2] > 64 {
        return Err(format!(
            "a block of {block:?} has {threads} threads, but 1 to {most} are allowed: launch more blocks of fewer threads"
        ));
    }
    if let Some(want) = kernel.reqntid
        && want != block
    {
        return Err(format!(
            "entry `{name}` requires blocks of {want:?} threads, but {block:?} were given"
        ));
    }
    if let Some(dims) = kernel.maxntid {
        let allowed: u64 = dims.iter().map(|d| u64::from(*d)).product();
        if threads > allowed {
            return Err(format!(
                "entry `{name}` allows {allowed} threads per block (`__launch_bounds__`), but \
                 the launch has {threads}: raise the bound, or launch smaller blocks"
            ));
        }
    }
    let registers = config.arch.registers_per_thread;
    match kernel.maxnreg {
        Some(n) if n == 0 || n > registers => Err(format!(
            "entry `{name}` declares a limit of {n} registers per thread (`.maxnreg`), but {} allows 1 to {registers}: change this limit",
            config.arch
        )),
        _ => Ok(()),
    }
}

fn cluster(kernel: &Kernel, launch: &Launch<'_>, config: &Config) -> Result<(), String> {
    let (name, grid, cluster) = (&kernel.name, launch.grid, launch.cluster);
    if let Some(want) = kernel.cluster
        && want != cluster
    {
        return Err(format!(
            "entry `{name}` requires clusters of {want:?} blocks (`__cluster_dims__`), but the \
             launch has clusters of {cluster:?}: remove `__cluster_dims__`, or launch such clusters"
        ));
    }
    let size = cluster.iter().map(|d| u64::from(*d)).product::<u64>();
    let most = config.arch.cluster;
    if size > 1 && most == 1 {
        return Err(format!(
            "clusters of {size} blocks: {} has no clusters; simulate sm_90 or newer, or launch \
             without them",
            config.arch
        ));
    }
    if size == 0 || size > most.into() || (0..3).any(|i| !grid[i].is_multiple_of(cluster[i])) {
        return Err(format!(
            "clusters of {cluster:?} blocks in a grid of {grid:?}: {} allows at most {most} blocks per cluster, and the grid must be a multiple of the cluster",
            config.arch
        ));
    }
    Ok(())
}

fn shared(kernel: &Kernel, launch: &Launch<'_>, config: &Config) -> Result<(), String> {
    let (name, arch) = (&kernel.name, config.arch);
    if kernel.static_shared > arch.static_shared {
        return Err(format!(
            "entry `{name}` has {} bytes of static shared memory, but no GPU allows more than {} per block: declare the array `extern __shared__`, and pass its size at the launch ({arch} allows {})",
            kernel.static_shared, arch.static_shared, arch.shared_per_block
        ));
    }
    let bytes = u64::from(kernel.shared_bytes(launch.shared)) + u64::from(launch.shared);
    if bytes > arch.shared_per_block.into() {
        return Err(format!(
            "entry `{name}` would have {bytes} bytes of shared memory per block, but {arch} allows \
             {}: launch smaller blocks or use fewer elements per thread",
            arch.shared_per_block
        ));
    }
    Ok(())
}

fn params(kernel: &Kernel, launch: &Launch<'_>) -> Result<Vec<u8>, String> {
    let name = &kernel.name;
    if launch.args.len() != kernel.params.len() {
        let (takes, given) = (kernel.params.len(), launch.args.len());
        let (s, were) =
            (if takes == 1 { "" } else { "s" }, if given == 1 { "was" } else { "were" });
        return Err(format!("entry `{name}` takes {takes} parameter{s}, but {given} {were} given"));
    }
    let mut bytes = Vec::new();
    for (i, (arg, param)) in launch.args.iter().zip(&kernel.params).enumerate() {
        let arg = arg.bytes();
        if arg.len() != param.bytes as usize {
            return Err(format!(
                "parameter {i} of entry `{name}` has {} bytes, but the argument has {}",
                param.bytes,
                arg.len()
            ));
        }
        bytes.resize(param.offset as usize, 0);
        bytes.extend_from_slice(&arg);
    }
    Ok(bytes)
}
