//! Implements `{{inflight STEP…}}`, which plots the share of peak bandwidth against bytes in
//! flight, with the limit from Little's law. If scripts run, the reader can add a kernel, and set
//! its properties with three sliders.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::json;

use super::{
    frame::{Area, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, place, short},
    highlight::escape,
};
use crate::book::source::{
    Sources, flight,
    timed::{At, rate},
};

/// The number of elements at which the fractions of peak bandwidth were measured.
const N: u64 = 1 << 28;
/// The lower end of the axis, in KiB; each tick is twice the previous one.
const FROM: f64 = 4.0;
const TO: f64 = 256.0;

/// A kernel, and its point in the plot.
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
    // The numbers of KiB that an SM needs in flight: for the latency of an idle GPU, and for the
    // wait computed from v7's counters.
    let latency = super::probe::number(sources, None, ["latency", "1", "ns"])?.value;
    let idle = bus * latency / f64::from(sms) / 1024.0;
    let busy = flight::needed(sources, None, "v7-grid-stride")?.value;
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

fn drawing(points: &[Point], idle: f64, busy: f64, gpu: &str) -> String {
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Share of peak memory bandwidth against the bytes that an SM may have in flight, on one {}: measured kernels, and the limit of Little's law\">",
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
        bottom + 40.0
    );
    // The shaded area lies between the limits for the two latencies.
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
        "<path class=\"allowed\" d=\"M{}L{}Z\"/><text class=\"title\" x=\"{:.1}\" y=\"{:.1}\">limit of Little's law</text>",
        curve(idle, false),
        curve(busy, true),
        x(13.0),
        y(0.3)
    );
    svg += "<g class=\"mine\"></g>";
    let at: Vec<(f64, f64)> = points.iter().map(|p| (x(p.kib), y(p.share))).collect();
    let mut taken: Vec<Area> = at.iter().map(|&(x, y)| Area::new(x - 5.0, y - 5.0, 10.0)).collect();
    for (point, &(x, y)) in points.iter().zip(&at) {
        let _ = write!(
            svg,
            "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}: {:.1} KiB, {:.1} %</title></circle>",
            escape(&point.name),
            point.kib,
            100.0 * point.share,
        );
        let short = short(&point.name);
        let area = place((x, y), 9.0 * short.len() as f64, &taken);
        let (left, base) = (area.left, area.top + 10.0);
        let _ = write!(svg, "<text x=\"{left:.1}\" y=\"{base:.1}\">{}</text>", escape(short));
        taken.push(area);
    }
    svg + "</svg>"
}
