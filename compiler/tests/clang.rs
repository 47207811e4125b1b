//! Tests the lines, names and loops in clang's PTX, if a clang that can write PTX is installed.

use compiler::{Clang, Compiler, Error, Kind, Unit, woven};

fn clang() -> Option<Clang> {
    Clang::find("")
        .map_err(|unfit| eprintln!("skipped: no clang here can write PTX {unfit:?}"))
        .ok()
}

fn compiled(source: &str) -> Option<Result<String, Error>> {
    Some(clang()?.compile(&Unit::of_kernel(source, "Größe und Maß.cu", "float")))
}

/// A kernel that uses one name of each kind that is available without a header.
const NAMES: &str = r#"// Needs compute_90: votes, matches and sums of a warp.
__device__ float half(float a) { return a / 2; }
__device__ __noinline__ float twice(float a) { return a + a; }
extern "C" __global__ void __launch_bounds__(64) names(const uint4* in, unsigned long long* out, float* sum)
{
    extern __shared__ float shared[];
    __shared__ __align__(16) double aligned[4];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, mask = __activemask();
    uint4 word = in[i];
    shared[threadIdx.x] = twice(half(__uint_as_float(word.x)));
    aligned[threadIdx.x % 4] = __shfl_xor_sync(mask, 1.0 * i, 1);
    __syncthreads();
    __syncwarp();
    __threadfence();
    out[i] = __ballot_sync(mask, word.y > 3) + __popc(word.z) + min(word.w, 7u) + max(i, 3)
        + __match_any_sync(mask, i) + __reduce_add_sync(mask, i) + __clz(i) + __brev(i) + __funnelshift_l(i, i, 5)
        + __cvta_generic_to_shared(shared) + __shfl_down_sync(mask, out[i], 16, 32);
    atomicAdd(sum, fmaxf(shared[0], sqrtf(fabsf(aligned[0]))));
    aligned[0] = __hiloint2double(__double2loint(aligned[1]), __double2hiint(aligned[2]));
    aligned[3] = __dsub_rn(__dmul_rn(aligned[0], aligned[1]), __fadd_rn(shared[0], shared[1]));
    atomicInc((unsigned int*)out, gridDim.x - 1);
    atomicExch(out, 1ull);
    atomicCAS(out, 1ull, 2ull);
    if (i > 1000) printf("%u\n", i);
    assert(i < 2000);
}
"#;

#[test]
fn a_kernel_needs_no_header() {
    let Some(ptx) = compiled(NAMES) else { return };
    let ptx = ptx.unwrap_or_else(|error| panic!("{error}"));
    for part in [
        ".target sm_90",
        ".visible .entry names(",
        "shfl.sync.bfly.b32",
        "bar.warp.sync",
        "vote.sync.ballot.b32",
        "match.any.sync.b32",
        "redux.sync.add",
        ".add.f32",
        "mul.rn.f64",
        "sub.rn.f64",
        "add.rn.f32",
        "vprintf",
        "__assertfail",
    ] {
        assert!(ptx.contains(part), "{part} in:\n{ptx}");
    }
    // Only `__noinline__` functions are kept, and all lines are lines of the kernel.
    let functions = ptx.lines().filter(|line| line.contains(".func ") && !line.contains(".extern"));
    let kept: Vec<&str> = functions.filter(|line| !line.contains("twice")).collect();
    assert!(kept.is_empty(), "{kept:?}");
    let files: Vec<&str> = ptx.lines().filter(|l| l.trim_start().starts_with(".file")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].contains("\"kernel.cu\""), "{files:?}");
}

#[test]
fn messages_have_the_kernel_s_lines_and_its_name() {
    let Some(result) =
        compiled("// One.\n// Two.\nextern \"C\" __global__ void f() { nowhere(); }\n")
    else {
        return;
    };
    let Err(Error::Compile { log, .. }) = result else { panic!("{result:?}") };
    assert!(log.starts_with("Größe und Maß.cu:3:34: error:"), "{log}");
    let Some(Err(error)) = compiled("#include <cuda_fp16.h>\n") else { panic!("compiled") };
    assert!(error.to_string().contains("`cargo x nvrtc` installs NVRTC with CUDA's"), "{error}");
}

/// Returns a kernel in the form that compilers receive: with the included file inlined.
fn including(included: &str, kernel: &str) -> String {
    let source = format!("// Needs compute_70: why.\n#include \"tile.cuh\"\n{kernel}\n");
    woven(&source, "kernel.cu", |_| Some(included.to_owned())).unwrap()
}

#[test]
fn included_files_have_the_names_and_lines_that_nvrtc_gives_them() {
    let half = "// Of two.\n__device__ float half(float a) { return a / 2; }";
    let whole = including(half, "extern \"C\" __global__ void f(float* a) { *a = half(*a); }");
    let found = [Kind::Nvrtc, Kind::Clang].map(|kind| Compiler::find(Some(kind)));
    for compiler in found.into_iter().flatten() {
        let compiled = |source: &str| compiler.compile(&Unit::of_kernel(source, "my.cu", "float"));
        let ptx = compiled(&whole).unwrap_or_else(|error| panic!("{error}"));
        let words = |name: &str| -> Vec<String> {
            let lines = ptx.lines().filter(|line| line.trim_start().starts_with(name));
            lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(words(".file"), [".file 1 \"kernel.cu\"", ".file 2 \"tile.cuh\""], "{compiler}");
        // Inlined code is attributed to its caller's line in the kernel. Older versions of clang do
        // not write the caller (`@[`).
        let places = words(".loc");
        let own = |place: &String| {
            place.contains(".loc 1 3 ")
                || place.contains("inlined_at 1 3 ")
                || !place.contains("@[")
        };
        assert!(!places.is_empty() && places.iter().all(own), "{compiler}: {places:?}");
        let said = |included, kernel| match compiled(&including(included, kernel)) {
            Err(Error::Compile { log, .. }) => log,
            other => panic!("{compiler}: {other:?}"),
        };
        let log = said("const int a = 1;\nconst int b = nowhere;", "");
        assert!(log.starts_with("tile.cuh:2:") || log.starts_with("tile.cuh(2)"), "{log}");
        let log = said("const int a = 1;", "const int b = nowhere;");
        assert!(log.starts_with("my.cu:3:") || log.starts_with("my.cu(3)"), "{log}");
        assert!(!log.contains("/kernel.cu"), "{log}");
    }
}

#[test]
fn an_endless_loop_is_kept() {
    let source = "extern \"C\" __global__ void f(int* a) { for (unsigned i = 1; i != 0; i |= 1); *a = 1; }\n";
    let Some(ptx) = compiled(source) else { return };
    let ptx = ptx.unwrap_or_else(|error| panic!("{error}"));
    assert!(ptx.contains("bra"), "the loop is gone:\n{ptx}");
}
