//! The file `rows.csv.gz`, with the times of single calls to `reduce` and other libraries, each of
//! which sums every row.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    env::read_toml,
    pair::{Ratio, there_and_back},
    sample::{read_csv, write_csv},
    stats::Summary,
    table::{Table, micros},
};

/// The time of one call on `f32` rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The number of rows.
    pub rows: u64,
    /// The number of elements in each row.
    pub elements: u64,
    /// The function.
    pub way: String,
    /// The round. The calls in a round were made one after another.
    pub round: u32,
    /// The time in nanoseconds.
    pub ns: u64,
}

impl Taken {
    /// Reads a file of calls.
    pub fn read(path: &Path) -> Result<Vec<Taken>> {
        read_csv(path)
    }

    /// Writes a file of calls.
    pub fn write(path: &Path, taken: &[Taken]) -> Result<()> {
        write_csv(path, taken)
    }
}

/// The file `rows.toml`, which describes the machine on which the calls were timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// A description of the GPU, in one line.
    pub gpu: String,
    /// The versions of CUB and of its compiler.
    pub cub: String,
    /// The peak memory bandwidth in bytes per second, if the driver reports it.
    pub bus_bytes_per_second: Option<f64>,
}

impl About {
    /// Reads a `rows.toml` file.
    pub fn read(path: &Path) -> Result<About> {
        read_toml(path)
    }

    /// Writes a `rows.toml` file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = toml::to_string(self).map_err(|error| Error::Toml {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        fs::write(path, text).map_err(Error::writing(path))
    }
}

/// The time of one launch of a kernel from `studies/row-sum`, and the multiprocessor resources that
/// the kernel uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launched {
    /// The kernel.
    pub way: String,
    /// The number of rows.
    pub rows: u64,
    /// The number of elements in each row.
    pub elements: u64,
    /// The number of registers per thread.
    pub registers: u32,
    /// The number of resident blocks on each multiprocessor.
    pub blocks: u32,
    /// The number of threads per block.
    pub threads: u32,
    /// The round. The launches in a round were made one after another.
    pub round: u32,
    /// The time in nanoseconds.
    pub ns: u64,
}

impl Launched {
    /// Reads a file of launches.
    pub fn read(path: &Path) -> Result<Vec<Launched>> {
        read_csv(path)
    }
}

/// A trial of a kernel for long unaligned rows, timed in the same rounds as CUB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// The number of the run. The two runs were made on different GPUs.
    pub run: u32,
    /// The kernel that was tried.
    pub kernel: String,
    /// The number of elements in a row. The rows have 2^28 elements in total, rounded down.
    pub elements: u64,
    /// The kernel's median time, in microseconds.
    pub reduce_us: f64,
    /// CUB's median time, in microseconds.
    pub cub_us: f64,
}

impl Tried {
    /// Reads a file of trials.
    pub fn read(path: &Path) -> Result<Vec<Tried>> {
        read_csv(path)
    }
}

/// The times of one shape, by function.
pub type Ways = BTreeMap<String, Vec<(u32, u64)>>;

/// All shapes, keyed by the number of elements in a row and then by the number of rows.
pub type Cells = BTreeMap<(u64, u64), Ways>;

/// Groups calls by shape and function.
pub fn of_cells(taken: &[Taken]) -> Cells {
    let mut cells = Cells::new();
    for call in taken {
        let ways = cells.entry((call.elements, call.rows)).or_default();
        ways.entry(call.way.clone()).or_default().push((call.round, call.ns));
    }
    cells.values_mut().flat_map(|ways| ways.values_mut()).for_each(|times| times.sort_unstable());
    cells
}

/// Adds the measurements made by a program in another language. That program also measures `cub`,
/// which is the common baseline for comparing its other functions with ours.
pub fn with(mut cells: Cells, others: Cells) -> Cells {
    for (shape, ways) in others {
        let Some(ours) = cells.get_mut(&shape) else { continue };
        for (way, times) in ways {
            let name = if way == "cub" { "cub, again".into() } else { way };
            ours.insert(name, times);
        }
    }
    cells
}

/// Returns the median of a function's times, in nanoseconds, with its interval.
pub fn time(ways: &Ways, way: &str) -> Option<Summary> {
    let pairs: Vec<f64> = there_and_back(ways.get(way)?).into_iter().map(|(_, ns)| ns).collect();
    Summary::batched(&pairs)
}

