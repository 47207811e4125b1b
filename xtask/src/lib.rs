//! The project's own tools, combined in one command: `cargo x`.

/// Prints a line. If standard output cannot be written to, returns an error instead of panicking.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($words)*)?
    }};
}

mod bundle;
mod ci;
mod compilers;
mod cupti;
pub mod diff;
pub mod kernels;
mod msrv;
mod nccl;
mod nvrtc;
mod peers;
pub mod programs;
mod ptx;
mod publish;
mod reduce_kernels;
mod root;
pub mod said;
mod sass;
mod spell;
mod task;
mod tidy;
mod venv;

pub use ci::Part;
pub use nvrtc::install as install_nvrtc;
pub use root::root;
pub use task::{Book, Task};

use std::process::ExitCode;

use anyhow::Result;
use xshell::Shell;

/// Runs a task.
///
/// # Errors
/// Returns the first error.
pub fn run(task: &Task) -> Result<ExitCode> {
    let sh = Shell::new()?;
    sh.change_dir(root());
    match task {
        Task::Ptx { check } => ptx::run(*check)?,
        Task::Nvrtc => {
            let library = install_nvrtc()?;
            say!("NVRTC {} is at {}", compiler::nvrtc::PINNED, library.path().display());
        }
        Task::Cupti => cupti::install(&sh)?,
        Task::Nccl => say!("NCCL is at {}", nccl::install(&sh)?.display()),
        Task::Tidy => tidy::run(&sh)?,
        Task::Diff { step } => diff::print(step)?,
        Task::Peers { arch, nvcc } => peers::run(&sh, arch, nvcc.as_deref())?,
        Task::Bundle => bundle::run(&sh)?,
        Task::Spell => spell::run(&sh)?,
        Task::Compilers { check } => compilers::run(&sh, *check, programs::Which::Default)?,
        Task::Sass { check } => sass::run(&sh, *check)?,
        Task::Results { .. } | Task::Wasm { .. } | Task::Book(_) => {
            return programs::run("weave", std::env::args_os().skip(1));
        }
        Task::Check { words } => return programs::run("check", words.iter().cloned()),
        Task::Package => publish::package::run(&sh)?,
        Task::Capi { check: true, .. } => publish::capi::check(&sh)?,
        Task::Capi { prefix, .. } => publish::capi::run(&sh, prefix)?,
        Task::Python { wheel: true } => publish::python::wheel(&sh)?,
        Task::Python { wheel: false } => publish::python::check(&sh)?,
        Task::Beside { only } => publish::beside::run(&sh, only.as_deref())?,
        Task::Ci { part, sweeps } => return ci::run(&sh, *part, *sweeps),
    }
    Ok(ExitCode::SUCCESS)
}
