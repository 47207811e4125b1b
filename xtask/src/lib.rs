//! The project's own tools, behind one door: `cargo x`.

/// Prints a line. Where standard output cannot be written to, that is an error, and no panic.
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
mod library;
mod nccl;
mod nvrtc;
mod peers;
pub mod programs;
mod ptx;
mod root;
mod sass;
mod spell;
mod task;
mod tidy;
mod venv;

pub use nvrtc::bring;
pub use root::root;
pub use task::{Book, Task};

use std::process::ExitCode;

use anyhow::Result;
use xshell::Shell;

/// Does what is asked for.
///
/// # Errors
/// The first thing that went wrong, as a sentence.
pub fn run(task: &Task) -> Result<ExitCode> {
    let sh = Shell::new()?;
    sh.change_dir(root());
    match task {
        Task::Ptx { check } => ptx::run(*check)?,
        Task::Nvrtc => {
            let library = bring()?;
            say!("NVRTC {} is at {}", compiler::nvrtc::PINNED, library.path().display());
        }
        Task::Cupti => cupti::bring(&sh)?,
        Task::Nccl => say!("NCCL is at {}", nccl::bring(&sh)?.display()),
        Task::Tidy => tidy::run()?,
        Task::Diff { step } => diff::print(*step)?,
        Task::Peers { arch, nvcc } => peers::run(&sh, arch, nvcc.as_deref())?,
        Task::Bundle => bundle::run(&sh)?,
        Task::Spell => spell::run(&sh)?,
        Task::Compilers { check } => compilers::run(&sh, *check, programs::Which::Default)?,
        Task::Sass { check } => sass::run(&sh, *check)?,
        Task::Results { .. } | Task::Wasm { .. } | Task::Book(_) => {
            return programs::run("weave", std::env::args_os().skip(1));
        }
        Task::Check { words } => return programs::run("check", words.iter().cloned()),
        Task::Ci => return ci::run(&sh),
    }
    Ok(ExitCode::SUCCESS)
}
