//! Collects the output of `printf`.

use std::fmt;

use crate::observer::{At, LaunchInfo, Observer};
use crate::place;

/// Collects the output of `printf`, in the order of blocks, and in program order for each thread.
#[derive(Debug, Clone)]
pub struct Prints {
    printed: Vec<Printed>,
    total: u64,
    limit: usize,
    launch: u64,
}

/// The output of one call of `printf` by one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Number of the launch, from 1.
    pub launch: u64,
    /// Block index in the grid.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// Line of the CUDA source, or 0 if the PTX has none.
    pub line: u32,
    /// The output, including line ends.
    pub text: String,
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.strip_suffix('\n').unwrap_or(&self.text);
        write!(f, "{}, {}: {text}", place::block(self.block), place::thread(self.thread))
    }
}

impl Default for Prints {
    fn default() -> Prints {
        Prints::first(1000)
    }
}

impl Prints {
    /// Creates an observer that keeps the first 1000 outputs, and only counts the others.
    pub fn new() -> Prints {
        Prints::default()
    }

    /// Creates an observer that keeps the first `limit` outputs, and only counts the others.
    pub fn first(limit: usize) -> Prints {
        Prints { printed: Vec::new(), total: 0, limit, launch: 0 }
    }

    /// Returns the outputs that were kept.
    pub fn printed(&self) -> &[Printed] {
        &self.printed
    }

    /// Returns the number of calls of `printf`, including those whose output was not kept.
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Observer for Prints {
    fn fork(&self) -> Self {
        Prints { launch: self.launch, ..Prints::first(self.limit) }
    }

    fn merge(&mut self, fork: Self) {
        let room = self.limit.saturating_sub(self.printed.len());
        self.printed.extend(fork.printed.into_iter().take(room));
        self.total += fork.total;
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        self.launch = launch.number;
    }

    fn print(&mut self, at: &At<'_>, lane: u32, text: &str) {
        self.total += 1;
        if self.printed.len() < self.limit {
            self.printed.push(Printed {
                launch: self.launch,
                block: at.block.id,
                thread: at.thread(lane),
                line: at.line(),
                text: text.to_string(),
            });
        }
    }
}
