//! The file `library.csv.gz`, with the times of single calls of `reduce` and CUB, and the file
//! `first.csv`, with times to first result.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{
    Clock, Result,
    pair::{Ratio, there_and_back},
    sample::{read_csv, write_csv},
    stats::Summary,
    table::{Table, micros},
};

/// The time of one call, which is a row of `library.csv.gz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The timer. The GPU's timer measures calls whose input is in device memory; the host's timer
    /// runs until the result is on the host, and the input is where the previous call left it.
    pub clock: Clock,
    /// The operation: `sum`, `min` or `max`.
    pub operation: String,
    /// The element type.
    #[serde(rename = "type")]
    pub element: String,
    /// The number of elements.
    pub n: u64,
    /// The function's name; for wall times, the name states how the result was copied to the host.
    pub way: String,
    /// The round. The calls in a round were made one after another.
    pub round: u32,
    /// The time in nanoseconds.
    pub ns: u64,
}

/// The time to first result in a new process, which is a row of `first.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct First {
    /// The element type.
    #[serde(rename = "type")]
    pub element: String,
    /// The operation: `sum`, `min` or `max`.
    pub operation: String,
    /// The number of elements.
    pub n: u64,
    /// The number of the process, counting from 1.
    pub process: u32,
    /// The time until the context was created, in milliseconds.
    pub context_ms: f64,
    /// The time of the first call after the context was created, in milliseconds. During this call,
    /// the driver compiles a kernel.
    pub first_ms: f64,
    /// The time of the second call, in milliseconds.
    pub second_ms: f64,
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

impl First {
    /// Reads a file of times to first result.
    pub fn read(path: &Path) -> Result<Vec<First>> {
        read_csv(path)
    }

    /// Writes a file of times to first result.
    pub fn write(path: &Path, first: &[First]) -> Result<()> {
        write_csv(path, first)
    }
}

/// The calls of one function at one size: round numbers, and times in nanoseconds.
type Times = Vec<(u32, u64)>;

/// The times for one type and operation on one timer, for every size and function.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The series' title, such as `sum of f32`.
    pub title: String,
    /// The functions, with ours first.
    pub ways: Vec<String>,
    /// The times, keyed by size and then by function.
    pub times: BTreeMap<u64, BTreeMap<String, Times>>,
}

/// Returns all series for a timer, in the order in which they were measured.
pub fn series(taken: &[Taken], clock: Clock) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for call in taken.iter().filter(|call| call.clock == clock) {
        let title = format!("{} of {}", call.operation, call.element);
        let at = all.iter().position(|series| series.title == title).unwrap_or_else(|| {
            all.push(Series { title, ..Series::default() });
            all.len() - 1
        });
        let series = &mut all[at];
        if !series.ways.contains(&call.way) {
            series.ways.push(call.way.clone());
        }
        let times = series.times.entry(call.n).or_default().entry(call.way.clone()).or_default();
        times.push((call.round, call.ns));
    }
    for series in &mut all {
        for ways in series.times.values_mut() {
            ways.values_mut().for_each(|times| times.sort_unstable());
        }
    }
    all
}

impl Series {
    /// Returns the median of a function's times, in nanoseconds, with its interval.
    pub fn time(&self, n: u64, way: &str) -> Option<Summary> {
        let pairs: Vec<f64> =
            there_and_back(self.times.get(&n)?.get(way)?).into_iter().map(|(_, ns)| ns).collect();
        Summary::batched(&pairs)
    }

    /// Returns whether a function belongs to `reduce`.
    fn ours(way: &str) -> bool {
        way.starts_with("reduce")
    }

    /// Returns the speedup of our function over CUB's fastest function, and the name of CUB's
    /// function.
    pub fn ratio(&self, n: u64, way: &str) -> Option<(Ratio, &str)> {
        let others = self.ways.iter().filter(|way| !Series::ours(way));
        let timed = others.filter_map(|way| Some((self.time(n, way)?.median, way)));
        let (_, fastest) = timed.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let ways = self.times.get(&n)?;
        Some((Ratio::of(ways.get(fastest)?, ways.get(way)?)?, fastest))
    }

    /// Returns, for every size between two powers of two, our time divided by the time that is
    /// interpolated linearly between the times at those powers.
    pub fn above_the_line(&self, way: &str) -> Vec<(u64, f64)> {
        let time = |n: u64| Some(self.time(n, way)?.median);
        let between = self.times.keys().filter(|n| !n.is_power_of_two()).filter_map(|&n| {
            let low = 1u64 << n.ilog2();
            let (from, to) = (time(low)?, time(2 * low)?);
            let line = from + (to - from) * (n - low) as f64 / low as f64;
            Some((n, time(n)? / line))
        });
        between.collect()
    }

