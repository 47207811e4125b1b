//! Which counts two compilers agree on: what `cargo x compilers` keeps, as the ledgers ask for it.

use anyhow::{Result, ensure};

use super::{
    file::read,
    sources::{BOOK, GENERATED, Sources},
};

/// Whether a step's counter is the same by both compilers, for every architecture of the table.
pub(crate) fn agree(sources: &Sources, step: &str, counter: &str) -> Result<bool> {
    let path = sources.root.join(BOOK).join(GENERATED).join("compilers.txt");
    in_table(&read(&path)?, step, counter)
}

fn in_table(table: &str, step: &str, counter: &str) -> Result<bool> {
    let mut lines = table.lines().filter(|line| line.split(' ').next() == Some(step)).peekable();
    ensure!(lines.peek().is_some(), "compilers.txt has no {step}; `cargo x compilers` writes it");
    // Where one compiler gives nothing, there is nothing to agree on.
    Ok(lines.all(|line| line.contains('/') && line.split([' ', ',']).all(|word| word != counter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_differs_anywhere_is_not_agreed_on() {
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
