//! Limits the size of a checkout: the number of bytes in `results/`, in each run there, and in all
//! tracked files.

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;
use xshell::{Shell, cmd};

/// The maximum size of `results/`, in bytes.
const RESULTS: u64 = 20_000_000;

/// The maximum size in bytes of a run, which is a folder such as
/// `results/ladder/2026-11-22-nvidia-h200`.
const RUN: u64 = 4_000_000;

/// The maximum size of all tracked files, in bytes.
const TREE: u64 = 40_000_000;

pub(crate) fn faults(sh: &Shell, root: &Path) -> Result<Vec<String>> {
    let files = cmd!(sh, "git ls-files").quiet().read()?;
    let sizes = files.lines().filter_map(|path| {
        // A tracked file may have been deleted from the working tree.
        Some((path, std::fs::symlink_metadata(root.join(path)).ok()?.len()))
    });
    Ok(heavy(&sizes.collect::<Vec<_>>()))
}

/// Returns a message for each total that exceeds its limit, given the files and their sizes.
fn heavy(files: &[(&str, u64)]) -> Vec<String> {
    let mut totals: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut add = |what: String, budget: u64, bytes: u64| {
        totals.entry(what).or_insert((budget, 0)).1 += bytes;
    };
    for &(path, bytes) in files {
        add("all tracked files".into(), TREE, bytes);
        let parts: Vec<&str> = path.split('/').collect();
        if parts[0] == "results" {
            add("results/".into(), RESULTS, bytes);
        }
        if let ["results", kind, run, _, ..] = parts[..] {
            add(format!("results/{kind}/{run}"), RUN, bytes);
        }
    }
    let above = totals.into_iter().filter(|(_, (budget, bytes))| bytes > budget);
    above
        .map(|(what, (budget, bytes))| {
            format!(
                "{what}: {bytes} bytes, but at most {budget} are allowed: compress CSV and JSON (to names that end in .gz), and delete files that no page cites"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_above_their_budget_are_named() {
        let fits = [("results/ladder/run/raw.csv.gz", RUN), ("README.md", 1000)];
        assert_eq!(heavy(&fits), [""; 0]);
        let over = [fits[0], ("results/ladder/run/env.toml", 1), fits[1]];
        let found = heavy(&over);
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .starts_with("results/ladder/run: 4000001 bytes, but at most 4000000 are allowed"),
            "{found:?}"
        );
        let runs = ["a", "b", "c", "d", "e", "f"].map(|run| format!("results/rows/{run}/x"));
        let many: Vec<_> = runs.iter().map(|path| (path.as_str(), RUN)).collect();
        assert!(heavy(&many)[0].starts_with("results/: 24000000 bytes"));
        assert!(heavy(&[("book/film", TREE + 1)])[0].starts_with("all tracked files: "));
    }
}
