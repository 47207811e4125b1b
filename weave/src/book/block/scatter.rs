//! Implements `{{plot roofline}}` and `{{plot occupancy}}`, which show every step as a measured
//! point, at 2^28 floats.

use std::fmt::Write as _;

use anyhow::Result;

use super::{
    frame::{Area, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, place, short},
    highlight::escape,
};
use crate::book::source::{
    Sources,
    counts::Case,
    metric::{issues, metric},
    timed::{At, rate},
};

/// The number of elements in the sum.
const N: u64 = 1 << 28;

/// An axis: its ends, its scale (linear or logarithmic), its ticks and its title.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    ticks: Vec<(f64, String)>,
    title: &'static str,
}

impl Axis {
    /// Returns the position of a value on the axis, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let scale = |v: f64| if self.log { v.ln() } else { v };
        (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
    }

    /// Creates an axis with these ticks.
    fn of(title: &'static str, log: bool, low: f64, high: f64, ticks: &[f64], unit: &str) -> Axis {
        let ticks = ticks.iter().map(|&tick| (tick, format!("{tick}{unit}"))).collect();
        Axis { low, high, log, ticks, title }
    }
}

struct Point {
    name: String,
    x: f64,
    y: f64,
    says: String,
}

/// Plots floats per second against floats per warp instruction, under two roofs: the issue rate and
/// the peak memory bandwidth.
pub(crate) fn roofline(sources: &Sources) -> Result<String> {
    let gpu = &sources.run(None)?.env.gpu;
    let issue = issues(sources, At::default())? / 1e9;
    let bus = gpu.bus_bytes_per_second / 4e9;
    let point = |step: &str| -> Result<Point> {
        let executed = metric(sources, None, &case(step), "smsp__inst_executed.sum")?;
        let (x, y) =
            (N as f64 / executed.value, rate(sources, At::default(), step, N)?.value / 4e9);
        let says = format!("{step}: {x:.2} floats per instruction, {y:.0}·10⁹ floats per second");
        Ok(Point { name: step.to_owned(), x, y, says })
    };
    let points = all(sources, point)?;
    let x =
        Axis::of("floats per warp instruction", true, 0.1, 20.0, &[0.1, 0.3, 1.0, 3.0, 10.0], "");
    let y = Axis::of(
        "10⁹ floats per second",
        true,
        50.0,
        2000.0,
        &[50.0, 100.0, 200.0, 500.0, 1000.0],
        "",
    );
    // The roof consists of two parts, which meet at the ridge.
    let ridge = bus / issue;
    let at = |vx: f64, vy: f64| format!("{:.1} {:.1}", left(&x, vx), top(&y, vy));
    let roof = format!(
        "<path class=\"roof\" d=\"M{}L{}L{}\"/>\
         <text class=\"title\" x=\"{:.1}\" y=\"{:.1}\">instruction issue</text>\
         <text class=\"title\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">memory bandwidth</text>",
        at(x.low, x.low * issue),
        at(ridge, bus),
        at(x.high, bus),
        left(&x, 0.115),
        top(&y, bus) - 8.0,
        left(&x, x.high) - 4.0,
        top(&y, bus) - 8.0,
    );
    let label = format!(
        "Roofline of the ladder on one {}: floats added per second against floats per warp instruction",
        gpu.name
    );
    Ok(drawing(&label, &x, &y, &roof, &points))
}

/// Plots the share of peak bandwidth against achieved occupancy.
pub(crate) fn occupancy(sources: &Sources) -> Result<String> {
    let gpu = &sources.run(None)?.env.gpu;
    let point = |step: &str| -> Result<Point> {
        let active = "sm__warps_active.avg.pct_of_peak_sustained_active";
        let x = metric(sources, None, &case(step), active)?.value;
        let y = 100.0 * rate(sources, At::default(), step, N)?.value / gpu.bus_bytes_per_second;
        let says = format!("{step}: occupancy {x:.1} %, {y:.1} % of peak memory bandwidth");
        Ok(Point { name: step.to_owned(), x, y, says })
    };
    let points = all(sources, point)?;
    let marks = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0];
    let x = Axis::of("achieved occupancy", false, 0.0, 100.0, &marks, " %");
    let y = Axis::of("share of peak bandwidth", false, 0.0, 100.0, &marks, " %");
    let label = format!(
        "Share of peak memory bandwidth against achieved occupancy of the ladder's steps, on one {}",
        gpu.name
    );
    Ok(drawing(&label, &x, &y, "", &points))
}

fn case(step: &str) -> Case {
    Case { n: N, ..Case::of(step) }
}

fn all(sources: &Sources, point: impl Fn(&str) -> Result<Point>) -> Result<Vec<Point>> {
    sources.measured()?.map(|kernel| point(&kernel.name)).collect()
}

fn left(axis: &Axis, value: f64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * axis.share(value)
}

fn top(axis: &Axis, value: f64) -> f64 {
    TOP + 14.0 + (HEIGHT - TOP - 14.0 - BOTTOM) * (1.0 - axis.share(value))
}

fn drawing(label: &str, x: &Axis, y: &Axis, behind: &str, points: &[Point]) -> String {
    let said: Vec<&str> = points.iter().map(|point| point.says.as_str()).collect();
    let mut svg = format!(
        "<div class=\"plot\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}. {}\">",
        escape(label),
        escape(&said.join("; "))
    );
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for (value, text) in &y.ticks {
        let at = top(y, *value);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for (value, text) in &x.ticks {
        let _ = write!(
            svg,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            left(x, *value),
            bottom + 22.0
        );
    }
    let _ = write!(
        svg,
        "<text class=\"title\" x=\"{LEFT}\" y=\"{}\">{}</text><text class=\"title\" x=\"4\" y=\"{TOP}\">{}</text>{behind}",
        bottom + 40.0,
        x.title,
        y.title
    );
    let at: Vec<(f64, f64)> = points.iter().map(|p| (left(x, p.x), top(y, p.y))).collect();
    let mut taken: Vec<Area> = at.iter().map(|&(x, y)| Area::new(x - 5.0, y - 5.0, 10.0)).collect();
    for (point, &(x, y)) in points.iter().zip(&at) {
        let name = short(&point.name);
        let area = place((x, y), 10.0 * name.len() as f64, &taken);
        let _ = write!(
            svg,
            "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}</title></circle><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            escape(&point.says),
            area.left,
            area.top + 10.0,
            escape(name)
        );
        taken.push(area);
    }
    svg + "</svg></div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_linear_or_of_powers() {
        let log = Axis::of("x", true, 1.0, 100.0, &[10.0], "");
        let linear = Axis::of("x", false, 0.0, 100.0, &[50.0], " %");
        assert!((log.share(10.0) - 0.5).abs() < 1e-9 && (linear.share(50.0) - 0.5).abs() < 1e-9);
        assert_eq!((linear.ticks[0].1.as_str(), log.ticks[0].1.as_str()), ("50 %", "10"));
    }

    #[test]
    fn a_point_is_drawn_named_and_said() {
        let axis = || Axis::of("x", false, 0.0, 100.0, &[0.0, 100.0], " %");
        let point = Point { name: "v8-wide-loads".into(), x: 50.0, y: 94.0, says: "a < b".into() };
        let svg = drawing("what", &axis(), &axis(), "", &[point]);
        assert!(svg.contains("<title>a &lt; b</title>") && svg.contains(">v8</text>"), "{svg}");
        assert!(svg.contains("aria-label=\"what. a &lt; b\""), "{svg}");
    }
}
