//! Steps of the ladder, represented as values.

use numbers::Element;

use super::{
    launch::Plan,
    problem::{Block, Problem},
};
use crate::{Error, Result, device::Address};

/// A kernel, and the way in which it is launched. A value of this type holds everything that
/// distinguishes one step from another.
#[derive(Debug)]
pub struct Step {
    /// The name of the crate, which is also the name of its folder, its page in the book and its
    /// rows in tables.
    pub name: &'static str,
    /// The advantage over the previous step.
    pub cures: &'static str,
    /// The remaining cost, which the next step removes.
    pub costs: &'static str,
    /// The kernel that the step launches.
    pub kernel: Kernel,
    /// The block sizes that the step supports.
    pub blocks: &'static [u32],
    /// The required alignment of the first element, in bytes; 1 if any address is allowed.
    pub aligned: u64,
    /// Whether the order of additions depends only on the length, so that the sum has the same bits
    /// for every block size, grid, device and order of execution.
    pub fixed_order: bool,
    /// Makes the plan for a problem.
    pub plan: fn(&Problem) -> Plan,
    /// Experiments that are kept in the repository. Each variant is the same step with another
    /// kernel, and is named after the change. A variant's `cures` states the result of the
    /// experiment.
    pub variants: &'static [Step],
}

impl Step {
    /// Returns the block size for the launch: `asked` if the step supports it, otherwise the step's
    /// default.
    pub fn block(&self, asked: Option<Block>) -> Block {
        let takes = |block: &Block| self.blocks.contains(&block.threads());
        let own = || Block::ALL.into_iter().find(takes).unwrap_or(Block::USUAL);
        asked.or(Some(Block::USUAL)).filter(takes).unwrap_or_else(own)
    }

    /// Returns the distinct block sizes that the step uses if several steps run with the requested
    /// sizes.
    pub fn distinct_blocks(&self, asked: &[Block]) -> Vec<Block> {
        let mut blocks = Vec::new();
        for block in asked.iter().map(|&block| self.block(Some(block))) {
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        blocks
    }

    /// Refuses an unsupported block size.
    pub fn check_block(&self, block: Block) -> Result<()> {
        if self.blocks.contains(&block.threads()) {
            return Ok(());
        }
        let own: Vec<String> = self.blocks.iter().map(u32::to_string).collect();
        Err(Error::Usage(format!(
            "{} does not run in blocks of {} threads, because its kernel and its tree are made for {}: omit `--threads`; the library `reduce` has no such limit",
            self.name,
            block.threads(),
            own.join(", ")
        )))
    }

    /// Rejects an unaligned address if the kernel needs an aligned address.
    pub fn check_alignment(&self, address: Address<'_>) -> Result<()> {
        let beside = address.misalignment(self.aligned);
        if beside == 0 {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "{} loads vectors of {} bytes, but the address of the first element is {} bytes above a multiple of that: omit `--offset`; the library `reduce` accepts any address",
            self.name, self.aligned, beside
        )))
    }
}

/// A study: several kernels that compute the same sum, compared with each other outside the ladder.
#[derive(Debug)]
pub struct Study {
    /// The crate's name.
    pub name: &'static str,
    /// The question that the study answers, in one line.
    pub about: &'static str,
    /// The sizes of interest, in the form that `--n` accepts.
    pub sizes: &'static str,
    /// The largest input of interest, in bytes. For larger inputs the kernels are correct but no
    /// longer competitive. 0 means no limit.
    pub up_to: u64,
    /// The kernels, in the order in which every table lists them.
    pub ways: &'static [&'static Step],
}

/// A source file, `kernel.cu`, and the PTX made from it.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The path of `kernel.cu` in the source tree that this program was built from.
    pub path: &'static str,
    /// The contents of `kernel.cu` when this program was built.
    pub source: &'static str,
    /// The files that the kernel includes, each with its name and its contents when this program
    /// was built.
    pub includes: &'static [(&'static str, &'static str)],
    /// The committed PTX, in the order of [`Element::ALL`].
    pub ptx: [&'static str; 3],
}

impl Kernel {
    /// Returns the committed PTX for an element type.
    pub fn ptx(&self, element: Element) -> &'static str {
        self.ptx[element as usize]
    }

    /// Returns the contents of a file that the kernel includes.
    pub fn included(&self, name: &str) -> Option<&'static str> {
        self.includes.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }
}

/// Creates the [`Kernel`] of the calling crate from `kernel.cu` and its PTX.
/// `kernel!("NAME")` uses `NAME.cu` instead. Further arguments name the included files.
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

/// On a page of the book, kernels are empty. The page provides the sources itself, so that its
/// interpreter does not change when a kernel does.
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
        fixed_order: false,
        plan: |_| Plan { launches: Vec::new(), scratch: Vec::new() },
        variants: &[],
    };

    fn block(threads: u32) -> Block {
        Block::new(threads).unwrap()
    }

    #[test]
    fn an_unsupported_block_size_becomes_the_default() {
        assert_eq!(STEP.block(None), block(512));
        assert_eq!(STEP.block(Some(block(64))), block(512));
        let any = Step { blocks: &[64, 128, 256, 512, 1024], ..STEP };
        assert_eq!(any.block(None), block(256));
        assert_eq!(any.block(Some(block(64))), block(64));
        assert_eq!(STEP.distinct_blocks(&Block::ALL), [block(512)]);
        assert_eq!(any.distinct_blocks(&Block::ALL), Block::ALL);
        assert_eq!(STEP.distinct_blocks(&[]), []);
    }

    #[test]
    fn unsupported_blocks_and_addresses_are_refused() {
        assert!(STEP.check_block(block(512)).is_ok());
        let said = STEP.check_block(block(256)).unwrap_err().to_string();
        assert!(said.contains("v99-fixed does not run in blocks of 256 threads"), "{said}");
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let memory = device.alloc("elements", 64).unwrap();
        assert!(STEP.check_alignment(memory.address().skip(16)).is_ok());
        let shifted = memory.address().skip(4);
        let said = STEP.check_alignment(shifted).unwrap_err().to_string();
        assert!(
            said.contains("vectors of 16 bytes") && said.contains("is 4 bytes above"),
            "{said}"
        );
        assert!(Step { aligned: 1, ..STEP }.check_alignment(shifted).is_ok());
    }

    #[test]
    fn an_included_file_has_a_name() {
        assert_eq!(STEP.kernel.included("a.cuh"), Some("a"));
        assert_eq!(STEP.kernel.included("b.cuh"), None);
    }
}
