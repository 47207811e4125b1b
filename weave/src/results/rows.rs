//! The tables of `results/rows`, about sums of rows.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::plan::Size;
use measured::{
    counters::Twice,
    rows::{self, About, Cells, Launched, Taken, Tried},
    table::Table,
};

use super::{
    folders::{newest, of_gpu},
    matrices,
};

/// Returns the text of a block. For example, `rows powers` is a table of times; `rows below drawn`
/// counts the slow shapes; `rows study` has the kernels of the study, at all shapes or at those
/// named, such as `16x2^20`. Each block comes from the newest folder or, with `on=h200`, from that
/// GPU's newest folder. `rows tried` lists the rejected kernels.
pub(crate) fn block(root: &Path, words: &[&str]) -> Result<String> {
    let (words, gpu) = of_gpu(words);
    match words {
        ["tried"] => Ok(tried(&Tried::read(&root.join("results/rows/tried/tried.csv"))?)),
        ["counted"] => {
            let file = "counted.csv";
            Ok(matrices::counted(&Twice::read(&folder(root, gpu, file)?.join(file))?))
        }
        ["study", shapes @ ..] => study(&launched(root, gpu)?, &shapes_of(shapes)?),
        ["below", what] => Ok(rows::below(&cells(root, gpu, what)?)),
        [what] => Ok(rows::table(&cells(root, gpu, what)?)),
        _ => bail!(
            "`rows {}`: use study, counted, tried, a folder of times, or below and a folder of times",
            words.join(" ")
        ),
    }
}

fn folder(root: &Path, gpu: &str, what: &str) -> Result<PathBuf> {
    newest(root, "rows", gpu, what)?.with_context(|| {
        format!("results/rows has no {what} for a GPU whose name contains `{gpu}`")
    })
}

/// Returns the launches in the study.
pub(crate) fn launched(root: &Path, gpu: &str) -> Result<Vec<Launched>> {
    let path = folder(root, gpu, "study")?.join("study/ways.csv");
    let samples = Launched::read(&path)?;
    ensure!(!samples.is_empty(), "{} has no sample", path.display());
    Ok(samples)
}

/// Parses a shape such as `16x2^20`: the number of rows, and the number of elements in each.
pub(crate) fn shape(text: &str) -> Result<(u64, u64)> {
    let (rows, elements) =
        text.split_once('x').with_context(|| format!("`{text}`: write 16x2^20"))?;
    let number = |text: &str| match text.parse::<Size>() {
        Ok(Size(n)) => Ok(n),
        Err(error) => Err(anyhow!("{error}")),
    };
    Ok((number(rows)?, number(elements)?))
}

fn shapes_of(words: &[&str]) -> Result<Vec<(u64, u64)>> {
    words.iter().map(|word| shape(word)).collect()
}

/// Returns the median time of a kernel's launches at a shape, in microseconds.
pub(crate) fn micros(samples: &[Launched], way: &str, (rows, elements): (u64, u64)) -> Option<f64> {
    let of = |s: &&Launched| s.way == way && (s.rows, s.elements) == (rows, elements);
    let sorted = numbers::sorted(samples.iter().filter(of).map(|sample| sample.ns as f64 / 1e3));
    (!sorted.is_empty()).then(|| numbers::quantile(&sorted, 0.5))
}

/// Returns the times in a folder, keyed by shape and kernel.
pub(crate) fn cells(root: &Path, gpu: &str, what: &str) -> Result<Cells> {
    let folder = folder(root, gpu, what)?.join(what);
    let read = |name: &str| Taken::read(&folder.join(name));
    let ours = rows::of_cells(&read("rows.csv.gz")?);
    let python = "rows-python.csv.gz";
    if !folder.join(python).exists() {
        return Ok(ours);
    }
    Ok(rows::with(ours, rows::of_cells(&read(python)?)))
}

/// Returns the peak memory bandwidth of the GPU on which these times were measured, in bytes per
/// second.
pub(crate) fn bus(root: &Path, gpu: &str, what: &str) -> Result<f64> {
    let path = folder(root, gpu, what)?.join(what).join("rows.toml");
    let about = About::read(&path)?;
    about
        .bus_bytes_per_second
        .with_context(|| format!("{} has no bus_bytes_per_second", path.display()))
}

/// Returns a table with a row for each kernel and a column for each shape, with registers and
/// occupancy if all shapes are shown.
fn study(samples: &[Launched], only: &[(u64, u64)]) -> Result<String> {
    let mut shapes: Vec<(u64, u64)> = only.to_vec();
    let mut ways: Vec<&Launched> = Vec::new();
    for sample in samples {
        let shape = (sample.rows, sample.elements);
        if only.is_empty() && !shapes.contains(&shape) {
            shapes.push(shape);
        }
        if !ways.iter().any(|way| way.way == sample.way) {
            ways.push(sample);
        }
    }
    let more = if only.is_empty() { vec!["registers", "occupancy"] } else { Vec::new() };
    let heads = ["way"].into_iter().chain(more.iter().copied()).map(str::to_owned);
    let sizes = shapes
        .iter()
        .map(|(rows, n)| format!("{} × {}, µs", numbers::size(*rows), numbers::size(*n)));
    let mut table = Table::new(heads.chain(sizes));
    for way in ways {
        // A multiprocessor can have 2048 resident threads.
        let occupancy = format!("{} %", 100 * way.blocks * way.threads / 2048);
        let facts = [way.registers.to_string(), occupancy];
        let times = shapes.iter().map(|&shape| {
            micros(samples, &way.way, shape).map_or("–".into(), |time| format!("{time:.2}"))
        });
        let head = [way.way.clone()].into_iter().chain(facts.into_iter().take(more.len()));
        table.row(head.chain(times));
    }
    Ok(table.to_string())
}

/// Returns the speedup of each kernel over CUB, in the same rounds, in a table with a row for each
/// kernel and run.
fn tried(all: &[Tried]) -> String {
    const SHOWN: [u64; 6] = [49_155, 70_777, 194_053, 737_297, 2_518_271, 26_928_346];
    let mut lines: BTreeMap<(u32, &str), BTreeMap<u64, f64>> = BTreeMap::new();
    for one in all {
        let line = lines.entry((one.run, one.kernel.as_str())).or_default();
        line.insert(one.elements, one.cub_us / one.reduce_us);
    }
    let heads = ["run".to_owned(), "kernel".to_owned()].into_iter();
    let mut table = Table::of_words(heads.chain(SHOWN.map(|n| n.to_string())));
    for ((run, kernel), times) in lines {
        let cell = |n| times.get(n).map_or("–".into(), |times| format!("{times:.2}"));
        table.row([run.to_string(), kernel.to_owned()].into_iter().chain(SHOWN.iter().map(cell)));
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_shows_the_shapes_asked_for() {
        let sample = |way: &str, rows, ns| Launched {
            way: way.into(),
            rows,
            elements: 2048,
            registers: 32,
            blocks: 4,
            threads: 256,
            round: 0,
            ns,
        };
        let samples = [sample("a", 16, 3000), sample("a", 17, 5000), sample("b", 16, 4000)];
        let all = study(&samples, &[]).unwrap();
        assert!(all.contains("50 %") && all.contains("3.00") && all.contains("5.00"), "{all}");
        let one = study(&samples, &shapes_of(&["17x2^11"]).unwrap()).unwrap();
        assert!(one.contains("5.00") && !one.contains("3.00") && !one.contains("50 %"), "{one}");
        assert!(one.lines().last().unwrap().contains('–'), "b was not launched there: {one}");
        assert!(shape("16").is_err() && shape("16x").is_err());
    }
}
