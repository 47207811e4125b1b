//! The plots, as SVG in the page's own colour: text and axes are `currentColor`.

use anyhow::{Result, anyhow};
use measured::{
    Cache, Clock, Place, Role, Run, contender_order, history::History, library::Series,
    stats::Summary, table,
};
use plotters::{coord::Shift, prelude::*};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Where the legend begins.
const LEGEND: i32 = 660;

/// Draws on a canvas of that size.
fn draw(size: (u32, u32), on: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        on(&area)?;
        area.present().map_err(failed)?;
    }
    // Text and axes take the page's colour; a blank line would end the HTML block of a page.
    let svg = svg.replace("#000000", "currentColor");
    Ok(svg
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.to_owned() + "\n")
        .collect())
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("drawing: {error}")
}

/// A colour for the `at`-th of `of`, from blue to red.
fn colour(at: usize, of: usize) -> HSLColor {
    HSLColor(0.66 * (1.0 - at as f64 / of.max(2).saturating_sub(1) as f64), 0.75, 0.45)
}

/// A colour for a peer: violet to pink, light and dark in turn.
fn peer(at: usize) -> HSLColor {
    HSLColor(0.74 + 0.035 * at as f64, 0.45, if at.is_multiple_of(2) { 0.4 } else { 0.62 })
}

/// Coloured names below each other, at the right.
fn legend(area: &Area<'_>, names: &[(String, RGBAColor)]) -> Result<()> {
    for (at, (name, colour)) in names.iter().enumerate() {
        let y = 30 + 17 * at as i32;
        let line =
            PathElement::new([(LEGEND, y + 5), (LEGEND + 18, y + 5)], colour.stroke_width(3));
        area.draw(&line).map_err(failed)?;
        area.draw(&Text::new(name.clone(), (LEGEND + 24, y), ("sans-serif", 12)))
            .map_err(failed)?;
    }
    Ok(())
}

/// Bandwidth against size: all steps and peers, the bus, the copy, and where L2 ends.
pub(crate) fn bandwidth(run: &Run) -> Result<String> {
    let element = "f32";
    let sizes = run.sizes(element, Cache::Cold, Clock::Gpu);
    let power = |n: u64| (n as f64).log2();
    let (first, last) = (sizes.first().copied().unwrap_or(1), sizes.last().copied().unwrap_or(2));
    let bus = run.env.gpu.bus_bytes_per_second / 1e9;
    let shown: Vec<_> = run
        .env
        .variant
        .iter()
        .filter(|v| !matches!(v.role, Role::Floor | Role::Experiment))
        .filter(|v| run.has(&v.name, element, Cache::Cold, Clock::Gpu))
        .collect();
    let rate = |variant: &measured::Variant, n: u64| {
        let place = Place { element, n, cache: Cache::Cold, clock: Clock::Gpu };
        run.bandwidth(variant, &place).map(|rate| rate / 1e9)
    };
    let highest = shown.iter().flat_map(|v| sizes.iter().filter_map(|&n| rate(v, n)));
    let top = highest.fold(bus, f64::max).max(1.0) * 1.08;
    draw((840, 420), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .margin_right(840 - LEGEND as u32)
            .x_label_area_size(40)
            .y_label_area_size(55)
            .build_cartesian_2d(power(first)..power(last).max(power(first) + 1.0), 0.0..top)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .axis_style(BLACK)
            .x_labels(12)
            .x_label_formatter(&|power| format!("2^{power:.0}"))
            .y_label_formatter(&|rate| format!("{rate:.0}"))
            .x_desc("elements (f32)")
            .y_desc("GB/s, L2 cold")
            .label_style(("sans-serif", 12))
            .draw()
            .map_err(failed)?;
        // The bus, across; where the input is as large as L2, down.
        let l2 = power(run.env.gpu.l2_bytes.max(4) / 4);
        let bounds = [
            (bus > 0.0, (power(first), bus), (power(last), bus), format!("bus: {bus:.0} GB/s")),
            (
                (power(first)..power(last)).contains(&l2),
                (l2, top * 0.93),
                (l2, 0.0),
                format!("L2: {} MB", run.env.gpu.l2_bytes >> 20),
            ),
        ];
        for (_, from, to, name) in bounds.into_iter().filter(|bound| bound.0) {
            let line = PathElement::new([from, to], BLACK.mix(0.6));
            chart.draw_series([line]).map_err(failed)?;
            let text = Text::new(name, (from.0 + 0.2, from.1 + 0.032 * top), ("sans-serif", 11));
            chart.draw_series([text]).map_err(failed)?;
        }
        let mut names = Vec::new();
        let ours = |role| matches!(role, Role::Step | Role::Reduce);
        let steps = shown.iter().filter(|v| ours(v.role)).count();
        for (at, variant) in shown.iter().enumerate() {
            let colour: RGBAColor = match variant.role {
                Role::Step | Role::Reduce => colour(at, steps).to_rgba(),
                Role::Peer => peer(at - steps).to_rgba(),
                _ => BLACK.mix(if variant.moves == 1 { 0.9 } else { 0.4 }),
            };
            let width = if ours(variant.role) { 2 } else { 1 };
            let points = sizes.iter().filter_map(|&n| Some((power(n), rate(variant, n)?)));
            let line = LineSeries::new(points, colour.stroke_width(width));
            chart.draw_series(line).map_err(failed)?;
            names.push((variant.name.clone(), colour));
        }
        legend(area, &names)
    })
}

