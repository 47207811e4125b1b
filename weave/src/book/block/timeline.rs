//! Implements `{{timeline STEP…}}`, which shows the activity of one multiprocessor over time. The
//! figure includes a still picture and a table for each kernel, from the same model that a page
//! runs.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use page_time::{CYCLES, Filmed, HEAD, Question};
use serde_json::{Value, json};
use xtask::kernels::Kernel;

use super::{frame::short, highlight::escape};
use crate::book::source::{Sources, file::read};

/// The kernels that a reader can select.
const CHOICE: [&str; 6] =
    ["v0-naive", "v4-unroll-warp", "v6-shuffle", "v7-grid-stride", "v8-wide-loads", "v11-mailbox"];
/// The kernel whose number of loads in flight is set by a slider, and the kernel for each position
/// of the slider.
const LOADS: (&str, [(u32, &str); 4]) = (
    "v8-wide-loads",
    [
        (1, "v8-wide-loads/one-word"),
        (2, "v8-wide-loads/two-words"),
        (4, "v8-wide-loads/four-words"),
        (8, "v8-wide-loads"),
    ],
);
/// The width of the still picture and of a column, in pixels; the cycles of a column are drawn in
/// one colour.
const WIDTH: u32 = 640;
const COLUMN: u32 = 4;
const ROW: u32 = 6;
const FLIGHT: u32 = 34;
/// The end of the scale of the bytes in flight, as a multiple of those that fill the bus.
const SCALE: f64 = 2.0;

pub(crate) fn html(sources: &Sources, names: &[&str]) -> Result<String> {
    ensure!(!names.is_empty(), "name at least one step");
    let mut stills = String::new();
    let mut words = String::new();
    for name in names {
        if !CHOICE.contains(name) {
            bail!("a timeline can show {}, not {name}", CHOICE.join(", "));
        }
        let film = film(sources, name)?;
        stills += &picture(name, &film);
        words += &table(name, &film);
    }
    let all: Vec<Value> =
        CHOICE.iter().map(|name| json!({ "name": name, "label": short(name) })).collect();
    let loads: Vec<Value> = LOADS.1.iter().map(|(count, name)| json!([count, name])).collect();
    let is_live = sources.root.join(crate::wasm::MODULES[2].file).exists();
    let data = json!({
        "shown": names, "all": all, "loads": { "of": LOADS.0, "kernels": loads }, "cycles": CYCLES,
        "head": HEAD, "states": predict::State::NAMES, "live": is_live,
    });
    Ok(format!(
        "\n<figure class=\"timeline\">\n<div class=\"tl-still\">{stills}</div>\n<div class=\"tl-key\">{}</div>\n<p class=\"tl-read\">{READ}</p>\n\
         <details class=\"stepper-words\"><summary>The same in words</summary>\n{words}</details>\n\
         <script type=\"application/json\">{data}</script>\n",
        key()
    ))
}

/// The colours of the states.
const KEY: [(&str, &str); 8] = [
    ("issue", "issues"),
    ("ready", "ready, but another warp issues"),
    ("math", "waits for arithmetic"),
    ("shared", "for shared memory or a shuffle"),
    ("barrier", "at a barrier"),
    ("memory", "for memory"),
    ("atomic", "for an atomic"),
    (
        "empty",
        "no warp: its block has ended and the next has not started, or no more blocks fit or are left",
    ),
];

/// Says which colours are good.
const READ: &str = "Strong blue is work: a warp issues an instruction; in all other colours, warps wait. \
    Waiting for memory, green, is no fault: a waiting warp has bytes in flight, and enough of them keep the bus full. \
    The goal is a full bus, the strip at the bottom, because the sum then takes only as long as the memory needs. \
    While the curve above it is below or near the dashed line, the bus has gaps. Then more bytes for each load help; if many slots have no warp, fewer and longer blocks do; and if the picture has little green, fewer instructions and barriers. \
    While the bus is full, slots without a warp are no fault, either. \
    The dashed line is at half the height of the curve's scale in every picture, so the pictures can be compared.";

/// The marks that appear only in an animated figure, whose script shows them.
const MARKS: [(&str, &str); 3] = [
    ("issue", "in the thin strip of a scheduler: it issues"),
    ("request", "at the right: a request to the memory"),
    ("reply", "data on its way back"),
];

