//! Where to go after a run: its last line.

use std::{fs, path::Path};

use crate::Step;

/// What to look at next, as far as it is in the source tree that this program was built in; nothing
/// where there is no such tree.
pub(super) fn next(step: &Step, kernel: Option<&Path>) -> Option<String> {
    let name = step.name;
    let number: usize = name.strip_prefix('v')?.split('-').next()?.parse().ok()?;
    let steps = Path::new(step.kernel.path).ancestors().nth(3)?;
    let folders = fs::read_dir(steps).ok()?.flatten().map(|entry| entry.file_name());
    if let Some(own) = kernel {
        return Some(format!(
            "next: cargo run --release -p ladder -- compare v{number} {}",
            own.display()
        ));
    }
    let mut ways = Vec::new();
    if number > 0 {
        ways.push(format!("cargo x diff {number}"));
    }
    if steps.parent()?.join(format!("book/src/{name}.md")).exists() {
        ways.push(format!("the book: {name}"));
    }
    let above = format!("v{}-", number + 1);
    let above =
        folders.filter_map(|folder| folder.into_string().ok()).find(|f| f.starts_with(&above));
    ways.push(match above {
        Some(above) => format!("cargo run -p {above}"),
        None => "cargo run --release -p ladder".into(),
    });
    Some(format!("next: {}", ways.join(" · ")))
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
            plan: |_| Plan { launches: Vec::new(), scratch: Vec::new() },
            variants: &[],
        }
    }

    #[test]
    fn it_names_the_difference_the_chapter_and_the_step_after() {
        let root = std::env::temp_dir().join(format!("next {}", std::process::id()));
        for folder in ["steps/v0-zero", "steps/v1-one", "steps/v10-ten", "book/src"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("book/src/v0-zero.md"), "").unwrap();
        let at = |name: &str| {
            let path = root.join("steps").join(name).join("src/kernel.cu").display().to_string();
            let (name, path) = (name.to_owned().leak(), path.leak());
            step(name, path)
        };
        let said = |name, kernel| next(&at(name), kernel).unwrap();
        assert_eq!(said("v0-zero", None), "next: the book: v0-zero · cargo run -p v1-one");
        assert_eq!(said("v1-one", None), "next: cargo x diff 1 · cargo run --release -p ladder");
        assert_eq!(
            said("v0-zero", Some(Path::new("my.cu"))),
            "next: cargo run --release -p ladder -- compare v0 my.cu"
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn without_the_source_tree_it_says_nothing() {
        assert_eq!(next(&step("v1-one", "/nowhere/steps/v1-one/src/kernel.cu"), None), None);
        assert_eq!(next(&step("own", "kernel.cu"), None), None);
    }
}
