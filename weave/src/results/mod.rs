//! Implements `cargo x results`, which renders the tables and plots in the READMEs from `results/`.
//! The output is identical, byte for byte, in every run.

pub(crate) mod exact;
mod fill;
pub(crate) mod folders;
pub(crate) mod library;
pub(crate) mod matrices;
mod plots;
mod python;
pub(crate) mod rows;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use measured::{Run, check, history::History, page, repeat};

use fill::{MARK, fill};
use library::Library;

/// The pages that may have blocks, if they exist. The book's chapters use directives instead.
const PAGES: [&str; 6] = [
    "README.md",
    "reduce/README.md",
    "reduce/beside/candle/README.md",
    "reduce/python/README.md",
    "results/matrices/README.md",
    "results/rows/README.md",
];

/// The data for all pages.
#[derive(Debug)]
struct Results {
    runs: Vec<Run>,
    library: Vec<Library>,
}

/// Renders the pages, or checks that they are up to date.
pub(crate) fn run(check: bool) -> Result<()> {
    render(&xtask::root(), check)
}

fn render(root: &Path, check: bool) -> Result<()> {
    let folders = measured::folders(&root.join("results/ladder"))?;
    let runs = folders.iter().map(|folder| Run::read(folder)).collect::<Result<Vec<_>, _>>()?;
    let path = root.join("results/ladder/history.toml");
    let mut faults: Vec<String> = Vec::new();
    if path.exists() {
        faults.extend(History::read(&path)?.faults());
    }
    for run in &runs {
        faults.extend(check::faults(run).iter().map(|fault| format!("{}: {fault}", run.name)));
    }
    if !faults.is_empty() {
        bail!("impossible figures: {}\n  {}", faults.len(), faults.join("\n  "));
    }
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    let kinds = repeat::kinds(&runs);
    let writer = page::Writer::Results { repeated: !kinds.is_empty() };
    for (run, folder) in runs.iter().zip(&folders) {
        files.insert(folder.join("README.md"), page::of(run, writer));
    }
    if !kinds.is_empty() {
        files.insert(root.join("results/ladder").join(repeat::FILE), repeat::page(&kinds));
    }
    let library = Library::all(&root.join("results"))?;
    for folder in &library {
        files.extend(folder.files()?);
    }
    let results = Results { runs, library };
    for (name, path) in PAGES.map(|page| (page, root.join(page))) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if text.contains(MARK) {
            files.insert(path, fill(&text, name, |block| results.block(block))?);
        }
    }
    write(root, &files, check)
}

