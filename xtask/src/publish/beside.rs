//! `cargo x beside`: builds `samebits` in one program with candle, cubecl, cuda-core or DLPack, and
//! with a different CUDA version.

use std::path::Path;

use anyhow::Result;
use xshell::{Shell, cmd};

use super::capi;
use crate::peers;

const FOLDER: &str = "reduce/beside";

/// The builds, each with its purpose.
const BUILDS: [(&str, &str); 6] = [
    ("alone", "the crate with its default features"),
    ("version", "CUDARC_CUDA_VERSION selects the CUDA version"),
    ("dlpack", "tensors from any framework, via DLPack"),
    ("cubecl", "cubecl selects the CUDA version"),
    (
        "cuda-core",
        "buffers from NVIDIA's cuda-core, which generates its bindings from CUDA's headers",
    ),
    ("candle", "candle selects the CUDA version, links CUDA and compiles its own kernels"),
];

/// The wheel with cuRAND's header, which cuda-core includes.
const CURAND: &str = "nvidia-curand==10.4.0.35";

/// Builds all of these programs, or only the named one. candle needs nvcc, and cuda-core needs
/// CUDA's headers and libclang; the toolkit is installed from PyPI.
pub(crate) fn run(sh: &Shell, only: Option<&str>) -> Result<()> {
    let names = BUILDS.map(|(name, _)| name);
    if let Some(name) = only.filter(|name| !names.contains(name)) {
        let text = format!("there is no build `{name}`: choose one of {}", names.join(", "));
        return Err(crate::said::Usage(text).into());
    }
    for (name, what) in BUILDS.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name))
    {
        say!("{name}: {what}");
        match name {
            "alone" => cmd!(sh, "cargo check -p samebits --examples").run()?,
            "version" => {
                let _version = sh.push_env("CUDARC_CUDA_VERSION", "13000");
                let target = capi::target()?.join("beside");
                cmd!(sh, "cargo check -p samebits --no-default-features --target-dir {target}")
                    .run()?;
            }
            // The program for this build needs no GPU, because its tensor is on the host.
            "dlpack" => program(sh, "run", name)?,
            "cuda-core" => {
                let toolkit = peers::install(sh)?;
                curand(sh)?;
                let _toolkit = sh.push_env("CUDA_TOOLKIT_PATH", &toolkit);
                program(sh, "check", name)?;
            }
            "candle" => {
                let toolkit = peers::install(sh)?;
                let _path = sh.push_env("PATH", with_programs(&toolkit)?);
                let _cuda = sh.push_env("CUDA_HOME", &toolkit);
                let _chip = sh.push_env("CUDA_COMPUTE_CAP", "90");
                program(sh, "check", name)?;
            }
            name => program(sh, "check", name)?,
        }
    }
    Ok(())
}

/// Installs cuRAND's headers into the toolkit's folder.
fn curand(sh: &Shell) -> Result<()> {
    let venv = peers::VENV;
    cmd!(sh, "{venv}/bin/python -m pip install --quiet --no-deps {CURAND}").quiet().run()?;
    Ok(())
}

/// Returns the search path with the toolkit's programs first.
fn with_programs(toolkit: &Path) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::iter::once(toolkit.join("bin")).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(programs)?)
}

/// Checks or runs the program for one build.
fn program(sh: &Shell, verb: &str, name: &str) -> Result<()> {
    let target = capi::target()?.join("beside");
    let package = format!("samebits-{name}");
    let manifest = format!("{FOLDER}/Cargo.toml");
    cmd!(sh, "cargo {verb} --manifest-path {manifest} -p {package} --target-dir {target}").run()?;
    Ok(())
}
