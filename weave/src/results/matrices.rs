//! The tables and the picture of `results/matrices`, which is about many small matrices.

use std::{fmt::Write, path::Path};

use anyhow::{Result, bail};
use measured::{
    Cache, Clock, Place, Run,
    counters::Twice,
    matrices::{self, About, Piece, Waited},
    table::{Table, micros},
};

use super::folders::{newest, of_gpu};

/// Returns the text of a block: `matrices ways`, `matrices volume`, `matrices overlap` or `matrices
/// threshold`. Each block comes from the newest folder or, with `on=h200`, from that GPU's newest
/// folder.
pub(crate) fn block(root: &Path, words: &[&str]) -> Result<String> {
    let (words, gpu) = of_gpu(words);
    let (name, file) = match words {
        ["ways"] => ("ways", "ways"),
        [name @ ("volume" | "overlap")] => (*name, "volume.csv"),
        ["threshold"] => ("threshold", "threshold.csv"),
        ["counted"] => ("counted", "counted.csv"),
        _ => {
            bail!("`matrices {}`: use ways, volume, overlap, threshold or counted", words.join(" "))
        }
    };
    let Some(folder) = newest(root, "matrices", gpu, file)? else {
        return Ok("Nothing has been measured yet: run `matrix-sum measure`.".into());
    };
    let path = folder.join(file);
    Ok(match name {
        "ways" => ways(&Run::read(&path)?)?,
        "counted" => counted(&Twice::read(&path)?),
        "threshold" => matrices::threshold(&Waited::read(&path)?),
        "volume" => {
            let volume = About::read(&folder.join("matrices.toml"))?.volume;
            let table = matrices::volume(&Piece::read(&path)?);
            let volume = numbers::size(volume);
            format!("In this run, the two pieces take {volume} bytes of GPU memory:\n\n{table}")
        }
        _ => overlap(&Piece::read(&path)?)?,
    })
}

/// Returns a table with a row for each kernel, with its time at each size in both orders, and a row
/// for `reduce`, which adds the same bytes.
fn ways(run: &Run) -> Result<String> {
    let sizes = run.sizes("f32", Cache::Cold, Clock::Gpu);
    let names: Vec<&str> =
        run.env.variant.iter().filter_map(|variant| variant.name.strip_suffix("-row")).collect();
    if names.is_empty() {
        bail!("{} has none of the kernels of matrix-sum", run.name);
    }
    let heads = sizes.iter().flat_map(|n| {
        let n = numbers::size(*n);
        [format!("{n}: row µs"), "column µs".into(), "row ÷ column".into()]
    });
    let mut table = Table::new(["way".to_owned()].into_iter().chain(heads));
    let none = || "–".to_owned();
    let place = |n| Place { element: "f32", n, cache: Cache::Cold, clock: Clock::Gpu };
    let time =
        |way: &str, n| run.time(way, &place(n)).map_or_else(none, |time| micros(time.median));
    for name in names {
        let (row, column) = (format!("{name}-row"), format!("{name}-column"));
        let cells = sizes.iter().flat_map(|&n| {
            let ratio = run.ratio(&row, &column, &place(n));
            let ratio = ratio.map_or_else(none, |ratio| format!("{:.3}×", ratio.0.median));
            [time(&row, n), time(&column, n), ratio]
        });
        table.row([name.to_owned()].into_iter().chain(cells));
    }
    let reduce = sizes.iter().flat_map(|&n| [time("reduce", n), String::new(), String::new()]);
    table.row(["reduce".to_owned()].into_iter().chain(reduce));
    Ok(table.to_string())
}

/// Returns the number of equal counts, and a line for each count that differs.
pub(crate) fn counted(counts: &[Twice]) -> String {
    let unlike: Vec<&Twice> = counts.iter().filter(|count| !count.equal()).collect();
    let mut ways: Vec<&str> = counts.iter().map(|count| count.variant.as_str()).collect();
    ways.dedup();
    let (all, ways) = (counts.len(), ways.len());
    let kernels = if ways == 1 { "kernel" } else { "kernels" };
    let mut text = format!(
        "The interpreter's and the GPU's counts are equal in {} of {all} cases, for {ways} {kernels}.",
        all - unlike.len()
    );
    if unlike.is_empty() {
        return text;
    }
    let mut table = Table::new(["way", "launch", "count", "interpreter", "GPU"]);
    for count in unlike {
        table.row([
            count.variant.clone(),
            count.launch.to_string(),
            count.metric.clone(),
            numbers::group(count.interpreter),
            format!("{}", count.hardware),
        ]);
    }
    let _ = write!(text, "\n\n{table}");
    text
}

