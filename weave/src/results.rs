//! `cargo x results`: every table and plot, from `results/`, byte for byte.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use measured::{
    Cache, Clock, Place, Run, check, counters::Count, history::History, page, repeat, table,
    table::Table,
};

use crate::{library::Library, plots};

/// A block of a page begins with `<!-- results:begin NAME -->`; the name of the main table may be
/// left out.
const BEGIN: &str = "<!-- results:begin";
/// Every marker begins so.
const MARK: &str = "<!-- results:";
/// And ends with this.
const END: &str = "<!-- results:end -->";

/// Where the plots go, for pages that include them as files.
const PLOTS: &str = "book/src/generated";

/// What all pages are made from.
#[derive(Debug)]
struct Results {
    runs: Vec<Run>,
    history: Option<History>,
    library: Vec<Library>,
}

/// Renders, or checks that what is there is what would be rendered.
pub(crate) fn run(check: bool) -> Result<()> {
    render(&xtask::root(), check)
}

fn render(root: &Path, check: bool) -> Result<()> {
    let folders = measured::folders(&root.join("results"))?;
    let runs = folders.iter().map(|folder| Run::read(folder)).collect::<Result<Vec<_>, _>>()?;
    let path = root.join("results/history.toml");
    let history = path.exists().then(|| History::read(&path)).transpose()?;
    let mut faults: Vec<String> = Vec::new();
    for run in &runs {
        faults.extend(check::faults(run).iter().map(|fault| format!("{}: {fault}", run.name)));
    }
    faults.extend(history.iter().flat_map(|history| history.faults()));
    if !faults.is_empty() {
        bail!("{} figures cannot be:\n  {}", faults.len(), faults.join("\n  "));
    }
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    for (run, folder) in runs.iter().zip(&folders) {
        files.insert(folder.join("README.md"), page::of(run));
    }
    let kinds = repeat::kinds(&runs);
    if !kinds.is_empty() {
        files.insert(root.join("results").join(repeat::FILE), repeat::page(&kinds));
    }
    let library = Library::all(&root.join("results"))?;
    for folder in &library {
        files.extend(folder.files()?);
    }
    let results = Results { runs, history, library };
    for (name, svg) in results.plots()? {
        files.insert(root.join(PLOTS).join(format!("{name}.svg")), svg);
    }
    for path in pages(root)? {
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        if text.contains(MARK) {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            files.insert(path, fill(&text, &name, |block| results.block(block))?);
        }
    }
    write(root, &files, check)
}

fn write(root: &Path, files: &BTreeMap<PathBuf, String>, check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for (path, text) in files {
        if fs::read_to_string(path).is_ok_and(|there| there == *text) {
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
        ([], _) => println!("all {} files are what results/ makes of them", files.len()),
        (stale, false) => {
            println!("wrote {} of {} files: {}", stale.len(), files.len(), stale.join(", "))
        }
        (stale, true) => {
            bail!("not what results/ makes of them: {}; run `cargo x results`", stale.join(", "))
        }
    }
    Ok(())
}

/// The pages that may hold blocks: the front pages and the book.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = vec![root.join("README.md"), root.join("reduce/README.md")];
    let mut folders = vec![root.join("book/src")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|e| e == "md") => pages.push(path),
                false => {}
            }
        }
    }
    pages.retain(|page| page.exists());
    pages.sort();
    Ok(pages)
}

/// Puts every block's text between its markers.
fn fill(text: &str, page: &str, block: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut filled = String::new();
    let mut rest = text;
    for (number, line) in text.lines().enumerate() {
        if line.contains(MARK) && !line.contains(BEGIN) && !line.contains(END) {
            bail!(
                "{page}, line {}: `{}` is no marker: take `{BEGIN} NAME -->` or `{END}`",
                number + 1,
                line.trim()
            );
        }
    }
    while let Some(start) = rest.find(BEGIN) {
        let line = rest[..start].matches('\n').count() + filled.matches('\n').count() + 1;
        let (before, marked) = rest.split_at(start);
        let (marker, inside) = marked
            .split_once("-->")
            .with_context(|| format!("{page}, line {line}: `{BEGIN}` has no `-->`"))?;
        let end = inside
            .find(END)
            .with_context(|| format!("{page}, line {line}: `{BEGIN}` has no `{END}`"))?;
        if inside[..end].contains(BEGIN) {
            bail!("{page}, line {line}: `{BEGIN}` begins again before `{END}`");
        }
        let name = marker[BEGIN.len()..].trim();
        let made = block(name).with_context(|| format!("{page}, line {line}"))?;
        filled += before;
        filled += &format!("{marker}-->\n\n{}\n\n", made.trim());
        filled += END;
        rest = &inside[end + END.len()..];
    }
    if rest.contains(END) {
        bail!("{page}: `{END}` without a beginning");
    }
    Ok(filled + rest)
}

