//! `.venv`, the workspace's own Python environment, in the layout of each system.

use std::{env::consts::EXE_SUFFIX, path::PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

/// The folder of the environment's programs.
const PROGRAMS: &str = if cfg!(windows) { "Scripts" } else { "bin" };

/// Installs packages into `.venv`, which is created if it is missing.
pub(crate) fn install(sh: &Shell, words: &[&str]) -> Result<()> {
    let python = program(sh, "python");
    if !python.exists() {
        make(sh)?;
    }
    let pip = cmd!(sh, "{python} -m pip install --quiet --retries 1 {words...}").quiet();
    let output = pip.ignore_status().output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| line.starts_with("ERROR")).unwrap_or(said.trim());
    ensure!(output.status.success(), "pip could not install {}: {last}", words.join(" "));
    Ok(())
}

/// Creates the environment. On Windows, Python is called `python`, or the launcher `py` finds it.
fn make(sh: &Shell) -> Result<()> {
    let names: &[&str] = if cfg!(windows) { &["py", "python"] } else { &["python3", "python"] };
    let name = names.iter().copied().find(|name| {
        cmd!(sh, "{name} --version").quiet().ignore_stdout().ignore_stderr().run().is_ok()
    });
    let name = name.unwrap_or(names[0]);
    cmd!(sh, "{name} -m venv .venv").quiet().run().context(match cfg!(windows) {
        true => "creating .venv needs Python: `winget install Python.Python.3.12`",
        false => "creating .venv needs python3 with venv",
    })?;
    Ok(())
}

/// Returns the absolute path of `.venv`, because Windows does not start programs by relative paths.
pub(crate) fn folder(sh: &Shell) -> PathBuf {
    sh.current_dir().join(".venv")
}

/// Returns the path of one of the environment's programs, whether or not it exists.
pub(crate) fn program(sh: &Shell, name: &str) -> PathBuf {
    folder(sh).join(PROGRAMS).join(format!("{name}{EXE_SUFFIX}"))
}