fn key() -> String {
    let entry = |hidden: &str, (name, said)| {
        format!("<span{hidden}><i class=\"tl-{name}\"></i>{said}</span>")
    };
    KEY.map(|state| entry("", state)).concat() + &MARKS.map(|mark| entry(" hidden", mark)).concat()
}

fn film(sources: &Sources, name: &str) -> Result<Filmed> {
    let kernel = sources.kernel(name)?;
    filmed(name, read(&kernel.folder.join(kernel.ptx("f32")))?)
}

fn filmed(name: &str, ptx: String) -> Result<Filmed> {
    let question = Question { step: name.to_owned(), ptx, ..Question::default() };
    let answer = page_time::run(&question);
    match (answer.film, answer.stopped) {
        (Some(film), _) => Ok(film),
        (None, why) => bail!("{name} has no film: {}", why.unwrap_or_default()),
    }
}

/// Writes the film of each kernel as a script, so that a page shows its first picture before it
/// loads the model.
pub(super) fn write(folder: &Path, kernels: &[Kernel]) -> Result<()> {
    for name in CHOICE {
        let kernel = kernels.iter().find(|kernel| kernel.name == name);
        let kernel = kernel.with_context(|| format!("there is no kernel {name}"))?;
        let film = filmed(name, read(&kernel.folder.join(kernel.ptx("f32")))?)?;
        let text = serde_json::to_string(&film)?;
        let script = format!("live.filmed({name:?}, {text});\n");
        fs::write(folder.join(format!("{name}.film.js")), script)?;
    }
    Ok(())
}

fn table(name: &str, film: &Filmed) -> String {
    let mut text = format!("<p><b>{name}</b>. {}</p>\n", escape(&film.words));
    let _ = write!(
        text,
        "<div class=\"table-wrapper\"><table class=\"figures\"><caption>{name}: {}.</caption><thead><tr>",
        film.caption
    );
    for head in HEAD {
        let _ = write!(text, "<th scope=\"col\">{head}</th>");
    }
    text += "</tr></thead><tbody>\n";
    for row in &film.rows {
        let cells: Vec<String> = row[1..].iter().map(|cell| format!("<td>{cell}</td>")).collect();
        let _ = writeln!(text, "<tr><th scope=\"row\">{}</th>{}</tr>", row[0], cells.concat());
    }
    text + "</tbody></table></div>\n"
}

/// Draws the warp slots of scheduler 0, the bytes in flight, and the use of the bus.
fn picture(name: &str, film: &Filmed) -> String {
    let columns = WIDTH / COLUMN;
    let each = film.cycles / columns;
    let lanes: Vec<Vec<u32>> =
        film.lanes[0].iter().map(|lane| lane_of(&lane.states, film.cycles, each)).collect();
    let (top, rows) = (20, 16);
    let flight = top + rows * ROW + 24;
    let bus = flight + FLIGHT + 6;
    let height = bus + 34;
    let mut svg = format!(
        "<svg class=\"still\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {height}\"><text x=\"0\" y=\"12\">{}: 16 warp slots of a scheduler</text>",
        escape(&format!("{name}. {}", film.words)),
        escape(name),
    );
    // Each state has one path, whose strokes are as thick as a lane.
    for state in 0..predict::State::COUNT as u32 {
        let mut path = String::new();
        for row in 0..rows {
            let mut at = 0;
            while at < columns {
                let of = |at: u32| lanes.get(row as usize).map_or(0, |lane| lane[at as usize]);
                let end = (at..columns).find(|&next| of(next) != of(at)).unwrap_or(columns);
                if of(at) == state {
                    let y = top + row * ROW + ROW / 2;
                    let _ = write!(path, "M{} {y}h{}", at * COLUMN, (end - at) * COLUMN);
                }
                at = end;
            }
        }
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"t{state}\" d=\"{path}\"/>");
        }
    }
    let (kib, used) = in_flight(film, columns as usize);
    let most = kib.iter().copied().fold(0.0, f64::max);
    let fills = film.rate * film.latency / 1024.0;
    // All pictures have the same scale, so that they can be compared. Where the curve is cut off,
    // more bytes make no difference.
    let scale = SCALE * fills;
    let y = |kib: f64| f64::from(flight + FLIGHT) - f64::from(FLIGHT) * (kib / scale).min(1.0);
    let points: Vec<String> = kib
        .iter()
        .enumerate()
        .map(|(at, kib)| format!("{} {:.1}", at as u32 * COLUMN + COLUMN / 2, y(*kib)))
        .collect();
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"{0}\">At most {most:.1} KiB in flight</text><text x=\"{WIDTH}\" y=\"{0}\" text-anchor=\"end\">– – {fills:.1} KiB fill the bus</text><path class=\"flight\" d=\"M{1}\"/><path class=\"fills\" d=\"M0 {2:.1}h{WIDTH}\"/>",
        flight - 5,
        points.join("L"),
        y(fills)
    );
    let mut busy = String::new();
    for (at, used) in used.iter().enumerate().filter(|(_, used)| **used > 0.02) {
        let _ = write!(
            busy,
            "M{} {}v-{:.1}",
            at as u32 * COLUMN + COLUMN / 2,
            bus + 12,
            12.0 * used.min(1.0)
        );
    }
    let _ = write!(
        svg,
        "<path class=\"bus\" d=\"{busy}\"/><text x=\"0\" y=\"{0}\">cycle 0</text><text x=\"{2}\" y=\"{0}\" text-anchor=\"middle\">use of the bus</text><text x=\"{WIDTH}\" y=\"{0}\" text-anchor=\"end\">{1}</text></svg>",
        bus + 30,
        film.cycles,
        WIDTH / 2
    );
    svg
}

