//! Formats the tables of `ladder validate`: the errors of each kernel, the ranges, and the simpler
//! models.

use std::{collections::BTreeMap, fmt::Write as _};

use common::Step;
use measured::table::Table;
use numbers::{quantile, sorted};
use predict::{Gpu, SMALL};

use super::{MODELS, Point, Registers};

/// The sets of kernels, in the order of the tables.
pub(super) const SETS: [&str; 6] = ["step", "variant", "study", "later", "unseen", "others"];

pub(super) fn csv(points: &[Point]) -> String {
    let mut text = String::from(
        "set,kernel,threads,n,measured_us,predicted_us,roofline_us,instructions_us,flight_us\n",
    );
    let all = points.iter().filter(|point| point.set != "again");
    for Point { set, kernel, threads, n, measured, predicted: [a, b, c, d] } in all {
        let _ = writeln!(
            text,
            "{set},{kernel},{threads},{n},{measured:.3},{a:.3},{b:.3},{c:.3},{d:.3}"
        );
    }
    text
}

/// Returns three bounds that nine in ten of the errors do not exceed. Up to [`SMALL`] elements, an
/// error is in microseconds. For larger sizes, it is a fraction of the time, of the ratio between
/// two neighbouring steps, or of the ratio between an edit and its step. All kernels are included,
/// because the errors of the steps are smaller than those of kernels that were not known when the
/// model was made.
pub(super) fn ranges(points: &[Point]) -> [f64; 3] {
    let all = points.iter().filter(|point| point.set != "again");
    let (small, large): (Vec<&Point>, Vec<&Point>) = all.partition(|point| point.n <= SMALL);
    let most = |errors: Vec<f64>| quantile(&sorted(errors), 0.9);
    let small = most(small.iter().map(|point| point.micros(0).abs()).collect());
    let large = most(large.iter().map(|point| point.error(0).abs()).collect());
    let pairs = pairs(points, &["later", "unseen", "others"]);
    let pairs = pairs.iter().filter(|(edit, _)| edit.n > SMALL).map(|(edit, base)| {
        edit.predicted[0] / base.predicted[0] / (edit.measured / base.measured) - 1.0
    });
    let ratios = ratios(points).into_iter().flat_map(|(_, all)| all).map(|error| error.0);
    [small, large, most(ratios.chain(pairs).map(f64::abs).collect())]
}

/// Returns the edits in these sets, each with its step: kernels of `measure/ladder`, and steps with
/// blocks of 512 threads.
fn pairs<'p>(points: &'p [Point], sets: &[&str]) -> Vec<(&'p Point, &'p Point)> {
    let base = |at: usize| {
        let point = &points[at];
        let step = steps::step(&point.kernel);
        match step {
            Err(_) => points[..at].last().filter(|base| base.set == "again" && base.n == point.n),
            Ok(_) if point.threads == 512 => points
                .iter()
                .find(|base| (base.set, &base.kernel, base.n) == ("step", &point.kernel, point.n)),
            Ok(_) => None,
        }
    };
    let edits = points.iter().enumerate().filter(|(_, point)| sets.contains(&point.set));
    edits.filter_map(|(at, point)| Some((point, base(at)?))).collect()
}

/// Returns the contents of the file of ranges, which `--predict` reads.
pub(super) fn toml([small, large, ratio]: [f64; 3]) -> String {
    format!(
        "# Written by `ladder validate`: nine in ten of the errors are smaller than these.\nsmall_us = {small:.2} # microseconds, up to 2^16 elements\nlarge = {large:.3} # relative to the time, above 2^16 elements\nratio = {ratio:.3} # relative to the ratio of two kernels, above 2^16 elements\n"
    )
}

/// Returns, for each pair of neighbouring steps, the error of the ratio of their times at each size
/// above [`SMALL`].
fn ratios(points: &[Point]) -> Vec<(String, Vec<(f64, u64)>)> {
    let steps = || points.iter().filter(|point| point.set == "step" && point.n > SMALL);
    let pair = |pair: &[&'static Step]| {
        let of =
            |step: &Step| steps().filter(|point| point.kernel == step.name).collect::<Vec<_>>();
        let (first, second) = (of(pair[0]), of(pair[1]));
        let errors = first.iter().filter_map(|one| {
            let other = second.iter().find(|other| other.n == one.n)?;
            let predicted = one.predicted[0] / other.predicted[0];
            Some((predicted / (one.measured / other.measured) - 1.0, one.n))
        });
        (format!("{} / {}", pair[0].name, pair[1].name), errors.collect())
    };
    steps::STEPS.windows(2).map(pair).collect()
}

