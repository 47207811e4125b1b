//! `cargo x peers`: CUB and Thrust behind a C ABI, compiled to a library that `ladder measure`
//! loads if it is there.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// PyPI's wheels, to the last digit: nvcc alone brings an nvvm that it cannot use. CCCL is newer
/// than the toolkit's, whose CUB has no sum without a guaranteed order.
const PINS: [&str; 5] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.3.5.0.6",
];

/// Where the wheels are installed.
const VENV: &str = ".venv-peers";

/// Compiles `peers/cub.cu` to `target/peers/libpeers.so`, for these architectures.
///
/// With an `nvcc` of your own, CUB is that of its toolkit.
pub(crate) fn run(sh: &Shell, arch: &str, nvcc: Option<&str>) -> Result<()> {
    sh.create_dir("target/peers")?;
    let (nvcc, libraries) = match nvcc {
        Some(nvcc) => (nvcc.to_owned(), None),
        None => {
            let toolkit = bring(sh)?;
            let libraries = format!("-L{}/lib", toolkit.display());
            (toolkit.join("bin/nvcc").display().to_string(), Some(libraries))
        }
    };
    println!("compiling peers/cub.cu for {arch}: CUB's templates take a minute or two");
    let library = "target/peers/libpeers.so";
    let flags = "-std=c++17 -O3 -shared -Xcompiler -fPIC -cudart static".split(' ');
    cmd!(sh, "{nvcc} {flags...} -arch={arch} {libraries...} -o {library} peers/cub.cu")
        .quiet()
        .run()
        .context("nvcc takes a C++ compiler of the system, such as Debian's g++")?;
    println!("{library} is ready: `ladder measure` finds it there, or beside itself");
    Ok(())
}

/// The wheels' toolkit; installed first if it is not there.
fn bring(sh: &Shell) -> Result<std::path::PathBuf> {
    if !sh.path_exists(format!("{VENV}/bin/python")) {
        cmd!(sh, "python3 -m venv {VENV}")
            .quiet()
            .run()
            .context("a venv takes python3 with venv")?;
    }
    println!("bringing nvcc and CCCL from PyPI into {VENV} (400 MB, once)");
    cmd!(sh, "{VENV}/bin/python -m pip install --quiet --no-deps {PINS...}").quiet().run()?;
    let pythons = sh.read_dir(format!("{VENV}/lib"))?;
    let toolkits = pythons.into_iter().map(|python| python.join("site-packages/nvidia/cu13"));
    let toolkit = toolkits.into_iter().find(|toolkit| toolkit.join("bin/nvcc").exists());
    toolkit.with_context(|| format!("pip installed the wheels, and {VENV} has no nvcc"))
}
