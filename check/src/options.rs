//! What can be asked of the judge.

use std::path::PathBuf;

use clap::Parser;
use compiler::Kind;

/// You write the kernel, and are told the first thing that is to be mended.
///
/// The kernel of exercise 3 is in exercises/03-no-conflicts/kernel.cu, and the book's page on v2 ends
/// with it. No GPU is needed. Any exercise can be done in any order.
#[derive(Parser, Debug)]
#[command(name = "check", bin_name = "cargo x check", version, term_width = 80)]
pub struct Options {
    /// The exercise, from 1; without one, the first that is not passed yet
    pub number: Option<usize>,
    /// All exercises, and how far you are
    #[arg(long)]
    pub list: bool,
    /// Check again whenever the file is saved
    #[arg(long, conflicts_with_all = ["list", "hint", "show"])]
    pub watch: bool,
    /// What is asked, and what it may spend
    #[arg(long, conflicts_with_all = ["list", "watch", "hint", "show"])]
    pub task: bool,
    /// A hint; asked again, the next one
    #[arg(long, conflicts_with_all = ["list", "show"])]
    pub hint: bool,
    /// A solution, after a question
    #[arg(long, conflicts_with = "list")]
    pub show: bool,
    /// Another file than the exercise's own; that it passes is not kept
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// The numbers and orders of an earlier check, by the seed that it printed
    #[arg(long)]
    pub seed: Option<u64>,
    /// nvrtc or clang; without it NVRTC, or clang where there is no NVRTC
    #[arg(long)]
    pub compiler: Option<Kind>,
    /// Another file than exercises/progress.txt
    #[arg(long, value_name = "FILE")]
    pub progress: Option<PathBuf>,
    /// Judge the judge: break the solutions in every way, or in every so manieth, and see each rejected
    #[arg(long, value_name = "EVERY", num_args = 0..=1, default_missing_value = "1")]
    pub mutants: Option<usize>,
}