/// Returns the median and the largest absolute error, and the point with the largest error.
fn summary<'p>(
    points: &[&'p Point],
    error: impl Fn(&Point) -> f64,
) -> Option<(f64, f64, &'p Point)> {
    let errors = sorted(points.iter().map(|point| error(point).abs()));
    let worst = points.iter().max_by(|a, b| error(a).abs().total_cmp(&error(b).abs()))?;
    Some((quantile(&errors, 0.5), *errors.last()?, worst))
}

fn percent(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}

fn micros(value: f64) -> String {
    format!("{value:.2} µs")
}

/// The goals for the ratio of two neighbouring steps and, in microseconds, for the times at sizes
/// up to [`SMALL`].
const RATIO: f64 = 0.1;
const MICROS: f64 = 0.7;

/// Returns the table of goals for the steps, with the errors that were reached, and the number of
/// errors within the goal.
fn met(points: &[Point], [median, worst]: [f64; 2]) -> String {
    let steps = || points.iter().filter(|point| point.set == "step");
    let name = |point: &Point| format!("{}, {}", point.kernel, numbers::size(point.n));
    let large: Vec<(f64, String)> = steps()
        .filter(|point| point.n > SMALL)
        .map(|point| (point.error(0).abs(), name(point)))
        .collect();
    let small: Vec<(f64, String)> = steps()
        .filter(|point| point.n <= SMALL)
        .map(|point| (point.micros(0).abs(), name(point)))
        .collect();
    let mut pairs = Vec::new();
    for (pair, errors) in ratios(points) {
        let name = |n: u64| format!("{pair}, {}", numbers::size(n));
        pairs.extend(errors.into_iter().map(|(error, n)| (error.abs(), name(n))));
    }
    let mut table = Table::new(["errors of the steps", "goal", "reached", "of", "within the goal"]);
    let mut row = |what: &str, errors: &[(f64, String)], goal: f64, say: fn(f64) -> String| {
        let Some(worst) = errors.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { return };
        let within = errors.iter().filter(|error| error.0 <= goal).count();
        let within = format!("{within} of {}", errors.len());
        table.row([what.to_owned(), say(goal), say(worst.0), worst.1.clone(), within]);
    };
    row("above 2^16, worst", &large, worst, percent);
    row("ratio of two consecutive steps above 2^16, worst", &pairs, RATIO, percent);
    row("up to 2^16, worst", &small, MICROS, micros);
    let middle = quantile(&sorted(large.iter().map(|error| error.0)), 0.5);
    let within = if middle <= median { "yes" } else { "no" };
    table.row(
        ["above 2^16, median", &percent(median), &percent(middle), "", within].map(str::to_owned),
    );
    format!("\n## Goals\n\n{table}")
}

