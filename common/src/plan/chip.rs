//! The limits of a device that plans use.

/// The limits of a device that plans size their launches by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// Multiprocessors.
    pub sms: u32,
    /// The maximum number of resident threads of a multiprocessor.
    pub threads: u32,
    /// The maximum number of resident blocks of a multiprocessor.
    pub blocks: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub shared: u32,
    /// The maximum shared memory of a block, in bytes.
    pub shared_block: u32,
    /// Blocks of the largest cluster; 1 without clusters.
    pub cluster: u32,
}

/// Bytes of shared memory that CUDA reserves in every block, since Ampere.
const RESERVED: u32 = 1 << 10;

impl Chip {
    /// The figures of an H200 or H100.
    pub const H200: Chip = Chip {
        sms: 132,
        threads: 2048,
        blocks: 32,
        shared: 228 << 10,
        shared_block: 227 << 10,
        cluster: 16,
    };

    /// Returns the number of resident blocks on a multiprocessor, for blocks of this many threads
    /// and bytes of shared memory; at least one. Registers are not considered.
    pub fn resident(&self, threads: u32, shared: u64) -> u32 {
        let by_shared = u64::from(self.shared) / (shared + u64::from(RESERVED));
        let by_shared = by_shared.try_into().unwrap_or(u32::MAX);
        (self.threads / threads).min(self.blocks).min(by_shared).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_blocks_or_shared_memory_limit_a_multiprocessor() {
        let ring = 96 << 10;
        assert_eq!(Chip::H200.resident(256, 32), 8);
        assert_eq!(Chip::H200.resident(512, ring), 2);
        // sm_86 and sm_120.
        let small = Chip {
            sms: 84,
            threads: 1536,
            blocks: 16,
            shared: 100 << 10,
            shared_block: 99 << 10,
            cluster: 1,
        };
        assert_eq!([64, 256, 512, 1024].map(|threads| small.resident(threads, 0)), [16, 6, 3, 1]);
        assert_eq!(small.resident(512, ring), 1);
        assert_eq!(small.resident(512, 200 << 10), 1);
    }
}
