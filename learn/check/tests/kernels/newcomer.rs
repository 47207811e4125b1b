//! Tests the messages for a newcomer's mistakes: each budget has its own advice, and the message
//! names one of the reader's lines.

use crate::said::{compiler, edited, reference, said};

/// Checks that the kernel is rejected with a message that contains all of `words` and none of
/// `never`.
#[track_caller]
fn told(number: usize, edits: &[(&str, &str)], words: &[&str], never: &[&str]) {
    let Some(compiler) = compiler() else { return };
    let (passed, page) = said(&compiler, number, &edited(number, edits), 1);
    let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!passed, "{page}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in {page}");
    }
    for word in never {
        assert!(!text.contains(word), "`{word}` is in {page}");
    }
}

#[test]
fn a_thread_loads_consecutive_vectors() {
    let edits = [
        (
            "    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;",
            "    unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long share = (n / Width + threads - 1) / threads;",
        ),
        (
            "    for (; i < n / Width; i += stride) {\n        Vector vector = vectors[i];",
            "    for (unsigned long long w = i * share; w < (i + 1) * share && w < n / Width; w++) {\n        Vector vector = vectors[w];",
        ),
    ];
    told(
        8,
        &edits,
        &["global load sectors 8,193 of at most 4,099", "uses every byte of each sector"],
        &[],
    );
}

#[test]
fn a_thread_takes_two_neighbours_in_two_loads() {
    let edits = [
        ("* (2 * blockDim.x) + tid;", "* (2 * blockDim.x) + 2 * tid;"),
        ("i + blockDim.x < n ? in[i + blockDim.x]", "i + 1 < n ? in[i + 1]"),
    ];
    told(
        4,
        &edits,
        &["global load sectors 128 of at most 64", "every thread loads two of them"],
        &[],
    );
}

#[test]
fn a_second_barrier_in_each_round_gets_advice_on_barriers() {
    let edits = [(
        "        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
",
        "        Element sum = 0;
        if (tid < s) sum = shared[tid] + shared[tid + s];
        __syncthreads();
        if (tid < s) shared[tid] = sum;
        __syncthreads();
",
    )];
    told(
        3,
        &edits,
        &[
            "barriers 136 of at most 72",
            "on line 18",
            "A barrier counts once for every warp that reaches it",
        ],
        &["upper half", "on line 11", "on line 16"],
    );
}

#[test]
fn barriers_of_unused_rounds_still_wait() {
    let edits = [512, 256, 128, 64].map(|s| {
        let (from, to) = match s {
            512 => ("[tid + 512]; __syncthreads(); }", "[tid + 512]; } __syncthreads();"),
            256 => ("[tid + 256]; __syncthreads(); }", "[tid + 256]; } __syncthreads();"),
            128 => ("[tid + 128]; __syncthreads(); }", "[tid + 128]; } __syncthreads();"),
            _ => ("[tid +  64]; __syncthreads(); }", "[tid +  64]; } __syncthreads();"),
        };
        (from, to)
    });
    told(
        6,
        &edits,
        &["barriers 40 of at most 32", "on line 14", "omitted rounds, and rounds within"],
        &["on line 11", "template parameter"],
    );
}

#[test]
fn a_loop_over_block_dim_gets_advice_on_the_loop() {
    let edits = [
        (
            "    if (Block >= 1024) { if (tid < 512) shared[tid] += shared[tid + 512]; __syncthreads(); }\n",
            "",
        ),
        (
            "    if (Block >=  512) { if (tid < 256) shared[tid] += shared[tid + 256]; __syncthreads(); }\n",
            "",
        ),
        (
            "    if (Block >=  256) { if (tid < 128) shared[tid] += shared[tid + 128]; __syncthreads(); }\n",
            "",
        ),
        (
            "    if (Block >=  128) { if (tid <  64) shared[tid] += shared[tid +  64]; __syncthreads(); }\n",
            "    for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }\n",
        ),
    ];
    // The message contains the idea, and names a line of the loop.
    told(
        6,
        &edits,
        &["line 14 tests the block size at run time", "template parameter"],
        &["line 10 "],
    );
}

