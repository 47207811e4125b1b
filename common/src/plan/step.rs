//! A step of the ladder, as a value.

use numbers::Element;

use super::{
    launch::Plan,
    problem::{Block, Problem},
};
use crate::{Error, Result, device::Address};

/// One kernel and how it is launched. What differs between two steps differs in this literal.
#[derive(Debug)]
pub struct Step {
    /// The crate's name: also its folder, its page in the book and its row in every table.
    pub name: &'static str,
    /// What this step does better than the one before.
    pub cures: &'static str,
    /// What it still costs: the next step.
    pub costs: &'static str,
    /// The kernel.
    pub kernel: Kernel,
    /// The block sizes that it can be launched with.
    pub blocks: &'static [u32],
    /// Bytes that the address of the first element is a multiple of; 1 where it may be anywhere.
    pub aligned: u64,
    /// The driver: from a problem to the launches that solve it.
    pub plan: fn(&Problem) -> Plan,
    /// Kept experiments: the same step with another kernel, each named by what it changes. What it
    /// `cures` is what it shows.
    pub variants: &'static [Step],
}

impl Step {
    /// The block size that it is launched with where another one is asked for that it does not take,
    /// or none at all.
    pub fn block(&self, asked: Option<Block>) -> Block {
        let takes = |block: &Block| self.blocks.contains(&block.threads());
        let own = || Block::ALL.into_iter().find(takes).unwrap_or(Block::USUAL);
        asked.or(Some(Block::USUAL)).filter(takes).unwrap_or_else(own)
    }

    /// The block sizes that it is launched with where these are asked of many steps: each once.
    pub fn among(&self, asked: &[Block]) -> Vec<Block> {
        let mut blocks = Vec::new();
        for block in asked.iter().map(|&block| self.block(Some(block))) {
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        blocks
    }

    /// Refuses a block size that the kernel is not made for.
    pub fn takes(&self, block: Block) -> Result<()> {
        if self.blocks.contains(&block.threads()) {
            return Ok(());
        }
        let own: Vec<String> = self.blocks.iter().map(u32::to_string).collect();
        Err(Error::Usage(format!(
            "{} does not run in blocks of {} threads, since its kernel and its tree are made for {}: leave `--threads` out; the library `reduce` has no such number",
            self.name,
            block.threads(),
            own.join(", ")
        )))
    }

    /// Refuses elements whose first one is at an address that the kernel cannot read.
    pub fn reads(&self, address: Address<'_>) -> Result<()> {
        let beside = address.beside(self.aligned);
        if beside == 0 {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "{} reads words of {} bytes, and the first element is {} bytes behind such a word: leave `--offset` out; the library `reduce` takes any",
            self.name, self.aligned, beside
        )))
    }
}

/// Several ways to one sum, beside the ladder: each is a step, and none is the next one's lesson.
#[derive(Debug)]
pub struct Study {
    /// The crate's name.
    pub name: &'static str,
    /// What it asks, in a line.
    pub about: &'static str,
    /// The sizes that it is about, as `--n` takes them.
    pub sizes: &'static str,
    /// Bytes of the largest input that it is about: above it its ways are right, and no longer what
    /// one would take. 0 where it is about all.
    pub up_to: u64,
    /// The ways, in the order of every table.
    pub ways: &'static [&'static Step],
}

/// `kernel.cu` and the PTX made from it.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Where `kernel.cu` is in the source tree that this program was built from.
    pub path: &'static str,
    /// Its text at build time.
    pub source: &'static str,
    /// The files beside it that it includes: their names, and their texts at build time.
    pub includes: &'static [(&'static str, &'static str)],
    /// The committed PTX, in the order of [`Element::ALL`].
    pub ptx: [&'static str; 3],
}

impl Kernel {
    /// The committed PTX for an element type.
    pub fn ptx(&self, element: Element) -> &'static str {
        self.ptx[element as usize]
    }

    /// The text of a file that it includes.
    pub fn included(&self, name: &str) -> Option<&'static str> {
        self.includes.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }
}

/// The `kernel.cu` of the crate that this is written in, and its PTX; or `kernel!("NAME")`, the one
/// that is called `NAME.cu`. Files that it includes are named behind it.
#[cfg(not(target_family = "wasm"))]
#[macro_export]
macro_rules! kernel {
    () => {
        $crate::kernel!("kernel")
    };
    ($name:literal $(, $include:literal)*) => {
        $crate::Kernel {
            path: concat!(env!("CARGO_MANIFEST_DIR"), "/src/", $name, ".cu"),
            source: include_str!(concat!($name, ".cu")),
            includes: &[$(($include, include_str!($include))),*],
            ptx: [
                include_str!(concat!($name, ".f32.ptx")),
                include_str!(concat!($name, ".i32.ptx")),
                include_str!(concat!($name, ".f64.ptx")),
            ],
        }
    };
}

/// In a page of the book, which brings the texts itself: so the interpreter there is the same
/// whatever a kernel says.
#[cfg(target_family = "wasm")]
#[macro_export]
macro_rules! kernel {
    ($($name:literal),*) => {
        $crate::Kernel { path: "", source: "", includes: &[], ptx: ["", "", ""] }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Choice, Device, Settings};

    const STEP: Step = Step {
        name: "v99-fixed",
        cures: "",
        costs: "",
        kernel: Kernel { path: "", source: "", includes: &[("a.cuh", "a")], ptx: ["", "", ""] },
        blocks: &[512],
        aligned: 16,
        plan: |_| Plan { launches: Vec::new(), scratch: Vec::new() },
        variants: &[],
    };

    fn block(threads: u32) -> Block {
        Block::new(threads).unwrap()
    }

    #[test]
    fn a_step_has_the_block_size_that_is_asked_for_or_its_own() {
        assert_eq!(STEP.block(None), block(512));
        assert_eq!(STEP.block(Some(block(64))), block(512));
        let any = Step { blocks: &[64, 128, 256, 512, 1024], ..STEP };
        assert_eq!(any.block(None), block(256));
        assert_eq!(any.block(Some(block(64))), block(64));
        assert_eq!(STEP.among(&Block::ALL), [block(512)]);
        assert_eq!(any.among(&Block::ALL), Block::ALL);
        assert_eq!(STEP.among(&[]), []);
    }

    #[test]
    fn what_a_step_does_not_take_is_a_sentence() {
        assert!(STEP.takes(block(512)).is_ok());
        let said = STEP.takes(block(256)).unwrap_err().to_string();
        assert!(said.contains("v99-fixed does not run in blocks of 256 threads"), "{said}");
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let memory = device.alloc("elements", 64).unwrap();
        assert!(STEP.reads(memory.address().behind(16)).is_ok());
        let shifted = memory.address().behind(4);
        let said = STEP.reads(shifted).unwrap_err().to_string();
        assert!(said.contains("words of 16 bytes") && said.contains("is 4 bytes behind"), "{said}");
        assert!(Step { aligned: 1, ..STEP }.reads(shifted).is_ok());
    }

    #[test]
    fn an_included_file_has_a_name() {
        assert_eq!(STEP.kernel.included("a.cuh"), Some("a"));
        assert_eq!(STEP.kernel.included("b.cuh"), None);
    }
}
