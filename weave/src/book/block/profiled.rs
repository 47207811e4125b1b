//! Shows a run with `--counters` or `--profile`: its output on a GPU, its profile next to nvprof's,
//! and a picture of its trace. All data come from the newest folder in `results/cupti/`.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::highlight::escape;
use crate::book::source::{Sources, file::read};

/// The step that the run executed.
const STEP: &str = "v1-divergence";

/// Returns the newest folder with output from an H200.
fn folder(sources: &Sources) -> Result<PathBuf> {
    let results = sources.root.join("results/cupti");
    let entries = fs::read_dir(&results).context("reading results/cupti")?;
    let folders = entries.flatten().map(|entry| entry.path());
    let ours = |path: &PathBuf| path.is_dir() && path.to_string_lossy().contains("-nvidia-h200");
    folders.filter(ours).max().context("results/cupti has no folder for an H200")
}

/// Implements `{{gpu v1-divergence counters}}`, which shows the command and its output.
pub(crate) fn log(sources: &Sources, step: &str, what: &str) -> Result<String> {
    ensure!(step == STEP, "results/cupti has logs of {STEP} only");
    let text = read(&folder(sources)?.join(format!("{what}.txt")))?;
    Ok(format!("$ cargo run -p {step} -- --n 2^20 --{what}\n{text}"))
}

/// The events in a trace in Chrome's format.
#[derive(Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

#[derive(Clone, Deserialize)]
struct Event {
    ph: String,
    name: String,
    #[serde(default)]
    cat: String,
    /// The start, in microseconds after the first event.
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
}

impl Event {
    fn end(&self) -> f64 {
        self.ts + self.dur
    }

    fn host(&self) -> bool {
        self.cat == "driver"
    }
}

fn events(sources: &Sources) -> Result<Vec<Event>> {
    let path = folder(sources)?.join("trace.json");
    let text = measured::file::read(&path)?;
    let trace: Trace = serde_json::from_slice(&text).context("reading trace.json")?;
    Ok(trace.events.into_iter().filter(|event| event.ph == "X").collect())
}

/// A row in either profile, ours or nvprof's.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    us: f64,
    calls: u64,
}

/// The published output of nvprof.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    gpu: String,
    source: String,
    row: Vec<Row>,
}

/// Implements `{{profile}}`, which shows the activities on both GPUs, grouped by name.
pub(crate) fn table(sources: &Sources) -> Result<String> {
    let text = read(&sources.root.join("results/cupti/nvprof.toml"))?;
    let theirs: Published = toml::from_str(&text).context("results/cupti/nvprof.toml")?;
    let ours = rows(&events(sources)?);
    let mut names: Vec<&str> = theirs.row.iter().map(|row| row.name.as_str()).collect();
    for row in &ours {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let mut body = String::new();
    for name in names {
        body += &format!("<tr><td>{}</td>", escape(name));
        for rows in [&theirs.row, &ours] {
            body += &cells(rows, name);
        }
        body += "</tr>\n";
    }
    let head = "<th>share</th><th>time</th><th>calls</th><th>average</th>";
    Ok(format!(
        "<div class=\"table-wrapper\"><table class=\"figures\">\n<thead><tr><th></th><th colspan=\"4\" title=\"{}\">{}, nvprof</th><th colspan=\"4\">H200, <code>--profile</code></th></tr>\n<tr><th>GPU activity</th>{head}{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>",
        escape(&theirs.source),
        escape(&theirs.gpu)
    ))
}

/// Groups the GPU's activities by name; all kernels share one row.
fn rows(events: &[Event]) -> Vec<Row> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for event in events.iter().filter(|event| !event.host()) {
        let name = if event.cat == "kernel" { "kernels" } else { event.name.as_str() };
        let new = Row { name: name.to_owned(), us: 0.0, calls: 0 };
        let row = rows.entry(name).or_insert(new);
        row.us += event.dur;
        row.calls += 1;
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by(|a, b| b.us.total_cmp(&a.us));
    rows
}

fn cells(rows: &[Row], name: &str) -> String {
    let all: f64 = rows.iter().map(|row| row.us).sum();
    match rows.iter().find(|row| row.name == name) {
        None => "<td>–</td>".repeat(4),
        Some(Row { us, calls, .. }) => format!(
            "<td>{:.1}\u{a0}%</td><td>{}</td><td>{calls}</td><td>{}</td>",
            100.0 * us / all,
            time(*us),
            time(us / *calls as f64)
        ),
    }
}

/// Formats microseconds with three digits.
fn time(us: f64) -> String {
    let (value, unit) = if us >= 999.5 { (us / 1e3, "ms") } else { (us, "µs") };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$}\u{a0}{unit}")
}

/// The width of a picture.
const WIDTH: f64 = 640.0;
const BAR: f64 = 26.0;
/// The width of a letter, which determines the shortest event that can show its name.
const LETTER: f64 = 7.1;
const SEEN: f64 = 6.0;

