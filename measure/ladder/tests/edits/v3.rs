//! Edits to v3.

use crate::edit::{Edit, HEADER, REMOVED};

const LOAD: &str = "    shared[tid] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);\n    __syncthreads();\n";
const ADD: &str =
    "            shared[tid] += shared[tid + s];\n        }\n        __syncthreads();\n";
const STORE: &str = "        out[blockIdx.x] = shared[0];\n";
const EVEN: &str = "2^13";
const ODD: &str = "2^13+13";

pub(super) const EDITS: &[Edit] = &[
    Edit {
        name: "01-no-first-barrier",
        edits: &[(
            LOAD,
            "    shared[tid] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);\n",
        )],
        n: EVEN,
        code: 1,
        said: &[
            "writes `shared[",
            "at line 10 while",
            "a `__syncthreads()` is missing between them",
        ],
    },
    Edit {
        name: "02-no-loop-barrier",
        edits: &[(ADD, "            shared[tid] += shared[tid + s];\n        }\n")],
        n: EVEN,
        code: 1,
        said: &["at line 16 while", "a `__syncthreads()` is missing between them"],
    },
    Edit {
        name: "03-less-equal",
        edits: &[("(i < n ?", "(i <= n ?")],
        n: "1000",
        code: 1,
        said: &[
            "at line 10",
            "is beyond the end of its buffer",
            "check the index against the length",
        ],
    },
    Edit {
        name: "04-full-size",
        edits: &[("s = blockDim.x / 2", "s = blockDim.x")],
        n: EVEN,
        code: 1,
        said: &[
            "at line 16",
            "is outside of `shared`, which has 1024 bytes",
            "keep the index below",
        ],
    },
    Edit {
        name: "05-no-bounds",
        edits: &[(
            "(i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0)",
            "in[i] + in[i + blockDim.x]",
        )],
        n: ODD,
        code: 1,
        said: &["at line 10", "beyond the end of its buffer", "check the index against the length"],
    },
    Edit {
        name: "06-index32",
        edits: &[(
            "unsigned long long i = (unsigned long long)blockIdx.x",
            "unsigned int i = blockIdx.x",
        )],
        n: "2^17",
        code: 1,
        said: &[
            "wrong on a longer input, although its runs on 131072 elements were right",
            "if an index has 32 bits, it wraps at 2^32",
        ],
    },
    Edit {
        name: "07-early-return",
        edits: &[("    // Load:", "    if (i >= n) return;\n    // Load:")],
        n: ODD,
        code: 1,
        // On GPUs from sm_70 on, the early return itself is allowed, but the elements of the
        // threads that returned are never stored.
        said: &["reads `shared[", "which was never written"],
    },
    Edit {
        name: "08-typo",
        edits: &[(LOAD, "    shared[tid] = in[i] + in[i + blockDim.x];\n    __syncthread();\n")],
        n: EVEN,
        code: 2,
        said: &["08-typo.cu(11): error|08-typo.cu:11:", "__syncthread"],
    },
    Edit {
        name: "09-unknown-name",
        edits: &[(STORE, "        out[blockIdx.x] = share[0];\n")],
        n: EVEN,
        code: 2,
        said: &["09-unknown-name.cu(23): error|09-unknown-name.cu:23:", "share"],
    },
    Edit {
        name: "10-endless",
        edits: &[("s /= 2", "s /= 1")],
        n: EVEN,
        code: 1,
        said: &[
            "budget exhausted",
            "repeats lines 1",
            "does the condition of that loop ever change?",
        ],
    },
    Edit {
        name: "11-printf",
        edits: &[(
            STORE,
            "        out[blockIdx.x] = shared[0];\n        printf(\"block %d: %f\\n\", blockIdx.x, shared[0]);\n",
        )],
        n: EVEN,
        code: 0,
        said: &["verified"],
    },
    Edit {
        name: "12-float4",
        edits: &[(
            "(i < n ? in[i] : 0)",
            "(i < n / 4 ? ((const float4*)in)[i].x + ((const float4*)in)[i].y : 0)",
        )],
        n: ODD,
        code: 1,
        said: &[
            "block 0 of launch 1, which adds the elements 0 to 511",
            "which elements its threads load",
        ],
    },
    Edit {
        name: "13-atomic",
        edits: &[(STORE, "        atomicAdd(out, shared[0]);\n")],
        n: EVEN,
        code: 1,
        said: &[
            "`out[0]` at line 23, which was never written",
            "let the host or an earlier launch write it",
        ],
    },
    Edit {
        name: "14-shuffle-mask",
        edits: &[(
            "    // Reduce:",
            "    if (tid < 16) {\n        shared[tid] += __shfl_down_sync(0xffffffff, shared[tid], 16);\n    }\n    __syncthreads();\n    // Reduce:",
        )],
        n: EVEN,
        code: 1,
        said: &[
            "16 threads wait at a warp-wide operation on line 14",
            "put only the lanes that reach it in the mask",
        ],
    },
    Edit {
        // CUDA's headers are available if `cargo x nvrtc` has installed them.
        name: "15-include-groups",
        edits: &[
            ("extern \"C\"", "#include <cooperative_groups.h>\nextern \"C\""),
            (
                LOAD,
                "    shared[tid] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);\n    cooperative_groups::this_thread_block().sync();\n",
            ),
        ],
        n: ODD,
        code: HEADER,
        said: &["verified|`cargo x nvrtc` installs"],
    },
    Edit {
        name: "15-include-fp16",
        edits: &[
            ("extern \"C\"", "#include <cuda_fp16.h>\nextern \"C\""),
            (STORE, "        out[blockIdx.x] = shared[0] * __half2float(__float2half(1));\n"),
        ],
        n: ODD,
        code: HEADER,
        said: &["verified|`cargo x nvrtc` installs"],
    },
    Edit {
        name: "15-include-vector",
        edits: &[("extern \"C\"", "#include <vector>\nextern \"C\"")],
        n: ODD,
        code: 2,
        said: &[
            "15-include-vector.cu(3)|15-include-vector.cu:3:",
            "`assert` are built in|clang is given no headers|`cargo x nvrtc` installs",
        ],
    },
    Edit {
        name: "16-volatile-tail",
        edits: &[
            ("s > 0", "s > 32"),
            (
                "    // Store:",
                "    if (tid < 32) {\n        volatile Element* v = shared;\n        v[tid] += v[tid + 32];\n        v[tid] += v[tid + 16];\n        v[tid] += v[tid + 8];\n        v[tid] += v[tid + 4];\n        v[tid] += v[tid + 2];\n        v[tid] += v[tid + 1];\n    }\n    // Store:",
            ),
        ],
        n: EVEN,
        code: 1,
        said: &[
            "the sum is right, but the checks found",
            "a `__syncwarp()` is missing between them",
        ],
    },
    Edit {
        name: "17-64KiB",
        edits: &[("extern __shared__ Element shared[];", "__shared__ Element shared[16384];")],
        n: EVEN,
        code: 2,
        said: &["has 65536 bytes of static shared memory", "declare the array `extern __shared__`"],
    },
    Edit {
        name: "17-small-array",
        edits: &[("extern __shared__ Element shared[];", "__shared__ Element shared[64];")],
        n: EVEN,
        code: 1,
        said: &["at line 10", "`shared[64]` is outside of `shared`", "make the array larger"],
    },
    Edit {
        name: "18-renamed",
        edits: &[("void reduce(", "void total(")],
        n: EVEN,
        code: 2,
        said: &["has no entry point `reduce`", "it has `total`: call it `reduce`"],
    },
    Edit {
        name: "19-signature",
        edits: &[("unsigned long long n)", "unsigned int n, int extra)")],
        n: EVEN,
        code: 2,
        said: &["the host passes 3 arguments", "takes 4", "declare the host's parameters"],
    },
    Edit {
        name: "20-second-kernel",
        edits: &[(
            "// Every thread",
            "extern \"C\" __global__ void reduce(const Element* in, Element* out, unsigned long long n) {}\n// Every thread",
        )],
        n: EVEN,
        code: 2,
        said: &[
            "20-second-kernel.cu(4): error|20-second-kernel.cu:4:",
            "already been defined|redefinition",
        ],
    },
    Edit {
        // A kernel with another name is never launched.
        name: "20-second-other",
        edits: &[(
            "// Every thread",
            "extern \"C\" __global__ void again(const Element* in, Element* out, unsigned long long n) {}\n// Every thread",
        )],
        n: EVEN,
        code: 0,
        said: &["verified"],
    },
    Edit {
        name: "21-double",
        edits: &[("extern __shared__ Element shared[]", "extern __shared__ double shared[]")],
        n: EVEN,
        code: 1,
        said: &[
            "at line 10",
            "`shared[128]` is outside of `shared`, which has 1024 bytes, 128 elements of 8",
        ],
    },
    Edit {
        name: "22-no-extern-c",
        edits: &[("extern \"C\" __global__", "__global__")],
        n: EVEN,
        code: 2,
        said: &["is the mangled name of `reduce`", "write `extern \"C\"` before"],
    },
    Edit {
        name: "23-one-element-dropped",
        edits: &[("(i < n ?", "(i < n && i != 600 ?")],
        n: ODD,
        code: 1,
        said: &["block 1 of launch 1, which adds the elements 512 to 1023"],
    },
    Edit {
        name: "24-block-without-a-store",
        edits: &[("if (tid == 0)", "if (tid == 0 && blockIdx.x != 0)")],
        n: ODD,
        code: 1,
        said: &[
            "block 0 of launch 1, which adds the elements 0 to 511, never wrote its partial sum",
        ],
    },
    Edit {
        name: "25-assert",
        edits: &[("    // Store:", "    assert(shared[0] < 0);\n    // Store:")],
        n: EVEN,
        code: 1,
        said: &["at line 21", "`shared[0] < 0` does not hold"],
    },
    Edit {
        name: "26-malloc",
        edits: &[(
            STORE,
            "        Element* a = (Element*)malloc(4);\n        *a = shared[0];\n        out[blockIdx.x] = *a;\n",
        )],
        n: EVEN,
        code: REMOVED,
        said: &[
            "the call to `malloc` at source line 23|undeclared identifier 'malloc'",
            "give the kernel a buffer of the host|malloc",
        ],
    },
];
