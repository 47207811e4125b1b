//! Edits that are wrong only at certain lengths, values, addresses or orders, so that only extra
//! runs find them. Each edit has the name of the step.

use crate::edit::Edit;

pub(super) const RARE: &[(&str, Edit)] = &[
    (
        "v6-shuffle",
        Edit {
            name: "80-place-of-few-bits",
            edits: &[("out[blockIdx.x] = sum", "out[blockIdx.x & 1023] = sum")],
            n: "2^17",
            code: 1,
            said: &["never wrote its partial sum: let it store there"],
        },
    ),
    (
        "v6-shuffle",
        Edit {
            name: "81-index-of-16-bits",
            edits: &[("(unsigned long long)blockIdx.x", "(unsigned short)blockIdx.x")],
            n: "2^17",
            code: 1,
            said: &["wrong on a longer input", "a narrower type earlier"],
        },
    ),
    (
        "v10-fixed-tree",
        Edit {
            name: "82-first-vector-of-32-bits",
            edits: &[("i = c * size + tid", "i = (unsigned int)(c * size * Width) / Width + tid")],
            n: "2^17",
            code: 1,
            said: &[
                "in an extra run of block 255 alone",
                "if an index has 32 bits, it wraps at 2^32",
            ],
        },
    ),
    (
        "v8-wide-loads",
        Edit {
            name: "83-a-vector-past-the-end",
            edits: &[("k * Block < n / Width)", "k * Block < n / Width + (k == 5))")],
            n: "2^17",
            code: 1,
            said: &["out of bounds", "to repeat this run, use `--n 5633`"],
        },
    ),
    (
        "shuffle-tail",
        Edit {
            name: "84-order-by-address",
            edits: &[(
                "for (unsigned long long i = tid; i < left; i += Block) sum += row[i];",
                "if ((unsigned long long)in & 64) for (long long i = left - 1 - tid; i >= 0; i -= Block) sum += row[i];\n\
                 else for (unsigned long long i = tid; i < left; i += Block) sum += row[i];",
            )],
            n: "2^17",
            code: 1,
            said: &["it promises the same bits for the same elements", "at another address"],
        },
    ),
    (
        "v7-grid-stride",
        Edit {
            name: "85-clamped-elements",
            edits: &[("sum += in[i] +", "sum += (in[i] < 1e30f ? in[i] : (Element)1e30f) +")],
            n: "2^17",
            code: 1,
            said: &["the elements were multiplied by 2^96"],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "87-flag-before-its-value",
            edits: &[
                (
                    "atomicExch(slot + w, 1ull << 32 | message.word[w]);",
                    "{ atomicExch((unsigned int*)(slot + w) + 1, 1); atomicExch((unsigned int*)(slot + w), message.word[w]); }",
                ),
                (
                    "        do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);\n",
                    "        while (atomicExch((unsigned int*)(slot + w) + 1, 0) == 0);\n        seen = atomicExch((unsigned int*)(slot + w), 0);\n",
                ),
            ],
            n: "2^17",
            code: 1,
            said: &["blocks and threads ran in the order adversarial:"],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "88-flag-without-a-release",
            edits: &[
                (
                    "atomicExch(slot + w, 1ull << 32 | message.word[w]);",
                    "{ atomicExch((unsigned int*)(slot + w), message.word[w]); atomicExch((unsigned int*)(slot + w) + 1, 1); }",
                ),
                (
                    "        do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);\n",
                    "        while (atomicExch((unsigned int*)(slot + w) + 1, 0) == 0);\n        seen = atomicExch((unsigned int*)(slot + w), 0);\n",
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
    (
        "v10-fixed-tree",
        Edit {
            name: "89-one-chunk-too-few",
            edits: &[(
                "threadIdx.x < chunks ? partials",
                "threadIdx.x < min(chunks, 255u) ? partials",
            )],
            n: "2^17",
            code: 1,
            said: &["partial sums 0 to 255", "`--n 2101248`"],
        },
    ),
    (
        "counter",
        Edit {
            name: "90-first-64-partial-sums",
            edits: &[("i < gridDim.x; i += 32", "i < min(gridDim.x, 64u); i += 32")],
            n: "2^17",
            code: 1,
            said: &["adds the partial sums 0 to 128", "`--n 2101248 --threads 64`"],
        },
    ),
    (
        "v8-wide-loads",
        Edit {
            name: "91-a-vector-of-floats",
            edits: &[
                ("{ Element data[16 / sizeof(Element)]; }", "{ float data[4]; }"),
                ("Width = 16 / sizeof(Element)", "Width = 4"),
            ],
            n: "2^17",
            code: 1,
            said: &["the elements were of type i32", "write `Element` instead"],
        },
    ),
    (
        "v8-wide-loads/dependent-launch",
        Edit {
            name: "92-no-wait-for-the-first-launch",
            edits: &[("    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n", "")],
            n: "2^17",
            code: 1,
            said: &[
                "which the previous launch writes",
                "let each thread execute `griddepcontrol.wait`",
            ],
        },
    ),
    (
        "counter",
        Edit {
            name: "93-own-partial-sum-first",
            edits: &[
                (
                    "    sum = 0;\n    for (unsigned int i",
                    "    if (threadIdx.x > 0) sum = 0;\n    for (unsigned int i",
                ),
                ("i += 32) sum +=", "i += 32) if (i != blockIdx.x) sum +="),
            ],
            n: "2^17",
            code: 1,
            said: &["it promises the same bits for the same elements", "adversarial:3"],
        },
    ),
    (
        "v9-single-pass/grid-barrier",
        Edit {
            name: "94-too-few-resident-blocks",
            edits: &[(
                "    __syncthreads();\n    if (threadIdx.x == 0) {\n        __threadfence(); // This",
                "    __shared__ volatile char log[40 << 10];\n    log[threadIdx.x] = 1;\n    __syncthreads();\n    if (threadIdx.x == 0) {\n        __threadfence(); // This",
            )],
            n: "2^17",
            code: 1,
            said: &["wait for blocks that are not resident", "`--n 16390 --gpu sm_70:1`"],
        },
    ),
    (
        "v9-single-pass",
        Edit {
            name: "95-ticket-of-8-bits",
            edits: &[
                (
                    "last = atomicInc(tickets, gridDim.x - 1)",
                    "last = (unsigned char)atomicInc(tickets, gridDim.x - 1)",
                ),
                ("== gridDim.x - 1; // The last", "== (unsigned char)(gridDim.x - 1); // The last"),
            ],
            n: "2^17",
            code: 1,
            said: &["in an extra run on 528384 elements"],
        },
    ),
    (
        "v3-first-add",
        Edit {
            name: "96-an-element-times-0",
            edits: &[(
                "(i < n ? in[i] : 0)",
                "(n > 0 ? in[i < n ? i : n - 1] * (Element)(i < n) : 0)",
            )],
            n: "2^17",
            code: 1,
            said: &["some elements were infinite"],
        },
    ),
    (
        "v12-bulk-copy",
        Edit {
            name: "97-first-vector-of-a-stage-in-32-bits",
            edits: &[("unsigned long long from = i", "unsigned int from = i")],
            n: "2^17",
            code: 1,
            said: &[
                "uses 32 bits of an integer that grows with n",
                "wraps before n is 2^35: make the variable `unsigned long long`",
            ],
        },
    ),
    (
        "v0-naive",
        Edit {
            name: "98-a-remainder-of-32-bits",
            edits: &[(
                "shared[tid] = i < n ? in[i] : 0;",
                "unsigned int left = n - (i - tid); shared[tid] = tid < left ? in[i] : 0;",
            )],
            n: "2^17",
            code: 1,
            said: &["of block 524288 alone", "if an index has 32 bits, it wraps at 2^32"],
        },
    ),
    (
        "v12-bulk-copy",
        Edit {
            name: "99-an-empty-stage",
            edits: &[("from < end)", "from <= end)")],
            n: "2^17",
            code: 1,
            said: &["deadlock", "`--n 262144 --gpu sm_90:1`"],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "100-the-flag-of-the-first-word",
            edits: &[("while (seen >> 32 == 0)", "while (w == 0 && seen >> 32 == 0)")],
            n: "2^17",
            code: 1,
            said: &["the elements were of type f64", "the order adversarial:"],
        },
    ),
    (
        "v10-fixed-tree",
        Edit {
            name: "101-a-warp-sum-times-0",
            edits: &[(
                "tid < Block / 32 ? shared[tid] : 0;",
                "shared[tid % (Block / 32)] * (tid < Block / 32);",
            )],
            n: "2^17",
            code: 1,
            said: &["is inf, but the kernel gave NaN", "infinity times 0"],
        },
    ),
    (
        "mailbox",
        Edit {
            name: "102-volatile-words",
            edits: &[
                (
                    "asm volatile(\"st.relaxed.gpu.global.u64 [%0], %1;\" :: \"l\"(slots + blockIdx.x * words + w),\n                         \"l\"(1ull << 32 | message.word[w]) : \"memory\");",
                    "((volatile unsigned long long*)slots)[blockIdx.x * words + w] = 1ull << 32 | message.word[w];",
                ),
                (
                    "unsigned long long *slot = slots + (unsigned long long)i * words + w, seen;",
                    "volatile unsigned long long* slot = slots + (unsigned long long)i * words + w; unsigned long long seen;",
                ),
                (
                    "do asm volatile(\"ld.relaxed.gpu.global.u64 %0, [%1];\" : \"=l\"(seen) : \"l\"(slot) : \"memory\");",
                    "do seen = *slot;",
                ),
                (
                    "asm volatile(\"st.relaxed.gpu.global.u64 [%0], %1;\"\n                         :: \"l\"(slot), \"l\"(seen & 0xffffffff) : \"memory\");",
                    "*slot = 0;",
                ),
            ],
            n: "2^17",
            code: 0,
            said: &["verified"],
        },
    ),
    (
        "v8-wide-loads/dependent-launch",
        Edit {
            name: "103-one-thread-waits",
            edits: &[(
                "    asm volatile(\"griddepcontrol.wait;\"",
                "    if (tid == 0) asm volatile(\"griddepcontrol.wait;\"",
            )],
            n: "2^17",
            code: 1,
            said: &["thread 1 of block 0 reads", "put a `__syncthreads()` between the wait"],
        },
    ),
    (
        "v7-grid-stride",
        Edit {
            name: "104-four-iterations-at-once",
            edits: &[(
                "    for (; i < n; i += stride)",
                "    for (; i + 3 * stride < n; i += 4 * stride) for (int k = 0; k < 4; k++) sum += in[i + k * stride] + in[i + k * stride + Block];\n    for (; i < n; i += stride)",
            )],
            n: "2^17",
            code: 1,
            said: &["out of bounds", "`--n 12388 --gpu sm_90:1`"],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "105-no-fence-after-the-flag",
            edits: &[
                (
                    "atomicExch(slot + w, 1ull << 32 | message.word[w]);",
                    "{ asm volatile(\"st.relaxed.gpu.u32 [%0], %1;\" :: \"l\"(slot + w), \"r\"(message.word[w]) : \"memory\"); __threadfence(); atomicExch((unsigned int*)(slot + w) + 1, 1); }",
                ),
                (
                    "        do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);\n        message.word[w] = (unsigned int)seen;\n",
                    "        while (atomicExch((unsigned int*)(slot + w) + 1, 0) == 0);\n        asm volatile(\"ld.relaxed.gpu.u32 %0, [%1];\" : \"=r\"(message.word[w]) : \"l\"(slot + w) : \"memory\");\n",
                ),
            ],
            n: "2^17",
            code: 1,
            said: &[
                "the relaxed load at line 57 returned an older value of `slots[",
                "put a `__threadfence()` between them",
            ],
        },
    ),
    (
        "v11-mailbox",
        Edit {
            name: "106-fence-after-the-flag",
            edits: &[
                (
                    "atomicExch(slot + w, 1ull << 32 | message.word[w]);",
                    "{ asm volatile(\"st.relaxed.gpu.u32 [%0], %1;\" :: \"l\"(slot + w), \"r\"(message.word[w]) : \"memory\"); __threadfence(); atomicExch((unsigned int*)(slot + w) + 1, 1); }",
                ),
                (
                    "        do seen = atomicAnd(slot + w, 0xffffffff); while (seen >> 32 == 0);\n        message.word[w] = (unsigned int)seen;\n",
                    "        while (atomicExch((unsigned int*)(slot + w) + 1, 0) == 0);\n        __threadfence();\n        asm volatile(\"ld.relaxed.gpu.u32 %0, [%1];\" : \"=r\"(message.word[w]) : \"l\"(slot + w) : \"memory\");\n",
                ),
            ],
            n: "2^17",
            code: 0,
            said: &["verified"],
        },
    ),
    (
        "counter",
        Edit {
            name: "107-no-acquire-by-the-ticket",
            edits: &[
                (
                    "partials[blockIdx.x] = sum;",
                    "for (int w = 0; w < sizeof(Element) / 4; w++) asm volatile(\"st.relaxed.gpu.u32 [%0], %1;\" :: \"l\"((unsigned int*)(partials + blockIdx.x) + w), \"r\"(((unsigned int*)&sum)[w]) : \"memory\");",
                ),
                ("(\"atom.acq_rel.gpu", "(\"fence.acq_rel.gpu; atom.relaxed.gpu"),
                (
                    "i += 32) sum += partials[i];",
                    "i += 32) { Element x; for (int w = 0; w < sizeof(Element) / 4; w++) asm volatile(\"ld.relaxed.gpu.u32 %0, [%1];\" : \"=r\"(((unsigned int*)&x)[w]) : \"l\"((unsigned int*)(partials + i) + w) : \"memory\"); sum += x; }",
                ),
            ],
            n: "2^17",
            code: 1,
            said: &[
                "the relaxed load at line 22 returned an older value of `partials[",
                "no fence or acquire orders the load after the flag or ticket",
            ],
        },
    ),
];
