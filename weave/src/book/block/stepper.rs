//! Implements `{{stepper STEP}}`, the interactive figure. The figure includes the first and last
//! rounds as still pictures for readers without scripts, and a table as its alternative text.

use std::fmt::Write as _;

use ::page::frame::{self, Frame};
use anyhow::{Context, Result};
use common::plan::Block;

use super::highlight::escape;
use crate::book::source::{
    Sources,
    frames::{self, Frames},
};

/// The width of the cell for a lane or a bank.
const CELL: u32 = 20;
/// The number of lanes in a warp, which is also the number of banks.
const LANES: u32 = 32;

/// Returns the figure, which opens at the round `first`, or by default at its first frame.
pub(crate) fn html(
    sources: &Sources,
    step: &str,
    threads: u32,
    first: Option<u32>,
) -> Result<String> {
    let frames = frames::read(&sources.generated(), step)?;
    let kernel = sources.kernel(step)?;
    let own = frames.get(&threads).with_context(|| {
        format!("{step} is not traced with blocks of {threads}: use one of {:?}", frames.keys())
    })?;
    let source: Vec<&str> = kernel.source.lines().collect();
    let live = super::live::facts(sources, step)?;
    let data =
        serde_json::json!({ "step": step, "source": source, "frames": frames, "live": live });
    // The text `</` would end the script.
    let data = data.to_string().replace("</", "<\\/");
    let start = match first {
        None => 0,
        Some(round) => own
            .iter()
            .position(|frame| frame.name == format!("Round {round}"))
            .with_context(|| format!("{step} has no round {round}"))?,
    };
    let rounds: Vec<&Frame> = own.iter().filter(|frame| frame.name.starts_with("Round")).collect();
    let still =
        |frame: Option<&&Frame>| frame.map_or(String::new(), |frame| picture(step, frame, threads));
    Ok(format!(
        "\n<figure class=\"stepper\" id=\"stepper-{step}\" data-threads=\"{threads}\" data-start=\"{start}\">\n\
         <div class=\"stepper-still\">{}{}</div>\n\
         {}\
         <script type=\"application/json\">{data}</script>\n",
        still(rounds.first()),
        if rounds.len() > 1 { still(rounds.last()) } else { String::new() },
        words(step, threads, own, &frames),
    ))
}

/// Describes a frame in words.
pub(crate) fn describe(frame: &Frame) -> String {
    let is = |what: &'static str| move |op: &frame::Op| u32::from(op.what == what);
    let (loads, stores) = (frame.sum(is("ld")), frame.sum(is("st")));
    let (global, shuffles) = (frame.sum(is("gld")), frame.sum(is("shfl")));
    let conflicts = frame.sum(|op| op.conflicts);
    let mut parts = vec![active(frame.lanes(), frame.warps())];
    let mut part = |count: u32, one: &str, many: &str| {
        if count > 0 {
            parts.push(format!("{count} {}", if count == 1 { one } else { many }));
        }
    };
    part(global, "global load", "global loads");
    part(loads, "shared load", "shared loads");
    part(stores, "shared store", "shared stores");
    part(shuffles, "shuffle", "shuffles");
    part(frame.sum(is("gst")), "global store", "global stores");
    part(conflicts, "extra pass for bank conflicts", "extra passes for bank conflicts");
    let end = match frame.end.as_str() {
        "" => String::new(),
        end => format!("; a {end} barrier ends it"),
    };
    parts.join(", ") + &end
}

/// Formats the numbers of active lanes and warps in a frame.
fn active(lanes: u32, warps: u32) -> String {
    let many =
        |count: u32, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    format!("{} of {} active", many(lanes, "lane"), many(warps, "warp"))
}

/// Formats the alternative text: a folded table of all frames, and a table of all block sizes.
fn words(step: &str, threads: u32, own: &[Frame], all: &Frames) -> String {
    let mut text = format!(
        "<details class=\"stepper-words\"><summary>The same in words</summary>\n<div class=\"table-wrapper\"><table class=\"words\"><caption>The rounds of the first block, which has {threads} threads. Kernel: {step}.</caption><tbody>\n"
    );
    for alike in own.chunk_by(alike) {
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            named(alike),
            describe(&alike[0])
        );
    }
    let _ = write!(
        text,
        "</tbody></table></div>\n<div class=\"table-wrapper\"><table class=\"figures\"><caption>One block of {step}, unmodified and for f32, by block size.</caption><thead><tr><th>threads</th><th>rounds</th><th>block barriers that end a round</th><th>shared accesses</th><th>extra passes</th></tr></thead><tbody>\n"
    );
    for (threads, frames) in all {
        let sum = |of: &dyn Fn(&frame::Op) -> u32| frames.iter().map(|f| f.sum(of)).sum::<u32>();
        let _ = writeln!(
            text,
            "<tr><td>{threads}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            frames.iter().filter(|frame| frame.name.starts_with("Round")).count(),
            frames.iter().filter(|frame| frame.end == "block").count(),
            sum(&|op| u32::from(matches!(op.what.as_str(), "ld" | "st"))),
            sum(&|op| op.conflicts),
        );
    }
    text + "</tbody></table></div></details>\n"
}

/// Returns whether one row of the table describes both frames: rounds or loads that differ only in
/// their numbers.
fn alike(one: &Frame, next: &Frame) -> bool {
    let kind = |frame: &Frame| numbered(&frame.name).map(|(kind, _)| kind.to_owned());
    kind(one).is_some() && kind(one) == kind(next) && describe(one) == describe(next)
}

/// Splits a name such as `Round 3`.
fn numbered(name: &str) -> Option<(&str, &str)> {
    name.split_once(' ').filter(|(kind, _)| matches!(*kind, "Round" | "Load"))
}

