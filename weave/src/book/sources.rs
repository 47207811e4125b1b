//! Everything that a page's numbers, tables, figures and listings are made from.

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

use super::{counts::Counts, file::read, sass::Sass};

/// Where the book lies.
pub(crate) const BOOK: &str = "book";
/// Where what is generated and committed lies, below the book.
pub(crate) const GENERATED: &str = "generated";

/// The sources, read once for a build.
#[derive(Debug)]
pub(crate) struct Sources {
    /// The workspace.
    pub(crate) root: PathBuf,
    /// The steps and studies that have a kernel, in lesson order.
    pub(crate) kernels: Vec<Kernel>,
    /// How many of them are steps.
    steps: usize,
    /// The runs on GPUs, oldest first.
    pub(crate) runs: Vec<Run>,
    /// Hardware counters by folder, newest first: they may be there before any time is.
    pub(crate) counters: Vec<(String, Vec<Count>)>,
    /// Published tables.
    pub(crate) history: Option<History>,
    /// What the interpreter counted.
    pub(crate) counts: Counts,
    /// Opcodes of the machine code.
    pub(crate) sass: Sass,
    /// Figures from elsewhere.
    pub(crate) cites: BTreeMap<String, Cite>,
}

/// A figure from elsewhere.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cite {
    /// As it is printed.
    pub(crate) text: String,
    /// Who says so.
    pub(crate) source: String,
    /// Where.
    pub(crate) url: String,
}

impl Sources {
    /// Reads all of it.
    pub(crate) fn read() -> Result<Sources> {
        let root = xtask::root();
        let (kernels, steps) = (kernels::all()?, kernels::steps()?.len());
        let folders = measured::folders(&root.join("results"))?;
        let runs = folders.iter().map(|folder| Run::read(folder)).collect::<Result<_, _>>()?;
        let counters = counters(&root.join("results"))?;
        let history = root.join("results/history.toml");
        let history = if history.exists() { Some(History::read(&history)?) } else { None };
        let cites = root.join(BOOK).join("cite.toml");
        let cites = toml::from_str(&read(&cites)?).with_context(|| cites.display().to_string())?;
        Ok(Sources {
            counts: Counts::read(&generated(&root))?,
            sass: Sass::read(&generated(&root), &kernels)?,
            kernels,
            steps,
            runs,
            counters,
            history,
            cites,
            root,
        })
    }

    /// The folder of what is generated.
    pub(crate) fn generated(&self) -> PathBuf {
        generated(&self.root)
    }

    /// The steps of the ladder.
    pub(crate) fn ladder(&self) -> &[Kernel] {
        &self.kernels[..self.steps]
    }

    /// The kernel of a crate.
    pub(crate) fn kernel(&self, name: &str) -> Result<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            anyhow!("there is no step `{name}`: take one of {}", known.join(", "))
        })
    }

    /// The step before one; `None` for the first.
    pub(crate) fn before(&self, name: &str) -> Result<Option<&Kernel>> {
        self.kernel(name)?;
        let at = self.ladder().iter().position(|kernel| kernel.name == name);
        Ok(at.and_then(|at| at.checked_sub(1)).map(|at| &self.ladder()[at]))
    }

    /// The first step.
    pub(crate) fn first(&self) -> Result<&Kernel> {
        self.ladder().first().context("there are no steps")
    }

    /// The run that numbers come from: the folder that is named, or the newest on an H200.
    pub(crate) fn run(&self, on: Option<&str>) -> Result<&Run> {
        match on {
            Some(name) => {
                let called = |run: &&Run| run.name == name;
                let like = |run: &&Run| run.name.contains(name);
                self.runs.iter().find(called).or_else(|| self.runs.iter().rev().find(like))
            }
            None => self.runs.iter().rev().find(|run| run.env.gpu.name.contains("H200")),
        }
        .with_context(|| format!("results/ has no run `{}`", on.unwrap_or("on an H200")))
    }
}

fn generated(root: &Path) -> PathBuf {
    root.join(BOOK).join(GENERATED)
}

/// Every `counters.csv`, newest folder first.
fn counters(results: &Path) -> Result<Vec<(String, Vec<Count>)>> {
    let Ok(entries) = fs::read_dir(results) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let folder = entry?.path();
        let path = folder.join("counters.csv");
        if path.exists() {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, Count::read(&path)?));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0));
    Ok(found)
}

/// A size as people write it.
pub(crate) fn size(text: &str) -> Result<u64> {
    match text.parse::<Size>() {
        Ok(Size(n)) if n > 0 => Ok(n),
        Ok(_) => bail!("`{text}` is no size: take 2^20, 2^20+13 or 1048576"),
        Err(error) => Err(anyhow!("{error}")),
    }
}
