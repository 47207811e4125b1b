//! Reads the table that `cargo x compilers` writes. The ledgers use this table to show the counts
//! on which the two compilers agree.

use anyhow::{Result, ensure};

use super::{BOOK, GENERATED, Sources, file::read};

/// Returns whether a counter of a step is the same with both compilers, for every architecture in
/// the table.
pub(crate) fn agree(sources: &Sources, step: &str, counter: &str) -> Result<bool> {
    in_table(&text(sources)?, step, counter)
}

/// Returns the text of the table.
pub(crate) fn text(sources: &Sources) -> Result<String> {
    read(&sources.root.join(BOOK).join(GENERATED).join("compilers.txt"))
}

fn in_table(table: &str, step: &str, counter: &str) -> Result<bool> {
    let mut lines = table.lines().filter(|line| line.split(' ').next() == Some(step)).peekable();
    ensure!(lines.peek().is_some(), "compilers.txt has no {step}; `cargo x compilers` writes it");
    // If the kernel from one compiler gave no counts, there is nothing to compare.
    Ok(lines.all(|line| line.contains('/') && line.split([' ', ',']).all(|word| word != counter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_differs_for_one_architecture_differs() {
        let table = "step for NVRTC clang equal differ\n\
             v0 sm_70 verified verified 17/18  warp_insts 1,000 | 2\n\
             v0 sm_90 verified verified 16/18  warp_insts 1 | 2, shared_ld 3 | 4\n\
             v1 sm_90 verified no (1)\n";
        assert!(!in_table(table, "v0", "warp_insts").unwrap());
        assert!(!in_table(table, "v0", "shared_ld").unwrap());
        assert!(in_table(table, "v0", "shared_ld_conflicts").unwrap());
        assert!(!in_table(table, "v1", "barriers").unwrap());
        assert!(in_table(table, "v2", "barriers").is_err());
    }
}
