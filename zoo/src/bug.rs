//! Describes a broken sum: its kernel and its launch parameters.

use simt::observe::Fault;

/// A kernel with one bug.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// The name of the bug.
    pub name: &'static str,
    /// The CUDA source: the first line states its purpose, and the last line states its fault.
    pub source: &'static str,
    /// The PTX that is compiled from the source.
    pub ptx: &'static str,
    /// The number of elements.
    pub n: u64,
    /// The number of blocks.
    pub blocks: u32,
    /// The number of threads in a block.
    pub threads: u32,
    /// The location of the sum.
    pub sums: Sums,
    /// How the host prepares the output before a launch.
    pub before: Before,
    /// Whether the kernel has parameters for partial sums and tickets after its input, output and
    /// length.
    pub scratch: bool,
    /// The check that finds the bug.
    pub fault: Fault,
    /// A part of the source line that the finding names.
    pub at: &'static str,
}

/// The location of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// The sum is in the first element of the output.
    One,
    /// The output has one partial sum per block, which the host adds.
    OfBlocks,
}

/// How the host prepares the output before a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The host sets every byte to 0xff, so that a missing store is visible.
    Poison,
    /// The host sets the sum to zero, and blocks add to it.
    Zero,
    /// The host does nothing.
    Nothing,
}

/// Inputs of at least this length consist of ones.
const LONG: u64 = 1 << 28;

impl Bug {
    /// Returns the kernel's claim.
    pub fn claim(&self) -> &'static str {
        self.source.lines().next().and_then(|line| line.strip_prefix("// ")).unwrap_or_default()
    }

    /// Returns the kernel's fault.
    pub fn wrong(&self) -> &'static str {
        self.source
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("// Wrong: "))
            .unwrap_or_default()
    }

    /// Returns an element of the input.
    pub fn element(&self, i: u64) -> i32 {
        if self.is_long() { 1 } else { (i % 7) as i32 + 1 }
    }

    /// Returns whether the input is long enough to consist of ones.
    pub fn is_long(&self) -> bool {
        self.n >= LONG
    }

    /// Returns the correct sum.
    pub fn expected(&self) -> i32 {
        if self.is_long() {
            return self.n as i32; // The sum wraps on overflow, as in the kernel.
        }
        (0..self.n).fold(0, |sum, i| sum.wrapping_add(self.element(i)))
    }

    /// Returns the number of elements in the output, and in the partial sums.
    pub fn outputs(&self) -> u32 {
        match self.sums {
            Sums::One => 1,
            Sums::OfBlocks => self.blocks,
        }
    }

    /// Returns the sum that a launch left in the output.
    pub fn sum(&self, output: &[u8]) -> i32 {
        let words = output.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]);
        words.fold(0, |sum, word| sum.wrapping_add(i32::from_le_bytes(word)))
    }
}
