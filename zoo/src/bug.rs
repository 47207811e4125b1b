//! A broken sum: its kernel, and the parameters of its launch.

use simt::observe::Fault;

/// A kernel with one bug.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// The name of the bug.
    pub name: &'static str,
    /// The CUDA source: the first line states its purpose, the last line its fault.
    pub source: &'static str,
    /// The PTX compiled from it.
    pub ptx: &'static str,
    /// Number of elements.
    pub n: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Threads per block.
    pub threads: u32,
    /// The location of the sum.
    pub sums: Sums,
    /// How the host prepares the output before a launch.
    pub before: Before,
    /// Whether it has parameters for partial sums and tickets after input, output and length.
    pub scratch: bool,
    /// The check that finds the bug.
    pub fault: Fault,
    /// A part of the source line that the finding names.
    pub at: &'static str,
}

/// The location of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// In the first element of the output.
    One,
    /// One partial sum per block in the output; the host adds them.
    OfBlocks,
}

/// How the host prepares the output before a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Sets every byte to 0xff, so that a missing store is visible.
    Poison,
    /// Sets the sum to zero, and blocks add to it.
    Zero,
    /// Does nothing.
    Nothing,
}

/// From this length on, every element is 1.
const LONG: u64 = 1 << 28;

impl Bug {
    /// The kernel's claim.
    pub fn claim(&self) -> &'static str {
        self.source.lines().next().and_then(|line| line.strip_prefix("// ")).unwrap_or_default()
    }

    /// The kernel's fault.
    pub fn wrong(&self) -> &'static str {
        self.source
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("// Wrong: "))
            .unwrap_or_default()
    }

    /// An element of the input.
    pub fn element(&self, i: u64) -> i32 {
        if self.is_long() { 1 } else { (i % 7) as i32 + 1 }
    }

    /// Whether the input is long enough to be all ones.
    pub fn is_long(&self) -> bool {
        self.n >= LONG
    }

    /// The correct sum.
    pub fn expected(&self) -> i32 {
        if self.is_long() {
            return self.n as i32; // The sum wraps, like the kernel's.
        }
        (0..self.n).fold(0, |sum, i| sum.wrapping_add(self.element(i)))
    }

    /// Number of elements of the output and of the partial sums.
    pub fn outputs(&self) -> u32 {
        match self.sums {
            Sums::One => 1,
            Sums::OfBlocks => self.blocks,
        }
    }

    /// The sum that a launch left in the output.
    pub fn sum(&self, output: &[u8]) -> i32 {
        let words = output.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]);
        words.fold(0, |sum, word| sum.wrapping_add(i32::from_le_bytes(word)))
    }
}
