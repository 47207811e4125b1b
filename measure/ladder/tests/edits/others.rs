//! Edits to other steps and to studies. Each edit has the name of the step.

use crate::edit::Edit;

const EVEN: &str = "2^13";
const ODD: &str = "2^13+13";

/// Edits to steps that keep state in global memory, so that the next run finds leftovers there.
pub(super) const LEFT: &[(&str, Edit)] = &[
    (
        "v9-single-pass",
        Edit {
            name: "22-ticket-not-reset",
            edits: &[("atomicInc(tickets, gridDim.x - 1)", "atomicAdd(tickets, 1)")],
            n: "2^16",
            code: 1,
            said: &[
                "wrong in its second run, although its first run looked right",
                "`tickets[0]` is 8 for the first atomic of launch 2, at line 52, but was 0 for that of launch 1: let the last block of a launch reset it",
            ],
        },
    ),
    (
        "v10-fixed-tree",
        Edit {
            name: "22-own-ticket-not-reset",
            edits: &[
                (
                    "struct alignas(16) Vector",
                    "__device__ unsigned int mine;\nstruct alignas(16) Vector",
                ),
                ("atomicInc(tickets, gridDim.x - 1)", "atomicAdd(&mine, 1)"),
            ],
            n: "2^16",
            code: 1,
            said: &[
                "`mine` is 32 for the first atomic of launch 2, at line 56, but was 0 for that of launch 1: let the last block of a launch reset it",
            ],
        },
    ),
    (
        "counter",
        Edit {
            name: "22-wrong-limit",
            edits: &[("\"r\"(gridDim.x - 1)", "\"r\"(gridDim.x)")],
            n: "2^18",
            code: 1,
            said: &[
                "`tickets[0]` is 64 for the first atomic of launch 2, at line 1",
                "but was 0 for that of launch 1",
                "its limit is 64, and `atomicInc` resets it only after 65 increments; use the limit gridDim.x - 1, which is 63",
            ],
        },
    ),
    (
        "v13-exact-sum",
        Edit {
            name: "22-digits-not-reset",
            edits: &[("atomicExch(digits + tid, 0)", "digits[tid]")],
            n: "2^16",
            code: 1,
            said: &[
                "for the first atomic of launch 2, at line ",
                "let the last block of a launch reset it to 0, for example with `atomicExch`",
            ],
        },
    ),
    (
        "v13-exact-sum",
        Edit {
            // The upper half of the last digit's word does not affect the sum.
            name: "22-last-digit-not-reset",
            edits: &[(
                "atomicExch(digits + tid, 0)",
                "atomicExch(digits + tid, (Digits)(tid == My::digits - 1) << 32)",
            )],
            n: "2^16",
            code: 1,
            said: &[
                "although its sums are right: `digits` was zero when it began but not when it ended",
                "`digits[9]` is 4294967296 for the first atomic of launch 2",
                "reset it to 0, for example with `atomicExch`",
            ],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "23-flag-not-taken-down",
            edits: &[("atomicAnd(slot + w, 0xffffffff)", "atomicAnd(slot + w, ~0ull)")],
            n: "2^16",
            code: 1,
            said: &["32 of 32 message flags are still set when it ends (the first is in slot 0)"],
        },
    ),
];

/// Edits that leave a register of a step or study uninitialized. Most edited kernel gives the right
/// sum if such registers happen to be 0.
pub(super) const UNSET: &[(&str, Edit)] = &[
    (
        "v10-fixed-tree",
        Edit {
            // The wrong branch causes races, which come later in the list.
            name: "26-condition-not-shared",
            edits: &[("    __shared__ bool last;", "    bool last;")],
            n: "2^16",
            code: 1,
            said: &["uses an uninitialized variable as a condition at line "],
        },
    ),
    (
        "v8-wide-loads",
        Edit {
            name: "27-sums-not-zeroed",
            edits: &[("Vector sums = {};", "Vector sums;")],
            n: EVEN,
            code: 1,
            said: UNINITIALIZED,
        },
    ),
    (
        "v8-wide-loads",
        Edit {
            name: "27-next-not-zeroed",
            edits: &[("Vector next[Loads] = {};", "Vector next[Loads];")],
            n: ODD,
            code: 1,
            said: UNINITIALIZED,
        },
    ),
    (
        "one-accumulator",
        Edit {
            name: "28-row-sums-not-zeroed",
            edits: &[("Element sums[Accumulators] = {};", "Element sums[Accumulators];")],
            n: EVEN,
            code: 1,
            said: UNINITIALIZED,
        },
    ),
    (
        "wide-row",
        Edit {
            // The compiler keeps the array in local memory, because of its run-time index.
            name: "29-matrix-sums-not-zeroed",
            edits: &[("Element sums[Entries] = {};", "Element sums[Entries];")],
            n: EVEN,
            code: 1,
            said: &[
                "of its local memory at line |an uninitialized variable at line ",
                "initialize the variable",
            ],
        },
    ),
];

