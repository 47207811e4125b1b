//! Human-readable output in at most 80 columns: the report on a run, a plan, and the table of the
//! ladder.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};

use numbers::{group, size};

use crate::{
    Step,
    device::Facts,
    plan::{Buffer, Holds, Launch, Order, Plan, Problem},
    run::{Outcome, Refusal, Timing},
    sum::{Input, Value, Verdict},
};

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// Formats the heading of a run: the step, the device and the kernel.
pub fn head(step: &Step, facts: &Facts) -> String {
    format!("{BOLD}{}{BOLD:#}\n", step.name)
        + &line("cures", step.cures)
        + &line("costs", step.costs)
        + &line("device", &facts.line)
}

/// Formats the report on a run.
pub fn outcome(outcome: &Outcome, input: Input, seed: u64) -> String {
    let Outcome { n, element, plan, verdict, .. } = outcome;
    let source = match input {
        Input::Uniform | Input::Int | Input::Signed => format!("{input}, seed {seed}"),
        _ => input.to_string(),
    };
    let bytes = scaled(outcome.bytes() as f64, "B");
    let digits =
        if size(*n) == n.to_string() { String::new() } else { format!(" = {}", group(*n)) };
    let mut text = format!("\n{BOLD}{}{BOLD:#}{digits} {element}, {source}, {bytes}\n", size(*n));
    text += &line("kernel", &outcome.origin);
    text += &line("launches", &launches(plan));
    let wraps = match verdict.expected {
        Value::Int(_) => ", exact modulo 2^32",
        Value::Float(_) => "",
    };
    if outcome.wrong.is_none() {
        text += &line("sum", &format!("{}, {GOOD}verified{GOOD:#}{wraps}", verdict.sum));
        if let Value::Float(expected) = verdict.expected {
            text += &line("", &format!("expected {expected}"));
            let Verdict { error, bound, rounded, .. } = verdict;
            let share = if *bound > 0.0 { error / bound } else { 0.0 };
            let depth = additions(plan.depth());
            let limit = match rounded {
                Some(_) => ": the sum was rounded once".into(),
                None => format!(" / bound {bound:.2e} = {share:.4} ({depth} deep)"),
            };
            text += &line("", &format!("error {error:.2e}{limit}"));
        }
    } else if verdict.verified() {
        let why = "although this sum looks right; the error below says why";
        text += &line("sum", &format!("{}, {BAD}WRONG{BAD:#}, {why}", verdict.sum));
    } else {
        text += &line(
            "sum",
            &format!("{}, {BAD}WRONG{BAD:#}, expected {}{wraps}", verdict.sum, verdict.expected),
        );
    }
    if let Some(timing) = &outcome.timing {
        let (q1, q3) = timing.quartiles();
        let cache = if timing.cold { "L2 cold" } else { "L2 warm" };
        text += &line(
            "time",
            &format!(
                "{} median, {} to {} quartiles, {} samples, {cache}",
                scaled(timing.median(), "s"),
                scaled(q1, "s"),
                scaled(q3, "s"),
                timing.samples.len()
            ),
        );
        text += &ungated([timing]);
        let bandwidth = timing.bandwidth(outcome.bytes());
        let share = match outcome.device.bus {
            Some(bus) if timing.cold => {
                format!(", {:.1} % of peak bandwidth", 100.0 * bandwidth / bus)
            }
            _ => String::new(),
        };
        let rate = scaled(*n as f64 / timing.median(), "elements/s");
        text += &line("speed", &format!("{:.1} GB/s{share}, {rate}", bandwidth / 1e9));
    }
    if let Some(copy) = outcome.copy {
        let speed = outcome.bytes() as f64 / copy / 1e9;
        text += &line(
            "copy",
            &format!(
                "{} to the device ({speed:.1} GB/s), not included in the time",
                scaled(copy, "s")
            ),
        );
    }
    text
}

