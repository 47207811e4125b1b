//! Installs NCCL from a wheel on PyPI; `many` uses NCCL between processes and hosts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::Shell;

use crate::venv;

/// The version that was measured. The package for CUDA 12 runs on drivers for CUDA 12 and 13.
const PINNED: &str = "2.28.9";

/// Installs NCCL into `.venv` if it is missing, and returns its path.
pub(crate) fn install(sh: &Shell) -> Result<PathBuf> {
    ensure!(cfg!(target_os = "linux"), "NVIDIA publishes NCCL only for Linux");
    if let Some(path) = installed(&venv::folder(sh)) {
        return Ok(path);
    }
    say!("installing NCCL {PINNED} from PyPI into .venv (300 MB)");
    venv::install(sh, &["--no-deps", &format!("nvidia-nccl-cu12=={PINNED}")])?;
    installed(&venv::folder(sh)).context("pip installed the wheel, but NCCL is not in .venv")
}

fn installed(venv: &Path) -> Option<PathBuf> {
    let pythons = std::fs::read_dir(venv.join("lib")).ok()?.flatten();
    let library = "site-packages/nvidia/nccl/lib/libnccl.so.2";
    pythons.map(|python| python.path().join(library)).find(|path| path.exists())
}
