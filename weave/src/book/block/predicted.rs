//! Implements `{{predicted TABLE on=GPU}}` and `{{plot predicted on=GPU}}`, which show how
//! predicted times differ from measured ones. `ladder validate` writes the data to
//! `results/predictions/`.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

use super::{
    frame::{Area, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, short},
    highlight::escape,
    table,
};
use crate::book::source::{Sources, file::read};

/// The tables on a page of results: the name of each table in the directive, and its heading on the
/// page.
const TABLES: [(&str, &str); 5] = [
    ("all", "All kernels"),
    ("ratios", "Ratios of neighbouring steps"),
    ("models", "Simpler models"),
    ("edits", "Edits"),
    ("goals", "Goals"),
];

fn file(sources: &Sources, on: &str, end: &str) -> Result<String> {
    let gpu = on.strip_prefix("on=").with_context(|| format!("`{on}`: write `on=h200`"))?;
    read(&sources.root.join(format!("results/predictions/{gpu}.{end}")))
}

/// Returns a table from a page in `results/predictions/`. If names are given, the table has only
/// the rows of these kernels, in this order.
pub(crate) fn html(sources: &Sources, name: &str, on: &str, names: &[&str]) -> Result<String> {
    let known = TABLES.iter().find(|(known, _)| *known == name);
    let (_, heading) = known
        .with_context(|| format!("`predicted {name}`: use all, ratios, models, edits or goals"))?;
    let page = file(sources, on, "md")?;
    let (head, mut rows) = rows(&page, heading)?;
    if !names.is_empty() {
        rows = names.iter().map(|name| named(&rows, name)).collect::<Result<_>>()?;
    }
    let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
    Ok(table::table(&format!("{}: {}", escape(title), heading.to_lowercase()), &head, &rows))
}

/// Returns the row whose first cell begins with this word.
fn named(rows: &[Vec<String>], name: &str) -> Result<Vec<String>> {
    let first = |row: &&Vec<String>| row[0].split([' ', ',']).next() == Some(name);
    rows.iter().find(first).cloned().with_context(|| format!("the table has no row `{name}`"))
}

/// Returns the head and the rows of the first Markdown table below a heading.
fn rows(page: &str, heading: &str) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let (_, below) = page
        .split_once(&format!("## {heading}\n"))
        .with_context(|| format!("the page has no heading `{heading}`"))?;
    let below = below.split("\n## ").next().unwrap_or_default();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| escape(cell.trim())).collect()
    };
    let mut lines = below.lines().filter(|line| line.starts_with('|'));
    let head = cells(lines.next().context("the heading has no table")?);
    let rows: Vec<Vec<String>> = lines.skip(1).map(cells).collect();
    ensure!(rows.iter().all(|row| row.len() == head.len()), "{heading}: a row has other columns");
    Ok((head, rows))
}

/// A measured and a predicted time, in microseconds.
#[derive(Debug, PartialEq)]
struct Point {
    name: String,
    step: bool,
    measured: f64,
    predicted: f64,
}

impl Point {
    fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

fn points(csv: &str) -> Result<Vec<Point>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let mut points = Vec::new();
    for row in reader.records() {
        let row = row?;
        let cell = |at: usize| row.get(at).with_context(|| format!("{row:?} has too few cells"));
        let n = numbers::size(cell(3)?.parse()?);
        points.push(Point {
            name: format!("{}, {} threads, {n}", cell(1)?, cell(2)?),
            step: cell(0)? == "step",
            measured: cell(4)?.parse()?,
            predicted: cell(5)?.parse()?,
        });
    }
    Ok(points)
}

/// The ends of both axes, in microseconds.
const ENDS: [f64; 2] = [2.0, 60_000.0];

/// The number of kernels whose points are labelled, which are those with the largest errors.
const NAMED: usize = 4;

/// Returns the indices of the points that are labelled, one for each kernel. The points are sorted
/// by error, with the largest first.
fn worst(points: &[Point]) -> Vec<usize> {
    let kernel = |point: &Point| point.name.split(',').next().unwrap_or_default().to_owned();
    let mut seen = Vec::new();
    for (index, point) in points.iter().enumerate() {
        if seen.len() == NAMED {
            break;
        }
        if !seen.iter().any(|&other: &usize| kernel(&points[other]) == kernel(point)) {
            seen.push(index);
        }
    }
    seen
}