impl Results {
    /// The newest run: what is printed where no run is named.
    fn newest(&self) -> Option<&Run> {
        self.runs.last()
    }

    /// The text of a block.
    fn block(&self, name: &str) -> Result<String> {
        if name == "history" {
            return Ok(self.history.as_ref().map_or(String::new(), |h| history(h).to_string()));
        }
        if let Some(name) = name.strip_prefix("rows ") {
            return crate::rows::block(&xtask::root(), name);
        }
        if let Some(name) = name.strip_prefix("matrices ") {
            return crate::matrices::block(&xtask::root(), name);
        }
        if let Some(from) = name.strip_prefix("library") {
            // Where the page's links begin: the folder of results, as seen from it.
            let newest = self.library.last().context("results/library is empty")?;
            let to = if from.is_empty() { "results" } else { from.trim() };
            return Ok(newest.short()?.replace("RESULTS", to));
        }
        let Some(run) = self.newest() else {
            return Ok("Nothing has been measured yet: `ladder measure` does it.".into());
        };
        let (kind, rest) = name.split_once(' ').unwrap_or((name, ""));
        Ok(match kind {
            "" | "ladder" => page::ladder(run, &repeat::kind_of(&self.runs, run)),
            "machine" => page::machine(run),
            "runs" => list(&self.runs).to_string(),
            "repeat" => match repeat::kinds(&self.runs).as_slice() {
                [] => "No program has been run on two GPUs of a kind so far.".into(),
                kinds => repeat::page(kinds),
            },
            "counters" => ledger(&run.counters).to_string(),
            "times" => page::times(run, element(rest), Cache::Cold, Clock::Gpu).to_string(),
            "warm" => page::times(run, element(rest), Cache::Warm, Clock::Gpu).to_string(),
            "host" => page::times(run, element(rest), Cache::Cold, Clock::Host).to_string(),
            "rates" => page::rates(run, element(rest), Cache::Cold).to_string(),
            "against-cub" => page::against(run, element(rest), Cache::Cold).to_string(),
            "against-before" => page::steps(run, element(rest)).to_string(),
            "step" => step(run, rest)?.to_string(),
            "plot" => {
                let plots = self.plots()?;
                let found = plots.into_iter().find(|(plot, _)| plot == rest);
                found.with_context(|| format!("there is no plot `{rest}`"))?.1
            }
            _ => bail!(
                "there is no block `{name}`: take ladder, library, machine, runs, repeat, counters, history, \
                 times, warm, host, rates, against-cub, against-before (each with a type), \
                 step NAME, plot NAME, rows NAME or matrices NAME"
            ),
        })
    }

    /// Every plot that there is data for, by name.
    fn plots(&self) -> Result<Vec<(String, String)>> {
        let mut plots = Vec::new();
        if let Some(run) = self.newest() {
            plots.push(("bandwidth".to_owned(), plots::bandwidth(run)?));
            plots.extend(plots::stacked(run)?.map(|svg| ("time".to_owned(), svg)));
            if !run.sweep.is_empty() {
                plots.push(("sweep".to_owned(), plots::sweep(run)?));
            }
        }
        if let Some(history) = &self.history {
            plots.push(("history".to_owned(), plots::history(history, self.newest())?));
        }
        Ok(plots)
    }
}

/// The type that a block names; f32 if it names none.
fn element(name: &str) -> &str {
    if name.is_empty() { "f32" } else { name }
}

