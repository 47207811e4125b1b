//! The device limits that plans use.

/// The device limits that plans use to size their launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// The number of multiprocessors.
    pub sms: u32,
    /// The maximum number of resident threads on a multiprocessor.
    pub threads: u32,
    /// The maximum number of resident blocks on a multiprocessor.
    pub blocks: u32,
    /// The shared memory of a multiprocessor, in bytes.
    pub shared: u32,
    /// The maximum shared memory for a block, in bytes.
    pub shared_block: u32,
    /// The number of blocks in the largest cluster; 1 without clusters.
    pub cluster: u32,
}

/// The shared memory that CUDA has reserved in every block since Ampere, in bytes.
const RESERVED: u32 = 1 << 10;

impl Chip {
    /// The limits of an H200 or H100.
    pub const H200: Chip = Chip {
        sms: 132,
        threads: 2048,
        blocks: 32,
        shared: 228 << 10,
        shared_block: 227 << 10,
        cluster: 16,
    };

    /// Returns the number of blocks that can be resident on a multiprocessor, if each has `threads`
    /// threads and `shared` bytes of shared memory. The result is at least 1. Registers are not
    /// considered.
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
        // The limits of `sm_86` and `sm_120`.
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
