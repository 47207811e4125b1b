//! The sources of all numbers, tables, figures and listings on the pages.

pub(crate) mod compilers;
pub(crate) mod counts;
pub(crate) mod file;
pub(crate) mod flight;
pub(crate) mod frames;
pub(crate) mod metric;
pub(crate) mod plan;
pub(crate) mod quantity;
pub(crate) mod sass;
pub(crate) mod timed;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use common::plan::Size;
use measured::{Run, counters::Count, history::History};
use serde::Deserialize;
use xtask::kernels::{self, Kernel};

use counts::Counts;
use file::read;
use sass::Sass;

/// The folder that has the book.
pub(crate) const BOOK: &str = "book";
/// The folder for generated files that are committed, relative to the folder of the book.
pub(crate) const GENERATED: &str = "generated";

/// The sources, which are read once for a build.
#[derive(Debug)]
pub(crate) struct Sources {
    /// The root of the workspace.
    pub(crate) root: PathBuf,
    /// The steps and studies that have a kernel, in the order of the lessons.
    pub(crate) kernels: Vec<Kernel>,
    /// The number of steps in `kernels`.
    steps: usize,
    /// The runs on GPUs, with the oldest first.
    pub(crate) runs: Vec<Run>,
    /// Runs with only some variants, in `results/variants`. Chapters name their folders.
    pub(crate) partial: Vec<Run>,
    /// The hardware counters in each folder, with the newest folder of the ladder first, and the
    /// runs of variants last. A folder may have counters but no times.
    pub(crate) counters: Vec<(String, Vec<Count>)>,
    /// The published tables.
    pub(crate) history: Option<History>,
    /// The interpreter's counts.
    pub(crate) counts: Counts,
    /// The opcodes in the machine code.
    pub(crate) sass: Sass,
    /// The cited figures, keyed by name.
    pub(crate) cites: BTreeMap<String, Cite>,
}

/// A cited figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cite {
    /// The figure as the page prints it.
    pub(crate) text: String,
    /// A citation of the source.
    pub(crate) source: String,
    /// The address of the source.
    pub(crate) url: String,
}

impl Sources {
    /// Reads all sources.
    pub(crate) fn read() -> Result<Sources> {
        let root = xtask::root();
        let (kernels, steps) = (kernels::all()?, kernels::steps()?.len());
        let folders = measured::folders(&root.join("results/ladder"))?;
        let runs = folders.iter().map(|folder| Run::read(folder)).collect::<Result<_, _>>()?;
        let partial = root.join("results/variants");
        let partial = if partial.exists() { measured::folders(&partial)? } else { Vec::new() };
        let partial = partial.iter().map(|folder| Run::read(folder)).collect::<Result<_, _>>()?;
        let mut counters = self::counters(&root.join("results/ladder"))?;
        counters.extend(self::counters(&root.join("results/variants"))?);
        let history = root.join("results/ladder/history.toml");
        let history = if history.exists() { Some(History::read(&history)?) } else { None };
        let cites = root.join(BOOK).join("cite.toml");
        let cites = toml::from_str(&read(&cites)?).with_context(|| cites.display().to_string())?;
        Ok(Sources {
            counts: Counts::read(&generated(&root))?,
            sass: Sass::read(&generated(&root), &kernels)?,
            kernels,
            steps,
            runs,
            partial,
            counters,
            history,
            cites,
            root,
        })
    }

    /// Returns the folder of generated files.
    pub(crate) fn generated(&self) -> PathBuf {
        generated(&self.root)
    }

    /// Returns the steps of the ladder.
    pub(crate) fn ladder(&self) -> &[Kernel] {
        &self.kernels[..self.steps]
    }

    /// Returns the steps that have times in the run that the numbers come from. A new step has no
    /// times until the next run.
    pub(crate) fn measured(&self) -> Result<impl Iterator<Item = &Kernel>> {
        let run = self.run(None)?;
        let has = |kernel: &&Kernel| run.steps().iter().any(|step| step.name == kernel.name);
        Ok(self.ladder().iter().filter(has))
    }

    /// Returns the kernel of a crate.
    pub(crate) fn kernel(&self, name: &str) -> Result<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            anyhow!("there is no step `{name}`: use one of {}", known.join(", "))
        })
    }

    /// Returns the previous step; `None` for the first step.
    pub(crate) fn before(&self, name: &str) -> Result<Option<&Kernel>> {
        self.kernel(name)?;
        let at = self.ladder().iter().position(|kernel| kernel.name == name);
        Ok(at.and_then(|at| at.checked_sub(1)).map(|at| &self.ladder()[at]))
    }

    /// Returns the first step.
    pub(crate) fn first(&self) -> Result<&Kernel> {
        self.ladder().first().context("there are no steps")
    }

    /// Returns the run that numbers come from: the run in the named folder, or the newest run on an
    /// H200.
    pub(crate) fn run(&self, on: Option<&str>) -> Result<&Run> {
        match on {
            Some(name) => {
                let called = |run: &&Run| run.name == name;
                let like = |run: &&Run| run.name.contains(name);
                let partial = || self.partial.iter().find(called);
                let newest = || self.runs.iter().rev().find(like);
                self.runs.iter().find(called).or_else(partial).or_else(newest)
            }
            None => self.runs.iter().rev().find(|run| run.env.gpu.name.contains("H200")),
        }
        .with_context(|| format!("results/ladder has no run `{}`", on.unwrap_or("on an H200")))
    }
}

fn generated(root: &Path) -> PathBuf {
    root.join(BOOK).join(GENERATED)
}

/// Returns the contents of every `counters.csv`, with the newest folder first.
fn counters(results: &Path) -> Result<Vec<(String, Vec<Count>)>> {
    let Ok(entries) = fs::read_dir(results) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let folder = entry?.path();
        let path = measured::file::find(&folder.join("counters.csv"));
        if path.exists() {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, Count::read(&path)?));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0));
    Ok(found)
}

/// Parses a size in the notation of the command line.
pub(crate) fn size(text: &str) -> Result<u64> {
    match text.parse::<Size>() {
        Ok(Size(n)) if n > 0 => Ok(n),
        Ok(_) => bail!("`{text}` is not a size: use 2^20, 2^20+13 or 1048576"),
        Err(error) => Err(anyhow!("{error}")),
    }
}