/// Implements `--explain`, which prints a step's plan and the purpose of the step.
pub fn explain(step: &Step, problem: &Problem) -> String {
    let plan = (step.plan)(problem);
    let mut text = format!("{BOLD}{}{BOLD:#}\n", step.name);
    text += &wrapped("cures       ", step.cures);
    text += &wrapped("still costs ", step.costs);
    let Problem { n, element, chip, .. } = problem;
    let _ = writeln!(
        text,
        "\nTo add {} {element} on a device with {} SMs, in order:\n",
        group(*n),
        chip.sms
    );
    let mut table = table(&["kernel", "blocks", "threads", "shared", "adds", "from", "to"]);
    for launch in &plan.launches {
        table.add_row(vec![
            launch.entry.clone(),
            group(u64::from(launch.grid)),
            launch.block.to_string(),
            format!("{} B", launch.shared),
            group(launch.n),
            place(launch.input),
            place(launch.output()),
        ]);
    }
    let _ = writeln!(text, "{table}");
    if let Some(stage) = plan.launches[0].stages.first() {
        text += &wrapped("", &shares(&stage.holds, *n));
    }
    let bound = format!(
        "No element goes through more than {} additions, so |error| <= {} u / (1 - {} u) sum|x|, \
         where u is the relative error of one addition (2^-24 for f32, 2^-53 for f64, 0 for integers).",
        plan.depth(),
        plan.depth(),
        plan.depth()
    );
    text + &wrapped("", &bound)
}

/// Describes the elements that each partial sum holds.
fn shares(holds: &Holds, n: u64) -> String {
    match *holds {
        Holds::Chunks { count: 1, .. } => format!("One sum holds all {} elements.", group(n)),
        Holds::Chunks { each, count } => format!(
            "Each of {} partial sums holds {} neighbouring elements; the last holds the rest.",
            group(count),
            group(each)
        ),
        Holds::Strides { tile, count, .. } => format!(
            "Each of {} partial sums holds a tile of {} neighbouring elements, the tile that is {} tiles further on, and so on.",
            group(count),
            group(tile),
            group(count)
        ),
        Holds::Matrices { order, tile, count } => format!(
            "The input holds matrices of {} elements, {}. Each of {} parts has one sum per entry, over {}.",
            Holds::ENTRIES,
            match order {
                Order::Row => "stored one after another",
                Order::Column =>
                    "stored as all first elements, then all second elements, and so on",
            },
            group(count),
            match tile {
                u64::MAX => "all matrices".to_owned(),
                _ => format!("{} neighbouring matrices; the last part has the rest", group(tile)),
            }
        ),
    }
}

/// Formats the table of the ladder, which lists the outcomes for one problem in the order of the
/// lessons, and the steps that the GPU cannot run.
pub fn ladder(outcomes: &[Outcome], refusals: &[Refusal]) -> String {
    let Some(first) = outcomes.first() else { return String::new() };
    let mut text = format!(
        "\n{BOLD}{}{BOLD:#} {} in blocks of {}, {}\n",
        size(first.n),
        first.element,
        first.threads,
        scaled(first.bytes() as f64, "B")
    );
    let timed = outcomes.iter().any(|outcome| outcome.timing.is_some());
    let mut table = if timed { times(outcomes) } else { counts(outcomes) };
    for Refusal { step, needs, .. } in refusals {
        table.add_row([*step, "-", "needs", needs]);
    }
    let _ = writeln!(text, "{table}");
    text += &verdicts(outcomes);
    text += &ungated(outcomes.iter().filter_map(|outcome| outcome.timing.as_ref()));
    text
}

/// Returns a note on times that were measured without a gate, as happens with the desktop driver on
/// Windows or under a profiler; empty if all times were measured with a gate.
fn ungated<'t>(times: impl IntoIterator<Item = &'t Timing>) -> String {
    match times.into_iter().all(|timing| timing.gated) {
        true => String::new(),
        false => line(
            "ungated",
            "the stream could not be held back while launches were queued, so the times include the host's delays between launches",
        ),
    }
}

