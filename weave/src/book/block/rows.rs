//! Implements `{{rows map}}` and `{{num rows …}}`, the figures in a chapter that come from
//! `results/rows`. The chapter's tables also come from `results/rows`.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use measured::rows::{self as measured_rows, Cells};

use crate::book::source::{
    Sources,
    quantity::{Quantity, Unit},
};
use crate::results::rows;

/// Implements `{{num rows study KERNEL SHAPE}}`, which shows a kernel's time or, with `per=COUNT`,
/// that time divided by the count. Also implements `{{num rows shapes FOLDER}}`, which shows the
/// number of timed shapes, and `{{num rows below FOLDER}}`, which shows the number of slow shapes.
pub(crate) fn number(
    sources: &Sources,
    words: &[&str],
    gpu: &str,
    per: Option<&str>,
) -> Result<Quantity> {
    let origin = |what: &str| format!("results/rows, the newest folder of an {gpu}: {what}");
    match words {
        ["study", way, shape] => {
            let samples = rows::launched(&sources.root, gpu)?;
            let time = rows::micros(&samples, way, rows::shape(shape)?)
                .with_context(|| format!("the study has no times of {way} at {shape}"))?;
            let parts: f64 = per.unwrap_or("1").parse().context("`per` must be a number")?;
            let of = per.map_or(String::new(), |per| format!(", over {per} iterations"));
            let origin = origin(&format!("study/ways.csv, median of {way}, {shape}{of}"));
            Ok(Quantity { value: time / 1e6 / parts, unit: Unit::Time, origin })
        }
        [what @ ("shapes" | "below"), folder] => {
            let cells = rows::cells(&sources.root, gpu, folder)?;
            let ratios = cells.values().filter_map(|ways| Some(measured_rows::against(ways)?.1));
            let wanted = |ratio: &f64| *what == "shapes" || *ratio < measured_rows::WANTED;
            let count = ratios.filter(wanted).count();
            Ok(Quantity::counted(count as f64, origin(folder)))
        }
        _ => bail!(
            "`num rows {}`: use study WAY SHAPE, shapes FOLDER or below FOLDER",
            words.join(" ")
        ),
    }
}

/// The side length of a square in the map.
const SIDE: u32 = 7;
const LEFT: u32 = 44;
const TOP: u32 = 24;

/// Implements `{{rows map}}`, which has a panel for each library, with the share of peak bandwidth
/// for each shape.
pub(crate) fn map(sources: &Sources, gpu: &str) -> Result<String> {
    let cells = rows::cells(&sources.root, gpu, "map")?;
    let bus = rows::bus(&sources.root, gpu, "map")?;
    let all = [("reduce", "reduce"), ("cub", "CUB"), ("torch", "torch")];
    let was_timed = |(way, _): &(&str, &str)| cells.values().any(|ways| ways.contains_key(*way));
    let panels: Vec<_> = all.into_iter().filter(was_timed).collect();
    let top = cells.keys().map(|(n, rows)| n.ilog2().max(rows.ilog2())).max().unwrap_or(0);
    let size = (top + 1) * SIDE;
    let step = size + 28;
    let height = TOP + size + 96;
    let width = LEFT + step * panels.len() as u32;
    let names: Vec<&str> = panels.iter().map(|panel| panel.1).collect();
    let mut svg = format!(
        "<svg role=\"img\" aria-label=\"Share of peak memory bandwidth that {} reach, for 2^0 to 2^{top} rows of 2^0 to 2^{top} elements\" viewBox=\"0 0 {width} {height}\">",
        names.join(", ")
    );
    let middle = TOP + size / 2;
    let _ = write!(
        svg,
        "<text class=\"soft\" x=\"12\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 12 {middle})\">rows</text>"
    );
    for (at, (way, name)) in panels.iter().enumerate() {
        let left = LEFT + at as u32 * step;
        svg += &panel(&cells, way, name, bus, (left, top));
    }
    svg += &legend(LEFT, TOP + size + 64);
    Ok(format!("\n<figure>\n<div class=\"drawing map\">{svg}</svg></div>\n"))
}

