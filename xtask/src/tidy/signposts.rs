//! Checks that the files and folders named in ARCHITECTURE.md exist.

use std::path::Path;

/// Returns a message for each file or folder in the tables of ARCHITECTURE.md that does not exist.
/// `NAME` stands for a step.
pub(crate) fn faults(root: &Path, text: &str, step: &str) -> Vec<String> {
    let rows = text.lines().enumerate().filter(|(_, line)| line.starts_with('|'));
    let mut faults = Vec::new();
    for (number, row) in rows {
        // If a row is split at backticks, every second part is code.
        for place in row.split('`').skip(1).step_by(2).filter(|place| place.contains('/')) {
            if !root.join(place.replace("NAME", step)).exists() {
                faults.push(format!(
                    "ARCHITECTURE.md:{}: there is no {place}: give its new path",
                    number + 1
                ));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_moved_is_named() {
        let root = crate::root();
        let text =
            "`gone/x.rs`\n| a | `xtask/src/lib.rs`, `cargo x` |\n| b | `steps/NAME/src/lib.rs` |\n";
        assert_eq!(faults(&root, text, "v0-naive"), [""; 0]);
        let moved = text.replace("xtask/src", "xtask/gone");
        assert_eq!(
            faults(&root, &moved, "v0-naive"),
            ["ARCHITECTURE.md:2: there is no xtask/gone/lib.rs: give its new path"]
        );
        assert_eq!(faults(&root, text, "v99-gone").len(), 1);
    }
}
