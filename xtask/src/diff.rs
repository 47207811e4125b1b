//! `cargo x diff 3`: what a step changes in its kernel.

use anyhow::{Result, bail};
use similar::{ChangeTag, TextDiff};

use crate::kernels::{self, Kernel};

/// Prints the difference between the kernel of a step and that of the step before it.
pub(crate) fn print(step: usize) -> Result<()> {
    let steps = kernels::steps()?;
    if step == 0 || step >= steps.len() {
        bail!(
            "there is no step {step} to compare with the one before it: take 1 to {}",
            steps.len() - 1
        );
    }
    let (old, new) = (&steps[step - 1], &steps[step]);
    let diff = TextDiff::from_lines(&old.source, &new.source);
    let name = |kernel: &Kernel| format!("steps/{}/src/kernel.cu", kernel.name);
    say!("{}", diff.unified_diff().context_radius(3).header(&name(old), &name(new)));
    say!("\n{} lines to type", added(old, new));
    Ok(())
}

/// Lines of a kernel that the one before it does not have, as `diff old new | grep -c '^>'` counts.
pub(crate) fn added(old: &Kernel, new: &Kernel) -> usize {
    let diff = TextDiff::from_lines(&old.source, &new.source);
    diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Insert).count()
}

/// Lines that differ between the bodies of two kernels, removed and added ones counted.
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
    fn the_head_is_not_counted_and_both_sides_are() {
        let mut other = kernel("a\nb\nc\n");
        other.source = other.source.replace("What", "Something else");
        assert_eq!(changed(&kernel("a\nb\nc\n"), &other), 0);
        assert_eq!(changed(&kernel("a\nb\nc\n"), &kernel("a\nB\nc\nd\n")), 3);
    }

    #[test]
    fn what_is_new_is_counted_with_the_head_and_what_went_is_not() {
        let mut other = kernel("a\nc\nd\n");
        assert_eq!(added(&kernel("a\nb\nc\n"), &other), 1);
        other.source = other.source.replace("What", "Something else");
        assert_eq!(added(&kernel("a\nb\nc\n"), &other), 2);
    }
}
