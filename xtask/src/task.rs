//! The command line of `cargo x`, which the weaver shares.

use std::{ffi::OsString, process::ExitCode};

use crate::ci::Part;
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser};

/// The project's own tools.
#[derive(Parser, Debug)]
#[command(name = "cargo x", bin_name = "cargo x", version)]
pub enum Task {
    /// Compile every kernel.cu to the PTX beside it, with the pinned NVRTC
    Ptx {
        /// Write nothing; fail if the committed PTX is stale
        #[arg(long)]
        check: bool,
    },
    /// Install the pinned NVRTC from PyPI into .venv, to compile edited kernels
    Nvrtc,
    /// Install CUPTI from PyPI into .venv, for `--counters` and `--profile` on a GPU
    Cupti,
    /// Judge your own kernel: `cargo x check 3`, --list, --watch, --hint, --show
    #[command(disable_help_flag = true)]
    Check {
        /// The arguments for the judge; see `cargo x check --help`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Install NCCL from PyPI into .venv, for `many` with a process for each GPU
    Nccl,
    /// Check the tree's rules: parallel steps, small diffs, fresh PTX, no import cycles
    Tidy,
    /// Show the changes that a step makes to its kernel: `cargo x diff 3` compares v2 with v3
    Diff {
        /// The step: 3, v3 or v3-first-add
        step: String,
    },
    /// Compile measure/ladder/peers/cub.cu with nvcc (from PyPI, or your own) to the library that
    /// `ladder measure` loads
    Peers {
        /// The architectures, as nvcc's -arch: all-major, native, sm_90
        #[arg(long, value_name = "ARCH", default_value = "all-major")]
        arch: String,
        /// The path of your own nvcc, whose toolkit's CUB is then used
        #[arg(long, value_name = "FILE")]
        nvcc: Option<String>,
    },
    /// Render every table and plot from results/, between the markers of README.md and the book
    Results {
        /// Write nothing; fail if a page is stale
        #[arg(long)]
        check: bool,
    },
    /// Collect stripped programs, benches and tests in dist/, for a GPU machine without Rust
    Bundle,
    /// Find misspelt words and American spelling, with codespell from PyPI
    Spell,
    /// Write the machine code of every kernel, with ptxas from PyPI, for the book
    Sass {
        /// Write nothing; fail if a committed file is stale
        #[arg(long)]
        check: bool,
    },
    /// Compare the counts of two compilers for every kernel, for the book
    Compilers {
        /// Write nothing; fail if a committed file is stale
        #[arg(long)]
        check: bool,
    },
    /// Compile the interpreter to WebAssembly, for the interactive figures of the book
    Wasm {
        /// Write nothing; fail if a committed file is stale
        #[arg(long)]
        check: bool,
    },
    /// Build the book into book/book, and check its rules
    Book(Book),
    /// Package samebits for crates.io, build the package, and check its pages and licences
    Package,
    /// Build samebits as a C library, with its header and a pkg-config file
    Capi {
        /// The folder for include/ and lib/
        #[arg(long, value_name = "FOLDER", default_value = "dist/capi")]
        prefix: std::path::PathBuf,
        /// Compile the examples against a debug build instead, and run those that need no GPU
        #[arg(long)]
        check: bool,
    },
    /// Install samebits for Python into .venv, and run its tests
    Python {
        /// Build the wheel into dist/ instead
        #[arg(long)]
        wheel: bool,
    },
    /// Build samebits in one program with candle, cubecl, cuda-core or DLPack; the toolkit is
    /// installed from PyPI
    Beside {
        /// The build: alone, version, dlpack, cubecl, cuda-core or candle
        only: Option<String>,
    },
    /// Run everything that CI runs, or one part of it
    Ci {
        /// The part: lint, test, worlds, generated, book, publish or foreign
        part: Option<Part>,
        /// Run the exhaustive tests instead: all blocks, orders of execution, GPUs and mutants
        #[arg(long, conflicts_with = "part")]
        sweeps: bool,
    },
}

/// The commands, grouped by purpose, in the order in which the help lists them.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Learn", &["check", "nvrtc", "cupti", "diff", "book"]),
    ("Measure", &["bundle", "peers", "nccl", "results"]),
    ("Publish", &["package", "capi", "python", "beside"]),
    ("Maintain", &["ptx", "tidy", "spell", "compilers", "sass", "wasm", "ci"]),
];

impl Task {
    /// Parses the command line. The help lists the commands in groups.
    ///
    /// # Errors
    /// Prints an error or the help, and returns the exit code.
    pub fn from_command_line() -> Result<Task, ExitCode> {
        let matches = grouped().try_get_matches();
        matches
            .and_then(|matches| Task::from_arg_matches(&matches))
            .map_err(|error| crate::said::refused(&error))
    }
}

/// Returns the command line. clap can group options but not commands, so this function formats the
/// commands.
fn grouped() -> Command {
    let command = Task::command().term_width(80);
    let mut help = String::from("{about}\n\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        help += &format!("\n{group}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            help += &wrapped(name, &about);
        }
    }
    command.help_template(help + "\nOptions:\n{options}\n\n`cargo x help COMMAND` describes one.")
}

/// Formats a command and its description within 80 columns.
fn wrapped(name: &str, about: &str) -> String {
    let mut text = format!("  {name:<10}");
    let mut column = text.len();
    for word in about.split(' ') {
        if column + 1 + word.chars().count() > 80 {
            text += "\n            ";
            column = 12;
        }
        text += &format!(" {word}");
        column += 1 + word.chars().count();
    }
    text + "\n"
}

/// The options for the book.
#[derive(Args, Debug, Default)]
pub struct Book {
    /// Open the book in the browser
    #[arg(long)]
    pub open: bool,
    /// Serve the book on this machine, and rebuild it when something changes
    #[arg(long)]
    pub serve: bool,
    /// Print faults and continue, with a mark where something is missing
    #[arg(long)]
    pub draft: bool,
    /// Run the book's commands, counts and traces on the interpreter, and write the outputs
    #[arg(long)]
    pub outputs: bool,
    /// Write nothing: run everything again, and fail if a committed output is stale
    #[arg(long)]
    pub check: bool,
    /// Test every page in headless Chromium: errors, overflow, the steppers and the search
    #[arg(long)]
    pub test: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Task::command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        known.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn the_help_is_in_four_groups_and_eighty_columns() {
        let help = grouped().render_help().to_string();
        let at = ["Learn:", "Measure:", "Publish:", "Maintain:", "Options:"]
            .map(|group| help.find(group));
        assert!(at.is_sorted() && at[0].is_some(), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert!(help.contains("\n  diff       Show the changes that a step makes"), "{help}");
    }
}