/// Returns the page with the tables of errors.
pub(super) fn page(
    gpu: &Gpu,
    folder: &str,
    goals: Option<[f64; 2]>,
    points: &[Point],
    fits: &[(String, f64)],
) -> String {
    let mut text = format!(
        "# Predicted times on the {}\n\nThis page is generated by `ladder validate` from the times of the run `{folder}`; do not edit it.\nThe GPU's latencies and rates come from {}.\nAn error is predicted / measured − 1; up to 2^16 elements, it is predicted − measured in µs.\n",
        gpu.name, gpu.source
    );
    if let Some(goals) = goals {
        text += &met(points, goals);
    }
    let _ = write!(text, "\n## All kernels\n\n");
    let mut table = Table::new([
        "kernels",
        "times",
        "median above 2^16",
        "worst",
        "of",
        "median to 2^16",
        "worst",
        "of",
    ]);
    for set in SETS {
        let of = |small: bool| -> Vec<&Point> {
            points.iter().filter(|p| p.set == set && (p.n <= SMALL) == small).collect()
        };
        let (large, small) = (of(false), of(true));
        let (Some(a), Some(b)) =
            (summary(&large, |p| p.error(0)), summary(&small, |p| p.micros(0)))
        else {
            continue;
        };
        let at = |p: &Point| format!("{} {}, {}", p.kernel, p.threads, numbers::size(p.n));
        table.row([
            set.to_owned(),
            (large.len() + small.len()).to_string(),
            percent(a.0),
            percent(a.1),
            at(a.2),
            micros(b.0),
            micros(b.1),
            at(b.2),
        ]);
    }
    let _ = write!(text, "{table}\n## Each kernel\n\n");
    let mut table = Table::new([
        "kernels",
        "kernel",
        "threads",
        "to 2^16, worst",
        "2^18 to 2^22, median",
        "worst",
        "from 2^24, median",
        "worst",
    ]);
    let mut kernels: BTreeMap<(usize, usize), Vec<&Point>> = BTreeMap::new();
    for point in points.iter().filter(|point| point.set != "again") {
        let set = SETS.iter().position(|set| *set == point.set).unwrap_or(9);
        let first = points.iter().position(|p| {
            (p.set, &p.kernel, p.threads) == (point.set, &point.kernel, point.threads)
        });
        kernels.entry((set, first.unwrap_or_default())).or_default().push(point);
    }
    for all in kernels.values() {
        let class = |from: u64, to: u64| -> Vec<&Point> {
            all.iter().copied().filter(|p| (from..to).contains(&p.n)).collect()
        };
        let mut row =
            vec![all[0].set.to_owned(), all[0].kernel.clone(), all[0].threads.to_string()];
        row.push(
            summary(&class(0, SMALL + 1), |p| p.micros(0))
                .map_or("–".into(), |s| format!("{:+.2} µs", s.2.micros(0))),
        );
        for class in [class(SMALL + 1, 1 << 23), class(1 << 23, u64::MAX)] {
            match summary(&class, |p| p.error(0)) {
                Some((median, _, worst)) => {
                    row.push(percent(median));
                    row.push(format!("{:+.1} %", 100.0 * worst.error(0)));
                }
                None => row.extend(["–".into(), "–".into()]),
            }
        }
        table.row(row);
    }
    let _ = write!(
        text,
        "{table}\n## Ratios of neighbouring steps\n\nThe error of the ratio of two predicted times, above 2^16 elements.\n\n"
    );
    let mut table = Table::new(["steps", "median", "worst", "at"]);
    for (pair, errors) in ratios(points) {
        let Some(worst) = errors.iter().copied().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
        else {
            continue;
        };
        let median = quantile(&sorted(errors.iter().map(|error| error.0.abs())), 0.5);
        table.row([
            pair,
            percent(median),
            format!("{:+.1} %", 100.0 * worst.0),
            numbers::size(worst.1),
        ]);
    }
    let _ = write!(
        text,
        "{table}\n## Simpler models\n\nThe errors for the steps above 2^16 elements. Each of these models adds the same launch times.\n\n"
    );
    let mut table = Table::new(["model", "median", "worst", "of"]);
    let steps: Vec<&Point> = points.iter().filter(|p| p.set == "step" && p.n > SMALL).collect();
    for (model, name) in MODELS.iter().enumerate() {
        let Some((median, worst, of)) = summary(&steps, |p| p.error(model)) else { continue };
        table.row([
            (*name).to_owned(),
            percent(median),
            percent(worst),
            format!("{}, {}", of.kernel, numbers::size(of.n)),
        ]);
    }
    let _ = write!(text, "{table}");
    text += &edits(
        points,
        "Edits",
        "The change of the time by an edit of a step",
        &["later", "unseen"],
    );
    text += &edits(
        points,
        "Kernels of others",
        "The time compared with that of the step that does the same",
        &["others"],
    );
    if !fits.is_empty() {
        let _ = write!(
            text,
            "\n## The fitted number\n\nThe cycles to fetch a line of code that fit best to all steps but one at 2^10 elements; the row of a step above uses the number of its row here.\n\n"
        );
        let mut table = Table::new(["without", "cycles"]);
        for (without, cycles) in fits {
            table.row([without.clone(), format!("{cycles:.0}")]);
        }
        let _ = write!(text, "{table}");
    }
    text
}

/// The sizes in the table of edits.
const EDITED: [u64; 2] = [1 << 20, 1 << 28];

/// Returns the table of the edits in these sets, which shows how much longer each edit takes than
/// its step.
fn edits(points: &[Point], title: &str, says: &str, sets: &[&str]) -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (point, base) in
        pairs(points, sets).into_iter().filter(|(edit, _)| EDITED.contains(&edit.n))
    {
        let name = match &base.kernel {
            step if *step == point.kernel => format!("{step}, {} threads", point.threads),
            step => format!("{} of {step}", point.kernel),
        };
        let change = |a: f64, b: f64| format!("{:+.1} %", 100.0 * (a / b - 1.0));
        let cells =
            [change(point.measured, base.measured), change(point.predicted[0], base.predicted[0])];
        match rows.iter_mut().find(|row| row.0 == name) {
            Some(row) => row.1.extend(cells),
            None => rows.push((name, cells.to_vec())),
        }
    }
    rows.retain(|row| row.1.len() == 2 * EDITED.len());
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("\n## {title}\n\n{says}, at two sizes.\n\n");
    let mut table =
        Table::new(["edit", "measured at 2^20", "predicted", "measured at 2^28", "predicted"]);
    for (name, cells) in rows {
        table.row([[name].as_slice(), &cells].concat());
    }
    let _ = write!(text, "{table}");
    text
}

