//! The twenty.

use simt::observe::Fault;

use crate::bug::{Before, Bug, Sums};

/// A kernel by its name; 10,007 elements, 256 a block, and a sum of each block, unless it says
/// otherwise.
macro_rules! bug {
    ($name:literal, $fault:ident at $at:literal $(, $field:ident: $value:expr)*) => {
        #[allow(clippy::needless_update, reason = "some say nothing else")]
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

/// Warps of 32 elements each.
const WARPS: u32 = 313;
/// Blocks of 1024 threads that are resident on an H200: two on each of 132 multiprocessors.
const RESIDENT: u32 = 264;
/// The first length that needs a 64-bit index, and some.
const BEYOND: u64 = (1 << 31) + 13;

/// The bugs: those of a block, those of a warp, those of memory, those of a grid.
pub static BUGS: [Bug; 20] = [
    bug!("missing-barrier", DataRace at "shared[tid] += shared[tid + s]"),
    bug!("plain-tail", DataRace at "shared[tid] += shared[tid + "),
    bug!("volatile-tail", UnorderedVolatile at "row[tid] += row[tid + "),
    bug!("reused-rows", DataRace at "rows[", blocks: 20),
    bug!("divergent-barrier", DivergentBarrier at "__syncthreads();"),
    bug!("early-return", DivergentBarrier at "__syncthreads();"),
    bug!("shuffle-as-fence", DataRace at "shared[", blocks: WARPS, threads: 32),
    bug!("full-mask", BadLane at "__shfl_down_sync(0xffffffff", blocks: WARPS, threads: 32),
    bug!("active-mask", BadLane at "__shfl_down_sync(mask", threads: 32),
    bug!("uninitialised-shared", Uninitialised at "sum = rows[tid]"),
    bug!("out-of-bounds", OutOfBounds at "in[i + blockDim.x]", blocks: 20),
    bug!("misaligned-vector", Misaligned at "words[i]", blocks: 10),
    bug!("int-index", OutOfBounds at "sum = in[i]",
        n: BEYOND, blocks: (1 << 21) + 1, threads: 1024, sums: Sums::One, before: Before::Zero),
    bug!("output-not-zeroed", Uninitialised at "atomicAdd(out, shared[0])",
        sums: Sums::One, before: Before::Nothing),
    bug!("no-fence", DataRace at "partials[b",
        blocks: WARPS, threads: 32, sums: Sums::One, scratch: true),
    bug!("stale-load", StaleRead at "__ldg(partials + b)",
        blocks: WARPS, threads: 32, sums: Sums::One, scratch: true),
    bug!("ticket-not-reset", LeftBehind at "atomicAdd(tickets, 1)",
        blocks: WARPS, threads: 32, sums: Sums::One, scratch: true),
    bug!("grid-barrier", Deadlock at "while (atomicAdd(tickets, 0) < all)",
        n: RESIDENT as u64 * 1024 - 3, blocks: RESIDENT, threads: 1024, sums: Sums::One, scratch: true),
    bug!("unwaited-copy", DataRace at "shared[tid] += shared[tid + s]"),
    bug!("no-proxy-fence", ProxyFence at "asm volatile(COPY", blocks: 4, sums: Sums::One, before: Before::Zero),
];