/// Implements `{{trace first}}`, which shows the first sum from start to end, and `{{trace
/// timed}}`, which shows one of the last timed samples.
pub(crate) fn picture(sources: &Sources, which: &str) -> Result<String> {
    let events = events(sources)?;
    let (from, to) = span(&events, which)?;
    let shown: Vec<&Event> =
        events.iter().filter(|event| event.end() > from && event.ts < to).collect();
    let at = |us: f64| 70.0 + (us.clamp(from, to) - from) / (to - from) * (WIDTH - 80.0);
    let mut svg = format!("<text class=\"soft\" x=\"70\" y=\"91\">← {} →</text>", time(to - from));
    for (host, y, name) in [(true, 46.0, "host"), (false, 102.0, "GPU")] {
        svg += &format!("<text x=\"4\" y=\"{}\">{name}</text>", y + 17.0);
        svg += &format!(
            "<rect class=\"off\" x=\"70\" y=\"{y}\" width=\"{}\" height=\"{BAR}\"/>",
            WIDTH - 80.0
        );
        // The names are in two rows: the host's above its bar, and the GPU's below.
        let mut rows = match host {
            true => [(y - 8.0, 0.0), (y - 23.0, 0.0)],
            false => [(y + BAR + 16.0, 0.0), (y + BAR + 31.0, 0.0)],
        };
        for event in shown.iter().filter(|event| event.host() == host) {
            let (x, wide) = (at(event.ts), at(event.end()) - at(event.ts));
            let class = match event.cat.as_str() {
                "kernel" => "on",
                "driver" => "call",
                _ => "move",
            };
            svg += &format!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\"><title>{}, {}</title></rect>",
                wide.max(0.6),
                escape(&event.name),
                time(event.dur)
            );
            // An event that is wide enough is shown with its name, if there is room for it.
            let text = format!("{} {}", short(&event.name), time(event.dur));
            let letters = LETTER * text.chars().count() as f64;
            let x = x.min(WIDTH - letters);
            let row = rows.iter_mut().find(|(_, free)| x >= *free);
            if let Some((y, free)) = row.filter(|_| wide > SEEN) {
                *free = x + letters;
                svg += &format!(
                    "<text class=\"soft\" x=\"{x:.1}\" y=\"{y}\">{}</text>",
                    escape(&text)
                );
            }
        }
    }
    let label = format!(
        "{} of the trace, with calls to the driver above and activities on the GPU below",
        time(to - from)
    );
    Ok(format!(
        "\n<figure>\n<div class=\"drawing trace\"><svg viewBox=\"0 0 {WIDTH} 168\" role=\"img\" aria-label=\"{label}\">{svg}</svg></div>\n"
    ))
}

/// Returns a function's name without the driver's prefix and the version.
fn short(name: &str) -> &str {
    let name =
        name.strip_prefix("cu").filter(|rest| rest.starts_with(char::is_uppercase)).unwrap_or(name);
    name.trim_end_matches("_v2").trim_end_matches("Async")
}

/// Returns the start and the end of a picture, in microseconds.
fn span(events: &[Event], which: &str) -> Result<(f64, f64)> {
    let kernels: Vec<&Event> = events.iter().filter(|event| event.cat == "kernel").collect();
    let (Some(first), Some(last)) = (kernels.first(), kernels.last()) else {
        bail!("the trace has no kernel");
    };
    match which {
        "first" => {
            let read = events.iter().find(|e| e.name == "[memcpy DtoH]" && e.ts > first.end());
            Ok((
                0.0,
                read.context("the trace has no copy to the host after the first kernel")?.end(),
            ))
        }
        "timed" => {
            // A timed sample begins when the gate is closed.
            let gates: Vec<&Event> =
                events.iter().filter(|event| event.name.starts_with("cuStreamWaitValue")).collect();
            let [.., gate, next] = gates[..] else { bail!("the trace has no timed samples") };
            ensure!(gate.ts < last.ts, "the trace has no timed sample that ends with a kernel");
            Ok((gate.ts, next.ts))
        }
        _ => bail!("`{which}`: use first or timed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(cat: &str, name: &str, ts: f64, dur: f64) -> Event {
        Event { ph: "X".into(), name: name.into(), cat: cat.into(), ts, dur }
    }

    #[test]
    fn kernels_share_one_row_and_calls_have_none() {
        let events = [
            event("driver", "cuInit", 0.0, 1000.0),
            event("kernel", "reduce", 10.0, 5.0),
            event("kernel", "other", 20.0, 7.0),
            event("copy", "[memcpy HtoD]", 30.0, 4.0),
        ];
        let row = |name: &str, us, calls| Row { name: name.into(), us, calls };
        let rows = rows(&events);
        assert_eq!(rows, [row("kernels", 12.0, 2), row("[memcpy HtoD]", 4.0, 1)]);
        assert!(cells(&rows, "kernels").contains("75.0\u{a0}%"));
        assert_eq!(cells(&rows, "[memset]"), "<td>–</td>".repeat(4));
    }

    #[test]
    fn a_picture_begins_and_ends_with_its_events() {
        let mut events = vec![
            event("driver", "cuInit", 0.0, 100.0),
            event("kernel", "reduce", 200.0, 5.0),
            event("copy", "[memcpy DtoH]", 210.0, 2.0),
        ];
        assert!(span(&events, "timed").is_err());
        for start in [300.0, 400.0, 500.0] {
            events.push(event("driver", "cuStreamWaitValue32_v2", start, 1.0));
            events.push(event("kernel", "reduce", start + 10.0, 5.0));
        }
        assert_eq!(span(&events, "first").unwrap(), (0.0, 212.0));
        assert_eq!(span(&events, "timed").unwrap(), (400.0, 500.0));
        assert!(span(&events, "last").is_err());
    }

    #[test]
    fn times_and_names_are_short() {
        assert_eq!(
            [0.079, 12.34, 146_310.0].map(time),
            ["0.08\u{a0}µs", "12.3\u{a0}µs", "146\u{a0}ms"]
        );
        assert_eq!(short("cuMemcpyHtoDAsync_v2"), "MemcpyHtoD");
        assert_eq!(short("cumulative"), "cumulative");
    }
}
