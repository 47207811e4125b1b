//! `cargo x python`: builds `samebits` as a Python module.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::venv;

pub(super) const FOLDER: &str = "reduce/python";

/// The packages that the module's tests need without a GPU.
const NEEDS: [&str; 4] = ["maturin>=1.9.4,<2", "numpy", "ml_dtypes", "pytest"];

/// Installs a debug build into `.venv`, and runs its tests. If tests for torch, CuPy or JAX are
/// skipped, they print the reason.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    venv::install(sh, &NEEDS)?;
    let python = venv::program(sh, "python");
    let programs = python.parent().context("Python lies in a folder")?.to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)))?;
    let _path = sh.push_env("PATH", path);
    let _quick = sh.push_env("MATURIN_PEP517_ARGS", "--profile dev");
    cmd!(sh, "{python} -m pip install --quiet --no-build-isolation --no-deps --force-reinstall ./{FOLDER}")
        .run()?;
    cmd!(sh, "{python} -m pytest -q -rs -p no:cacheprovider {FOLDER}/tests").run()?;
    Ok(())
}

/// Builds the release wheel in `dist`.
pub(crate) fn wheel(sh: &Shell) -> Result<()> {
    venv::install(sh, &NEEDS[..1])?;
    let maturin = venv::program(sh, "maturin");
    cmd!(sh, "{maturin} build --release --strip --out dist --manifest-path {FOLDER}/Cargo.toml")
        .run()?;
    Ok(())
}
