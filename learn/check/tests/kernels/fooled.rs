//! Tests faults that other judges do not detect.
//!
//! * GPU-Puzzles#14 accepts a kernel without its barrier.
//! * mojo-gpu-puzzles#31 uses equal inputs, which hide a wrong index.
//! * leetgpu-challenges#134 tests no length below 4.
//! * tensara#5 has a tolerance.

use crate::said::{compiler, edited, reference, said};

/// Returns the kernel of an exercise with a different body.
fn body(text: &str) -> String {
    format!(
        "extern \"C\" __global__ void reduce(const Element* in, Element* out, unsigned long long n)\n{{\n{text}\n}}\n"
    )
}

/// Checks that the kernel is rejected with a message that contains these words.
#[track_caller]
fn rejected(number: usize, source: &str, words: &[&str]) {
    let Some(compiler) = compiler() else { return };
    for seed in [1, 2] {
        let (passed, text) = said(&compiler, number, source, seed);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!passed, "{text}");
        for word in words {
            assert!(text.contains(word), "`{word}` is not in: {text}");
        }
    }
}

const LOAD: &str = "    shared[tid] = i < n ? in[i] : 0;\n    __syncthreads();\n";

#[test]
fn without_its_first_barrier() {
    let source = edited(1, &[(LOAD, "    shared[tid] = i < n ? in[i] : 0;\n")]);
    rejected(1, &source, &["at line", "a `__syncthreads()` is missing between them"]);
}

#[test]
fn the_correct_sum_by_chance() {
    // On most GPUs, the lanes of the last warp run in lockstep, but nothing guarantees this.
    let source = reference(5).replace("__syncwarp(); ", "").replace(" __syncwarp();\n", "\n");
    rejected(5, &source, &["clean", "at line", "`__syncwarp()`"]);
}

#[test]
fn volatile_in_the_place_of_an_order() {
    let changes = [("if (tid < 32) {", "if (tid < 32) {\n        volatile Element* s = shared;")];
    let ordered = edited(5, &changes).replace("sum += shared[tid + ", "sum += s[tid + ");
    assert!(ordered.contains("sum += s[tid + "), "{ordered}");
    let Some(compiler) = compiler() else { return };
    let (passed, text) = said(&compiler, 5, &ordered, 1);
    assert!(passed, "{text}");
    let source = ordered.replace("__syncwarp();", "");
    rejected(5, &source, &["clean", "`volatile`", "orders no threads"]);
}

#[test]
fn equal_inputs_hide_a_wrong_index() {
    let source = edited(1, &[("i < n ? in[i] : 0", "i < n ? in[n - 1 - i] : 0")]);
    // With one block, the sum is correct, and only the order of its additions is wrong. With two
    // blocks, the sums are wrong.
    rejected(1, &source, &["n = 257 f32", "block 0, which has the elements 0 to 255"]);
    let source = edited(1, &[("i < n ? in[i] : 0", "i < n ? in[0] : 0")]);
    rejected(1, &source, &["n = 2 f32"]);
}

#[test]
fn nothing_below_four() {
    let source = edited(1, &[("i < n ? in[i] : 0", "n > 3 && i < n ? in[i] : 0")]);
    rejected(1, &source, &["n = 1 f32", "gave the sum 0 instead of"]);
}

