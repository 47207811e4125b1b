//! Tests edits that learners make to a kernel. For each edit, the output names a line and a remedy,
//! or the kernel is correct and verified.
//!
//! The edited kernels remain in target/tmp/edits, so that you can try them:
//!
//! ```text
//! cargo run -p v3-first-add -- --device simt --kernel target/tmp/edits/03-less-equal.cu
//! ```

use std::{fs, path::Path, process::Command, thread};

use assert_cmd::prelude::*;

/// An edit to a step (v3 by default).
struct Edit {
    /// The name of the file with the edited kernel.
    name: &'static str,
    /// The replacements, each of which must match once.
    edits: &'static [(&'static str, &'static str)],
    /// The number of elements.
    n: &'static str,
    /// The expected exit code: 0 verified, 1 wrong, 2 not run.
    code: i32,
    /// Texts that the output must contain. A text with `|` lists alternatives, because the outputs
    /// of NVRTC and clang differ.
    said: &'static [&'static str],
}

const LOAD: &str = "    shared[tid] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);\n    __syncthreads();\n";
const ADD: &str =
    "            shared[tid] += shared[tid + s];\n        }\n        __syncthreads();\n";
const STORE: &str = "        out[blockIdx.x] = shared[0];\n";
const EVEN: &str = "2^13";
const ODD: &str = "2^13+13";

const EDITS: &[Edit] = &[
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
        // The number of elements is just below 2^32, where 32-bit indices do not overflow.
        name: "06-index32",
        edits: &[(
            "unsigned long long i = (unsigned long long)blockIdx.x",
            "unsigned int i = blockIdx.x",
        )],
        n: ODD,
        code: 0,
        said: &["verified"],
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
            "declare the names that|clang is given no headers|`cargo x nvrtc` installs",
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
            "the sum is right, but the checks found errors",
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

/// Edits to steps that keep state in global memory, so that the next run finds leftovers there.
const LEFT: &[(&str, Edit)] = &[
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

/// Edits that leave a register of a step or study uninitialized. Each edited kernel gives the right
/// sum if such registers happen to be 0.
const UNSET: &[(&str, Edit)] = &[
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
                "of its local memory at line |stores an uninitialized variable at line ",
                "initialize the variable",
            ],
        },
    ),
];

const UNINITIALIZED: &[&str] =
    &["uninitialized variable", " at line ", "initialize the variable where it is declared"];

/// An edit to a step whose blocks add to the same words. Without the fence, another block may see
/// the ticket before the sums.
const FENCE: &[(&str, Edit)] = &[(
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
)];

/// A special value of `code`: the kernel is verified if CUDA's headers are installed; otherwise it
/// does not compile.
const HEADER: i32 = -1;

/// A special value of `code`: the kernel is rejected, or verified if the compiler removes the
/// rejected code. clang 19, for example, removes the allocation.
const REMOVED: i32 = -2;

#[test]
fn every_edit_gets_a_line_and_a_cure_or_is_rightly_verified() {
    let found = match compiler::Compiler::find(None) {
        Ok(found) => found,
        Err(missing) => return eprintln!("skipped: {missing}"),
    };
    // clang compiles an atomic whose result is unused to `atom`, which takes effect at once.
    let late = matches!(found, compiler::Compiler::Nvrtc(_));
    if !late {
        eprintln!("skipped: an edit that only NVRTC compiles to a late `red`");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("edits");
    fs::create_dir_all(&folder).unwrap();
    let v3 = EDITS.iter().map(|edit| ("v3-first-add", edit));
    let others = LEFT.iter().chain(UNSET).chain(FENCE.iter().filter(|_| late));
    let all: Vec<_> = v3.chain(others.map(|(name, edit)| (*name, edit))).collect();
    let named = |name: &str| ladder::steps_and_ways().find(|step| step.name == name).unwrap();
    let fault = |(name, edit): &(&str, &Edit)| tried(named(name), edit, &folder);
    // Two threads, because each program that they start uses about one core.
    let faults: Vec<String> = thread::scope(|scope| {
        let halves = all.chunks(all.len().div_ceil(2));
        let halves: Vec<_> = halves
            .map(|half| scope.spawn(|| half.iter().filter_map(fault).collect::<Vec<_>>()))
            .collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Returns the difference between the expected and the actual output, if there is a difference.
fn tried(step: &common::Step, edit: &Edit, folder: &Path) -> Option<String> {
    let source = step.kernel.source;
    let edited = edit.edits.iter().fold(source.to_owned(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{}: {from}", edit.name);
        text.replace(from, to)
    });
    let path = folder.join(format!("{}.cu", edit.name));
    fs::write(&path, edited).unwrap();
    let output = Command::cargo_bin("ladder")
        .unwrap()
        .args(["compare", step.name, "--device", "simt", "--n", edit.n])
        .arg(path)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    let said = common::testing::unwrapped(&said);
    let code = output.status.code();
    if edit.code == REMOVED && code == Some(0) && said.contains("verified") {
        return None;
    }
    let expected = if edit.code == REMOVED { 2 } else { edit.code };
    let ends = code == Some(expected) || edit.code == HEADER && matches!(code, Some(0 | 2));
    let says = |words: &&str| words.split('|').any(|word| said.contains(word));
    let missing = edit.said.iter().find(|words| !says(words));
    (!ends || missing.is_some() || said.contains("panicked"))
        .then(|| format!("{}: exit {code:?}, missing {missing:?} in:\n{said}", edit.name))
}