#[test]
fn one_thread_adds_what_the_warps_stored() {
    let edits = [(
        "    if (tid < 32) {
        sum = tid < Block / 32 ? shared[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    }
",
        "    if (tid == 0) {
        for (unsigned int w = 1; w < Block / 32; w++) sum += shared[w];
    }
",
    )];
    told(
        7,
        &edits,
        // The counts depend on the compiler: NVRTC loads four words at once, whereas clang loads
        // one at a time.
        &["shared accesses 1", "of at most 9", "of them are on line 17", "one per lane"],
        &[],
    );
}

#[test]
fn two_barriers_where_one_is_enough() {
    let edits =
        [("[tid / 32] = sum;\n    __sync", "[tid / 32] = sum;\n    __syncthreads();\n    __sync")];
    told(7, &edits, &["barriers 16 of at most 8"], &["upper half"]);
    told(8, &edits, &["barriers 64 of at most 32"], &["The grid has"]);
}

#[test]
fn no_cure_names_the_launch_which_the_reader_cannot_change() {
    let edits = [("s = blockDim.x / 2;", "s = blockDim.x;")];
    told(3, &edits, &["keep the index below the length"], &["at the launch"]);
}

#[test]
fn every_block_adds_the_remaining_elements() {
    let edits = [("i < n % Width ? in[n - 1 - i] : 0", "tid < n % Width ? in[n - 1 - tid] : 0")];
    told(8, &edits, &["n = 1 f32 in 3 blocks", "as if element 0 were added 3 times"], &[]);
}

#[test]
fn a_message_says_how_many_blocks_of_how_many_threads() {
    let edits = [("i < n ? in[i] : 0", "in[i]")];
    told(1, &edits, &["n = 1 f32 in 1 block of 256 threads"], &[]);
    let edits = [("s < blockDim.x;", "s < blockDim.x / 2;")];
    told(1, &edits, &["n = 255 f32 in 1 block of 256 threads"], &[]);
    let edits = [("(unsigned long long)blockIdx.x * blockDim.x", "blockIdx.x * blockDim.x")];
    told(1, &edits, &["n = 2^32+13 f32 in 16,777,217 blocks of 256 threads"], &[]);
}

/// Returns whether a source passes, and the words of its verdict.
fn verdict(number: usize, source: &str) -> Option<(bool, String)> {
    let (passed, page) = said(&compiler()?, number, source, 1);
    Some((passed, page.split_whitespace().collect::<Vec<_>>().join(" ")))
}

#[test]
fn what_a_kernel_prints_is_shown_and_costs_nothing() {
    let prints = "        if (tid < 4) printf(\"tid %d\\n\", tid);\n";
    let at = "        sum += shared[tid + 32];";
    let source = edited(6, &[(at, &(prints.to_owned() + at))]);
    let Some((passed, text)) = verdict(6, &source) else { return };
    assert!(passed, "{text}");
    assert!(
        text.contains("printed for n = 2^10 f32") || text.contains("printed for n = "),
        "{text}"
    );
    assert!(text.contains("block 0, thread 3: tid 3"), "{text}");
}

#[test]
fn the_old_names_of_shuffles_lead_to_the_new_ones() {
    let source = reference(7).replace("__shfl_down_sync(0xffffffff, ", "__shfl_down(");
    let Some((passed, text)) = verdict(7, &source) else { return };
    assert!(
        !passed && text.contains("`__shfl_down_sync` replaced `__shfl_down` in CUDA 9"),
        "{text}"
    );
}

#[test]
fn a_type_that_is_not_the_elements_is_named() {
    let Some((_, text)) = verdict(1, &reference(1).replace("Element", "float")) else { return };
    assert!(text.contains("has the type `float`"), "{text}");
    let Some((_, text)) = verdict(1, &reference(1).replace("Element", "int")) else { return };
    assert!(text.contains("has the type `int`, but the elements are of type `Element`"), "{text}");
    let narrow = reference(1).replace("unsigned long long n)", "unsigned int n)");
    let Some((_, text)) = verdict(1, &narrow) else { return };
    assert!(text.contains("exercise 1 launches the kernel with `(const Element* in"), "{text}");
}

#[test]
fn a_fault_of_all_sizes_is_not_shown_for_no_element() {
    let edits = [("out[blockIdx.x] = shared[0]", "out[blockIdx.x] = shared[1]")];
    told(1, &edits, &["n = 1 f32"], &["n = 0"]);
    // This fault shows up only if there are no elements.
    let edits = [("i < n ? in[i] : 0", "i < n ? in[i] : n == 0 ? 1 : 0")];
    told(1, &edits, &["n = 0 f32 (no element)"], &[]);
}