#[test]
fn no_end() {
    let started = std::time::Instant::now();
    rejected(1, &body("    while (true) { if (in[0] == 12345) out[0] = 1; }"), &[]);
    rejected(1, &edited(1, &[("s *= 2", "s *= 1")]), &["budget exhausted", "line"]);
    rejected(1, &body("    for (;;) __syncthreads();"), &["budget exhausted at line 3"]);
    // The time limit includes six verdicts and the compilation for them, on a busy machine.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn the_expected_answer_for_one_seed() {
    let Some(compiler) = compiler() else { return };
    let (_, text) = said(&compiler, 1, &body("    if (threadIdx.x == 0) out[blockIdx.x] = 0;"), 1);
    let expected =
        text.split("instead of").nth(1).and_then(|t| t.split_whitespace().next()).unwrap();
    let expected = expected.trim_end_matches(':');
    let source = body(&format!(
        "    if (threadIdx.x == 0) out[blockIdx.x] = n == 0 ? 0 : (Element){expected};"
    ));
    // With this seed, the kernel is correct in its first launch, but not in the second one, whose
    // numbers are different.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (passed, text) = said(&compiler, 1, &source, 1);
    let text = words(&text);
    assert!(!passed && text.contains("n = 1 f32"), "{text}");
    assert!(
        text.contains("although the previous launch over the same memory was correct"),
        "{text}"
    );
    let (passed, text) = said(&compiler, 1, &source, 2);
    assert!(!passed && !words(&text).contains("though"), "{text}");
}

#[test]
fn its_input_overwritten() {
    let source = body(
        "    unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x;
    if (threadIdx.x != 0) return;
    Element* at = (Element*)in + first;
    for (unsigned int k = 1; k < blockDim.x && first + k < n; k++) at[0] += at[k];
    out[blockIdx.x] = first < n ? at[0] : 0;",
    );
    rejected(
        1,
        &source,
        &["n = 2 f32 in 1 block of 256 threads: the kernel changed its input, first at `in[0]`"],
    );
}

#[test]
fn one_thread_does_it_all() {
    let source = body(
        "    __shared__ Element shared[1024];
    unsigned int tid = threadIdx.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + tid;
    shared[tid] = i < n ? in[i] : 0;
    __syncthreads();
    if (tid == 0) {
        Element sum = 0;
        for (unsigned int k = 0; k < blockDim.x; k++) sum += shared[k];
        out[blockIdx.x] = sum;
    }",
    );
    rejected(1, &source, &["budget", "thread 0 of block 0 reads 257 values", "one after another"]);
}

#[test]
fn added_to_uninitialized_memory() {
    let source = body(
        "    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(out + blockIdx.x, i < n ? in[i] : 0);",
    )
    .replace("Element", "float");
    rejected(1, &source, &["which was never written"]);
}

#[test]
fn another_type_than_the_elements() {
    let source = edited(1, &[("i < n ? in[i] : 0", "i < n ? (int)in[i] : 0")]);
    rejected(1, &source, &["n = 1 f32"]);
    let source = edited(1, &[("i < n ? in[i] : 0", "i < n ? (float)in[i] : 0")]);
    rejected(1, &source, &["n = 1"]);
}

#[test]
fn the_place_of_another_block() {
    let source = edited(
        1,
        &[("out[blockIdx.x] = shared[0]", "out[gridDim.x - 1 - blockIdx.x] = shared[0]")],
    );
    rejected(1, &source, &["n = 257 f32", "block 0"]);
    let source = edited(1, &[("out[blockIdx.x] = shared[0]", "out[blockIdx.x + 1] = shared[0]")]);
    rejected(1, &source, &["out of bounds at line"]);
}

#[test]
fn cheap_at_the_measured_size_and_wrong_there() {
    let source = edited(
        2,
        &[(
            "    // Load:",
            "    if (n == 256) { if (tid == 0) out[blockIdx.x] = in[0]; return; }\n    // Load:",
        )],
    );
    rejected(2, &source, &["n = 256 f32", "that is element 0 alone"]);
}

#[test]
fn a_second_launch_finds_what_the_first_left() {
    let source = edited(9, &[("atomicInc(tickets, gridDim.x - 1)", "atomicAdd(tickets, 1)")]);
    rejected(9, &source, &["the kernel leaves `tickets[0]` at 1, and the next launch needs 0"]);
}

#[test]
fn an_index_of_thirty_two_bits() {
    let source =
        edited(1, &[("(unsigned long long)blockIdx.x * blockDim.x", "blockIdx.x * blockDim.x")]);
    rejected(1, &source, &["2^32+13", "if an index has 32 bits, it wraps"]);
}
