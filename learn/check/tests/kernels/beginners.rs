//! Tests the messages for thirteen typical beginner's mistakes in exercises 1 to 5. Each message
//! names a line, a size or a count.

use crate::said::{compiler, edited, said};

const LOAD: &str = "i < n ? in[i] : 0;\n    __syncthreads();";
const END: &str = "        }\n        __syncthreads();\n    }\n\n    // Store";

/// The exercise, the edits to the reference solution, and the expected messages.
type Mistake<'a> = (usize, &'a str, Vec<(&'a str, &'a str)>, &'a [&'a str]);

fn mistakes() -> Vec<Mistake<'static>> {
    vec![
        (
            1,
            "no barrier after the load",
            vec![(LOAD, "i < n ? in[i] : 0;")],
            &[
                "clean",
                "reads `shared[1]` at line 14",
                "at line 9",
                "a `__syncthreads()` is missing",
            ],
        ),
        (
            1,
            "no barrier in the loop",
            vec![(END, "        }\n    }\n\n    // Store")],
            &["clean", "at line 15", "a `__syncthreads()` is missing"],
        ),
        (
            1,
            "the barrier in the if",
            vec![(
                "shared[tid + s];\n        }\n        __syncthreads();",
                "shared[tid + s];\n            __syncthreads();\n        }",
            )],
            &["divergent barrier at line 16", "put the condition around the work"],
        ),
        (
            1,
            "no test against the length",
            vec![("i < n ? in[i] : 0", "in[i]")],
            &["n = 1 f32", "out of bounds at line 9", "check the index against the length"],
        ),
        (
            1,
            "a missing semicolon",
            vec![("shared[tid] += shared[tid + s];", "shared[tid] += shared[tid + s]")],
            &["kernel.cu", "16", "error: expected"],
        ),
        (
            1,
            "one round too few",
            vec![("s < blockDim.x;", "s < blockDim.x / 2;")],
            &["n = 255 f32", "block 0, which has the elements 0 to 254", "0 to 127 alone"],
        ),
        (
            2,
            "a missing test",
            vec![("if (left < blockDim.x)", "")],
            &["out of bounds at line 16", "outside of `shared`"],
        ),
        (
            2,
            "the remainder again",
            vec![
                ("unsigned int left = 2 * s * tid;", "unsigned int left = tid;"),
                ("if (left < blockDim.x)", "if (tid % (2 * s) == 0)"),
            ],
            &[
                "divergent branches 48 of at most 12",
                "are on line 15",
                "Let the lanes that add be neighbours",
            ],
        ),
        (
            3,
            "a round too early",
            vec![("s = blockDim.x / 2;", "s = blockDim.x;")],
            &["out of bounds at line 15", "outside of `shared`"],
        ),
        (
            3,
            "the last round omitted",
            vec![("s > 0;", "s > 1;")],
            &["n = 2 f32", "that is element 0 alone"],
        ),
        (
            4,
            "one test for two loads",
            vec![(
                "(i + blockDim.x < n ? in[i + blockDim.x] : 0)",
                "(i < n ? in[i + blockDim.x] : 0)",
            )],
            &["n = 1 f32", "out of bounds at line 9"],
        ),
        (
            5,
            "no order in the last warp",
            vec![(
                "sum += shared[tid + 16]; __syncwarp(); shared",
                "sum += shared[tid + 16]; shared",
            )],
            &["clean", "at line 22", "a `__syncwarp()` is missing"],
        ),
        (
            5,
            "the barrier of the warp in an if",
            vec![(
                "sum += shared[tid + 8];  __syncwarp(); shared",
                "if (tid < 16) { sum += shared[tid + 8]; __syncwarp(); } shared",
            )],
            &[
                "clean",
                "16 of the 32 lanes in the mask of the `__syncwarp()` at line 23 reach it, and 16 reach another one at the same line",
                "put the condition around the work, not around the `__syncwarp()`",
            ],
        ),
    ]
}

#[test]
fn each_message_names_a_line_a_size_or_a_count() {
    let Some(compiler) = compiler() else { return };
    let mut faults = String::new();
    assert_eq!(mistakes().len(), 13);
    for (number, name, edits, words) in mistakes() {
        let (passed, page) = said(&compiler, number, &edited(number, &edits), 1);
        println!("{number}, {name}:\n{page}");
        let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            // The messages of the two compilers differ.
            if passed || !text.contains(word) && !page.contains("error:") {
                faults += &format!("{name}: `{word}` is not in {page}\n");
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}
