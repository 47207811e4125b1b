//! Edits to the sum of one cluster, whose blocks access each other's shared memory.

use crate::edit::Edit;

/// The two halves of the barrier of the cluster, and the code that sends the sums.
const ARRIVE: &str =
    "    asm volatile(\"barrier.cluster.arrive.release.aligned;\" ::: \"memory\");\n";
const WAIT: &str = "    asm volatile(\"barrier.cluster.wait.acquire.aligned;\" ::: \"memory\");\n";
const SEND: &str = "    if (tid % 32 == 0) {\n";

/// The end of the code that adds the sums of the warps, which the edits below replace.
const ADD: &str = "    } while (!complete);\n    sum = 0;\n    for (unsigned int i = tid; i < count; i += 32) sum += sums[i];\n";
const ADDED: &str = "    } while (!complete);\n#endif\n    if (index > 0 || tid >= 32) return;\n    sum = 0;\n    for (unsigned int i = tid; i < count; i += 32) sum += sums[i];\n";
const FETCHED: &str =
    "    } while (!complete);\n#endif\n    if (index > 0 || tid >= 32) return;\n    sum = total;\n";

/// Every warp stores its sum in the first block, with a plain store.
macro_rules! stores {
    ($arrive:literal) => {
        concat!(
            "    if (tid % 32 == 0) {\n        unsigned int target;\n",
            "        asm(\"mapa.shared::cluster.u32 %0, %1, 0;\"\n",
            "            : \"=r\"(target) : \"r\"((unsigned int)__cvta_generic_to_shared(sums + index)));\n",
            "        asm volatile(\"st.shared::cluster.f32 [%0], %1;\" :: \"r\"(target), \"f\"((float)sum) : \"memory\");\n",
            "    }\n    asm volatile(\"",
            $arrive,
            "\" ::: \"memory\");\n    asm volatile(\"barrier.cluster.wait;\" ::: \"memory\");\n#if 0\n    {\n"
        )
    };
}

/// Every warp stores its sum in its own block, and the first block fetches the sums.
macro_rules! fetches {
    ($arrive:literal, $end:literal) => {
        concat!(
            "    if (tid % 32 == 0) sums[tid / 32] = sum;\n    asm volatile(\"",
            $arrive,
            "\" ::: \"memory\");\n    asm volatile(\"barrier.cluster.wait;\" ::: \"memory\");\n",
            "    Element total = 0;\n",
            "    if (index == 0) for (unsigned int i = tid; i < count; i += 32) {\n",
            "        unsigned int from;\n        float part;\n",
            "        asm(\"mapa.shared::cluster.u32 %0, %1, %2;\"\n",
            "            : \"=r\"(from) : \"r\"((unsigned int)__cvta_generic_to_shared(sums + i % Warps)), \"r\"(i / Warps));\n",
            "        asm volatile(\"ld.shared::cluster.f32 %0, [%1];\" : \"=f\"(part) : \"r\"(from) : \"memory\");\n",
            "        total += part;\n    }\n",
            $end,
            "#if 0\n    {\n"
        )
    };
}

const RELAXED: &str = "`.relaxed` on `barrier.cluster.arrive` orders no memory accesses; arrive with \
    `.release` (without `.relaxed`), or put a `fence.acq_rel.cluster` before it";

macro_rules! edit {
    ($name:literal, $code:literal, $edits:expr, $said:expr) => {
        Edit { name: $name, edits: $edits, n: "2^13", code: $code, said: $said }
    };
}

pub(super) const CLUSTER: &[Edit] = &[
    // The fence is sufficient, because the blocks write nothing else before they arrive.
    edit!(
        "39-relaxed-arrival",
        0,
        &[("arrive.release.aligned", "arrive.relaxed.aligned")],
        &["verified"]
    ),
    edit!(
        "40-relaxed-arrival-without-a-fence",
        1,
        &[
            ("arrive.release.aligned", "arrive.relaxed.aligned"),
            (
                "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n",
                "",
            ),
        ],
        &[
            "while thread 0 of block 0 may still write it at line 16",
            "execute `fence.mbarrier_init.release.cluster` after the initialization",
        ]
    ),
    edit!(
        "41-wait-after-the-stores",
        1,
        &[
            (WAIT, ""),
            ("    if (index > 0", "    asm(\"barrier.cluster.wait;\");\n    if (index > 0")
        ],
        &[
            "at line 31 while thread 0|at line 30 while thread 0",
            "use the mbarrier only after the `barrier.cluster.wait`"
        ]
    ),
    edit!(
        "42-stores-of-a-started-cluster",
        0,
        &[
            (WAIT, ""),
            (
                SEND,
                concat!(
                    "    asm(\"barrier.cluster.wait;\");\n",
                    stores!("barrier.cluster.arrive;")
                )
            ),
            (ADD, ADDED)
        ],
        &["verified"]
    ),
    edit!(
        "43-stores-before-the-blocks-have-started",
        1,
        &[(ARRIVE, ""), (WAIT, ""), (SEND, stores!("barrier.cluster.arrive;")), (ADD, ADDED)],
        &[
            "of block 0 at line 27, but that block may not have started",
            "call `cluster.sync()` (or `barrier.cluster.arrive` and `barrier.cluster.wait`) before the \
             first access to another block's shared memory",
        ]
    ),
    edit!(
        "44-stores-before-a-relaxed-arrival",
        1,
        &[
            (WAIT, ""),
            (
                SEND,
                concat!(
                    "    asm(\"barrier.cluster.wait;\");\n",
                    stores!("barrier.cluster.arrive.relaxed;")
                )
            ),
            (ADD, ADDED)
        ],
        &["reads `sums[1]` at line 57 while thread 32 may still write it at line 29", RELAXED]
    ),
    edit!(
        "45-blocks-that-wait-for-the-loads",
        0,
        &[
            (ARRIVE, ""),
            (WAIT, ""),
            (
                SEND,
                fetches!(
                    "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed;",
                    "    asm(\"barrier.cluster.arrive.relaxed; barrier.cluster.wait;\");\n"
                ),
            ),
            (ADD, FETCHED),
        ],
        &["verified"]
    ),
    edit!(
        "46-blocks-that-do-not-wait-for-the-loads",
        1,
        &[
            (ARRIVE, ""),
            (WAIT, ""),
            (SEND, fetches!("barrier.cluster.arrive;", "    asm(\"barrier.cluster.arrive;\");\n")),
            (ADD, FETCHED),
        ],
        &[
            "of block 1 at line 32, but that block may have ended",
            "after the last access to another block's shared memory, before the block ends",
        ]
    ),
    edit!(
        "47-loads-after-a-relaxed-arrival",
        1,
        &[
            (ARRIVE, ""),
            (WAIT, ""),
            (
                SEND,
                fetches!(
                    "barrier.cluster.arrive.relaxed;",
                    "    asm(\"barrier.cluster.arrive; barrier.cluster.wait;\");\n"
                ),
            ),
            (ADD, FETCHED),
        ],
        &["at line 32 while", RELAXED]
    ),
];
