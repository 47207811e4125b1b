//! Draws plots as inline SVG, in the page's colours.

use std::fmt::Write as _;

use anyhow::{Result, bail, ensure};
use measured::{Cache, Clock, Role};

use super::highlight::escape;
use crate::book::source::{Sources, timed::place};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 156.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;

/// A line in a plot.
struct Series {
    name: String,
    class: String,
    points: Vec<(f64, f64)>,
}

/// An axis for values, which is linear or logarithmic with powers of ten.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    ticks: Vec<(f64, String)>,
    title: String,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        match self.log {
            true => (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10()),
            false => (value - self.low) / (self.high - self.low),
        }
    }
}

/// Implements `{{plot KIND NAMES…}}`.
pub(crate) fn html(sources: &Sources, kind: &str, names: &[&str]) -> Result<String> {
    let run = sources.run(None)?;
    let bus = run.env.gpu.bus_bytes_per_second;
    let sizes = run.sizes("f32", Cache::Cold, Clock::Gpu);
    let steps: Vec<String> = sources.measured()?.map(|kernel| kernel.name.clone()).collect();
    let names: Vec<String> = match names {
        [] => {
            let mut all = steps.clone();
            all.extend(run.env.of(Role::Peer).take(1).map(|peer| peer.name.clone()));
            all
        }
        names => names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let value = |name: &str, n: u64| -> Option<f64> {
        let seconds = run.time(name, &place(n))?.median / 1e9;
        match kind {
            "bandwidth" => Some(100.0 * place(n).bytes() as f64 / seconds / bus),
            "time" => Some(1e6 * seconds),
            _ => {
                let peer = run.ratio(measured::PEER, name, &place(n));
                peer.map(|ratio| ratio.0.median).filter(|_| name != measured::PEER)
            }
        }
    };
    let mut series = Vec::new();
    for name in &names {
        let points: Vec<(f64, f64)> =
            sizes.iter().filter_map(|&n| Some(((n as f64).log2(), value(name, n)?))).collect();
        if points.is_empty() && kind != "peers" {
            bail!("results/ladder/{} has no times of `{name}`", run.name);
        }
        let class = match steps.iter().position(|step| step == name) {
            Some(index) => format!("s{index}"),
            // The kernels of a study are not competitors, so they have other colours.
            None if run.env.of(Role::Study).any(|way| way.name == *name) => {
                format!("s{}", 1 + 2 * (series.len() % 5))
            }
            None => "peer".to_owned(),
        };
        if !points.is_empty() {
            series.push(Series { name: name.clone(), class, points });
        }
    }
    ensure!(!series.is_empty(), "results/ladder/{} has no paired times to plot", run.name);
    let all = || series.iter().flat_map(|series| series.points.iter().map(|point| point.1));
    let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    let (axis, title) = match kind {
        "bandwidth" => {
            let ticks = (0..=5).map(|i| (20.0 * f64::from(i), format!("{} %", 20 * i))).collect();
            (
                Axis {
                    low: 0.0,
                    high: 100.0,
                    log: false,
                    ticks,
                    title: "share of peak bandwidth".into(),
                },
                "Share of peak memory bandwidth against the number of elements",
            )
        }
        "time" => {
            let (low, high) = (least.log10().floor(), most.log10().ceil());
            let ticks = (low as i32..=high as i32).map(|p| (10f64.powi(p), tick(p))).collect();
            (
                Axis {
                    low: 10f64.powf(low),
                    high: 10f64.powf(high),
                    log: true,
                    ticks,
                    title: "time".into(),
                },
                "Time for a sum against the number of elements",
            )
        }
        "peers" => {
            let (low, high) = ((least * 4.0).floor() / 4.0, (most * 4.0).ceil() / 4.0);
            let (low, high) = (low.min(0.75), high.max(1.25));
            let count = ((high - low) * 4.0) as u32;
            let every = if count > 8 { 2 } else { 1 };
            let ticks = (0..=count)
                .filter(|i| i % every == 0)
                .map(|i| low + f64::from(i) / 4.0)
                .map(|v| (v, format!("{v:.2}×")))
                .collect();
            (
                Axis { low, high, log: false, ticks, title: "CUB's time / ours".into() },
                "Speedup over CUB against the number of elements",
            )
        }
        _ => bail!("`plot {kind}`: use bandwidth, time or peers"),
    };
    let label = format!("{title}, on one {}: {}", run.env.gpu.name, summary(&series, kind));
    let shown = |n: &&u64| {
        let log = (**n as f64).log2();
        series.iter().any(|line| line.points.iter().any(|point| point.0 == log))
    };
    let sizes: Vec<u64> = sizes.iter().filter(shown).copied().collect();
    Ok(figure(&series, &axis, &sizes, &label))
}

fn tick(power: i32) -> String {
    match power {
        ..=2 => format!("{} µs", 10f64.powi(power)),
        3..=5 => format!("{} ms", 10f64.powi(power - 3)),
        _ => format!("{} s", 10f64.powi(power - 6)),
    }
}

/// Returns the values in the alternative text, which are those at the last point of each line.
fn summary(series: &[Series], kind: &str) -> String {
    let unit = match kind {
        "bandwidth" => " %",
        "time" => " µs",
        _ => " times",
    };
    let ends = series.iter().filter_map(|series| {
        let (x, y) = series.points.last()?;
        Some(format!("{} reaches {y:.1}{unit} at 2^{x}", series.name))
    });
    ends.collect::<Vec<_>>().join(", ")
}

fn figure(series: &[Series], axis: &Axis, sizes: &[u64], label: &str) -> String {
    let (first, last) = (sizes[0] as f64, sizes[sizes.len() - 1] as f64);
    let (low, high) = (first.log2(), last.log2().max(first.log2() + 1.0));
    let x = |log: f64| LEFT + (WIDTH - LEFT - RIGHT) * (log - low) / (high - low);
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * axis.at(value).clamp(0.0, 1.0);
    let mut svg = format!(
        "<div class=\"plot ours\"><svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">",
        escape(label)
    );
    for (value, text) in &axis.ticks {
        let at = y(*value);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            // On a phone, a label level with the axis would overlap the first label below it.
            (at + 4.0).min(HEIGHT - BOTTOM - 2.0)
        );
    }
    let every = if high - low > 16.0 { 4 } else { 2 };
    for power in (low.ceil() as u32)..=(high as u32) {
        if power % every == 0 {
            let at = x(f64::from(power));
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{at:.1} {}v5\"/><text class=\"tick\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">2<tspan class=\"up\" dy=\"-5\">{power}</tspan></text>",
                HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 20.0
            );
        }
    }
    let _ = write!(
        svg,
        "<text class=\"title\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">elements</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0
    );
    let _ = write!(svg, "<text class=\"title\" x=\"{LEFT}\" y=\"18\">{}</text>", axis.title);
    for line in series {
        let path: Vec<String> =
            line.points.iter().map(|(px, py)| format!("{:.1} {:.1}", x(*px), y(*py))).collect();
        let _ = write!(
            svg,
            "<path class=\"line {}\" d=\"M{}\"><title>{}</title></path>",
            line.class,
            path.join("L"),
            line.name
        );
    }
    for (at, line) in labels(series, y) {
        let _ = write!(
            svg,
            "<text class=\"label {}\" x=\"{}\" y=\"{at:.1}\">{}</text>",
            line.class,
            WIDTH - RIGHT + 8.0,
            line.name
        );
    }
    svg + "</svg></div>\n" + &legend(series)
}

/// Formats the names again, for narrow pages that have no room at the ends of the lines.
fn legend(series: &[Series]) -> String {
    let name = |line: &Series| {
        format!("<span><i class=\"{}\"></i>{}</span>", line.class, escape(&line.name))
    };
    format!("<p class=\"legend\">{}</p>\n", series.iter().map(name).collect::<Vec<_>>().join(" "))
}

/// Returns the positions of the names at the ends of the lines, moved apart where they would
/// overlap.
fn labels(series: &[Series], y: impl Fn(f64) -> f64) -> Vec<(f64, &Series)> {
    const APART: f64 = 15.0;
    let mut labels: Vec<(f64, &Series)> =
        series.iter().map(|line| (y(line.points[line.points.len() - 1].1) + 4.0, line)).collect();
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    for index in 1..labels.len() {
        labels[index].0 = labels[index].0.max(labels[index - 1].0 + APART);
    }
    let mut limit = HEIGHT - BOTTOM + 4.0;
    for label in labels.iter_mut().rev() {
        label.0 = label.0.min(limit);
        limit = label.0 - APART;
    }
    labels
}