/// All runs.
fn list(runs: &[Run]) -> Table {
    let mut table = Table::of_words(["run", "GPU", "samples kept", "minutes", "command"]);
    for run in runs {
        let rounds: u32 = run.cells.iter().map(|cell| cell.rounds).sum();
        table.row([
            format!("[{0}](results/{0})", run.name),
            run.env.gpu.name.clone(),
            format!("{rounds} rounds of {}", run.env.variant.len()),
            format!("{:.1}", run.env.run.seconds / 60.0),
            format!("`{}`", run.env.run.command),
        ]);
    }
    table
}

/// One step at every size.
fn step(run: &Run, name: &str) -> Result<Table> {
    let steps = run.steps();
    let at = steps
        .iter()
        .position(|step| step.name == name)
        .with_context(|| format!("{} has no step `{name}`", run.name))?;
    let before = at.checked_sub(1).map(|before| steps[before].name.as_str());
    let mut table = Table::new(["n", "µs", "GB/s", "% of bus", "step before =", "CUB ="]);
    for n in run.sizes("f32", Cache::Cold, Clock::Gpu) {
        let place = Place { element: "f32", n, cache: Cache::Cold, clock: Clock::Gpu };
        let Some(time) = run.time(name, &place) else { continue };
        let rate = run.bandwidth(steps[at], &place).unwrap_or(f64::NAN);
        let bus = run.env.gpu.bus_bytes_per_second;
        let ratio = |other: Option<&str>| {
            let ratio = other.and_then(|other| run.ratio(other, name, &place));
            ratio.map_or("–".into(), |ratio| ratio.to_string())
        };
        table.row([
            table::size(n),
            table::micros(time.median),
            table::gigabytes(rate),
            if bus > 0.0 { format!("{:.1}", 100.0 * rate / bus) } else { "–".into() },
            ratio(before),
            ratio(Some(measured::PEER)),
        ]);
    }
    Ok(table)
}

/// The first launch of each step, a column a step, a row a metric.
fn ledger(counts: &[Count]) -> Table {
    let mut steps: Vec<&str> = Vec::new();
    let mut metrics: Vec<&str> = Vec::new();
    for count in counts.iter().filter(|count| count.launch == 1) {
        if !steps.contains(&count.variant.as_str()) {
            steps.push(&count.variant);
        }
        if !metrics.contains(&count.metric.as_str()) {
            metrics.push(&count.metric);
        }
    }
    let mut table = Table::new(["metric of the first launch"].iter().chain(&steps).copied());
    for metric in metrics {
        let value = |step: &&str| {
            let found =
                counts.iter().find(|c| c.launch == 1 && c.variant == **step && c.metric == metric);
            found.map_or("–".to_owned(), |count| match count.value.fract() {
                0.0 => format!("{:.0}", count.value),
                _ => format!("{:.2}", count.value),
            })
        };
        table.row([format!("`{metric}`")].into_iter().chain(steps.iter().map(value)));
    }
    table
}