/// Draws a round of the pass that copies and adds in row-major order, with copies above and sums
/// below, and a round of the pass that only copies.
fn overlap(pieces: &[Piece]) -> Result<String> {
    const WIDTH: f64 = 560.0;
    const LEFT: f64 = 96.0;
    let of = |pass: &str| -> Vec<&Piece> {
        let of = |piece: &&Piece| piece.order == "row" && piece.pass == pass && piece.round == 0;
        pieces.iter().filter(of).collect()
    };
    let (alone, both) = (of("copy"), of("both"));
    let end = alone.iter().chain(&both).map(|piece| piece.added_end.max(piece.copied_end));
    let end = end.fold(0.0, f64::max);
    if end == 0.0 || both.is_empty() {
        bail!("volume.csv has no pass that copies and adds in row-major order");
    }
    let scale = WIDTH / end;
    let mut svg = format!(
        "<div class=\"drawing\"><svg viewBox=\"0 0 {} 150\" role=\"img\" aria-label=\"copies and sums of one file, by time\">\n",
        LEFT + WIDTH + 34.0
    );
    let lanes = [
        ("copy alone", &alone, false, 10.0, "hsl(210 15% 60%)"),
        ("copy", &both, false, 50.0, "hsl(210 70% 50%)"),
        ("sum", &both, true, 76.0, "hsl(25 85% 50%)"),
    ];
    for (name, pieces, sums, y, colour) in lanes {
        let _ = writeln!(svg, "<text x=\"0\" y=\"{}\">{name}</text>", y + 14.0);
        for piece in pieces.iter() {
            let (from, to) = if sums {
                (piece.added, piece.added_end)
            } else {
                (piece.copied, piece.copied_end)
            };
            let _ = writeln!(
                svg,
                "<rect x=\"{:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"20\" fill=\"{colour}\"><title>{name} of piece {}: {:.2} ms, from {:.2} ms on</title></rect>",
                LEFT + from * scale,
                ((to - from) * scale - 1.0).max(1.0),
                piece.piece,
                (to - from) / 1e3,
                from / 1e3
            );
        }
    }
    let step = step(end / 1e3);
    let mut at = 0.0;
    while at <= end / 1e3 {
        let x = LEFT + at * 1e3 * scale;
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.2} 104v6\" stroke=\"currentColor\"/><text x=\"{x:.2}\" y=\"126\" text-anchor=\"middle\">{at}</text>"
        );
        at += step;
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"146\" text-anchor=\"middle\">milliseconds</text>",
        LEFT + WIDTH / 2.0
    );
    Ok(svg + "</svg></div>")
}

/// Returns the distance between ticks on an axis up to `most`: 1, 2 or 5 times a power of ten.
fn step(most: f64) -> f64 {
    let power = 10f64.powf((most / 8.0).log10().floor());
    let fit = |step: &f64| most / step <= 8.0;
    [1.0, 2.0, 5.0].map(|by| by * power).into_iter().find(fit).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_few_ticks() {
        for most in [0.3, 7.0, 19.4, 48.0, 350.0] {
            let marks = most / step(most);
            assert!((2.0..=8.0).contains(&marks), "{most}: {marks}");
        }
    }

    #[test]
    fn differing_counts_are_listed() {
        let twice = |interpreter| Twice {
            variant: "wide-row".into(),
            element: "f32".into(),
            threads: 256,
            n: 1 << 20,
            launch: 1,
            metric: "m".into(),
            interpreter,
            hardware: 7.0,
        };
        let said =
            "The interpreter's and the GPU's counts are equal in 1 of 1 cases, for 1 kernel.";
        assert_eq!(counted(&[twice(7)]), said);
        let text = counted(&[twice(7), twice(8)]);
        assert!(text.contains("in 1 of 2 cases") && text.contains("| wide-row"), "{text}");
    }
}
