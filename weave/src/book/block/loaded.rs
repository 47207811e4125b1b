//! Implements `{{plot latency}}`, which shows the latency of a load against the memory traffic, for
//! each GPU in `results/probes/`.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use super::{
    frame::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH},
    highlight::escape,
    probe::{self, Loaded},
};
use crate::book::source::Sources;

/// The colours of the GPUs.
const COLOURS: [&str; 4] = ["s8", "s4", "s11", "s6"];

/// Implements `{{plot latency}}`.
pub(crate) fn plot(sources: &Sources) -> Result<String> {
    let gpus = probe::loaded(sources)?;
    ensure!(gpus.len() <= COLOURS.len(), "`plot latency` has colours for {}", COLOURS.len());
    Ok(drawing(&gpus))
}

fn says(gpu: &Loaded) -> String {
    let [idle, .., full] = &gpu.points[..] else { return gpu.name.clone() };
    format!(
        "{}: {:.0} ns when idle, {:.0} ns at {:.0} GB/s",
        gpu.name, idle.ns, full.ns, full.gb_per_s
    )
}

fn drawing(gpus: &[Loaded]) -> String {
    let all = || gpus.iter().flat_map(|gpu| &gpu.points);
    let ends = [
        1000.0 * (all().map(|point| point.gb_per_s).fold(0.0, f64::max) / 1000.0).ceil(),
        500.0 * (all().map(|point| point.ns).fold(0.0, f64::max) / 500.0).ceil(),
    ];
    let bottom = HEIGHT - BOTTOM;
    let left = |gb: f64| LEFT + (WIDTH - LEFT - RIGHT) * gb / ends[0];
    let top = |ns: f64| bottom - (bottom - TOP - 14.0) * ns / ends[1];
    let label = format!(
        "Latency of a load against the throughput of the other loads. {}",
        gpus.iter().map(says).collect::<Vec<_>>().join("; ")
    );
    let mut svg = format!(
        "<div class=\"plot\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(&label)
    );
    for ns in (0..=ends[1] as u32).step_by(500) {
        let y = top(f64::from(ns));
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{ns}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0,
        );
    }
    for gb in (0..=ends[0] as u32).step_by(1000) {
        let _ = write!(
            svg,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{gb}</text>",
            left(f64::from(gb)),
            bottom + 17.0,
        );
    }
    let _ = write!(
        svg,
        "<text class=\"title\" x=\"{LEFT}\" y=\"{}\">other loads, GB/s</text><text class=\"title\" x=\"4\" y=\"{TOP}\">latency, ns</text>",
        bottom + 40.0,
    );
    for (gpu, colour) in gpus.iter().zip(COLOURS) {
        let at: Vec<[f64; 2]> =
            gpu.points.iter().map(|point| [left(point.gb_per_s), top(point.ns)]).collect();
        let path: Vec<String> = at.iter().map(|[x, y]| format!("{x:.1} {y:.1}")).collect();
        let _ = write!(svg, "<path class=\"line {colour}\" d=\"M{}\"/>", path.join("L"));
        for ([x, y], point) in at.iter().zip(&gpu.points) {
            let _ = write!(
                svg,
                "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{}: {} KiB in flight per SM, {} GB/s, {} ns</title></circle>",
                escape(&gpu.name),
                point.kib,
                point.gb_per_s,
                point.ns,
            );
        }
        if let Some([x, y]) = at.iter().min_by(|a, b| a[1].total_cmp(&b[1])) {
            // The highest point of each line, with the name of the GPU to its left.
            let name = escape(gpu.name.trim_start_matches("NVIDIA "));
            let name = name.split(' ').next().unwrap_or_default();
            let _ = write!(
                svg,
                "<text class=\"label {colour}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
                x - 8.0,
                y + 4.0,
            );
        }
    }
    svg + "</svg></div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_a_line_whose_points_have_words() {
        let text = "# NVIDIA T1, 1 SM; chain\nflight,kib_in_flight,gb_per_s,ns\n1,2.0,900,400.5\n0,0.0,0,300\n";
        let gpu = Loaded::of(text).unwrap();
        let svg = drawing(&[gpu]);
        assert!(svg.contains("NVIDIA T1: 300 ns when idle, 400 ns at 900 GB/s"), "{svg}");
        assert!(svg.contains("NVIDIA T1: 2 KiB in flight per SM, 900 GB/s, 400.5 ns"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains(">T1</text>"), "{svg}");
    }
}
