//! Suggests the next commands, in the last line of a run's output.

use std::{fs, path::Path};

use crate::Step;

/// A note for a kernel of the user's own that was interpreted on few elements.
pub(super) const FEWER: &str = "note: with 2^17 elements or more, the interpreter also tries other lengths,\n        \
                                block sizes and orders of execution";

/// Returns the last line of a run's output, which names this step's chapter, the next step, and the
/// command that shows the difference from the previous step. For a kernel that replaces the step's
/// own, the line names the command that compares the two kernels. Returns `None` if there is no
/// source tree, or if the step has no folder.
pub(super) fn next(step: &Step, kernel: Option<&Path>) -> Option<String> {
    let name = step.name;
    let siblings = Path::new(step.kernel.path).ancestors().nth(3)?;
    let mut folders: Vec<String> = fs::read_dir(siblings)
        .ok()?
        .flatten()
        .filter(|entry| entry.path().join("src/kernel.cu").exists())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    folders.sort_by_cached_key(|folder| natural(folder));
    let place = folders.iter().position(|folder| folder == name)?;
    // Commands accept a step's number, such as `v3`, in place of its full name.
    let short = name.split('-').next()?;
    if let Some(own) = kernel {
        return Some(format!(
            "next: cargo run --release -p ladder -- compare {short} {}",
            own.display()
        ));
    }
    let mut ways = Vec::new();
    if place > 0 {
        ways.push(format!("cargo x diff {short}"));
    }
    if siblings.parent()?.join(format!("book/src/{name}.md")).exists() {
        ways.push(format!("the book: {name}"));
    }
    ways.push(match folders.get(place + 1) {
        Some(after) => format!("cargo run -p {after}"),
        None => "cargo run --release -p ladder".into(),
    });
    Some(format!("next: {}", ways.join(" · ")))
}

/// Returns a sort key that alternates between text and numbers, so that `v10` comes after `v9`.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, from) = rest.split_at(digits);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        key.push((text.to_owned(), from[..end].parse().unwrap_or(0)));
        rest = &from[end..];
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, plan::Plan};

    fn step(name: &'static str, path: &'static str) -> Step {
        Step {
            name,
            cures: "",
            costs: "",
            kernel: Kernel { path, source: "", includes: &[], ptx: ["", "", ""] },
            blocks: &[64],
            aligned: 1,
            fixed_order: false,
            plan: |_| Plan { launches: Vec::new(), scratch: Vec::new() },
            variants: &[],
        }
    }

    #[test]
    fn the_line_names_the_difference_the_chapter_and_the_next_step() {
        let root = std::env::temp_dir().join(format!("next {}", std::process::id()));
        fs::create_dir_all(root.join("book/src")).unwrap();
        for step in ["v0-zero", "v1-one", "v2-two", "v10-ten"] {
            let src = root.join("steps").join(step).join("src");
            fs::create_dir_all(&src).unwrap();
            fs::write(src.join("kernel.cu"), "").unwrap();
        }
        // The crate that lists the steps is not a step.
        fs::create_dir_all(root.join("steps/src")).unwrap();
        fs::write(root.join("book/src/v0-zero.md"), "").unwrap();
        let at = |name: &str| {
            let path = root.join("steps").join(name).join("src/kernel.cu").display().to_string();
            let (name, path) = (name.to_owned().leak(), path.leak());
            step(name, path)
        };
        let said = |name, kernel| next(&at(name), kernel).unwrap();
        assert_eq!(said("v0-zero", None), "next: the book: v0-zero · cargo run -p v1-one");
        assert_eq!(said("v1-one", None), "next: cargo x diff v1 · cargo run -p v2-two");
        assert_eq!(said("v2-two", None), "next: cargo x diff v2 · cargo run -p v10-ten");
        assert_eq!(said("v10-ten", None), "next: cargo x diff v10 · cargo run --release -p ladder");
        assert_eq!(
            said("v0-zero", Some(Path::new("my.cu"))),
            "next: cargo run --release -p ladder -- compare v0 my.cu"
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn without_the_source_tree_there_is_no_line() {
        assert_eq!(next(&step("v1-one", "/nowhere/steps/v1-one/src/kernel.cu"), None), None);
        assert_eq!(next(&step("own", "kernel.cu"), None), None);
    }
}
