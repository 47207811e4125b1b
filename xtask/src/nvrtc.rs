//! The pinned NVRTC, from PyPI's wheel: neither a GPU nor a CUDA installation is needed.

use anyhow::{Context, Result, ensure};
use compiler::nvrtc::{Library, PINNED};
use xshell::{Shell, cmd};

/// Where the wheel lies once it is installed, below the folder of the Python version.
const WHEEL: &str = "site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";

/// Opens the pinned NVRTC; installs it into `.venv` first if it is not there.
pub(crate) fn bring(sh: &Shell) -> Result<Library> {
    if installed(sh).is_none() {
        say!("installing NVRTC {PINNED} from PyPI into .venv (60 MB)");
        if !sh.path_exists(".venv/bin/python") {
            cmd!(sh, "python3 -m venv .venv")
                .quiet()
                .run()
                .context("making .venv takes python3 with venv")?;
        }
        cmd!(sh, ".venv/bin/python -m pip install --quiet nvidia-cuda-nvrtc-cu12=={PINNED}")
            .quiet()
            .run()?;
    }
    let path =
        installed(sh).context("pip installed the wheel, and libnvrtc.so.12 is not in .venv")?;
    let library = Library::open(&path)?;
    ensure!(
        PINNED.starts_with(&library.version()),
        "{} is NVRTC {}, and the committed PTX is made by {PINNED}: delete .venv and run this again",
        path.display(),
        library.version()
    );
    Ok(library)
}

fn installed(sh: &Shell) -> Option<std::path::PathBuf> {
    let pythons = sh.read_dir(".venv/lib").ok()?;
    pythons.into_iter().map(|python| python.join(WHEEL)).find(|path| path.exists())
}
