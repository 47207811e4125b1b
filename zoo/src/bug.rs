//! A broken sum: its kernel, and what a host has to know to launch it.

use simt::observe::Fault;

/// A kernel with one bug.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// What the bug is called.
    pub name: &'static str,
    /// The CUDA source: its head says what it claims, its last line what is wrong.
    pub source: &'static str,
    /// The PTX that was made from it.
    pub ptx: &'static str,
    /// Elements.
    pub n: u64,
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Where the sum is found.
    pub sums: Sums,
    /// What the host does with the output before a launch.
    pub before: Before,
    /// Whether it takes partial sums and tickets behind input, output and length.
    pub scratch: bool,
    /// The check that names the bug.
    pub fault: Fault,
    /// What stands in the line that is found.
    pub at: &'static str,
}

/// Where the sum is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// In the first element of the output.
    One,
    /// In the output, one for each block; the host adds them.
    OfBlocks,
}

/// What the host does with the output before a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// It makes every byte 0xff, so that a sum that is not stored is seen.
    Poison,
    /// It makes the sum zero, for blocks to add to.
    Zero,
    /// Nothing.
    Nothing,
}

/// From this length on every element is 1.
const LONG: u64 = 1 << 28;

impl Bug {
    /// What the kernel claims to do.
    pub fn claim(&self) -> &'static str {
        self.source.lines().next().and_then(|line| line.strip_prefix("// ")).unwrap_or_default()
    }

    /// What is wrong with it.
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

    /// The right sum.
    pub fn expected(&self) -> i32 {
        if self.is_long() {
            return self.n as i32; // It wraps, as the kernel's does.
        }
        (0..self.n).fold(0, |sum, i| sum.wrapping_add(self.element(i)))
    }

    /// Elements of the output, and of the partial sums.
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