/// Names consecutive frames: `Exchange`, `Round 3`, or `Rounds 1 to 5`.
fn named(frames: &[Frame]) -> String {
    let ends = frames.first().zip(frames.last()).filter(|_| frames.len() > 1);
    match ends.and_then(|(first, last)| Some((numbered(&first.name)?, numbered(&last.name)?))) {
        Some(((kind, first), (_, last))) => format!("{kind}s {first} to {last}"),
        None => frames[0].name.clone(),
    }
}

/// Draws a frame as a still picture, with the block's lanes above, and warp 0's lanes and banks
/// below.
fn picture(step: &str, frame: &Frame, threads: u32) -> String {
    let warps = Block::new(threads).map_or(8, |block| block.threads() / LANES);
    let height = if warps > 8 { 8 } else { 14 };
    let (top, width) = (18, LANES * CELL);
    let banks = top + warps * height + 34;
    let mut svg = format!(
        "<svg class=\"still\" role=\"img\" aria-label=\"{step}, {}: {}\" viewBox=\"0 0 {width} {}\">",
        frame.name,
        escape(&describe(frame)),
        banks + 150
    );
    let _ = write!(svg, "<text x=\"0\" y=\"12\">{}: {warps} warps of 32 lanes</text>", frame.name);
    for warp in 0..warps {
        let doing = frame.warp(warp);
        let (mask, waits) = doing.map_or((0, 0), |(ops, _)| masks(ops));
        for lane in 0..LANES {
            let class = colour(mask, waits, lane);
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                lane * CELL + 1,
                top + warp * height + 1,
                CELL - 2,
                height - 2
            );
        }
    }
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"{}\">warp 0, with its lanes above and the 32 banks below</text>",
        banks - 10
    );
    svg += &lines(frame, banks);
    svg + "</svg>"
}

/// Returns the mask of the active lanes, and the mask of those that wait for a bank.
fn masks(ops: &[frame::Op]) -> (u32, u32) {
    ops.iter().fold((0, 0), |(mask, waits), op| {
        (mask | op.mask, if op.conflicts > 0 { waits | op.mask } else { waits })
    })
}

/// Returns the class with which a lane is drawn.
fn colour(mask: u32, waits: u32, lane: u32) -> &'static str {
    match (waits >> lane & 1, mask >> lane & 1) {
        (1, _) => "clash",
        (_, 1) => "on",
        _ => "off",
    }
}

/// Draws warp 0: its lanes, the banks, and a line for each access.
fn lines(frame: &Frame, top: u32) -> String {
    let (ops, _) = frame.warp(0).unwrap_or((&[], 0));
    let mut svg = String::new();
    let bottom = top + 120;
    let x = |index: u32| index * CELL + CELL / 2;
    let mut load = [0u32; LANES as usize];
    for op in ops.iter().filter(|op| op.what != "shfl") {
        let class = match () {
            _ if op.conflicts > 0 => "clash",
            _ if op.what == "st" => "write",
            _ => "read",
        };
        let mut busy = [0u32; LANES as usize];
        for lane in 0..LANES {
            let Some(word) = op.word(0, lane) else { continue };
            let bank = word.rem_euclid(i64::from(LANES)) as u32;
            for next in bank..bank + op.wide {
                busy[(next % LANES) as usize] += 1;
            }
            let _ = write!(
                svg,
                "<path class=\"{class}\" d=\"M{} {}L{} {bottom}\"/>",
                x(lane),
                top + 14,
                x(bank)
            );
        }
        // Several lanes that access one word take one pass. Only an instruction with conflicts
        // takes more passes.
        let passes = |count: u32| if op.conflicts > 0 { count } else { count.min(1) };
        load.iter_mut().zip(busy).for_each(|(most, count)| *most = (*most).max(passes(count)));
    }
    for op in ops.iter().filter(|op| op.what == "shfl" && op.cost > 0) {
        for lane in 0..LANES - op.cost.min(LANES) {
            let (from, to) = (x(lane + op.cost), x(lane));
            let _ = write!(
                svg,
                "<path class=\"read\" d=\"M{from} {}Q{} {} {to} {}\"/>",
                top + 14,
                (from + to) / 2,
                top + 60,
                top + 14
            );
        }
    }
    let (mask, waits) = masks(ops);
    for index in 0..LANES {
        let on = colour(mask, waits, index);
        let bank = match load[index as usize] {
            0 => "off",
            1 => "bank",
            _ => "clash",
        };
        let cell = |class: &str, y: u32| {
            format!(
                "<rect class=\"{class}\" x=\"{}\" y=\"{y}\" width=\"{}\" height=\"14\"/>",
                index * CELL + 1,
                CELL - 2
            )
        };
        svg += &cell(on, top);
        svg += &cell(bank, bottom);
        if load[index as usize] > 1 {
            let _ = write!(
                svg,
                "<text class=\"count\" x=\"{}\" y=\"{}\">{}</text>",
                x(index),
                bottom + 27,
                load[index as usize]
            );
        }
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rounds_and_loads_share_a_row() {
        let frame =
            |name: &str| Frame { name: name.into(), end: String::new(), groups: Vec::new() };
        let frames = ["Load 1", "Load 2", "Round 1", "Round 2", "Exchange", "Exchange"].map(frame);
        let names: Vec<String> = frames.chunk_by(alike).map(named).collect();
        assert_eq!(names, ["Loads 1 to 2", "Rounds 1 to 2", "Exchange", "Exchange"]);
    }

    #[test]
    fn one_lane_is_no_plural() {
        assert_eq!(active(1, 1), "1 lane of 1 warp active");
        assert_eq!(active(40, 2), "40 lanes of 2 warps active");
    }
}
