//! `{{inflight STEP…}}`: bytes in flight against the share of the bus, measured, with what Little's
//! law allows. With JavaScript, three sliders move a kernel of one's own through it.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    flight,
    highlight::escape,
    sources::Sources,
    timed::{At, rate},
};

/// The size at which shares are measured.
const N: u64 = 1 << 28;
/// From here to there the axis of KiB goes, in doublings.
const FROM: f64 = 4.0;
const TO: f64 = 256.0;
const WIDTH: f64 = 680.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 120.0;
const BOTTOM: f64 = 46.0;

/// A kernel: where it stands.
struct Point {
    name: String,
    kib: f64,
    share: f64,
}

fn x(kib: f64) -> f64 {
    let inside = WIDTH - LEFT - RIGHT;
    LEFT + inside * (kib / FROM).log2() / (TO / FROM).log2()
}

fn y(share: f64) -> f64 {
    TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share)
}

pub(crate) fn html(sources: &Sources, names: &[&str]) -> Result<String> {
    let run = sources.run(None)?;
    let (bus, sms) = (run.env.gpu.bus_bytes_per_second, run.env.gpu.sms);
    let point = |&name: &&str| -> Result<Point> {
        Ok(Point {
            name: name.to_owned(),
            kib: flight::of(sources, name)?.value,
            share: rate(sources, At::default(), name, N)?.value / bus,
        })
    };
    let points = names.iter().map(point).collect::<Result<Vec<_>>>()?;
    // KiB that an SM needs at the latency of an idle chip, and at that of a busy one.
    let needs = |cite: &str| -> Result<f64> {
        let seconds = 1e-6 * leading(&sources.cites.get(cite).context("a latency")?.text)?;
        Ok(bus * seconds / f64::from(sms) / 1024.0)
    };
    let (idle, busy) = (needs("gh200-dram")?, needs("gh200-loaded")?);
    let data = json!({
        "idle": idle, "busy": busy, "sms": sms,
        "axis": { "from": FROM, "to": TO, "left": LEFT, "right": WIDTH - RIGHT, "top": TOP, "bottom": HEIGHT - BOTTOM },
        "points": points.iter().map(|p| json!({ "name": p.name, "kib": p.kib, "share": p.share })).collect::<Vec<_>>(),
    });
    Ok(format!(
        "\n<figure class=\"inflight\">\n<div class=\"plot\">{}</div>\n<script type=\"application/json\">{data}</script>\n",
        drawing(&points, idle, busy, &run.env.gpu.name)
    ))
}

/// The number that a text begins with.
fn leading(text: &str) -> Result<f64> {
    let number: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    number.parse().with_context(|| format!("`{text}` begins with no number"))
}

fn drawing(points: &[Point], idle: f64, busy: f64, gpu: &str) -> String {
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Share of the memory bus against the bytes that an SM may have in flight, on one {}: measured kernels, and what Little's law allows\">",
        escape(gpu)
    );
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for step in 0..=5 {
        let share = f64::from(step) / 5.0;
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {0:.1}H{right}\"/><text class=\"tick\" x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3} %</text>",
            y(share),
            LEFT - 6.0,
            y(share) + 4.0,
            20 * step
        );
    }
    let mut kib = FROM;
    while kib <= TO {
        let _ = write!(
            svg,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{kib}</text>",
            x(kib),
            bottom + 17.0
        );
        kib *= 2.0;
    }
    let _ = write!(
        svg,
        "<text class=\"title\" x=\"{LEFT}\" y=\"{}\">KiB that an SM may have in flight</text>",
        bottom + 36.0
    );
    // Between an idle chip's latency and a busy one's.
    let curve = |needed: f64, back: bool| {
        let steps = (0..=60).map(|i| FROM * (TO / FROM).powf(f64::from(i) / 60.0));
        let mut at: Vec<String> =
            steps.map(|kib| format!("{:.1} {:.1}", x(kib), y((kib / needed).min(1.0)))).collect();
        if back {
            at.reverse();
        }
        at.join("L")
    };
    let _ = write!(
        svg,
        "<path class=\"allowed\" d=\"M{}L{}Z\"/><text class=\"title\" x=\"{:.1}\" y=\"{:.1}\">what Little's law allows</text>",
        curve(idle, false),
        curve(busy, true),
        x(24.0),
        y(0.42)
    );
    svg += "<g class=\"mine\"></g>";
    // Labels of points that stand together go below each other.
    let mut lowest: Vec<(f64, f64)> = Vec::new();
    for point in points {
        let (at, mut label) = (x(point.kib), y(point.share) + 4.0);
        while lowest.iter().any(|(x, y)| (x - at).abs() < 110.0 && (y - label).abs() < 13.0) {
            label += 13.0;
        }
        lowest.push((at, label));
        let name = escape(&point.name.replace('/', ": "));
        let short = name.split_once(": ").map_or(&*name, |(_, variant)| variant);
        let _ = write!(
            svg,
            "<circle class=\"point\" cx=\"{at:.1}\" cy=\"{:.1}\" r=\"4\"><title>{name}: {:.1} KiB, {:.1} %</title></circle><text x=\"{:.1}\" y=\"{label:.1}\">{short}</text>",
            y(point.share),
            point.kib,
            100.0 * point.share,
            at + 8.0
        );
    }
    svg + "</svg>"
}