fn times(outcomes: &[Outcome]) -> Table {
    let mut table = columns(&["step", "time", "GB/s", "% of peak", "first =", "last ="]);
    let median = |outcome: &Outcome| outcome.timing.as_ref().map(|timing| timing.median());
    let base = outcomes.first().and_then(median);
    let mut last = base;
    for outcome in outcomes {
        let time = median(outcome);
        let factor = |from: Option<f64>| {
            from.zip(time).map_or("-".into(), |(from, time)| format!("{:.2}x", from / time))
        };
        let bandwidth = time.map(|time| outcome.bytes() as f64 / time);
        let share = bandwidth
            .zip(outcome.device.bus)
            .map_or("-".into(), |(b, bus)| format!("{:.1}", 100.0 * b / bus));
        table.add_row(vec![
            outcome.step.to_owned(),
            time.map_or("-".into(), |time| scaled(time, "s")),
            bandwidth.map_or("-".into(), |b| format!("{:.1}", b / 1e9)),
            share,
            factor(base),
            factor(last),
        ]);
        last = time.or(last);
    }
    right(&mut table, 1..6)
}

fn counts(outcomes: &[Outcome]) -> Table {
    let mut table = columns(&["step", "insts", "shared", "conflicts", "barriers", "shuffles"]);
    for outcome in outcomes {
        let total =
            outcome.observed.as_ref().map(|observed| observed.counters.total).unwrap_or_default();
        table.add_row(vec![
            outcome.step.to_owned(),
            group(total.warp_insts),
            group(total.shared_ld_wavefronts + total.shared_st_wavefronts),
            group(total.shared_ld_conflicts + total.shared_st_conflicts),
            group(total.barriers),
            group(total.shuffles),
        ]);
    }
    right(&mut table, 1..6)
}

/// Summarizes the verdicts in one or two lines.
fn verdicts(outcomes: &[Outcome]) -> String {
    let named = |fits: &dyn Fn(&Outcome) -> bool| -> Vec<&str> {
        outcomes.iter().filter(|outcome| fits(outcome)).map(|outcome| outcome.step).collect()
    };
    let wrong = named(&|outcome| outcome.wrong.is_some());
    let found = named(&|outcome| outcome.wrong.is_none() && outcome.fault().is_some());
    let right = match outcomes.len() - wrong.len() {
        all if all == outcomes.len() => "all ".to_owned(),
        some => format!("{some} of {} ", outcomes.len()),
    };
    let mut text = line("sums", &format!("{right}{GOOD}verified{GOOD:#}"));
    for (label, steps) in [("WRONG", wrong), ("FOUND", found)] {
        if !steps.is_empty() {
            text += &line(label, &format!("{BAD}{}{BAD:#}", steps.join(", ")));
        }
    }
    text
}

pub(crate) fn table(names: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(names);
    table
}

/// Creates a table without ruled lines.
pub(crate) fn columns(names: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(names);
    table
}

pub(crate) fn right(table: &mut Table, columns: std::ops::Range<usize>) -> Table {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    std::mem::take(table)
}

/// Returns a table's lines, without trailing spaces.
pub(crate) fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Formats the launches in one line, such as `2048 blocks of 256, then 4, then 1`.
fn launches(plan: &Plan) -> String {
    let blocks = |launch: &Launch| group(u64::from(launch.grid));
    let first = &plan.launches[0];
    let grids: Vec<String> = plan.launches.iter().map(blocks).collect();
    let blocks = if first.grid == 1 { "block" } else { "blocks" };
    let rest = grids[1..].iter().fold(String::new(), |text, grid| text + ", then " + grid);
    format!(
        "{} of {} threads of `{}`{rest}",
        grids[0].clone() + " " + blocks,
        first.block,
        first.entry
    )
}

