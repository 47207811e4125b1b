//! `cargo x peers`: compiles CUB and Thrust into a library with a C ABI, which `ladder measure`
//! loads if it exists.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// The wheels from PyPI, with exact versions. nvcc's own dependencies include an nvvm that nvcc
/// cannot use. This CCCL is newer than the toolkit's: in the toolkit's CUB, every sum has a
/// determinism guarantee.
const PINS: [&str; 5] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.3.5.0.6",
];

/// The folder of the wheels.
pub(crate) const VENV: &str = ".venv-peers";

/// The CCCL that was released with the toolkit of these wheels. The toolkit's CUB is sometimes
/// faster than the newest CUB.
const TOOLKITS: &str = "nvidia-cuda-cccl==13.0.85";

/// The sources for a single sum and for a sum of each row.
const CUB: &str = "measure/ladder/peers/cub.cu";
const ROWS: &str = "measure/ladder/peers/rows.cu";

/// Compiles for these architectures. `measure/ladder/peers/cub.cu` becomes
/// `target/peers/libpeers.so` with the newest CUB and `libpeers-toolkit.so` with the toolkit's CUB;
/// `measure/ladder/peers/rows.cu` becomes `librows.so`.
///
/// If you pass your own `nvcc`, only the CUB from its toolkit is compiled, as `libpeers.so`.
pub(crate) fn run(sh: &Shell, arch: &str, nvcc: Option<&str>) -> Result<()> {
    sh.create_dir("target/peers")?;
    say!("compiling measure/ladder/peers/*.cu for {arch}: CUB's templates take a minute or two");
    let nvcc_on = |nvcc: &str, more: &[String], flags: &str, from: &str, to: &str| {
        let flags = flags.split(' ');
        cmd!(
            sh,
            "{nvcc} -std=c++17 -O3 -cudart static {flags...} -arch={arch} {more...} -o {to} {from}"
        )
        .quiet()
        .run()
        .context("nvcc needs a C++ compiler on the system, such as Debian's g++")
    };
    let compile = |nvcc: &str, more: &[String], source: &str, library: &str| {
        let library = format!("target/peers/{library}");
        nvcc_on(nvcc, more, "-shared -Xcompiler -fPIC", source, &library)?;
        say!("{library} is ready: `ladder measure` finds it there, or in its own folder");
        anyhow::Ok(())
    };
    if let Some(nvcc) = nvcc {
        compile(nvcc, &[], ROWS, "librows.so")?;
        return compile(nvcc, &[], CUB, "libpeers.so");
    }
    let toolkit = install(sh)?;
    let nvcc = toolkit.join("bin/nvcc").display().to_string();
    let libraries = format!("-L{}/lib", toolkit.display());
    let newest = std::slice::from_ref(&libraries);
    compile(&nvcc, newest, ROWS, "librows.so")?;
    compile(&nvcc, newest, CUB, "libpeers.so")?;
    let program = "target/peers/gpu-to-gpu";
    nvcc_on(&nvcc, newest, "-Xcompiler -fPIC", "measure/ladder/peers/gpu_to_gpu.cu", program)?;
    say!("{program} is ready: run it on a GPU to check CUB's gpu_to_gpu sums there");
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

/// Returns the folder of the toolkit that is installed from wheels. If the toolkit is missing,
/// first installs it.
pub(crate) fn install(sh: &Shell) -> Result<std::path::PathBuf> {
    if !sh.path_exists(format!("{VENV}/bin/python")) {
        cmd!(sh, "python3 -m venv {VENV}")
            .quiet()
            .run()
            .context("creating a virtual environment needs python3 with venv")?;
    }
    say!("installing nvcc and CCCL from PyPI into {VENV} (400 MB, once)");
    cmd!(sh, "{VENV}/bin/python -m pip install --quiet --no-deps {PINS...}").quiet().run()?;
    let pythons = sh.read_dir(format!("{VENV}/lib"))?;
    let toolkits = pythons.into_iter().map(|python| python.join("site-packages/nvidia/cu13"));
    let toolkit = toolkits.into_iter().find(|toolkit| toolkit.join("bin/nvcc").exists());
    toolkit.with_context(|| format!("pip installed the wheels, but {VENV} has no nvcc"))
}
