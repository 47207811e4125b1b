//! The progress of a launch, for callers that wait for the launch, and for the time budget.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of blocks of the running launch, and the number of those that have ended. Another
/// thread may poll these numbers while [`Gpu::launch`](crate::Gpu::launch) runs.
#[derive(Debug, Default)]
pub struct Progress {
    launch: AtomicU64,
    blocks: AtomicU64,
    ended: AtomicU64,
}

impl Progress {
    /// Returns the number of the launch, from 1; 0 before the first launch.
    pub fn launch(&self) -> u64 {
        self.launch.load(Ordering::Relaxed)
    }

    /// Returns the number of blocks in the grid of the launch.
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Returns the number of blocks of the launch that have ended.
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self, launch: u64, blocks: u64) {
        self.ended.store(0, Ordering::Relaxed);
        self.blocks.store(blocks, Ordering::Relaxed);
        self.launch.store(launch, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn block_ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}