fn place(buffer: Buffer) -> String {
    match buffer {
        Buffer::Input => "input".into(),
        Buffer::Scratch(index) => format!("partials {}", index + 1),
        Buffer::Result => "result".into(),
    }
}

/// Formats a label and a text, in at most 80 columns.
pub(crate) fn line(label: &str, text: &str) -> String {
    let lines = wrapped(&" ".repeat(12), text);
    // If the text is empty, no space follows the label.
    match lines.get(12..) {
        Some(words) => format!("  {DIM}{label:<9}{DIM:#} {words}"),
        None => format!("  {DIM}{label}{DIM:#}\n"),
    }
}

/// Formats a label and a paragraph, in at most 80 columns.
pub(super) fn wrapped(label: &str, text: &str) -> String {
    let indent = " ".repeat(label.len());
    let mut lines = vec![label.to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        if width(line) + width(word) > 80 {
            lines.push(indent.clone() + word + " ");
        } else {
            *line += word;
            *line += " ";
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Returns the width of a text on a terminal: the number of its characters without escape
/// sequences.
fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

/// Formats a quantity with the prefix that gives it one to three digits before the decimal point.
pub(crate) fn scaled(value: f64, unit: &str) -> String {
    let prefixes =
        [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")];
    let (factor, prefix) =
        prefixes.into_iter().find(|(factor, _)| value.abs() >= *factor).unwrap_or((1e-9, "n"));
    let value = if value == 0.0 { 0.0 } else { value / factor };
    let prefix = if value == 0.0 { "" } else { prefix };
    match value.fract() {
        0.0 if value < 1000.0 && unit == "B" => format!("{value} {prefix}{unit}"),
        _ => format!("{value:.2} {prefix}{unit}"),
    }
}

fn additions(count: u32) -> String {
    if count == 1 { "1 addition".into() } else { format!("{count} additions") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_carry_their_unit() {
        assert_eq!(scaled(12.42e-6, "s"), "12.42 µs");
        assert_eq!(scaled(1048576.0 * 4.0, "B"), "4.19 MB");
        assert_eq!(scaled(0.0, "B"), "0 B");
        assert_eq!(scaled(4.0, "B"), "4 B");
        assert_eq!(scaled(84.4e9, "elements/s"), "84.40 Gelements/s");
        assert_eq!([1, 2].map(additions), ["1 addition", "2 additions"]);
    }

    #[test]
    fn a_run_s_speed_is_its_bytes_over_its_median() {
        let mut run = Outcome::made_up("v0-naive", 1_000_000, &[8e-6, 10e-6, 16e-6]);
        run.copy = Some(0.002);
        let text = outcome(&run, Input::Uniform, 7);
        let text = anstream::adapter::strip_str(&text).to_string();
        for part in [
            "1000000 f64, uniform, seed 7, 8 MB",
            "10.00 µs median, 9.00 µs to 13.00 µs quartiles, 3 samples, L2 cold",
            "800.0 GB/s, 80.0 % of peak bandwidth, 100.00 Gelements/s",
            "2.00 ms to the device (4.0 GB/s)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // For an input in L2, the bandwidth is not printed as a fraction of the peak memory
        // bandwidth.
        run.timing.as_mut().unwrap().cold = false;
        let text = outcome(&run, Input::Ones, 7);
        assert!(text.contains("L2 warm") && !text.contains("of peak"), "{text}");
        assert!(!text.contains("seed"), "{text}");
    }

    #[test]
    fn steps_are_compared_with_the_first_and_the_previous() {
        let timed = |step, seconds| Outcome::made_up(step, 1_000_000, &[seconds]);
        let mut lost = timed("c", 1.0);
        lost.timing = None;
        let text =
            times(&[timed("a", 40e-6), timed("b", 20e-6), lost, timed("d", 10e-6)]).to_string();
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect())
            .collect();
        let row = |step: &str| rows.iter().find(|row| row[0] == step).unwrap()[1..].to_vec();
        assert_eq!(row("a"), ["40.00 µs", "200.0", "20.0", "1.00x", "1.00x"], "{text}");
        assert_eq!(row("b"), ["20.00 µs", "400.0", "40.0", "2.00x", "2.00x"], "{text}");
        assert_eq!(row("c"), ["-", "-", "-", "-", "-"], "{text}");
        assert_eq!(row("d"), ["10.00 µs", "800.0", "80.0", "4.00x", "2.00x"], "{text}");
    }

    #[test]
    fn ungated_times_have_a_note() {
        let timing = |gated| Timing { samples: vec![1e-6], cold: true, gated };
        assert_eq!(ungated(&[]), "");
        assert_eq!(ungated(&[timing(true)]), "");
        assert!(ungated(&[timing(true), timing(false)]).contains("ungated"));
    }

    #[test]
    fn a_label_needs_no_text() {
        let plain = |text: &str| anstream::adapter::strip_str(&line("kernel", text)).to_string();
        assert_eq!([plain(""), plain("a b")], ["  kernel\n", "  kernel    a b\n"]);
    }

    #[test]
    fn paragraphs_stay_within_80_columns() {
        let text = wrapped("cures ", &"word ".repeat(60));
        assert!(text.lines().count() > 3 && text.lines().all(|line| line.len() <= 80));
        assert!(text.lines().skip(1).all(|line| line.starts_with("      w")));
    }

    #[test]
    fn explain_describes_the_elements_of_each_sum() {
        assert_eq!(shares(&Holds::ALL, 1025), "One sum holds all 1,025 elements.");
        let strides = Holds::Strides { tile: 512, count: 132, width: 4 };
        assert_eq!(
            shares(&strides, 1 << 20),
            "Each of 132 partial sums holds a tile of 512 neighbouring elements, the tile that is 132 tiles further on, and so on."
        );
        let matrices = |order, tile| shares(&Holds::Matrices { order, tile, count: 3 }, 1000);
        assert_eq!(
            matrices(Order::Row, u64::MAX),
            "The input holds matrices of 4 elements, stored one after another. Each of 3 parts has one sum per entry, over all matrices."
        );
        assert_eq!(
            matrices(Order::Column, 1000),
            "The input holds matrices of 4 elements, stored as all first elements, then all second elements, and so on. Each of 3 parts has one sum per entry, over 1,000 neighbouring matrices; the last part has the rest."
        );
    }

    #[test]
    fn a_line_has_room_for_80_columns_and_no_more() {
        let full = format!("{} {}", "a".repeat(40), "b".repeat(38));
        assert_eq!(wrapped("", &full), format!("{full}\n"));
        assert_eq!(full.len(), 79);
        let words = format!("{} {}", "a".repeat(40), "b".repeat(39));
        assert_eq!(wrapped("", &words).lines().count(), 1, "80 columns");
        let words = format!("{} {}", "a".repeat(40), "b".repeat(40));
        assert_eq!(wrapped("", &words).lines().count(), 2, "81 columns");
        // Escape sequences take up no columns.
        let words = format!("{GOOD}{}{GOOD:#} {}", "a".repeat(40), "b".repeat(39));
        assert_eq!(wrapped("", &words).lines().count(), 1);
    }

    #[test]
    fn bytes_are_whole_below_a_thousand() {
        assert_eq!(scaled(1e15, "B"), "1000.00 TB");
        assert_eq!(
            [999.0, 1000.0, 2000.0].map(|bytes| scaled(bytes, "B")),
            ["999 B", "1 kB", "2 kB"]
        );
        assert_eq!([3.0, 4.5].map(|seconds| scaled(seconds, "s")), ["3.00 s", "4.50 s"]);
        assert_eq!(
            [5e12, 1e12, 5e-7, 2e-9].map(|x| scaled(x, "s")),
            ["5.00 Ts", "1.00 Ts", "500.00 ns", "2.00 ns"]
        );
    }
}