    /// Returns a table with a row for each size: the times in microseconds, and our speedup over
    /// CUB's fastest function.
    pub fn table(&self) -> String {
        let ours: Vec<&String> = self.ways.iter().filter(|way| Series::ours(way)).collect();
        let heads = self.ways.iter().cloned().chain(ours.iter().map(|way| format!("CUB / {way}")));
        let mut table = Table::new(["n".to_owned()].into_iter().chain(heads));
        for &n in self.times.keys() {
            let times = self.ways.iter().map(|way| {
                self.time(n, way).map_or_else(|| "–".into(), |time| micros(time.median))
            });
            let ratios = ours.iter().map(|way| {
                self.ratio(n, way).map_or_else(|| "–".into(), |(ratio, _)| ratio.to_string())
            });
            table.row([numbers::size(n)].into_iter().chain(times).chain(ratios));
        }
        table.to_string()
    }

    /// Returns the sizes at which a function is significantly slower than CUB, and the sizes at
    /// which the difference is not significant.
    pub fn behind_and_level(&self, way: &str) -> (Vec<u64>, Vec<u64>) {
        let (mut behind, mut level) = (Vec::new(), Vec::new());
        for &n in self.times.keys() {
            match self.ratio(n, way) {
                Some((ratio, _)) if ratio.0.high < 1.0 => behind.push(n),
                Some((ratio, _)) if ratio.0.low <= 1.0 => level.push(n),
                _ => {}
            }
        }
        (behind, level)
    }
}

/// Returns a title and a table for each type and operation on a timer, with sentences that
/// summarize the table.
pub fn tables(taken: &[Taken], clock: Clock) -> Vec<(String, String)> {
    let of = |series: Series| (series.title.clone(), series.table() + &series.sentences());
    series(taken, clock).into_iter().map(of).collect()
}

impl Series {
    /// Returns sentences that list the sizes at which our first function is slower than CUB or not
    /// distinguishable from it, and that state by how much, at most, the function's time exceeds
    /// the interpolated time.
    pub fn sentences(&self) -> String {
        let mut text = String::new();
        let series = self;
        if let Some(way) = series.ways.first() {
            let (behind, level) = series.behind_and_level(way);
            let list = |sizes: &[u64]| {
                let sizes: BTreeSet<u64> = sizes.iter().copied().collect();
                sizes.into_iter().map(numbers::group).collect::<Vec<_>>().join("; ")
            };
            let all = series.times.len();
            text += &match behind.as_slice() {
                [] => format!(
                    "\nAt none of the {all} sizes is `{way}` significantly slower than the faster of the two CUB versions.\n"
                ),
                sizes => format!(
                    "\n`{way}` is significantly slower than the faster of the two CUB versions at {} of the {all} sizes: {}.\n",
                    sizes.len(),
                    list(sizes)
                ),
            };
            text += &match level.as_slice() {
                [] => "At every size at which both were measured, the difference is significant.\n"
                    .to_owned(),
                sizes => format!(
                    "The difference is not significant at {} of these sizes: {}.\n",
                    sizes.len(),
                    list(sizes)
                ),
            };
            let above = series.above_the_line(way);
            if let Some((n, most)) = above.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
                let far: Vec<u64> =
                    above.iter().filter(|(_, above)| *above > 1.075).map(|(n, _)| *n).collect();
                text += &format!(
                    "The time of `{way}` is at most {most:.3} times the time interpolated between the neighbouring powers of two (at {} elements).\n",
                    numbers::group(*n)
                );
                text += &match far.as_slice() {
                    [] => "The time never exceeds 1.075 times the interpolated time.\n".to_owned(),
                    sizes => format!(
                        "The time exceeds 1.075 times the interpolated time at {} of the {} sizes between two powers of two: {}.\n",
                        sizes.len(),
                        above.len(),
                        list(sizes)
                    ),
                };
            }
        }
        text
    }
}