/// Time of each step at a large size: launch floor, memory, the rest. `None` without a floor.
pub(crate) fn stacked(run: &Run) -> Result<Option<String>> {
    let element = "f32";
    let sizes = run.sizes(element, Cache::Cold, Clock::Gpu);
    let Some(&n) = sizes.iter().rev().find(|&&n| n <= 1 << 24) else { return Ok(None) };
    let place = Place { element, n, cache: Cache::Cold, clock: Clock::Gpu };
    let time = |name: &str| run.time(name, &place).map(|time| time.median / 1e3);
    let floor = run.env.of(Role::Floor).find_map(|v| time(&v.name));
    let read = run.env.of(Role::Ceiling).filter(|v| v.moves == 1).find_map(|v| time(&v.name));
    let (Some(floor), Some(read)) = (floor, read) else { return Ok(None) };
    let sums = run.env.variant.iter().filter(|v| v.role.sums());
    let bars: Vec<(&str, f64)> =
        sums.filter_map(|v| Some((v.name.as_str(), time(&v.name)?))).collect();
    let top = bars.iter().map(|bar| bar.1).fold(read, f64::max);
    let height = 60 + 24 * bars.len() as u32;
    draw((840, height), |area| {
        let scale = |us: f64| 150 + (us / top * 600.0).round() as i32;
        let parts = [
            ("launch floor", BLACK.mix(0.35)),
            ("reading the input", RGBColor(0, 140, 90).mix(0.8)),
            ("the rest", RGBColor(200, 60, 40).mix(0.8)),
        ];
        for (at, (name, us)) in bars.iter().enumerate() {
            let y = 10 + 24 * at as i32;
            area.draw(&Text::new(*name, (5, y + 3), ("sans-serif", 12))).map_err(failed)?;
            let ends = [0.0, floor, read.min(*us), *us];
            for (part, (_, colour)) in parts.iter().enumerate() {
                let corners = [(scale(ends[part]), y), (scale(ends[part + 1]), y + 17)];
                area.draw(&Rectangle::new(corners, colour.filled())).map_err(failed)?;
            }
            let text =
                Text::new(format!("{us:.1} µs"), (scale(*us) + 6, y + 3), ("sans-serif", 12));
            area.draw(&text).map_err(failed)?;
        }
        let y = height as i32 - 35;
        for (at, (name, colour)) in parts.iter().enumerate() {
            let x = 150 + 170 * at as i32;
            area.draw(&Rectangle::new([(x, y), (x + 14, y + 14)], colour.filled()))
                .map_err(failed)?;
            area.draw(&Text::new(*name, (x + 20, y + 1), ("sans-serif", 12))).map_err(failed)?;
        }
        let title = format!("{} {element}", table::size(n));
        area.draw(&Text::new(title, (5, y + 1), ("sans-serif", 12))).map_err(failed)
    })
    .map(Some)
}

