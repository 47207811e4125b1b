//! What is to be summed, and with what.

use std::str::FromStr;

use numbers::Element;

use super::chip::Chip;
use crate::{Error, Result};

/// What is to be summed, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Elements to add.
    pub n: u64,
    /// Threads of a block.
    pub block: Block,
    /// Their type.
    pub element: Element,
    /// The device, for steps that size their launches by it.
    pub chip: Chip,
}

impl Problem {
    /// Threads of a block, as the factor in most formulas.
    pub fn threads(&self) -> u64 {
        u64::from(self.block.threads())
    }
}

/// A block size that the kernels take: a power of two from 64 to 1024 threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block(u32);

impl Block {
    /// The size where none is asked for.
    pub const USUAL: Block = Block(256);

    /// All block sizes.
    pub const ALL: [Block; 5] = [Block(64), Block(128), Block(256), Block(512), Block(1024)];

    /// Checks a number of threads.
    pub fn new(threads: u32) -> Result<Block> {
        Block::ALL.into_iter().find(|b| b.0 == threads).ok_or_else(|| {
            Error::Usage(format!(
                "a block of {threads} threads cannot run these kernels: they halve the block \
                 down to one thread, so it takes 64, 128, 256, 512 or 1024"
            ))
        })
    }

    /// Threads.
    pub fn threads(self) -> u32 {
        self.0
    }

    /// Rounds of halving from the block to one thread.
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
                "{given} is no number of threads: take 64, 128, 256, 512 or 1024"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_and_what_is_none_says_why() {
        assert_eq!("256".parse::<Block>().unwrap().threads(), 256);
        for (text, why) in [
            ("48", "a block of 48 threads"),
            ("-64", "-64 is no number"),
            ("4294967360", "4294967360 is no number"),
            ("abc", "`abc` is no number"),
            ("", "`` is no number"),
        ] {
            let message = text.parse::<Block>().unwrap_err().to_string();
            assert!(message.contains(why) && message.contains("64, 128"), "{message}");
        }
    }

    #[test]
    fn only_powers_of_two_from_64_to_1024_are_blocks() {
        for threads in [64, 128, 256, 512, 1024] {
            let block = Block::new(threads).unwrap();
            assert_eq!(1 << block.rounds(), threads);
        }
        for threads in [0, 1, 32, 48, 63, 65, 96, 192, 2048, u32::MAX] {
            assert!(Block::new(threads).is_err(), "{threads}");
        }
    }
}
