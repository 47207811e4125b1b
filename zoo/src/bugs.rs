//! The nineteen bugs, and a kernel that is correct on today's GPUs.
#![allow(clippy::needless_update, reason = "some bugs set every field")]

use simt::observe::Fault;

use crate::bug::{Before, Bug, Sums};

/// Defines a bug by its name, with 10,007 elements, 256 threads per block and one sum per block,
/// unless stated otherwise.
macro_rules! bug {
    ($name:literal, $fault:ident at $at:literal $(, $field:ident: $value:expr)*) => {
        Bug {
            name: $name,
            source: include_str!(concat!("../kernels/", $name, ".cu")),
            ptx: include_str!(concat!("../kernels/", $name, ".i32.ptx")),
            fault: Fault::$fault,
            at: $at,
            $($field: $value,)*
            ..USUAL
        }
    };
}

const USUAL: Bug = Bug {
    name: "",
    source: "",
    ptx: "",
    n: 10_007,
    blocks: 40,
    threads: 256,
    sums: Sums::OfBlocks,
    before: Before::Poison,
    scratch: false,
    fault: Fault::DataRace,
    at: "",
};

/// The number of warps that the input fills, with 32 elements each.
const WARPS: u32 = 313;
/// The number of blocks of 1024 threads: one more than an H200 can hold, because each of its 132
/// multiprocessors has room for two.
const TOO_MANY: u32 = 265;
/// A length beyond 2^31, which needs a 64-bit index.
const BEYOND: u64 = (1 << 31) + 13;

/// Returns before a barrier. On sm_70 and newer, the barrier waits only for threads that have not
/// exited, so this kernel is less portable but has no bug.
pub static EARLY_RETURN: Bug = bug!("early-return", EarlyReturn at "__syncthreads();");

/// The bugs: first those in blocks, then those in warps, in memory and in grids.
pub static BUGS: [Bug; 19] = [
    bug!("missing-barrier", DataRace at "shared[tid] += shared[tid + s]"),
    bug!("plain-tail", DataRace at "shared[tid] += shared[tid + "),
    bug!("volatile-tail", UnorderedVolatile at "row[tid] += row[tid + "),
    bug!("reused-rows", DataRace at "rows[", blocks: 20),
    bug!("divergent-barrier", DivergentBarrier at "__syncthreads();"),
    bug!("shuffle-as-fence", DataRace at "shared[", blocks: WARPS, threads: 32),
    bug!("full-mask", BadLane at "__shfl_down_sync(0xffffffff", blocks: WARPS, threads: 32),
    bug!("active-mask", BadLane at "__shfl_down_sync(mask", threads: 32),
    bug!("uninitialised-shared", Uninitialized at "sum = rows[tid]"),
    bug!("out-of-bounds", OutOfBounds at "in[i + blockDim.x]", blocks: 20),
    bug!("misaligned-vector", Misaligned at "words[i]", blocks: 10),
    bug!("int-index", OutOfBounds at "sum = in[i]",
        n: BEYOND, blocks: (1 << 21) + 1, threads: 1024, sums: Sums::One, before: Before::Zero),
    bug!("output-not-zeroed", Uninitialized at "atomicAdd(out, shared[0])",
        sums: Sums::One, before: Before::Nothing),
    bug!("no-fence", DataRace at "partials[b",
        blocks: WARPS, threads: 32, sums: Sums::One, scratch: true),
    bug!("stale-load", StaleRead at "__ldg(partials + b)",
        blocks: WARPS, threads: 32, sums: Sums::One, scratch: true),
    bug!("ticket-not-reset", LeftBehind at "atomicAdd(tickets, 1)",
        blocks: WARPS, threads: 32, sums: Sums::One, scratch: true),
    bug!("grid-barrier", Deadlock at "while (atomicAdd(tickets, 0) < all)",
        n: TOO_MANY as u64 * 1024 - 3, blocks: TOO_MANY, threads: 1024, sums: Sums::One, scratch: true),
    bug!("unwaited-copy", DataRace at "shared[tid] += shared[tid + s]"),
    bug!("no-proxy-fence", ProxyFence at "asm volatile(COPY", blocks: 4, sums: Sums::One, before: Before::Zero),
];