/// How many times faster than the first step each step is, on the GPUs of eighteen years.
pub(crate) fn history(history: &History, run: Option<&Run>) -> Result<String> {
    let mut steps: Vec<String> = Vec::new();
    for row in history.table.iter().flat_map(|t| &t.row).filter(|row| !row.step.is_empty()) {
        if !steps.contains(&row.step) {
            steps.push(row.step.clone());
        }
    }
    steps.extend(run.iter().flat_map(|run| run.steps()).map(|v| v.name.clone()));
    steps.sort_by(|a, b| contender_order(a).cmp(&contender_order(b)));
    steps.dedup();
    let place = |n| Place { element: "f32", n, cache: Cache::Cold, clock: Clock::Gpu };
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for published in &history.table {
        let point = |(at, step): (usize, &String)| {
            let base = published.rate(published.step(&steps[0])?);
            Some((at as f64, published.rate(published.step(step)?) / base))
        };
        let points: Vec<_> = steps.iter().enumerate().filter_map(point).collect();
        if points.len() > 1 {
            lines.push((format!("{} ({})", published.gpu, published.year), points));
        }
    }
    if let Some(run) = run {
        let sizes = run.sizes("f32", Cache::Cold, Clock::Gpu);
        let n = sizes.iter().rev().find(|&&n| n <= 1 << 28).copied().unwrap_or(1);
        let time = |step: &str| run.time(step, &place(n)).map(|time| time.median);
        if let Some(base) = time(&steps[0]) {
            let point = |(at, step): (usize, &String)| Some((at as f64, base / time(step)?));
            let points = steps.iter().enumerate().filter_map(point).collect();
            lines.push((format!("{}, ours, {}", run.env.gpu.name, table::size(n)), points));
        }
    }
    let top = lines.iter().flat_map(|(_, points)| points).map(|point| point.1).fold(2.0, f64::max);
    let bottom =
        lines.iter().flat_map(|(_, points)| points).map(|point| point.1).fold(1.0, f64::min);
    let names: Vec<&str> = steps.iter().map(|s| s.split('-').next().unwrap_or(s)).collect();
    draw((840, 420), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .margin_right(840 - LEGEND as u32)
            .x_label_area_size(40)
            .y_label_area_size(55)
            .build_cartesian_2d(
                0.0..(steps.len().max(2) - 1) as f64,
                (bottom * 0.8..top * 1.2).log_scale(),
            )
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .axis_style(BLACK)
            .x_labels(steps.len())
            .x_label_formatter(&|at| {
                let whole = at.fract() == 0.0;
                let name = whole.then(|| names.get(*at as usize).copied()).flatten();
                name.unwrap_or_default().to_owned()
            })
            .y_label_formatter(&|factor| format!("{factor:.0}×"))
            .y_desc("times faster than v0")
            .label_style(("sans-serif", 12))
            .draw()
            .map_err(failed)?;
        let mut legends = Vec::new();
        for (at, (name, points)) in lines.iter().enumerate() {
            let colour = colour(at, lines.len()).to_rgba();
            let width = if at + 1 == lines.len() { 3 } else { 1 };
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(width)))
                .map_err(failed)?;
            legends.push((name.clone(), colour));
        }
        legend(area, &legends)
    })
}

