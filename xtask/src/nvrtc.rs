//! Installs the pinned NVRTC and CUDA's headers from wheels on PyPI, so that neither a GPU nor a
//! CUDA installation is needed.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use compiler::{
    any, find,
    nvrtc::{Library, PINNED},
};
use xshell::Shell;

use crate::venv;

/// Opens the pinned NVRTC. If NVRTC is missing, first prints a line and installs it into `.venv`.
///
/// # Errors
/// Fails if NVIDIA publishes no NVRTC for this system, or if PyPI cannot be reached.
pub fn install() -> Result<Library> {
    let sh = &Shell::new()?;
    sh.change_dir(crate::root());
    if installed(sh).is_none() {
        any::nvrtc_exists().map_err(anyhow::Error::msg)?;
        say!("installing NVRTC {PINNED} from PyPI into .venv (60 MB)");
        venv::install(sh, &[&format!("nvidia-cuda-nvrtc-cu12=={PINNED}")])?;
    }
    let path = installed(sh).context("pip installed the wheel, but NVRTC is not in .venv")?;
    if find::headers(&path).is_none() {
        say!("installing CUDA's headers from PyPI into .venv (1 MB)");
        venv::install(sh, &["--no-deps", &format!("nvidia-cuda-runtime-cu12=={PINNED}")])?;
    }
    let library = Library::open(&path)?;
    ensure!(
        PINNED.starts_with(&library.version()),
        "{} is NVRTC {}, but the committed PTX needs {PINNED}: delete .venv and run this again",
        path.display(),
        library.version()
    );
    Ok(library)
}

fn installed(sh: &Shell) -> Option<PathBuf> {
    find::nvrtc_in_venv(&venv::folder(sh)).into_iter().next()
}