/// Draws the panel for a library. The number of rows grows upwards, and the number of elements in a
/// row grows to the right.
fn panel(cells: &Cells, way: &str, name: &str, bus: f64, (left, top): (u32, u32)) -> String {
    let size = (top + 1) * SIDE;
    let mut svg = format!(
        "<text x=\"{left}\" y=\"14\" font-weight=\"600\">{name}</text><rect class=\"panel\" x=\"{left}\" y=\"{TOP}\" width=\"{size}\" height=\"{size}\"/><g class=\"on\">\n"
    );
    for (shape, ways) in cells {
        let Some(rate) = measured_rows::rate(*shape, ways, way) else { continue };
        let share = 1e9 * rate / bus;
        let (elements, rows) = (shape.0.ilog2(), shape.1.ilog2());
        let (x, y) = (left + elements * SIDE, TOP + (top - rows) * SIDE);
        let _ = writeln!(
            svg,
            "<path d=\"M{x} {y}h{SIDE}v{SIDE}h-{SIDE}z\" fill-opacity=\"{:.2}\"><title>{name}, 2^{rows} rows of 2^{elements}: {:.0} %</title></path>",
            share.min(1.0),
            100.0 * share
        );
    }
    svg += "</g>";
    for power in (0..=top).step_by(8) {
        let (x, y) = (left + power * SIDE + SIDE / 2, TOP + (top - power) * SIDE + SIDE / 2 + 4);
        let under = TOP + size + 16;
        let _ = write!(
            svg,
            "<text class=\"soft\" x=\"{x}\" y=\"{under}\" text-anchor=\"middle\">{}</text>",
            power_of(power)
        );
        if left == LEFT {
            let _ = write!(
                svg,
                "<text class=\"soft\" x=\"{}\" y=\"{y}\" text-anchor=\"end\">{}</text>",
                left - 5,
                power_of(power)
            );
        }
    }
    let (x, y) = (left + size / 2, TOP + size + 36);
    svg + &format!(
        "<text class=\"soft\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">elements in a row</text>"
    )
}

fn power_of(power: u32) -> String {
    format!("2<tspan class=\"up\" dy=\"-4\">{power}</tspan>")
}

/// Draws the scale, from zero to peak bandwidth, in steps of a fifth.
fn legend(left: u32, y: u32) -> String {
    let mut svg =
        format!("<text class=\"soft\" x=\"{left}\" y=\"{}\">share of peak</text>", y + 12);
    for step in 0..=5u32 {
        let x = left + 110 + step * 52;
        let _ = write!(
            svg,
            "<rect class=\"panel\" x=\"{x}\" y=\"{y}\" width=\"16\" height=\"16\"/><rect class=\"on\" x=\"{x}\" y=\"{y}\" width=\"16\" height=\"16\" fill-opacity=\"{:.1}\"/><text class=\"soft\" x=\"{}\" y=\"{}\">{} %</text>",
            f64::from(step) / 5.0,
            x + 20,
            y + 12,
            20 * step
        );
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rows_come_from_the_newest_folder() {
        let sources = Sources::read().unwrap();
        let time = |way| number(&sources, &["study", way, "16x2^20"], "h200", None).unwrap().value;
        let (one, two) = (time("1-accumulators"), time("2-accumulators"));
        assert!(one > 1.5 * two && (1e-4..1e-3).contains(&two), "{one} {two}");
        let each = number(&sources, &["study", "1-accumulators", "16x2^20"], "h200", Some("1024"));
        assert!((each.unwrap().value * 1024.0 - one).abs() < 1e-9);
        let count = |what| number(&sources, &[what, "drawn"], "h200", None).unwrap().value;
        assert!(count("below") > 0.0 && count("below") < count("shapes"));
        assert!(number(&sources, &["study", "none", "16x2^20"], "h200", None).is_err());
    }
}
