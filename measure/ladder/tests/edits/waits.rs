//! Edits to waits, copies and fences, whose messages describe what is wrong with the operations
//! that are there. Each edit has the name of the step.

use crate::edit::Edit;

/// Edits to copies and to the waits for them.
pub(super) const COPIES: &[(&str, Edit)] = &[
    (
        "v12-bulk-copy",
        Edit {
            name: "40-no-barrier-before-a-refill",
            edits: &[
                ("PerStage = 4 * Block", "PerStage = Block"),
                (
                    "        __syncthreads(); // All threads have added the previous stage, so it can be refilled.\n",
                    "",
                ),
            ],
            n: "2^20",
            code: 1,
            said: &[
                "the checks found: thread 0 copies to ",
                "while thread 1 may read it at line 36",
                "the copy overwrites memory that another thread may not have read yet; put a `__syncthreads()` before the copy",
            ],
        },
    ),
    (
        "one-cluster",
        Edit {
            name: "41-wrong-parity",
            edits: &[(
                "acquire.cluster.shared::cta.b64 p, [%1], 0;",
                "acquire.cluster.shared::cta.b64 p, [%1], 1;",
            )],
            n: EVEN,
            code: 1,
            said: &["tests the parity 1, and passes at once", "test the parity 0"],
        },
    ),
    (
        "one-cluster",
        Edit {
            name: "42-relaxed-wait",
            edits: &[("parity.acquire.cluster", "parity.relaxed.cluster")],
            n: EVEN,
            code: 1,
            said: &["the wait for the copy is relaxed (`.relaxed`)"],
        },
    ),
    (
        "v12-bulk-copy",
        Edit {
            name: "43-copy-too-large",
            edits: &[("min(end - from, PerStage) * 16", "min(end - from, PerStage) * 32")],
            n: "2^16",
            code: 1,
            said: &[
                "a copy of 16384 bytes from byte 253952 of `in` ends 8192 bytes beyond the buffer, which has 262144 bytes",
            ],
        },
    ),
    (
        "v12-bulk-copy",
        Edit {
            name: "44-copy-over-stores",
            edits: &[(
                "    __syncthreads();\n    // Store: write the sum of each chunk",
                "    ring[threadIdx.x] = Vector();\n    __syncthreads();\n    // Store: write the sum of each chunk",
            )],
            n: "2^16",
            code: 1,
            said: &["thread 0 starts a copy to `ring[0]` at line", "no proxy fence"],
        },
    ),
];

const EVEN: &str = "2^13";

const STORED: &str =
    "        __threadfence(); // This block's partial sum is visible before its ticket is taken.\n";
const SEEN: &str = "        __threadfence(); // The partial sums of all earlier tickets are visible from here on.\n";

