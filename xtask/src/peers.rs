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

/// The CCCL that the toolkit of these wheels came with: its CUB is sometimes the faster one.
const TOOLKITS: &str = "nvidia-cuda-cccl==13.0.85";

/// One sum, and a sum for each row.
const CUB: &str = "peers/cub.cu";
const ROWS: &str = "peers/rows.cu";

/// Compiles `peers/cub.cu` for these architectures: to `target/peers/libpeers.so` with the newest CUB,
/// and to `libpeers-toolkit.so` with the toolkit's; and `peers/rows.cu` to `librows.so`.
///
/// With an `nvcc` of your own there is the CUB of its toolkit alone, as `libpeers.so`.
pub(crate) fn run(sh: &Shell, arch: &str, nvcc: Option<&str>) -> Result<()> {
    sh.create_dir("target/peers")?;
    say!("compiling peers/*.cu for {arch}: CUB's templates take a minute or two");
    let nvcc_on = |nvcc: &str, more: &[String], flags: &str, from: &str, to: &str| {
        let flags = flags.split(' ');
        cmd!(
            sh,
            "{nvcc} -std=c++17 -O3 -cudart static {flags...} -arch={arch} {more...} -o {to} {from}"
        )
        .quiet()
        .run()
        .context("nvcc takes a C++ compiler of the system, such as Debian's g++")
    };
    let compile = |nvcc: &str, more: &[String], source: &str, library: &str| {
        let library = format!("target/peers/{library}");
        nvcc_on(nvcc, more, "-shared -Xcompiler -fPIC", source, &library)?;
        say!("{library} is ready: `ladder measure` finds it there, or beside itself");
        anyhow::Ok(())
    };
    if let Some(nvcc) = nvcc {
        compile(nvcc, &[], ROWS, "librows.so")?;
        return compile(nvcc, &[], CUB, "libpeers.so");
    }
    let toolkit = bring(sh)?;
    let nvcc = toolkit.join("bin/nvcc").display().to_string();
    let libraries = format!("-L{}/lib", toolkit.display());
    let newest = std::slice::from_ref(&libraries);
    compile(&nvcc, newest, ROWS, "librows.so")?;
    compile(&nvcc, newest, CUB, "libpeers.so")?;
    let program = "target/peers/gpu-to-gpu";
    nvcc_on(&nvcc, newest, "-Xcompiler -fPIC", "peers/gpu_to_gpu.cu", program)?;
    say!(
        "{program} is ready: run it on a GPU, and it says whether CUB's gpu_to_gpu sums hold there"
    );
    let own = format!("{VENV}/toolkit");
    cmd!(
        sh,
        "{VENV}/bin/python -m pip install --quiet --no-deps --upgrade --target {own} {TOOLKITS}"
    )
    .quiet()
    .run()?;
    let headers = format!("-I{own}/nvidia/cu13/include/cccl");
    compile(&nvcc, &[headers, libraries], CUB, "libpeers-toolkit.so")
}

/// The wheels' toolkit; installed first if it is not there.
fn bring(sh: &Shell) -> Result<std::path::PathBuf> {
    if !sh.path_exists(format!("{VENV}/bin/python")) {
        cmd!(sh, "python3 -m venv {VENV}")
            .quiet()
            .run()
            .context("a venv takes python3 with venv")?;
    }
    say!("bringing nvcc and CCCL from PyPI into {VENV} (400 MB, once)");
    cmd!(sh, "{VENV}/bin/python -m pip install --quiet --no-deps {PINS...}").quiet().run()?;
    let pythons = sh.read_dir(format!("{VENV}/lib"))?;
    let toolkits = pythons.into_iter().map(|python| python.join("site-packages/nvidia/cu13"));
    let toolkit = toolkits.into_iter().find(|toolkit| toolkit.join("bin/nvcc").exists());
    toolkit.with_context(|| format!("pip installed the wheels, and {VENV} has no nvcc"))
}