/// Returns the page about the estimated numbers of registers.
pub(super) fn registers(all: &[Registers]) -> String {
    let mut text = String::from(
        "# Registers\n\nThis page is generated by `ladder validate`; do not edit it.\nptxas gave the registers of a thread of the committed kernels; for an edited kernel, and in a page of the book, they are estimated from the values that are needed at the same time.\n`blocks` are those that fit onto a multiprocessor of an H200 at the same time.\n\n",
    );
    let errors = sorted(all.iter().map(|one| one.estimated.abs_diff(one.assembled)).map(f64::from));
    let blocks = all.iter().filter(|one| one.blocks[0] != one.blocks[1]).count();
    let _ = write!(
        text,
        "The estimate differs by {} registers at the median, and by {} at most; for {blocks} of {} kernels, another number of blocks fits.\n\n",
        quantile(&errors, 0.5),
        errors.last().copied().unwrap_or_default(),
        all.len()
    );
    let mut table =
        Table::new(["kernel", "threads", "ptxas", "estimate", "blocks", "by the estimate"]);
    for one in all {
        let Registers { kernel, threads, assembled, estimated, blocks: [is, by_estimate] } = one;
        let numbers = [threads, assembled, estimated, is, by_estimate].map(u32::to_string);
        table.row([[kernel.clone()].as_slice(), &numbers].concat());
    }
    let _ = write!(text, "{table}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(set: &'static str, kernel: &str, n: u64, measured: f64, predicted: f64) -> Point {
        let predicted = [predicted, 1.0, 1.0, 1.0];
        Point { set, kernel: kernel.to_owned(), threads: 256, n, measured, predicted }
    }

    fn points() -> Vec<Point> {
        vec![
            point("step", "v0-naive", 1 << 12, 5.0, 6.0),
            point("step", "v0-naive", 1 << 20, 100.0, 110.0),
            point("step", "v0-naive", 1 << 28, 1000.0, 970.0),
            point("step", "v1-divergence", 1 << 12, 5.0, 5.5),
            point("step", "v1-divergence", 1 << 20, 50.0, 51.0),
            point("step", "v1-divergence", 1 << 28, 500.0, 400.0),
            point("again", "v1-divergence", 1 << 20, 51.0, 50.0),
            point("unseen", "v1-reversed", 1 << 20, 102.0, 75.0),
            point("again", "v1-divergence", 1 << 28, 500.0, 400.0),
            point("unseen", "v1-reversed", 1 << 28, 400.0, 440.0),
        ]
    }

    #[test]
    fn goals_count_what_is_within_them() {
        let text = met(&points(), [0.08, 0.25]);
        let rows: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("| "))
            .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>().join("|"))
            .collect();
        assert_eq!(rows[1], "|above 2^16, worst|25.0 %|20.0 %|v1-divergence, 2^28|4 of 4|");
        let ratio = "|ratio of two consecutive steps above 2^16, worst|10.0 %|21.2 %|v0-naive / v1-divergence, 2^28|1 of 2|";
        assert_eq!(rows[2], ratio);
        assert_eq!(rows[3], "|up to 2^16, worst|0.70 µs|1.00 µs|v0-naive, 2^12|1 of 2|");
        assert_eq!(rows[4], "|above 2^16, median|8.0 %|6.5 %||yes|");
    }

    #[test]
    fn an_edit_is_compared_with_its_step_in_the_same_run() {
        let text = edits(&points(), "Edits", "The change", &["unseen"]);
        let row = text.lines().last().unwrap().split('|').map(str::trim).collect::<Vec<_>>();
        let name = "v1-reversed of v1-divergence";
        assert_eq!(row[1..6], [name, "+100.0 %", "+50.0 %", "-20.0 %", "+10.0 %"]);
        assert_eq!(edits(&points(), "Edits", "The change", &["others"]), "");
    }

    #[test]
    fn ranges_hold_nine_in_ten_of_the_errors_of_all_kernels() {
        let [small, large, ratio] = ranges(&points());
        assert!((0.9..=1.0).contains(&small), "{small}");
        // The largest error of a step is 20 %, and the error of the edit is 26 %.
        assert!((0.2..=0.265).contains(&large), "{large}");
        assert!((0.21..=0.376).contains(&ratio), "{ratio}");
        assert!(csv(&points()).lines().count() == 9 && !csv(&points()).contains("again"));
    }
}
