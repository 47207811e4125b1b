//! Draws the plot of the drawn sizes, as SVG in the page's colours. Text and axes are
//! `currentColor`.

use anyhow::{Result, anyhow};
use measured::{library::Series, stats::Summary};
use plotters::{coord::Shift, prelude::*};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws on a canvas with this size.
fn draw(size: (u32, u32), on: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        on(&area)?;
        area.present().map_err(failed)?;
    }
    // Text and axes have the page's colour. An empty line would end the HTML block in a page.
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

/// Plots the time of the faster CUB version divided by the time of `reduce` at every drawn size,
/// with the ratio's interval. Sizes at which `reduce` is significantly slower are red.
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
