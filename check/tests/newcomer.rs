//! What a newcomer tried, and what she is told: each budget has its own advice, and names a line of hers.

mod said;

use said::{compiler, edited, said};

/// A kernel is rejected with these words, and without those.
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
fn a_thread_takes_neighbouring_words() {
    let edits = [
        (
            "    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;",
            "    unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long share = (n / Lanes + threads - 1) / threads;",
        ),
        (
            "    for (; i < n / Lanes; i += stride) {\n        Word word = words[i];",
            "    for (unsigned long long w = i * share; w < (i + 1) * share && w < n / Lanes; w++) {\n        Word word = words[w];",
        ),
    ];
    told(
        8,
        &edits,
        &["global load sectors 8,193 of at most 4,097", "uses all of each sector"],
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
fn packed_pairs_break_the_barriers_and_are_told_of_barriers() {
    let edits = [(
        "        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
",
        "        Element sum = 0;
        if (tid < s) sum = shared[2 * tid] + shared[2 * tid + 1];
        __syncthreads();
        if (tid < s) shared[tid] = sum;
        __syncthreads();
",
    )];
    told(
        3,
        &edits,
        &["barriers 136 of at most 72", "of line 18", "Every warp that comes to a barrier counts"],
        &["upper half", "of line 11", "of line 16"],
    );
}

#[test]
fn rounds_that_are_not_there_wait_all_the_same() {
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
        &["barriers 40 of at most 24", "of line 14", "a round that is not there takes none"],
        &["of line 11", "template parameter"],
    );
}

#[test]
fn a_loop_over_block_dim_is_told_of_the_loop() {
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
    // Its own count: so the idea of the exercise, and a line of the loop.
    told(6, &edits, &["instructions", "of at most 410", "template parameter"], &["of line 10 "]);
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
        &["shared accesses 11 of at most 9", "3 of them are of line 17", "one a lane"],
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
fn nobody_is_sent_to_a_launch_that_is_not_hers() {
    let edits = [("s = blockDim.x / 2;", "s = blockDim.x;")];
    told(3, &edits, &["keep the index below the length"], &["at the launch"]);
}

#[test]
fn every_block_takes_the_rest_of_a_word() {
    let edits = [("i < n % Lanes ? in[n - 1 - i] : 0", "tid < n % Lanes ? in[n - 1 - tid] : 0")];
    told(8, &edits, &["n = 1 f32 in 3 blocks", "as if element 0 were taken 3 times"], &[]);
}

#[test]
fn a_message_says_how_many_blocks_of_how_many_threads() {
    let edits = [("i < n ? in[i] : 0", "in[i]")];
    told(1, &edits, &["n = 0 f32 (no element) in 1 block of 256 threads"], &[]);
    let edits = [("s < blockDim.x;", "s < blockDim.x / 2;")];
    told(1, &edits, &["n = 255 f32 in 1 block of 256 threads"], &[]);
    let edits = [("(unsigned long long)blockIdx.x * blockDim.x", "blockIdx.x * blockDim.x")];
    told(1, &edits, &["n = 2^32+13 f32 in 16,777,217 blocks of 256 threads"], &[]);
}
