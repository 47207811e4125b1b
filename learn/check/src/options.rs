//! The command-line options.

use std::path::PathBuf;

use clap::Parser;
use compiler::Kind;

/// Judges the kernel that you write for an exercise, and reports the first thing to fix.
///
/// The kernel of exercise 3 is in exercises/03-no-conflicts/kernel.cu; the book's page on v2 ends
/// with this exercise. No GPU is needed. You can do the exercises in any order.
#[derive(Parser, Debug)]
#[command(name = "check", bin_name = "cargo x check", version, term_width = 80)]
pub struct Options {
    /// The number of the exercise, from 1; by default, the first exercise that you have not passed
    #[arg(allow_negative_numbers = true)]
    pub number: Option<usize>,
    /// List all exercises and your progress
    #[arg(long)]
    pub list: bool,
    /// Check again whenever the file is saved
    #[arg(long, conflicts_with_all = ["list", "hint", "show"])]
    pub watch: bool,
    /// Show the task and its budgets
    #[arg(long, conflicts_with_all = ["list", "watch", "hint", "show"])]
    pub task: bool,
    /// Show a hint; each call shows the next one
    #[arg(long, conflicts_with_all = ["list", "show"])]
    pub hint: bool,
    /// Show a solution, after a confirmation
    #[arg(long, conflicts_with = "list")]
    pub show: bool,
    /// Judge this file instead of the exercise's own; a pass is not recorded
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// If the kernel passes, predict its time on this GPU, such as h200 (exercises 1 to 7)
    #[arg(long, value_name = "GPU", conflicts_with_all = ["list", "hint", "show", "task"])]
    pub predict: Option<String>,
    /// The seed that an earlier check printed, to repeat that check's random numbers and execution
    /// orders
    #[arg(long, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// nvrtc or clang; by default, NVRTC, or clang if there is no NVRTC
    #[arg(long)]
    pub compiler: Option<Kind>,
    /// Record your progress in this file instead of exercises/progress.txt
    #[arg(long, value_name = "FILE")]
    pub progress: Option<PathBuf>,
    /// Test the judge: check that it rejects every EVERY-th mutant of the solutions
    #[arg(long, value_name = "EVERY", num_args = 0..=1, default_missing_value = "1", value_parser = every, allow_negative_numbers = true)]
    pub mutants: Option<usize>,
}

fn every(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(every @ 1..) => Ok(every),
        _ => Err("give a whole number from 1, such as 100 for every 100th mutant".into()),
    }
}