const UNINITIALIZED: &[&str] =
    &["uninitialized variable", " at line ", "initialize the variable", "where it is declared"];

/// Edits to a step whose blocks add to the same words, so that another block may see the ticket before
/// the sums. If the atomics take effect at once, only some random orders show the second one.
pub(super) const FENCE: &[(&str, Edit)] = &[
    (
        "v13-exact-sum",
        Edit {
            name: "30-no-fence-before-the-ticket",
            edits: &[(
                "        __threadfence(); // This block's sums are visible before its ticket is taken.\n",
                "",
            )],
            n: "2^16",
            code: 1,
            said: &[
                "ran in the order adversarial:",
                "put a `__threadfence()` before that flag or ticket",
            ],
        },
    ),
    (
        "v13-exact-sum",
        Edit {
            name: "86-ticket-before-the-deposits",
            edits: &[
                ("    __syncthreads(); // All bins are empty.\n", ""),
                (
                    "        add(in, n, size, c);\n",
                    "        __syncthreads();\n        add(in, n, size, c);\n",
                ),
            ],
            n: "2^17",
            code: 1,
            said: &[
                "blocks and threads ran in the order adversarial:",
                "let no block use a value before",
            ],
        },
    ),
];

/// Edits that are right at the requested size, and wrong at another one or on another GPU.
pub(super) const ELSEWHERE: &[(&str, Edit)] = &[
    (
        "v8-wide-loads",
        Edit {
            name: "31-no-tail",
            edits: &[("blockIdx.x == 0 && tid < n % Width ? in[n - 1 - tid] : 0", "0")],
            n: EVEN,
            code: 1,
            said: &["in an extra run", "the sum of 1 f32", "to repeat this run, use `--n 1`"],
        },
    ),
    (
        "v7-grid-stride",
        Edit {
            name: "32-barrier-in-the-loop",
            edits: &[(
                "sum += in[i] + (i + Block < n ? in[i + Block] : 0);",
                "{ __syncthreads(); sum += in[i] + (i + Block < n ? in[i + Block] : 0); }",
            )],
            n: "1",
            code: 1,
            said: &[
                "1 thread waits at a block barrier on line 13 and 224 threads wait at a block barrier on line 18",
            ],
        },
    ),
    (
        "lanes-a-row",
        Edit {
            name: "33-no-empty-row",
            edits: &[("left > 0 || row == 0", "left > 0")],
            n: EVEN,
            code: 1,
            said: &["in an extra run", "to repeat this run, use `--n 0`"],
        },
    ),
    (
        "v12-bulk-copy",
        Edit {
            name: "34-no-barrier-before-a-refill",
            edits: &[(
                "        __syncthreads(); // All threads have added the previous stage, so it can be refilled.\n",
                "",
            )],
            n: "2^17",
            code: 1,
            said: &[
                "wrong on a longer input",
                "in an extra run of block 254 alone, on 16777229 elements, ",
            ],
        },
    ),
    (
        "v5-template-unroll",
        Edit {
            name: "35-barrier-in-a-condition",
            edits: &[(
                "if (tid < 128) shared[tid] += shared[tid + 128]; __syncthreads(); }",
                "if (tid < 128) { shared[tid] += shared[tid + 128]; __syncthreads(); } }",
            )],
            n: EVEN,
            code: 1,
            said: &["waits at another one at line 1", "CUDA C++ does not define this"],
        },
    ),
    (
        "counter",
        Edit {
            name: "36-no-warp-barrier",
            edits: &[("    __syncwarp();\n", "")],
            n: EVEN,
            code: 1,
            said: &[
                "another lane of the warp has acquired the value",
                "put a `__syncwarp()` before this access",
            ],
        },
    ),
    (
        "v12-bulk-copy",
        Edit {
            name: "37-wrong-parity",
            edits: &[("done / Stages % 2)", "1 - done / Stages % 2)")],
            n: "2^16",
            code: 1,
            // The compilers attribute the loop of waits to different lines.
            said: &[
                "512 threads wait at an mbarrier on line 3",
                "`full[0]` has completed 1 phase, and its current phase, which has the parity 1, lacks 1 of 1 arrival",
                "let the wait test the parity 0",
            ],
        },
    ),
    (
        "one-cluster",
        Edit {
            name: "38-too-few-bytes",
            edits: &[(
                "\"r\"(count * (unsigned int)sizeof(Element))",
                "\"r\"(4 * (unsigned int)sizeof(Element))",
            )],
            n: EVEN,
            code: 1,
            said: &["its mbarrier expects fewer bytes than the copies write"],
        },
    ),
];
