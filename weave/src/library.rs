//! `results/library/`: a page for each folder, the plot of the drawn sizes, and the short table of
//! the front pages.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use measured::{
    Clock,
    library::{First, Series, Taken, first_table, series, tables},
    table::{Table, micros},
};

use crate::{
    folders::{folders, newest},
    plots,
};

/// The calls of a folder's file; none, if it is not there.
fn calls(folder: &Path, name: &str) -> Result<Vec<Taken>> {
    let path = folder.join(name);
    if !path.exists() {
        return Ok(Vec::new());
    }
    Taken::read(&path).with_context(|| path.display().to_string())
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The newest folder of a kind of GPU that has calls at the named sizes, and these.
pub(crate) fn named(root: &Path, gpu: &str) -> Result<(String, Vec<Taken>)> {
    let folder = newest(root, "library", gpu, "named.csv.gz")?
        .with_context(|| format!("results/library has no named.csv.gz of an {gpu}"))?;
    Ok((name(&folder), calls(&folder, "named.csv.gz")?))
}

/// What was measured of the library on one GPU.
#[derive(Debug)]
pub(crate) struct Library {
    folder: PathBuf,
    named: Vec<Taken>,
    types: Vec<Taken>,
    drawn: Vec<Taken>,
    first: Vec<First>,
}

impl Library {
    /// All folders, oldest first.
    pub(crate) fn all(results: &Path) -> Result<Vec<Library>> {
        folders(results, "library")?.into_iter().map(Library::read).collect()
    }

    fn read(folder: PathBuf) -> Result<Library> {
        let first = folder.join("first.csv");
        Ok(Library {
            named: calls(&folder, "named.csv.gz")?,
            types: calls(&folder, "types.csv.gz")?,
            drawn: calls(&folder, "drawn.csv.gz")?,
            first: if first.exists() { First::read(&first)? } else { Vec::new() },
            folder,
        })
    }

    /// The folder's page and plots.
    pub(crate) fn files(&self) -> Result<BTreeMap<PathBuf, String>> {
        let mut files = BTreeMap::new();
        let mut page = format!(
            "# `reduce` beside CUB: {}\n\nMade by `cargo x results` from the files beside it; never edited by hand. [What the files hold, and how each library was called](../README.md).\n\nTimes are µs; a ratio is that of the faster CUB's time to ours, the median of paired rounds with this run's interval.\n\n",
            name(&self.folder)
        );
        for (taken, clock, says) in [
            (&self.named, Clock::Gpu, "on the device: gated events, L2 cold"),
            (&self.named, Clock::Host, "on the caller's clock: until the result is on the host"),
            (&self.types, Clock::Gpu, "on the device: gated events, L2 cold"),
        ] {
            for (title, table) in tables(taken, clock) {
                page += &format!("## {title}, {says}\n\n{table}\n");
            }
        }
        for (clock, says, suffix) in
            [(Clock::Gpu, "on the device", ""), (Clock::Host, "on the caller's clock", "-waited")]
        {
            for drawn in series(&self.drawn, clock) {
                let element = drawn.title.rsplit(' ').next().unwrap_or_default();
                let file = format!("drawn-{element}{suffix}.svg");
                page += &format!(
                    "## {}, {} sizes drawn, {says}\n\n![CUB's time over that of reduce, by size]({file})\n{}\n",
                    drawn.title,
                    drawn.times.len(),
                    drawn.sentences()
                );
                files.insert(self.folder.join(file), plots::drawn(&drawn)?);
            }
        }
        if !self.first.is_empty() {
            page += &format!("## First answers\n\n{}\n", first_table(&self.first));
        }
        files.insert(self.folder.join("README.md"), page);
        Ok(files)
    }

    /// The table of the front pages: the sum of f32 on both clocks.
    pub(crate) fn short(&self) -> Result<String> {
        let of = |clock| -> Result<Series> {
            let all = series(&self.named, clock);
            let found = all.into_iter().find(|series| series.title == "sum of f32");
            found.with_context(|| format!("{} has no sum of f32", name(&self.folder)))
        };
        let (device, caller) = (of(Clock::Gpu)?, of(Clock::Host)?);
        let mut table = Table::new([
            "elements, f32",
            "`reduce` µs",
            "CUB µs",
            "CUB / `reduce`",
            "a caller waits: `reduce` µs",
            "CUB µs",
            "CUB / `reduce`",
        ]);
        for &n in device.times.keys() {
            let cells = |series: &Series| {
                let (ratio, other) = series.ratio(n, "reduce")?;
                let time = |way| series.time(n, way).map(|time| micros(time.median));
                Some([time("reduce")?, time(other)?, ratio.to_string()])
            };
            let (Some(on_device), Some(waited)) = (cells(&device), cells(&caller)) else {
                continue;
            };
            table.row([numbers::size(n)].into_iter().chain(on_device).chain(waited));
        }
        let name = name(&self.folder);
        Ok(format!(
            "{table}\nOne GPU, one program, paired rounds, with that run's interval; CUB is the faster of CCCL 3.5.0 and CUDA 13.0's 3.0.1, and called in the fastest of its ways. On the device: gated events, the input not in L2. A caller waits from the call until the sum is on the host. Every call, all types, other sizes, first answers, and where `reduce` is behind: [results/library/{name}](RESULTS/library/{name}).\n"
        ))
    }
}