fn write(root: &Path, files: &BTreeMap<PathBuf, String>, check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for (path, text) in files {
        if fs::read_to_string(path).is_ok_and(|committed| committed == *text) {
            continue;
        }
        stale.push(path.strip_prefix(root).unwrap_or(path).display().to_string());
        if !check {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    match (stale.as_slice(), check) {
        ([], _) => println!("all {} files match results/", files.len()),
        (stale, false) => {
            println!("wrote {} of {} files: {}", stale.len(), files.len(), stale.join(", "))
        }
        (stale, true) => {
            bail!("these files do not match results/: {}; run `cargo x results`", stale.join(", "))
        }
    }
    Ok(())
}

impl Results {
    /// Returns the text of a block.
    fn block(&self, name: &str) -> Result<String> {
        let (kind, rest) = name.split_once(' ').unwrap_or((name, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        match kind {
            "rows" => rows::block(&xtask::root(), &words),
            "matrices" => matrices::block(&xtask::root(), &words),
            "python" => python::block(&xtask::root(), &words),
            "library" => {
                let newest = self.library.last().context("results/library is empty")?;
                match rest {
                    "" => newest.short(Some("results")),
                    "packed" => newest.short(None),
                    _ => bail!(
                        "there is no block `library {rest}`: use `library` or `library packed`"
                    ),
                }
            }
            "" | "ladder" => Ok(match self.runs.last() {
                Some(run) => page::ladder(run, &repeat::kind_of(&self.runs, run)),
                None => "Nothing has been measured yet: run `ladder measure`.".into(),
            }),
            _ => bail!(
                "there is no block `{name}`: use ladder, library, python …, rows … or matrices …"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        fill::{BEGIN, END},
        *,
    };

    /// Creates a tree with the synthetic run, twice, and a front page.
    fn tree(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("results-{}-{name}", std::process::id()));
        let fixture = xtask::root().join("measure/measured/tests/synthetic");
        for run in ["2000-01-01-synthetic-gpu", "2000-01-02-synthetic-gpu"] {
            let folder = root.join("results/ladder").join(run);
            fs::create_dir_all(&folder).unwrap();
            for file in ["env.toml", "cells.csv", "raw.csv", "sweep.csv", "counters.csv"] {
                fs::copy(fixture.join(file), folder.join(file)).unwrap();
            }
        }
        fs::copy(fixture.join("history.toml"), root.join("results/ladder/history.toml")).unwrap();
        let names = ["", " ladder"];
        let blocks = names.map(|n| format!("<!-- results:begin{n} -->\n<!-- results:end -->\n"));
        fs::write(root.join("README.md"), format!("# Title\n\n{}", blocks.join("\n"))).unwrap();
        root
    }

    #[test]
    fn a_tree_is_fresh_after_it_was_rendered() {
        let root = tree("fresh");
        assert!(render(&root, true).is_err());
        render(&root, false).unwrap();
        render(&root, true).unwrap();
        let page = fs::read_to_string(root.join("README.md")).unwrap();
        assert!(page.contains("[v1-divergence](steps/v1-divergence)"), "{page}");
        assert!(page.contains("2000-01-02-synthetic-gpu"), "{page}");
        let twice = fs::read_to_string(root.join("results/ladder").join(repeat::FILE)).unwrap();
        assert!(
            twice.contains("The runs of the same program are [2000-01-01-synthetic-gpu]"),
            "{twice}"
        );
        assert!(twice.contains("contained another run's median in 20 of 20"), "{twice}");
        // A page that was edited is out of date, and the error names it.
        fs::write(root.join("README.md"), page.replace("v1-divergence", "v1-diverging")).unwrap();
        let message = format!("{:#}", render(&root, true).unwrap_err());
        assert!(message.contains("README.md"), "{message}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_broken_marker_is_named() {
        let root = tree("marker");
        let page = root.join("README.md");
        let whole = fs::read_to_string(&page).unwrap();
        for (from, to, why) in [
            ("results:begin", "results:beginn-", "line"),
            (BEGIN, "<!-- results:bgin", "is not a marker: use"),
            (BEGIN, "<!-- begin", "without a beginning"),
            (END, "<!-- results:stop -->", "is not a marker: use"),
        ] {
            fs::write(&page, whole.replace(from, to)).unwrap();
            let message = format!("{:#}", render(&root, true).unwrap_err());
            assert!(message.contains("README.md") && message.contains(why), "{message}");
        }
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_run_without_its_machine_is_named() {
        let root = tree("no-env");
        fs::remove_file(root.join("results/ladder/2000-01-02-synthetic-gpu/env.toml")).unwrap();
        let message = format!("{:#}", render(&root, true).unwrap_err());
        assert!(
            message.contains("2000-01-02-synthetic-gpu") && message.contains("env.toml"),
            "{message}"
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn impossible_figures_are_refused() {
        let root = tree("faults");
        let path = root.join("results/ladder/2000-01-02-synthetic-gpu/raw.csv");
        let raw = fs::read_to_string(&path).unwrap();
        // Every v1 sample at the largest size is made a thousand times faster, which exceeds the
        // bus's peak bandwidth.
        let broken: String = raw
            .lines()
            .map(|line| match line.starts_with("v1-divergence,f32,256,16777216") {
                true => line.rsplit_once(',').unwrap().0.to_owned() + ",60\n",
                false => line.to_owned() + "\n",
            })
            .collect();
        fs::write(&path, broken).unwrap();
        let message = format!("{:#}", render(&root, false).unwrap_err());
        assert!(message.contains("above the") && message.contains("below the"), "{message}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn an_empty_tree_has_a_hint_to_measure() {
        let root = std::env::temp_dir().join(format!("results-{}-empty", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("README.md"), "<!-- results:begin -->\n<!-- results:end -->\n")
            .unwrap();
        render(&root, false).unwrap();
        let page = fs::read_to_string(root.join("README.md")).unwrap();
        assert!(page.contains("Nothing has been measured yet"), "{page}");
        fs::remove_dir_all(root).unwrap();
    }
}