/// Returns the table of times to first result: the median and the maximum over several processes.
pub fn first_table(first: &[First]) -> String {
    let mut table =
        Table::new(["", "context, ms", "first result, ms", "slowest, ms", "second result, µs"]);
    let same = |a: &First, b: &First| a.operation == b.operation && a.element == b.element;
    for rows in first.chunk_by(same) {
        let all = |of: fn(&First) -> f64| numbers::sorted(rows.iter().map(of));
        let median = |of| numbers::quantile(&all(of), 0.5);
        let slowest = all(|row| row.first_ms).last().copied().unwrap_or(f64::NAN);
        table.row([
            format!("{} of {}", rows[0].operation, rows[0].element),
            format!("{:.0}", median(|row| row.context_ms)),
            format!("{:.1}", median(|row| row.first_ms)),
            format!("{slowest:.1}"),
            format!("{:.1}", 1e3 * median(|row| row.second_ms)),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(way: &str, n: u64, ns: impl Fn(u32) -> u64) -> Vec<Taken> {
        let call = |round| Taken {
            clock: Clock::Gpu,
            operation: "sum".into(),
            element: "f32".into(),
            n,
            way: way.into(),
            round,
            ns: ns(round),
        };
        (0..40).map(call).collect()
    }

    #[test]
    fn the_ratio_is_over_the_faster_of_the_others() {
        let all: Vec<Taken> = [("reduce", 1000), ("cub", 1500), ("cub-3.0", 1200)]
            .into_iter()
            .flat_map(|(way, ns)| taken(way, 4096, |_| ns))
            .collect();
        let series = &series(&all, Clock::Gpu)[0];
        let (ratio, way) = series.ratio(4096, "reduce").unwrap();
        assert_eq!((ratio.0.median, way), (1.2, "cub-3.0"));
        assert_eq!(series.behind_and_level("reduce"), (vec![], vec![]));
        assert!(super::series(&all, Clock::Host).is_empty());
    }

    #[test]
    fn slower_and_level_sizes_are_listed() {
        let all: Vec<Taken> = [
            taken("reduce", 10, |_| 1100),
            taken("cub", 10, |_| 1000),
            taken("reduce", 20, |round| 1000 + u64::from(round * 7919 % 101)),
            taken("cub", 20, |round| 1000 + u64::from(round * 104_729 % 101)),
        ]
        .concat();
        let series = &series(&all, Clock::Gpu)[0];
        assert_eq!(series.behind_and_level("reduce"), (vec![10], vec![20]));
        let text = &tables(&all, Clock::Gpu)[0].1;
        assert!(
            text.contains(
                "`reduce` is significantly slower than the faster of the two CUB versions at 1 of the 2 sizes: 10.\n"
            ) && text.contains("The difference is not significant at 1 of these sizes: 20.\n"),
            "{text}"
        );
    }

    #[test]
    fn equal_times_are_level() {
        let all = [taken("reduce", 10, |_| 1000), taken("cub", 10, |_| 1000)].concat();
        let series = &series(&all, Clock::Gpu)[0];
        assert_eq!(series.behind_and_level("reduce"), (vec![], vec![10]));
    }

    #[test]
    fn a_table_has_times_and_ratios_of_every_size() {
        let all = [
            taken("reduce", 1024, |_| 10_000),
            taken("cub", 1024, |_| 15_000),
            taken("reduce", 4096, |_| 20_000),
        ];
        let text = series(&all.concat(), Clock::Gpu)[0].table();
        let cells = |line: &str| -> Vec<String> {
            line.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let lines: Vec<_> = text.lines().map(cells).collect();
        assert_eq!(lines[0][1..5], ["n", "reduce", "cub", "CUB / reduce"], "{text}");
        assert_eq!(lines[2][1..5], ["2^10", "10.00", "15.00", "1.500 [1.500, 1.500]"], "{text}");
        assert_eq!(lines[3][1..5], ["2^12", "20.00", "–", "–"], "{text}");
    }

    #[test]
    fn calls_and_first_results_are_read_back() {
        let path = std::env::temp_dir().join(format!("library-{}.csv", std::process::id()));
        let calls = taken("reduce", 10, |round| u64::from(round) + 1);
        Taken::write(&path, &calls).unwrap();
        assert_eq!(Taken::read(&path).unwrap(), calls);
        let first = [first("sum", "f32", 1, 70.0)];
        First::write(&path, &first).unwrap();
        assert_eq!(First::read(&path).unwrap(), first);
        std::fs::remove_file(path).unwrap();
    }

    fn first(operation: &str, element: &str, process: u32, first_ms: f64) -> First {
        First {
            element: element.into(),
            operation: operation.into(),
            n: 1,
            process,
            context_ms: 100.0,
            first_ms,
            second_ms: 0.012,
        }
    }

    #[test]
    fn first_results_are_the_median_and_the_slowest() {
        let row = |process, first_ms| first("sum", "f32", process, first_ms);
        let text = first_table(&[row(1, 70.0), row(2, 40.0), row(3, 44.0)]);
        let line = text.lines().last().unwrap();
        assert!(line.contains("44.0") && line.contains("70.0") && line.contains("12.0"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        // Other types and operations have separate lines.
        let text =
            first_table(&[row(1, 70.0), first("sum", "f64", 1, 1.0), first("min", "f64", 1, 1.0)]);
        assert_eq!(text.lines().count(), 5, "{text}");
    }

    #[test]
    fn a_dip_lies_above_the_line() {
        let all: Vec<Taken> = [(1024, 1000), (1536, 1800), (2048, 2000)]
            .into_iter()
            .flat_map(|(n, ns)| taken("reduce", n, move |_| ns))
            .collect();
        let above = series(&all, Clock::Gpu)[0].above_the_line("reduce");
        assert_eq!(above, [(1536, 1.2)]);
        let text = &tables(&all, Clock::Gpu)[0].1;
        assert!(
            text.contains(
                "The time exceeds 1.075 times the interpolated time at 1 of the 1 sizes between two powers of two: 1,536.\n"
            ),
            "{text}"
        );
    }
}
