//! What `cargo x` is asked for. The weaver reads the same words.

use std::ffi::OsString;

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser};

/// The project's own tools.
#[derive(Parser, Debug)]
#[command(name = "cargo x", bin_name = "cargo x", version)]
pub enum Task {
    /// Compile every kernel.cu to the PTX beside it, with the pinned NVRTC
    Ptx {
        /// Write nothing; fail where the committed PTX is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Bring the pinned NVRTC from PyPI into .venv, so that an edited kernel can be compiled
    Nvrtc,
    /// Bring CUPTI from PyPI into .venv, so that `--counters` and `--profile` can ask a GPU
    Cupti,
    /// Judge a kernel of yours: `cargo x check 3`, --list, --watch, --hint, --show
    #[command(disable_help_flag = true)]
    Check {
        /// What is asked of the judge; `cargo x check --help` says it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Bring NCCL from PyPI into .venv, so that `many` can add over processes with a GPU each
    Nccl,
    /// Hold the tree against its own rules: parallel steps, small diffs, fresh PTX, no circles
    Tidy,
    /// Show what a step changes in its kernel: `cargo x diff 3` is v2 against v3
    Diff {
        /// The number of the step
        step: usize,
    },
    /// Compile peers/cub.cu with nvcc (PyPI's, or yours) to the library that `ladder measure` loads
    Peers {
        /// The architectures, as nvcc's -arch: all-major, native, sm_90
        #[arg(long, value_name = "ARCH", default_value = "all-major")]
        arch: String,
        /// An nvcc of your own, with the CUB of its toolkit
        #[arg(long, value_name = "FILE")]
        nvcc: Option<String>,
    },
    /// Render every table and plot from results/, between the markers of README.md and the book
    Results {
        /// Write nothing; fail where a page is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Gather stripped programs, benches and tests in dist/, for a GPU machine that has no Rust
    Bundle,
    /// Look for misspelt words, and for American ones, with codespell from PyPI
    Spell,
    /// Keep the machine code that ptxas from PyPI makes of every kernel, for the book
    Sass {
        /// Write nothing; fail where what is kept is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Keep what two compilers make of every kernel, counted, for the book
    Compilers {
        /// Write nothing; fail where what is kept is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Compile the interpreter to WebAssembly, for the figures of the book that a reader moves
    Wasm {
        /// Write nothing; fail where what is kept is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Build the book into book/book, and hold it against its rules
    Book(Book),
    /// Everything that CI runs: fmt, tidy, spell, clippy, tests, doc, ptx --check, book --check
    Ci,
}

/// Who asks for what, in the order of the help.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Learn", &["check", "nvrtc", "cupti", "diff", "book"]),
    ("Measure", &["bundle", "peers", "nccl", "results"]),
    ("Maintain", &["ptx", "tidy", "spell", "compilers", "sass", "wasm", "ci"]),
];

impl Task {
    /// Reads the command line; its help is in groups.
    pub fn asked() -> Task {
        let matches = grouped().get_matches();
        Task::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// The command line. clap knows groups of options, and none of commands, so they are written here.
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
    command
        .help_template(help + "\nOptions:\n{options}\n\n`cargo x help COMMAND` says more of one.")
}

/// A command and what it does, within 80 columns.
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

/// What can be asked of the book.
#[derive(Args, Debug, Default)]
pub struct Book {
    /// Open it in the browser
    #[arg(long)]
    pub open: bool,
    /// Serve it on this machine, and build it again when something changes
    #[arg(long)]
    pub serve: bool,
    /// Print faults and build on, with a mark where something is missing
    #[arg(long)]
    pub draft: bool,
    /// Run the book's commands, count and trace on the interpreter, and keep what comes out
    #[arg(long)]
    pub outputs: bool,
    /// Write nothing: run everything again, and fail where what is kept is not what comes out
    #[arg(long)]
    pub check: bool,
    /// Open every page in headless Chromium: errors, overflow, the steppers, the search
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
    fn the_help_is_in_three_groups_and_eighty_columns() {
        let help = grouped().render_help().to_string();
        let at = ["Learn:", "Measure:", "Maintain:", "Options:"].map(|group| help.find(group));
        assert!(at.is_sorted() && at[0].is_some(), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert!(help.contains("\n  diff       Show what a step changes"), "{help}");
    }
}
