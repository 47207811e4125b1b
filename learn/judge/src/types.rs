//! Explains failures that are caused by a type other than `Element`, or by a function for old GPUs.

use crate::task::Task;
use crate::verdict::{Failure, Stage};

/// If the source uses a type other than `Element` and this explains the failure, adds the type to
/// the failure.
pub(crate) fn named(task: &Task, source: &str, failure: Failure) -> Failure {
    if failure.stage != Stage::Right || failure.said.contains("parameters") {
        return failure;
    }
    let code: Vec<&str> =
        source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let of_type = |element: &str| failure.said.contains(&format!(" {element} in "));
    // Each of these types gives wrong results if the elements have one of the other two types.
    let wrong = [
        ("float", of_type("i32") || of_type("f64")),
        ("int", of_type("f32") || of_type("f64")),
        ("double", of_type("i32")),
    ];
    for (word, fits) in wrong {
        let is_value = |line: &&&str| match word {
            // An `int` may be an index, but a pointer points to elements, so its type must be
            // `Element*`.
            "int" => has(line, "int*") || has(line, "int *"),
            _ => has(line, word),
        };
        let at = (1..).zip(&code).find(|(_, line)| is_value(line));
        if let (Some((at, _)), true) = (at, fits) {
            let said = format!(
                "{}. Line {at} has the type `{word}`, but the elements are of type `Element`, which is float, int or double: exercise {} launches the kernel with `({})`",
                failure.said,
                task.number,
                task.parameters()
            );
            let lines: Vec<u32> = failure.lines.iter().copied().chain([at]).collect();
            return Failure { said, ..failure }.at(lines);
        }
    }
    failure
}

/// Warp-wide functions without a mask, which GPUs from sm_70 on do not support.
pub const OLD: [&str; 7] =
    ["__shfl_down", "__shfl_up", "__shfl_xor", "__shfl", "__ballot", "__any", "__all"];

/// Returns the failure for a source that calls one of these functions.
pub(crate) fn without_mask(source: &str) -> Option<Failure> {
    let found = (1..).zip(source.lines()).find_map(|(at, line)| {
        OLD.iter().find(|old| line.contains(&format!("{old}("))).map(|old| (at, old))
    });
    found.map(|(at, old)| {
        let said = format!(
            "line {at} calls a function for old GPUs: `{old}_sync` replaced `{old}` in CUDA 9, and its first argument is a mask of the lanes that take part, 0xffffffff for a whole warp"
        );
        Failure::new(Stage::Right, said).at([at])
    })
}

/// Returns whether a line contains a word that is not part of a longer type or name, such as
/// `unsigned int*` or `__int_as_float`.
fn has(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let conversion = before.ends_with('(') && after.starts_with(')');
        !before.ends_with(part)
            && !after.starts_with(part)
            && !before.trim_end().ends_with("unsigned")
            && !conversion
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::TASKS;

    #[test]
    fn a_type_that_is_no_element_is_named_where_it_explains_the_failure() {
        let failed = |source: &str, said: &str| {
            named(&TASKS[0], source, Failure::new(Stage::Right, said.into()))
        };
        let float = "void reduce(const float* in, float* out)\n{\n  unsigned int* x;\n}";
        let said = failed(float, "n = 1 i32 in 1 block: wrong");
        assert!(said.said.contains("Line 1 has the type `float`"), "{}", said.said);
        assert_eq!(said.lines, [1]);
        assert_eq!(failed(float, "n = 1 f32 in 1 block: wrong").lines, [0; 0]);
        let int = "// float\nElement* x = (Element)__int_as_float(1);\nint* in;";
        assert_eq!(failed(int, "n = 1 f64 in 1 block: wrong").lines, [3]);
        assert_eq!(failed("unsigned int* t; int i;", "n = 1 f32 in 1 block").lines, [0; 0]);
    }
}
