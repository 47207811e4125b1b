//! A problem, which consists of the number and type of elements, the block size, and the device.

use std::str::FromStr;

use numbers::Element;

use super::chip::Chip;
use crate::{Error, Result};

/// A problem, which is the input to a step's plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The number of elements.
    pub n: u64,
    /// The number of threads in a block.
    pub block: Block,
    /// The element type.
    pub element: Element,
    /// The limits of the device, for steps that use these limits to size their launches.
    pub chip: Chip,
}

impl Problem {
    /// Returns the number of threads in a block, in the type that most formulas use.
    pub fn threads(&self) -> u64 {
        u64::from(self.block.threads())
    }
}

/// A block size that the kernels support: a power of two from 64 to 1024 threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block(u32);

impl Block {
    /// The default block size.
    pub const USUAL: Block = Block(256);

    /// All block sizes, in ascending order.
    pub const ALL: [Block; 5] = [Block(64), Block(128), Block(256), Block(512), Block(1024)];

    /// Creates a block size from a number of threads. Fails if the kernels do not support this
    /// size.
    pub fn new(threads: u32) -> Result<Block> {
        Block::ALL.into_iter().find(|b| b.0 == threads).ok_or_else(|| {
            Error::Usage(format!(
                "a block of {threads} threads cannot run these kernels, which halve the block \
                 down to one thread: use 64, 128, 256, 512 or 1024"
            ))
        })
    }

    /// Returns the number of threads.
    pub fn threads(self) -> u32 {
        self.0
    }

    /// Returns the number of rounds that reduce the block to one thread by repeated halving.
    pub fn rounds(self) -> u32 {
        self.0.ilog2()
    }
}

impl FromStr for Block {
    type Err = Error;

    fn from_str(text: &str) -> Result<Block> {
        let number = text.parse::<i64>().map_err(|_| format!("`{text}`"));
        match number.and_then(|n| u32::try_from(n).map_err(|_| n.to_string())) {
            Ok(threads) => Block::new(threads),
            Err(given) => Err(Error::Usage(format!(
                "{given} is not a number of threads: use 64, 128, 256, 512 or 1024"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_are_parsed_or_refused_with_the_reason() {
        assert_eq!("256".parse::<Block>().unwrap().threads(), 256);
        for (text, why) in [
            ("48", "a block of 48 threads"),
            ("-64", "-64 is not a number"),
            ("4294967360", "4294967360 is not a number"),
            ("abc", "`abc` is not a number"),
            ("", "`` is not a number"),
        ] {
            let message = text.parse::<Block>().unwrap_err().to_string();
            assert!(message.contains(why) && message.contains("64, 128"), "{message}");
        }
    }

    #[test]
    fn only_powers_of_two_from_64_to_1024_are_block_sizes() {
        for threads in [64, 128, 256, 512, 1024] {
            let block = Block::new(threads).unwrap();
            assert_eq!(1 << block.rounds(), threads);
        }
        for threads in [0, 1, 32, 48, 63, 65, 96, 192, 2048, u32::MAX] {
            assert!(Block::new(threads).is_err(), "{threads}");
        }
    }
}