/// Block size × step, a panel a size: each step's time over that of its best block size.
pub(crate) fn sweep(run: &Run) -> Result<String> {
    let mut sizes: Vec<u64> = run.sweep.iter().map(|s| s.n).collect();
    sizes.sort();
    sizes.dedup();
    let mut blocks: Vec<u32> = run.sweep.iter().map(|s| s.threads).collect();
    blocks.sort();
    blocks.dedup();
    let mut steps: Vec<&str> = Vec::new();
    for sample in &run.sweep {
        if !steps.contains(&sample.variant.as_str()) {
            steps.push(&sample.variant);
        }
    }
    steps.sort_by_key(|step| contender_order(step));
    let median = |n: u64, step: &str, threads: u32| {
        let samples = run.sweep.iter();
        let samples = samples.filter(|s| s.n == n && s.variant == step && s.threads == threads);
        Summary::of(samples.map(|s| s.ns as f64)).map(|time| time.median)
    };
    let (cell, row, left) = (36, 22, 130);
    let panel = cell * blocks.len() as i32 + 14;
    let width = left + panel * sizes.len() as i32 + 10;
    let height = 60 + row * steps.len() as i32;
    draw((width as u32, height as u32), |area| {
        let text = |words: String, x: i32, y: i32, points: i32| {
            area.draw(&Text::new(words, (x, y), ("sans-serif", points))).map_err(failed)
        };
        for (at, step) in steps.iter().enumerate() {
            text((*step).to_owned(), 4, 36 + row * at as i32 + 5, 12)?;
        }
        for (index, &n) in sizes.iter().enumerate() {
            let x = left + panel * index as i32;
            text(table::size(n), x + 2, 2, 12)?;
            for (column, block) in blocks.iter().enumerate() {
                text(block.to_string(), x + cell * column as i32 + 4, 19, 11)?;
            }
            for (at, step) in steps.iter().enumerate() {
                let times: Vec<Option<f64>> = blocks.iter().map(|&b| median(n, step, b)).collect();
                let best = times.iter().flatten().copied().fold(f64::INFINITY, f64::min);
                for (column, time) in times.iter().enumerate() {
                    let Some(time) = time else { continue };
                    let over = time / best;
                    let corner = (x + cell * column as i32, 36 + row * at as i32);
                    let shade = ((over - 1.0) / 1.0).clamp(0.0, 1.0);
                    let fill = HSLColor(0.38 * (1.0 - shade), 0.6, 0.5).mix(0.55).filled();
                    let corners = [corner, (corner.0 + cell - 2, corner.1 + row - 2)];
                    area.draw(&Rectangle::new(corners, fill)).map_err(failed)?;
                    text(format!("{over:.2}"), corner.0 + 5, corner.1 + 4, 11)?;
                }
            }
        }
        text("time over that of the step's best block size".into(), left, height - 20, 11)
    })
}

/// The faster CUB's time over that of `reduce` at every drawn size, with its interval; who is behind
/// for sure is red.
pub(crate) fn drawn(series: &Series) -> Result<String> {
    let ratios = series.times.keys().filter_map(|&n| {
        let (ratio, _) = series.ratio(n, "reduce")?;
        Some(((n as f64).log2(), ratio.0))
    });
    let ratios: Vec<(f64, Summary)> = ratios.collect();
    let last = ratios.iter().map(|(power, _)| *power).fold(1.0, f64::max);
    let top = ratios.iter().map(|(_, ratio)| ratio.median).fold(1.0, f64::max) * 1.05;
    let bottom = ratios.iter().map(|(_, ratio)| ratio.median).fold(1.0, f64::min) * 0.97;
    draw((840, 320), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(55)
            .build_cartesian_2d(0.0..last + 0.2, bottom..top)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .axis_style(BLACK)
            .x_labels(16)
            .x_label_formatter(&|power| format!("2^{power:.0}"))
            .y_label_formatter(&|ratio| format!("{ratio:.2}"))
            .x_desc("elements")
            .y_desc("CUB / reduce")
            .label_style(("sans-serif", 12))
            .draw()
            .map_err(failed)?;
        let level = PathElement::new([(0.0, 1.0), (last + 0.2, 1.0)], BLACK.mix(0.6));
        chart.draw_series([level]).map_err(failed)?;
        for (power, ratio) in ratios {
            let colour =
                if ratio.high < 1.0 { RGBColor(200, 40, 40) } else { RGBColor(40, 90, 190) };
            let (low, high) = (ratio.low.max(bottom), ratio.high.min(top));
            let interval = PathElement::new([(power, low), (power, high)], colour.mix(0.45));
            chart.draw_series([interval]).map_err(failed)?;
            let dot = Circle::new((power, ratio.median), 2, colour.filled());
            chart.draw_series([dot]).map_err(failed)?;
        }
        Ok(())
    })
}
