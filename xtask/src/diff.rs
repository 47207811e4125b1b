//! `cargo x diff 3`: shows the changes that a step makes to its kernel.

use anyhow::Result;
use similar::{ChangeTag, TextDiff};

use crate::kernels::{self, Kernel};
use crate::said::Usage;

/// Prints the difference between the kernels of a step and of the previous step. The step is given
/// by its number, its name, or the beginning of its name.
pub(crate) fn print(step: &str) -> Result<()> {
    let steps = kernels::steps()?;
    let meant = |kernel: &Kernel| {
        let name = kernel.name.as_str();
        name == step || name.split('-').next().is_some_and(|v| v == step || &v[1..] == step)
    };
    let Some(place) = steps.iter().position(meant).filter(|place| *place > 0) else {
        let (first, last) = (&steps[1].name, &steps[steps.len() - 1].name);
        let text = format!("`{step}` is not a step with a predecessor: use {first} to {last}");
        return Err(Usage(text).into());
    };
    let (old, new) = (&steps[place - 1], &steps[place]);
    let diff = TextDiff::from_lines(&old.source, &new.source);
    let name = |kernel: &Kernel| format!("steps/{}/src/kernel.cu", kernel.name);
    say!("{}", diff.unified_diff().context_radius(3).header(&name(old), &name(new)));
    say!("\n{} lines to type", added(old, new));
    Ok(())
}

/// Returns the number of lines that the old kernel lacks, as in `diff old new | grep -c '^>'`.
pub(crate) fn added(old: &Kernel, new: &Kernel) -> usize {
    let diff = TextDiff::from_lines(&old.source, &new.source);
    diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Insert).count()
}

/// Returns the number of lines that were removed or added between the bodies of two kernels.
pub fn changed(old: &Kernel, new: &Kernel) -> usize {
    let (old, new) = (old.body(), new.body());
    let diff = TextDiff::from_lines(&old, &new);
    diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(body: &str) -> Kernel {
        Kernel {
            name: "v".into(),
            folder: "steps/v".into(),
            file: "src/kernel.cu".into(),
            source: format!("// What.\n// Costs.\n{body}"),
            woven: String::new(),
        }
    }

    #[test]
    fn both_sides_are_counted_without_the_head() {
        let mut other = kernel("a\nb\nc\n");
        other.source = other.source.replace("What", "Something else");
        assert_eq!(changed(&kernel("a\nb\nc\n"), &other), 0);
        assert_eq!(changed(&kernel("a\nb\nc\n"), &kernel("a\nB\nc\nd\n")), 3);
    }

    #[test]
    fn new_lines_are_counted_with_the_head() {
        let mut other = kernel("a\nc\nd\n");
        assert_eq!(added(&kernel("a\nb\nc\n"), &other), 1);
        other.source = other.source.replace("What", "Something else");
        assert_eq!(added(&kernel("a\nb\nc\n"), &other), 2);
    }
}
