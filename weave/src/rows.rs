//! Sums of rows: the tables and the map of `results/rows`.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use anyhow::{Context, Result, bail};
use measured::{
    counters::Twice,
    rows::{self, About, Cells, Launched, Taken, Tried},
    table::Table,
};

use crate::folders::{newest, of_gpu};

/// The text of a block: `rows study`, `rows map`, `rows powers`; `rows below drawn` counts what is slow;
/// each of the newest folder, or, with ` on h200`, of that GPU's. `rows tried` is what was tried.
pub(crate) fn block(root: &Path, name: &str) -> Result<String> {
    if name == "tried" {
        return Ok(tried(&Tried::read(&root.join("results/rows/tried/tried.csv"))?));
    }
    let (name, gpu) = of_gpu(name);
    let (below, what) = match name.strip_prefix("below ") {
        Some(what) => (true, what),
        None => (false, name),
    };
    let file = if what == "counted" { "counted.csv" } else { what };
    let Some(folder) = newest(root, "rows", gpu, file)? else {
        return Ok("Nothing has been measured yet: `ladder rows` does it.".into());
    };
    if below {
        return Ok(rows::below(&cells(&folder.join(what))?));
    }
    match name {
        "counted" => Ok(crate::matrices::counted(&Twice::read(&folder.join(file))?)),
        "study" => study(&folder),
        "map" => {
            let cells = cells(&folder.join("map"))?;
            let bus = bus(&folder.join("map"))?;
            let there = |way: &&str| cells.values().any(|ways| ways.contains_key(*way));
            let ways = ["reduce", "cub", "torch"].into_iter().filter(there);
            Ok(ways.map(|way| map(&cells, way, bus)).collect::<Vec<_>>().join("\n"))
        }
        _ => Ok(rows::table(&cells(&folder.join(name))?)),
    }
}

fn cells(folder: &Path) -> Result<Cells> {
    let read = |name: &str| Taken::read(&folder.join(name));
    let ours = rows::of_cells(&read("rows.csv.gz")?);
    let python = "rows-python.csv.gz";
    if !folder.join(python).exists() {
        return Ok(ours);
    }
    Ok(rows::with(ours, rows::of_cells(&read(python)?)))
}

/// Bytes that the bus carries in a second.
fn bus(folder: &Path) -> Result<f64> {
    let path = folder.join("rows.toml");
    let about = About::read(&path)?;
    about.bus_bytes_per_second.with_context(|| format!("{} has no bus", path.display()))
}

/// Accumulators, registers, occupancy, time: a line for each way, a column for each shape.
fn study(folder: &Path) -> Result<String> {
    let path = folder.join("study/ways.csv");
    let samples = Launched::read(&path)?;
    let mut shapes: Vec<(u64, u64)> = Vec::new();
    let mut ways: Vec<&Launched> = Vec::new();
    let mut times: BTreeMap<(&str, u64, u64), Vec<f64>> = BTreeMap::new();
    for sample in &samples {
        if !shapes.contains(&(sample.rows, sample.elements)) {
            shapes.push((sample.rows, sample.elements));
        }
        if !ways.iter().any(|way| way.way == sample.way) {
            ways.push(sample);
        }
        let key = (sample.way.as_str(), sample.rows, sample.elements);
        times.entry(key).or_default().push(sample.ns as f64 / 1e3);
    }
    let heads = ["way", "registers", "occupancy"].map(str::to_owned).into_iter();
    let sizes = shapes.iter().map(|(rows, n)| format!("{rows} × {n} µs"));
    let mut table = Table::new(heads.chain(sizes));
    for way in ways {
        let most = 2048;
        let occupancy = 100 * way.blocks * way.threads / most;
        let head = [way.way.clone(), way.registers.to_string(), format!("{occupancy} %")];
        let cells = shapes.iter().map(|(rows, n)| {
            times.get(&(way.way.as_str(), *rows, *n)).map_or_else(
                || "–".into(),
                |times| {
                    let sorted = numbers::sorted(times.iter().copied());
                    format!("{:.2}", numbers::quantile(&sorted, 0.5))
                },
            )
        });
        table.row(head.into_iter().chain(cells));
    }
    if samples.is_empty() {
        bail!("{} has no sample", path.display());
    }
    Ok(table.to_string())
}

/// How many times as fast as CUB each kernel was, in the same rounds: a line for each kernel and run.
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

/// Rows upwards, elements to the right: what share of the bus a way has, by colour, and as a number
/// for whoever points at it.
fn map(cells: &Cells, way: &str, bus: f64) -> String {
    const SIDE: u32 = 11;
    // Room for the figures at the axes, which a telephone's width has to leave legible.
    const LEFT: u32 = 46;
    let power = |n: u64| n.ilog2();
    let top = cells.keys().map(|(n, rows)| power(*n).max(power(*rows))).max().unwrap_or(0);
    let size = (top + 1) * SIDE;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{way}: share of the bus\" style=\"display: block; width: 100%; max-width: 30em\" font-size=\"14\" fill=\"currentColor\">\n",
        size + LEFT + 30,
        size + 46
    );
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"13\">{way}</text>");
    for (shape, ways) in cells {
        let Some(rate) = rows::rate(*shape, ways, way) else { continue };
        let share = 1e9 * rate / bus;
        let (x, y) = (LEFT + power(shape.0) * SIDE, 20 + (top - power(shape.1)) * SIDE);
        let hue = 240.0 * (1.0 - share.min(1.0));
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"hsl({hue:.0} 70% 50%)\"><title>{way}, 2^{} rows of 2^{}: {:.0} %</title></rect>",
            power(shape.1),
            power(shape.0),
            100.0 * share
        );
    }
    for at in (0..=top).step_by(4) {
        let (x, y) = (LEFT + at * SIDE, 20 + (top - at) * SIDE + 10);
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{}\">2^{at}</text>", size + 38);
        let _ = writeln!(svg, "<text x=\"4\" y=\"{y}\">2^{at}</text>");
    }
    svg + "</svg>"
}
