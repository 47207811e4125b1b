//! Computes how many blocks are resident on a multiprocessor.

use crate::{gpu::Gpu, trace::Blocks};

/// Returns the number of blocks that fit on a multiprocessor at the same time, and the number of
/// registers per thread. `registers` is the number that ptxas reported, if it is known; otherwise,
/// it is estimated as the number of 32-bit values that are live at the same time.
pub fn resident(gpu: &Gpu, blocks: &Blocks, registers: Option<u32>) -> (u32, u32) {
    let limits = gpu.limits;
    let registers =
        registers.unwrap_or(blocks.code.live).clamp(16, blocks.most_registers.unwrap_or(255));
    let warps = blocks.threads.div_ceil(32);
    // Registers are allocated to a warp in units of 256.
    let by_registers = limits.registers / (registers * 32).next_multiple_of(256) / warps;
    // CUDA reserves 1 KiB of shared memory for each block.
    let by_shared = limits.shared / (blocks.shared + 1024).next_multiple_of(128);
    let by_threads = limits.threads / (warps * 32);
    (by_registers.min(by_shared).min(by_threads).min(limits.blocks).max(1), registers)
}