/// Returns the number of bytes read and written, divided by the time, in GB/s.
pub fn rate((elements, rows): (u64, u64), ways: &Ways, way: &str) -> Option<f64> {
    Some((4 * rows * elements + 4 * rows) as f64 / time(ways, way)?.median)
}

/// Returns the speedup of `reduce` over a function. The ratio comes from the same rounds or, if the
/// function ran in another program, from both functions' ratios to CUB.
pub fn ratio(ways: &Ways, way: &str) -> Option<f64> {
    let of =
        |first: &str, second: &str| Some(Ratio::of(ways.get(first)?, ways.get(second)?)?.0.median);
    if way == "torch" {
        return Some(of("cub", "reduce")? * of("torch", "cub, again")?);
    }
    of(way, "reduce")
}

/// Returns the fastest function that is not ours, and the speedup of `reduce` over it.
pub fn against(ways: &Ways) -> Option<(&str, f64)> {
    let others = ["cub", "torch"].into_iter();
    others.filter_map(|way| Some((way, ratio(ways, way)?))).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Formats a line for each shape: the speedup over the fastest other function, the times, and the
/// bandwidth.
pub fn table(cells: &Cells) -> String {
    let named = ["reduce", "cub", "torch", "cub-offsets"];
    let there: Vec<&str> = named
        .into_iter()
        .filter(|way| cells.values().any(|ways| ways.contains_key(*way)))
        .collect();
    let heads = ["n", "rows", "vs. faster", "faster"].into_iter().map(str::to_owned);
    let heads = heads.chain(there.iter().map(|way| format!("{way} µs")));
    let mut table = Table::new(heads.chain(["GB/s".to_owned()]));
    for (shape, ways) in cells {
        let (elements, rows) = *shape;
        let times = there
            .iter()
            .map(|way| time(ways, way).map_or_else(|| "–".into(), |time| micros(time.median)));
        let rate = rate(*shape, ways, "reduce").map_or_else(|| "–".into(), |r| format!("{r:.0}"));
        let (who, much) = against(ways)
            .map_or_else(|| ("–", "–".into()), |(who, much)| (who, format!("{much:.3}×")));
        let head = [numbers::size(elements), numbers::size(rows), much, who.to_owned()];
        table.row(head.into_iter().chain(times).chain([rate]));
    }
    table.to_string()
}

/// If the speedup over the fastest other function is below this value, `reduce` counts as slower.
pub const WANTED: f64 = 0.97;

/// Formats the number of shapes whose speedup is below [`WANTED`], grouped by the number of
/// elements in a row.
pub fn below(cells: &Cells) -> String {
    let ratios = cells.iter().filter_map(|(shape, ways)| Some((shape.0, against(ways)?.1)));
    let ratios: Vec<(u64, f64)> = ratios.collect();
    // All rows are aligned only if the size of a row is a multiple of 16 bytes.
    let kinds = [("aligned", true), ("unaligned", false)];
    let spans = [(1, 512), (513, 12_288), (12_289, 1 << 20), ((1 << 20) + 1, u64::MAX)];
    let mut table =
        Table::new(["elements in a row", "rows", "shapes", "slower", "median", "worst"]);
    for (from, to) in spans {
        for (kind, whole) in kinds {
            let of =
                ratios.iter().filter(|(n, _)| (from..=to).contains(n) && (n % 4 == 0) == whole);
            let sorted = numbers::sorted(of.map(|(_, ratio)| *ratio));
            if sorted.is_empty() {
                continue;
            }
            let below = sorted.iter().filter(|ratio| **ratio < WANTED).count();
            let span = match to {
                u64::MAX => format!("from {}", numbers::size(from)),
                _ => format!("{} to {}", numbers::size(from), numbers::size(to)),
            };
            table.row([
                span,
                kind.to_owned(),
                sorted.len().to_string(),
                below.to_string(),
                format!("{:.3}×", numbers::quantile(&sorted, 0.5)),
                format!("{:.3}×", sorted[0]),
            ]);
        }
    }
    let below = ratios.iter().filter(|(_, ratio)| *ratio < WANTED).count();
    let all = ratios.len();
    format!(
        "At {below} of {all} shapes, `reduce` is less than {WANTED} times as fast as the faster of CUB and torch.\n\n{table}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_of_a_run_is_read_back() {
        let path = std::env::temp_dir().join(format!("rows-{}.toml", std::process::id()));
        for bus in [Some(4_814_304_000_000.0), None] {
            let about = About { gpu: "H200".into(), cub: "CCCL".into(), bus_bytes_per_second: bus };
            about.write(&path).unwrap();
            assert_eq!(About::read(&path).unwrap(), about);
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn slower_shapes_are_counted() {
        let shape = |elements, cub| {
            let calls = [taken("reduce", 1000), taken("cub", cub)].concat();
            calls.into_iter().map(move |call| Taken { elements, ..call })
        };
        let taken: Vec<Taken> = [(8, 2000), (9, 1000), (10, 900), (20_000, 960)]
            .into_iter()
            .flat_map(|(n, ns)| shape(n, ns))
            .collect();
        let text = below(&of_cells(&taken));
        assert!(text.contains("2 of 4 shapes"), "{text}");
        let lines: Vec<&str> = text.lines().skip(4).collect();
        assert_eq!(lines.len(), 3, "{text}");
        let kind = |line: &str| line.split('|').nth(2).map(|cell| cell.trim().to_owned());
        assert_eq!(kind(lines[1]).as_deref(), Some("unaligned"), "{text}");
        assert_eq!(kind(lines[2]).as_deref(), Some("aligned"), "{text}");
        assert!(lines[1].contains("0.900×") && lines[2].contains("0.960×"), "{text}");
    }

    fn taken(way: &str, ns: u64) -> Vec<Taken> {
        let call = |round| Taken {
            rows: 4,
            elements: 8,
            way: way.into(),
            round,
            ns: ns + u64::from(round % 2),
        };
        (0..40).map(call).collect()
    }

    #[test]
    fn calls_are_read_back() {
        let path = std::env::temp_dir().join(format!("rows-{}.csv", std::process::id()));
        let calls = taken("reduce", 1000);
        Taken::write(&path, &calls).unwrap();
        assert_eq!(Taken::read(&path).unwrap(), calls);
        fs::write(
            &path,
            "way,rows,elements,registers,blocks,threads,round,ns\nwarp,4,8,32,16,128,3,900\n",
        )
        .unwrap();
        let launched = Launched::read(&path).unwrap();
        assert_eq!((launched.len(), launched[0].way.as_str(), launched[0].ns), (1, "warp", 900));
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_rate_counts_the_input_and_a_sum_for_each_row() {
        let cells = of_cells(&taken("reduce", 999));
        let ways = &cells[&(8, 4)];
        // The rounds take 999 and 1000 ns, for 4 rows of 8 floats and 4 sums.
        assert_eq!(time(ways, "reduce").unwrap().median, 999.5);
        assert_eq!(rate((8, 4), ways, "reduce"), Some((128.0 + 16.0) / 999.5));
        assert_eq!(rate((8, 4), ways, "cub"), None);
    }

    #[test]
    fn adjacent_spans_do_not_overlap() {
        // The times have no noise; a ratio of 0.97 does not count as slower.
        let even = |elements, way: &str, ns| {
            let calls = taken(way, ns).into_iter();
            calls.map(move |call| Taken { elements, ns, ..call }).collect::<Vec<_>>()
        };
        let shape = |n, cub| [even(n, "reduce", 1000), even(n, "cub", cub)].concat();
        let text = below(&of_cells(&[shape(1 << 20, 970), shape((1 << 20) + 4, 960)].concat()));
        assert!(text.contains("1 of 2 shapes"), "{text}");
        let line = |span: &str| -> Vec<String> {
            let lines: Vec<&str> = text.lines().filter(|line| line.contains(span)).collect();
            assert_eq!(lines.len(), 1, "{span}: {text}");
            lines[0].split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        assert_eq!(line(" to 2^20")[3..6], ["1", "0", "0.970×"], "{text}");
        assert_eq!(line("| from ")[3..6], ["1", "1", "0.960×"], "{text}");
    }

    #[test]
    fn torch_is_compared_through_cub() {
        let ours = of_cells(&[taken("reduce", 1000), taken("cub", 2000)].concat());
        // The other program's GPU was a quarter slower.
        let theirs = of_cells(&[taken("torch", 2000), taken("cub", 2500)].concat());
        let cells = with(ours, theirs);
        let ways = &cells[&(8, 4)];
        let (who, much) = against(ways).unwrap();
        assert!(who == "torch" && (much - 1.6).abs() < 0.01, "{who} {much}");
        assert!((ratio(ways, "cub").unwrap() - 2.0).abs() < 0.01);
        let text = table(&cells);
        assert!(text.contains("torch") && text.contains("1.6"), "{text}");
    }
}