/// What others have published.
fn history(history: &History) -> Table {
    let mut table =
        Table::new(["GPU", "year", "kernel", "our step", "GB/s", "first =", "source", "mended"]);
    for published in &history.table {
        for row in &published.row {
            let step = if row.step.is_empty() { "–" } else { &row.step };
            table.row([
                published.gpu.clone(),
                published.year.to_string(),
                row.name.clone(),
                step.to_owned(),
                table::gigabytes(published.rate(row) * 1e9),
                format!("{:.2}×", published.speedup(row)),
                published.source.clone(),
                published.mended.clone(),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upper(name: &str) -> Result<String> {
        match name {
            "bad" => bail!("no such block"),
            name => Ok(format!("<{name}>\n")),
        }
    }

    #[test]
    fn blocks_are_filled_and_the_rest_is_left_alone() {
        let text = "a\n<!-- results:begin -->\nold\n<!-- results:end -->\nb\n<!-- results:begin step v0 --><!-- results:end -->\n";
        let once = fill(text, "README.md", upper).unwrap();
        assert_eq!(
            once,
            "a\n<!-- results:begin -->\n\n<>\n\n<!-- results:end -->\nb\n<!-- results:begin step v0 -->\n\n<step v0>\n\n<!-- results:end -->\n"
        );
        assert_eq!(fill(&once, "README.md", upper).unwrap(), once);
        assert_eq!(fill("nothing here", "x", upper).unwrap(), "nothing here");
    }

    #[test]
    fn markers_that_do_not_pair_are_named() {
        for (text, why) in [
            ("\n<!-- results:begin -->", "line 2"),
            ("<!-- results:begin", "no `-->`"),
            ("<!-- results:end -->", "without a beginning"),
            ("<!-- results:begin --><!-- results:begin --><!-- results:end -->", "begins again"),
            ("<!-- results:begin bad --><!-- results:end -->", "no such block"),
        ] {
            let message = format!("{:#}", fill(text, "p.md", upper).unwrap_err());
            assert!(message.contains(why) && message.starts_with("p.md"), "{message}");
        }
    }

    /// A tree with the synthetic run, twice, and a front page.
    fn tree(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("results-{}-{name}", std::process::id()));
        let fixture = xtask::root().join("measured/tests/synthetic");
        for run in ["2000-01-01-synthetic-gpu", "2000-01-02-synthetic-gpu"] {
            let folder = root.join("results").join(run);
            fs::create_dir_all(&folder).unwrap();
            for file in ["env.toml", "cells.csv", "raw.csv", "sweep.csv", "counters.csv"] {
                fs::copy(fixture.join(file), folder.join(file)).unwrap();
            }
        }
        fs::copy(fixture.join("history.toml"), root.join("results/history.toml")).unwrap();
        let names = [
            "",
            " machine",
            " runs",
            " repeat",
            " counters",
            " history",
            " times f32",
            " rates",
            " warm",
            " host",
            " against-cub i32",
            " against-before",
            " step v1-divergence",
            " plot bandwidth",
            " plot sweep",
        ];
        let blocks = names.map(|n| format!("<!-- results:begin{n} -->\n<!-- results:end -->\n"));
        fs::write(root.join("README.md"), format!("# Title\n\n{}", blocks.join("\n"))).unwrap();
        root
    }

    #[test]
    fn a_tree_renders_once_and_is_fresh_then() {
        let root = tree("fresh");
        assert!(render(&root, true).is_err());
        render(&root, false).unwrap();
        render(&root, true).unwrap();
        let page = fs::read_to_string(root.join("README.md")).unwrap();
        assert!(page.contains("[v1-divergence](steps/v1-divergence)"), "{page}");
        assert!(page.contains("2000-01-02-synthetic-gpu") && page.contains("<svg"), "{page}");
        let twice = fs::read_to_string(root.join("results").join(repeat::FILE)).unwrap();
        assert!(twice.contains("From [2000-01-01-synthetic-gpu]"), "{twice}");
        assert!(twice.contains("held another run's median in 20 of 20"), "{twice}");
        for plot in ["bandwidth", "time", "sweep", "history"] {
            let svg = fs::read_to_string(root.join(PLOTS).join(format!("{plot}.svg"))).unwrap();
            assert!(svg.starts_with("<svg") && svg.contains("currentColor"), "{plot}");
            assert!(svg.lines().all(|line| !line.trim().is_empty()), "{plot} has a blank line");
        }
        // An edited page is not fresh, and says which.
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
            (BEGIN, "<!-- results:bgin", "is no marker: take"),
            (BEGIN, "<!-- begin", "without a beginning"),
            (END, "<!-- results:stop -->", "is no marker: take"),
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
        fs::remove_file(root.join("results/2000-01-02-synthetic-gpu/env.toml")).unwrap();
        let message = format!("{:#}", render(&root, true).unwrap_err());
        assert!(
            message.contains("2000-01-02-synthetic-gpu") && message.contains("env.toml"),
            "{message}"
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn figures_that_cannot_be_stop_it() {
        let root = tree("faults");
        let path = root.join("results/2000-01-02-synthetic-gpu/raw.csv");
        let raw = fs::read_to_string(&path).unwrap();
        // Every v1 sample at the largest size a thousand times faster: above the bus.
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
    fn an_empty_tree_says_that_nothing_was_measured() {
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