/// Plots predicted against measured times.
pub(crate) fn plot(sources: &Sources, on: &str) -> Result<String> {
    let mut points = points(&file(sources, on, "csv")?)?;
    points.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
    let page = file(sources, on, "md")?;
    let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
    let worst: Vec<String> = worst(&points).into_iter().map(|at| says(&points[at])).collect();
    let label = format!(
        "{title}: predicted against measured times of {} kernels and sizes. The largest errors: {}",
        points.len(),
        worst.join("; ")
    );
    Ok(drawing(&label, &points))
}

fn says(point: &Point) -> String {
    let Point { name, measured, predicted, .. } = point;
    format!(
        "{name}: measured {measured:.4} µs, predicted {predicted:.4} µs, {:+.1} %",
        100.0 * point.error()
    )
}

fn drawing(label: &str, points: &[Point]) -> String {
    let share = |us: f64| (us / ENDS[0]).ln() / (ENDS[1] / ENDS[0]).ln();
    let left = |us: f64| LEFT + (WIDTH - LEFT - RIGHT) * share(us);
    let top = |us: f64| TOP + 14.0 + (HEIGHT - TOP - 14.0 - BOTTOM) * (1.0 - share(us));
    let mut svg = format!(
        "<div class=\"plot\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(label)
    );
    let bottom = HEIGHT - BOTTOM;
    for us in [10.0, 100.0, 1000.0, 10_000.0] {
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{us}</text><text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{us}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            top(us) + 4.0,
            left(us),
            bottom + 17.0,
            y = top(us),
        );
    }
    let _ = write!(
        svg,
        "<text class=\"title\" x=\"{LEFT}\" y=\"{}\">measured, µs</text><text class=\"title\" x=\"4\" y=\"{TOP}\">predicted, µs</text><path class=\"roof\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
        bottom + 40.0,
        left(ENDS[0]),
        top(ENDS[0]),
        left(ENDS[1]),
        top(ENDS[1]),
    );
    let mut taken: Vec<Area> = Vec::new();
    let named = worst(points);
    for (index, point) in points.iter().enumerate() {
        let (x, y) = (left(point.measured), top(point.predicted));
        let radius = if point.step { 3 } else { 2 };
        let _ = write!(
            svg,
            "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{}</title></circle>",
            escape(&says(point))
        );
        if named.contains(&index) {
            let name = short(point.name.split(',').next().unwrap_or_default());
            let width = 9.0 * name.len() as f64;
            // A label is on the side of its point that is away from the line.
            let (from, step) =
                if point.error() > 0.0 { (x - 8.0 - width, -17.0) } else { (x + 8.0, 17.0) };
            let from = from.clamp(LEFT, WIDTH - width);
            let mut area = Area::new(from, y - 10.0, width);
            while taken.iter().any(|other| other.meets(&area)) {
                area = Area::new(from, area.top + step, width);
            }
            let (x, y) = (area.left, area.top + 14.0);
            let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(name));
            taken.push(area);
        }
    }
    svg + "</svg></div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_below_a_heading_is_found() {
        let page =
            "# P\n\n## A\n\n| x | y |\n|:--|--:|\n| v0 | 1 % |\n\n## B\n\n| z |\n|---|\n| 2 |\n";
        let (head, body) = rows(page, "A").unwrap();
        assert_eq!(named(&body, "v0").unwrap(), ["v0", "1 %"]);
        assert!(named(&body, "v").unwrap_err().to_string().contains("no row `v`"));
        assert_eq!((head.join(","), body), ("x,y".into(), vec![vec!["v0".into(), "1 %".into()]]));
        assert_eq!(rows(page, "B").unwrap().1, [["2"]]);
        assert!(rows(page, "C").unwrap_err().to_string().contains("no heading `C`"));
    }

    #[test]
    fn a_point_is_drawn_on_the_diagonal_if_it_is_exact() {
        let csv = "set,kernel,threads,n,measured_us,predicted_us\nstep,v3-first-add,256,1048576,10,10\nlater,v3-barrier,256,1024,10,20\n";
        let all = points(csv).unwrap();
        assert_eq!((all[0].error(), all[1].error()), (0.0, 1.0));
        let svg = drawing("l", &all);
        assert!(svg.contains("v3-barrier, 256 threads, 2^10: measured 10.0000 µs"), "{svg}");
    }

    #[test]
    fn a_kernel_with_several_large_errors_is_named_once() {
        let csv = "set,kernel,threads,n,measured_us,predicted_us\nlater,v3-barrier,256,1024,10,20\nlater,v3-barrier,256,2048,11,20\nstep,v7-grid-stride,256,1024,10,11\n";
        let all = points(csv).unwrap();
        assert_eq!(worst(&all), [0, 2]);
        let svg = drawing("l", &all);
        assert_eq!(svg.matches(">v3</text>").count(), 1, "{svg}");
    }
}
