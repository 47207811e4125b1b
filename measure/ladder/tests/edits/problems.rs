//! Edits whose kernels are right for the requested problem and wrong for another one, and kernels
//! that only look wrong for another problem.

use crate::edit::Edit;

const N: &str = "2^17";

pub(super) const PROBLEMS: &[(&str, Edit)] = &[
    (
        "v8-wide-loads",
        Edit {
            name: "60-stale-vectors",
            edits: &[
                (
                    "    #pragma unroll 1\n    for (; i",
                    "    Vector next[Loads] = {};\n    #pragma unroll 1\n    for (; i",
                ),
                ("        Vector next[Loads] = {};\n", ""),
            ],
            n: N,
            code: 1,
            said: &["in an extra run", "had one multiprocessor", "run the step with `--n 98310"],
        },
    ),
    (
        "v7-grid-stride",
        Edit {
            name: "61-one-tile",
            edits: &[("i += stride) sum", "i += gridDim.x == 1 ? n : stride) sum")],
            n: N,
            code: 1,
            said: &["in an extra run", "run the step with `--n 16390 --threads 64`"],
        },
    ),
    (
        "v6-shuffle",
        Edit {
            name: "62-input-overwritten",
            edits: &[(
                "    // Reduce: each",
                "    if (i + Block < n) ((Element*)in)[i] = sum;\n    // Reduce: each",
            )],
            n: N,
            code: 1,
            said: &[
                "store to read-only memory at",
                "`in[0]` is one of the elements that the launch adds",
            ],
        },
    ),
    (
        "v6-shuffle",
        Edit {
            name: "63-input-overwritten-atomically",
            edits: &[(
                "    // Reduce: each",
                "    if (i + Block < n) atomicExch((int*)in + i, 0);\n    // Reduce: each",
            )],
            n: N,
            code: 1,
            said: &["store to read-only memory at", "store the result elsewhere"],
        },
    ),
    (
        "v6-shuffle",
        Edit {
            name: "64-tile-from-a-counter",
            edits: &[
                (
                    "template <unsigned int Block>\n__device__ void reduce",
                    "__device__ unsigned int tickets;\n\ntemplate <unsigned int Block>\n__device__ void reduce",
                ),
                (
                    "    unsigned long long i = (unsigned long long)blockIdx.x",
                    "    __shared__ unsigned int b;\n    if (tid == 0) b = atomicInc(&tickets, gridDim.x - 1);\n    __syncthreads();\n    unsigned long long i = (unsigned long long)b",
                ),
                ("out[blockIdx.x] = sum", "out[b] = sum"),
            ],
            n: N,
            code: 0,
            said: &["verified"],
        },
    ),
    (
        "v9-single-pass",
        Edit {
            name: "65-counter-modulo-the-grid",
            edits: &[
                (
                    "// A call of add replaces",
                    "__device__ unsigned int counter;\n// A call of add replaces",
                ),
                (
                    "last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1",
                    "last = atomicAdd(&counter, 1) % gridDim.x == gridDim.x - 1",
                ),
            ],
            n: N,
            code: 1,
            said: &["a run leaves state that breaks a later run with another grid"],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "66-whole-slot-tested",
            edits: &[("while (seen >> 32 == 0)", "while (seen == 0)")],
            n: N,
            code: 1,
            said: &["for the first atomic of launch 2", "the order adversarial:"],
        },
    ),
    (
        "counter",
        Edit {
            name: "67-counter-zeroed-at-the-start",
            edits: &[(
                "    Element sum = ",
                "    if (blockIdx.x == 0 && threadIdx.x == 0) atomicExch(tickets, 0);\n    Element sum = ",
            )],
            n: N,
            code: 1,
            said: &[
                "was never written by any block",
                "let no block reset a flag or ticket that others may have changed",
            ],
        },
    ),
    (
        "banks-row",
        Edit {
            name: "68-narrow-index",
            edits: &[("(unsigned long long)blockIdx.x * block", "blockIdx.x * block")],
            n: N,
            code: 1,
            said: &["wrong on a longer input", "if an index has 32 bits, it wraps at 2^32"],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "69-sum-in-the-next-slot",
            edits: &[("publish(slots + c * Words", "publish(slots + (c + 1) % chunks * Words")],
            n: "2^16",
            code: 1,
            said: &[
                "block 0 of launch 1, which adds the elements 0 to 2047, should store ",
                " in slot 0, which holds ",
            ],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "70-value-cleared-instead-of-flag",
            edits: &[("atomicAnd(slot + w, 0xffffffff)", "atomicAnd(slot + w, ~0ull << 32)")],
            n: "2^16",
            code: 1,
            said: &[" in slot 0, which holds 0, so it was cleared or never written"],
        },
    ),
    (
        "v12-bulk-copy",
        Edit {
            name: "71-each-thread-copies",
            edits: &[("if (tid == 0 && from < end)", "if (from < end)")],
            n: "2^16",
            code: 1,
            said: &[
                "1 arrival at an mbarrier whose phase lacks only 0: let fewer threads arrive, or initialize the mbarrier with a larger count than 1",
            ],
        },
    ),
    (
        "v10-fixed-tree",
        Edit {
            name: "72-sum-of-another-type",
            edits: &[("*out = sum;", "*(double*)out = sum;")],
            n: "2^16",
            code: 1,
            said: &["access it with the type of its elements, which is smaller"],
        },
    ),
    (
        "v10-fixed-tree",
        Edit {
            name: "73-no-barrier-between-trees",
            edits: &[(
                "    __syncthreads(); // All threads have read the previous tree's values.\n",
                "",
            )],
            n: "2^20",
            code: 1,
            said: &[
                "a `__syncthreads()` is missing between line 34 and the next execution of line 31|a `__syncthreads()` is missing between line 35 and the next execution of line 32",
            ],
        },
    ),
];