/// Edits to the fences of the steps whose blocks take tickets.
pub(super) const FENCES: &[(&str, Edit)] = &[
    (
        "v9-single-pass",
        Edit {
            name: "45-another-thread-takes-the-ticket",
            edits: &[("if (threadIdx.x == 0) {", "if (threadIdx.x == 32) {")],
            n: "2^16",
            code: 1,
            said: &[
                "another thread executes the `__threadfence()` at line 51 and the atomic at line 52",
                "put a `__syncthreads()` between the store and the fence, or let the thread that stores execute all three",
            ],
        },
    ),
    (
        "v10-fixed-tree",
        Edit {
            name: "46-fence-after-the-ticket",
            edits: &[(STORED, "")],
            n: "2^16",
            code: 1,
            said: &[
                "no `__threadfence()` lies between the store and the atomic at line 54 (the one at line 55 follows the atomic); put one between them",
            ],
        },
    ),
    (
        "v10-fixed-tree",
        Edit {
            name: "47-no-fence-after-the-ticket",
            edits: &[(SEEN, "")],
            n: "2^16",
            code: 1,
            said: &[
                "no `__threadfence()` follows the atomic at line 55 (the one at line 54 precedes it)",
            ],
        },
    ),
    (
        "v9-single-pass",
        Edit {
            name: "48-fence-before-the-store",
            edits: &[
                (STORED, ""),
                ("        out[b] = sum;", "        __threadfence();\n        out[b] = sum;"),
            ],
            n: "2^16",
            code: 1,
            said: &["(the one at line 38 precedes the store)"],
        },
    ),
    (
        "v10-fixed-tree",
        Edit {
            name: "49-every-block-is-last",
            edits: &[("    if (!last) return;\n", "")],
            n: "2^16",
            code: 1,
            said: &["so this block does not know that the value is complete"],
        },
    ),
    (
        "mailbox",
        Edit {
            name: "50-volatile-mailbox",
            edits: &[
                (
                    "asm volatile(\"st.relaxed.gpu.global.u64 [%0], %1;\" :: \"l\"(slots + blockIdx.x",
                    "asm volatile(\"st.volatile.global.u64 [%0], %1;\" :: \"l\"(slots + blockIdx.x",
                ),
                ("ld.relaxed.gpu.global.u64", "ld.volatile.global.u64"),
            ],
            n: "2^18",
            code: 0,
            said: &["verified"],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "54-volatile-slots",
            edits: &[
                (
                    "atomicExch(slot + w, 1ull << 32 | message.word[w]);",
                    "((volatile unsigned long long*)slot)[w] = 1ull << 32 | message.word[w];",
                ),
                (
                    "do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);",
                    "do seen = ((volatile unsigned long long*)slot)[w]; while (seen >> 32 == 0);\n\
                     ((volatile unsigned long long*)slot)[w] = 0;",
                ),
            ],
            n: "2^16",
            code: 0,
            said: &["verified"],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "55-volatile-flags",
            edits: &[
                (
                    "atomicExch(slot + w, 1ull << 32 | message.word[w]);",
                    "{\nvolatile unsigned int* words = (volatile unsigned int*)(slot + w);\n\
                     words[0] = message.word[w];\nwords[1] = 1;\n}",
                ),
                (
                    "do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);",
                    "volatile unsigned int* words = (volatile unsigned int*)(slot + w);\n\
                     while (words[1] == 0);\nseen = words[0];\nwords[1] = 0;",
                ),
            ],
            n: "2^16",
            code: 1,
            said: &[
                ": thread 0 of block 31 reads (volatile) `slots[0]` at line 6",
                "while thread 0 of block 0 may still write it at line 49: `volatile` orders no accesses, and no `__threadfence()` lies between the store and the store to the flag at line 50",
            ],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "56-volatile-flags-without-acquire",
            edits: &[
                (
                    "atomicExch(slot + w, 1ull << 32 | message.word[w]);",
                    "{\nvolatile unsigned int* words = (volatile unsigned int*)(slot + w);\n\
                     words[0] = message.word[w];\n__threadfence();\nwords[1] = 1;\n}",
                ),
                (
                    "do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);",
                    "volatile unsigned int* words = (volatile unsigned int*)(slot + w);\n\
                     while (words[1] == 0);\nseen = words[0];\nwords[1] = 0;",
                ),
            ],
            n: "2^16",
            code: 1,
            said: &[
                ": thread 0 of block 31 reads (volatile) `slots[0]` at line 6",
                "while thread 0 of block 0 may still write it at line 49: `volatile` orders no accesses, and no `__threadfence()` follows the load of the flag at line 62",
            ],
        },
    ),
    (
        "v6-shuffle",
        Edit {
            name: "74-volatile-flags-with-fences",
            edits: FLAGGED,
            n: "2^16",
            code: 0,
            said: &["verified"],
        },
    ),
    (
        "v9-single-pass",
        Edit {
            name: "75-volatile-flags-of-blocks",
            edits: FLAGS,
            n: "2^16",
            code: 0,
            said: &["verified"],
        },
    ),
    (
        "v9-single-pass",
        Edit {
            name: "76-volatile-flags-without-acquire",
            edits: &[
                FLAGS[0],
                FLAGS[1],
                (
                    "        __threadfence(); // The partial sums of all",
                    "        // The partial sums of all",
                ),
            ],
            n: "2^16",
            code: 1,
            said: &["no `__threadfence()` follows the load of the flag"],
        },
    ),
    (
        "v5-template-unroll",
        Edit {
            name: "51-half-a-mask",
            edits: &[(
                "sum += shared[tid + 16]; __syncwarp(); shared[tid] = sum; __syncwarp();",
                "sum += shared[tid + 16]; __syncwarp(); shared[tid] = sum; __syncwarp(tid < 16 ? 0xffff : 0xffff0000);",
            )],
            n: EVEN,
            code: 1,
            said: &["the `__syncwarp()` at line 22 does not order lane", "omits lane"],
        },
    ),
    (
        "block-a-row",
        Edit {
            // The lanes from 8 on receive undefined values, which they do not use.
            name: "52-eight-lanes",
            edits: &[
                ("    if (tid >= 32) return;\n", "    if (tid >= Block / 32) return;\n"),
                ("tid < Block / 32 ? warps[tid] : 0", "warps[tid]"),
                (
                    "for (int s = Block / 64; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff,",
                    "for (int s = Block / 64; s > 0; s /= 2) sum += __shfl_down_sync(0xff,",
                ),
            ],
            n: EVEN,
            code: 0,
            said: &["verified"],
        },
    ),
    (
        "block-a-row",
        Edit {
            name: "53-eight-lanes-too-far",
            edits: &[
                ("    if (tid >= 32) return;\n", "    if (tid >= Block / 32) return;\n"),
                ("tid < Block / 32 ? warps[tid] : 0", "warps[tid]"),
                (
                    "for (int s = Block / 64; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff,",
                    "for (int s = Block / 32; s > 0; s /= 2) sum += __shfl_down_sync(0xff,",
                ),
            ],
            n: EVEN,
            code: 1,
            said: &["a value of the shuffle at line 24, but the source lane does not take part"],
        },
    ),
];

/// Each warp's sum passes to the first warp through a word and its flag.
const FLAGGED: &[(&str, &str)] = &[
    (
        "    if (tid % 32 == 0) shared[tid / 32] = sum;\n    __syncthreads();\n",
        "    __shared__ volatile unsigned int ready[32];\n    if (tid < 32) ready[tid] = tid >= Block / 32;\n    __syncthreads();\n    if (tid % 32 == 0) { shared[tid / 32] = sum; __threadfence_block(); ready[tid / 32] = 1; }\n",
    ),
    (
        "    if (tid < 32) {\n        sum = tid",
        "    if (tid < 32) {\n        while (!ready[tid]);\n        __threadfence_block();\n        sum = tid",
    ),
];

/// Each block sets its flag. The first block polls the flags, and clears them for the next launch.
const FLAGS: &[(&str, &str)] = &[
    (
        "// A call of add replaces",
        "__device__ volatile unsigned int flags[4096];\n// A call of add replaces",
    ),
    (
        "last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;",
        "flags[blockIdx.x] = 1;\nlast = blockIdx.x == 0;\n\
         if (last) for (int b = 0; b < gridDim.x; b++) { while (flags[b] == 0); flags[b] = 0; }",
    ),
];