/// Returns, for each column, the state that a lane has for the longest time.
fn lane_of(states: &[u32], cycles: u32, each: u32) -> Vec<u32> {
    let mut times = vec![[0u32; 16]; (cycles / each) as usize];
    let mut from = 0;
    for (at, pair) in states.chunks(2).enumerate() {
        from += pair[0];
        let end = states.get(2 * at + 2).map_or(cycles, |next| from + next).min(cycles);
        for cycle in from..end {
            if let Some(column) = times.get_mut((cycle / each) as usize) {
                column[(pair[1] % 16) as usize] += 1;
            }
        }
    }
    let longest =
        |times: &[u32; 16]| (0..16).max_by_key(|&state| times[state]).unwrap_or_default() as u32;
    times.iter().map(longest).collect()
}

/// Returns, for each column, the KiB in flight and the fraction of the bus that is used.
fn in_flight(film: &Filmed, columns: usize) -> (Vec<f64>, Vec<f64>) {
    let each = f64::from(film.cycles) / columns as f64;
    let (mut kib, mut used) = (vec![0.0; columns], vec![0.0; columns]);
    for &[_, _, _, bytes, leaves, from, to, back] in &film.flights {
        let parts = [
            (&mut kib, leaves, back, f64::from(bytes) / 1024.0),
            (&mut used, from, to.max(from + 1), 1.0),
        ];
        for (sums, from, to, weight) in parts {
            for (at, sum) in sums.iter_mut().enumerate() {
                let (begin, end) = (at as f64 * each, (at + 1) as f64 * each);
                let within = (end.min(f64::from(to)) - begin.max(f64::from(from))).max(0.0);
                *sum += weight * within / each;
            }
        }
    }
    (kib, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_state_of_most_of_its_cycles() {
        // The lane is empty for 5 cycles, in state 1 for one cycle, and in state 6 for the other 6
        // cycles.
        assert_eq!(lane_of(&[0, 0, 5, 1, 1, 6], 12, 4), [0, 6, 6]);
    }

    #[test]
    fn bytes_are_in_flight_from_leaving_to_coming_back() {
        let film = Filmed {
            cycles: 100,
            threads: 32,
            resident: 1,
            mhz: 1000.0,
            latency: 50.0,
            fits: (1, "threads"),
            blocks: 1,
            rate: 16.0,
            lanes: vec![Vec::new(); 4],
            flights: vec![[0, 0, 0, 2048, 10, 30, 40, 60]],
            lines: Vec::new(),
            kib: 2.0,
            caption: String::new(),
            words: String::new(),
            rows: Vec::new(),
        };
        let (kib, used) = in_flight(&film, 10);
        assert_eq!(kib, [0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(used.iter().position(|&used| used > 0.0), Some(3));
        let picture = picture("v0-naive", &film);
        assert!(picture.contains("class=\"bus\""));
        // 16 bytes per cycle × 50 cycles.
        assert!(picture.contains("– – 0.8 KiB fill the bus"), "{picture}");
    }
}
