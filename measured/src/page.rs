//! The tables of a run, in Markdown: its own `README.md`, and the blocks of other pages.

use std::fmt::Write as _;

use crate::{
    Cache, Clock, PEER, Place, Role, Run, Variant, check,
    repeat::Between,
    table::{self, Table, gigabytes, micros, size},
};

/// The `README.md` of a run's folder.
pub fn of(run: &Run) -> String {
    let mut page = format!("# {}, {}\n\n", run.env.gpu.name, run.env.run.date);
    page += "Made by `cargo x results` from the files beside it; never edited by hand.\n\
             A time is taken in pairs of rounds, the second in reverse order; a ratio is that of the pairs in which both ran. \
             Both are medians over up to 40 batches of neighbouring pairs, a batch's mean each, with the interval that holds the true median of this run 95 times in 100; another run's may well lie outside: [all runs](../repeated.md).\n\
             GB/s are 10⁹ bytes of input a second (a copy: bytes read and written).\n\n";
    page += &machine(run);
    page += &marks(run);
    for element in run.elements() {
        section(
            &mut page,
            &format!("{element}, L2 cold: µs"),
            times(run, &element, Cache::Cold, Clock::Gpu),
        );
        section(&mut page, &format!("{element}, L2 cold: GB/s"), rates(run, &element, Cache::Cold));
        section(
            &mut page,
            &format!("{element}, L2 cold: how many times faster than the step before"),
            steps(run, &element),
        );
        section(
            &mut page,
            &format!("{element}, L2 cold: how many times faster than CUB"),
            against(run, &element, Cache::Cold),
        );
        section(
            &mut page,
            &format!("{element}, L2 warm: µs"),
            times(run, &element, Cache::Warm, Clock::Gpu),
        );
        section(
            &mut page,
            &format!("{element}, L2 warm: how many times faster than CUB"),
            against(run, &element, Cache::Warm),
        );
        section(
            &mut page,
            &format!(
                "{element}, L2 cold: µs on the host's clock, from the call until the sum is in host memory"
            ),
            times(run, &element, Cache::Cold, Clock::Host),
        );
        section(
            &mut page,
            &format!("{element}, L2 cold: how many times faster than CUB on the host's clock"),
            against_on(run, &element, Cache::Cold, Clock::Host),
        );
        section(
            &mut page,
            &format!(
                "{element}, L2 cold, ungated: µs between two events around a call on an idle stream"
            ),
            times(run, &element, Cache::Cold, Clock::Ungated),
        );
        section(
            &mut page,
            &format!("{element}, L2 cold, ungated: how many times faster than CUB"),
            against_on(run, &element, Cache::Cold, Clock::Ungated),
        );
        section(
            &mut page,
            &format!("{element}, L2 cold: how many times faster than CUB, by each clock"),
            by_clock(run, &element),
        );
        section(
            &mut page,
            &format!("{element}: distance from the exact sum, in 10⁻⁹ of it"),
            errors(run, &element),
        );
    }
    page += &order(run);
    page += &gaps(run);
    page += &unsettled(run);
    let faults = check::faults(run);
    page += "## Checks\n\n";
    match faults.as_slice() {
        [] => {
            page += "GB/s × time = bytes in every cell, no time below the floor, no bandwidth above the bus, no sample missing without a reason.\n"
        }
        faults => faults.iter().for_each(|fault| {
            let _ = writeln!(page, "- {fault}");
        }),
    }
    page
}

/// Why an interval is as wide as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// As narrow as was asked for.
    Narrow,
    /// Wider, but no wider than the tick in which the shorter of both times is counted.
    Tick,
    /// Wider: the times scatter.
    Noise,
}

impl Width {
    /// Of an interval of that width, relative to the ratio, of two times whose shorter is known.
    fn of(width: f64, shorter: f64, target: f64, tick: u64) -> Width {
        match () {
            _ if width <= target => Width::Narrow,
            // With a tick of one nanosecond there are none.
            _ if tick > 1 && width * shorter <= tick as f64 => Width::Tick,
            _ => Width::Noise,
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Width::Narrow => "",
            Width::Tick => " °",
            Width::Noise => " ~",
        }
    }
}

/// A ratio as a table has it, with the mark of its interval's width.
fn marked(run: &Run, first: &str, second: &str, place: &Place<'_>) -> Option<String> {
    let ratio = run.ratio(first, second, place)?;
    let time = |name| run.time(name, place).map_or(f64::NAN, |time| time.median);
    let shorter = time(first).min(time(second));
    // The host's clock and ungated events have no tick to speak of, and no target.
    let width = match place.clock {
        Clock::Gpu => Width::of(ratio.0.width(), shorter, run.env.method.target, run.tick),
        Clock::Host | Clock::Ungated => Width::Narrow,
    };
    Some(format!("{ratio}{}", width.mark()))
}

/// What the marks and the clocks mean.
fn marks(run: &Run) -> String {
    let percent = 100.0 * run.env.method.target;
    let mut text = format!("A ratio marked ~ has an interval wider than {percent} %: noise.\n");
    if run.tick > 1 {
        let _ = writeln!(
            text,
            "One marked ° has too, but no wider than the {} ns in which the GPU counts its time: more rounds are needed to see below that.",
            run.tick
        );
    }
    let has = |clock| {
        run.elements().iter().any(|element| !run.sizes(element, Cache::Cold, clock).is_empty())
    };
    if run.env.method.gated && (has(Clock::Host) || has(Clock::Ungated)) {
        text += "\nWhere nothing else is said, times are gated: the stream is held back until all launches of a call are queued, so that they hold what the GPU does and not what the host does.\n";
    }
    if has(Clock::Host) {
        text += "On the host's clock, a time is what a caller waits for: from the call on an idle stream until the sum is in host memory, launches, copy and wait included.\n";
    }
    if has(Clock::Ungated) {
        text += "Ungated, it is the time between two events around the call on an idle stream: while the host still launches, the GPU waits, and that is in it. Most published figures are of this kind: compare them with these.\n";
    }
    text + "\n"
}

fn section(page: &mut String, title: &str, table: Table) {
    if !table.is_empty() {
        let _ = write!(page, "## {title}\n\n{table}\n");
    }
}

/// The GPU and the run, as a table.
pub fn machine(run: &Run) -> String {
    let (gpu, taken, method) = (&run.env.gpu, &run.env.run, &run.env.method);
    let mut table = Table::of_words(["what", "value"]);
    let pair = |values: &[u32], unit: &str| match values {
        [start, end] => format!("{start} {unit} at the start, {end} {unit} at the end"),
        _ => "not readable".into(),
    };
    let known = |text: &str| if text.is_empty() { "not readable".into() } else { text.to_owned() };
    table.row(["GPU".into(), format!("{} ({}, {} SMs)", gpu.name, gpu.architecture, gpu.sms)]);
    table.row([
        "memory".into(),
        format!(
            "{:.0} GB, {} bit at {} MHz: {} GB/s at its peak",
            gpu.memory_bytes as f64 / 1e9,
            gpu.bus_bits,
            gpu.memory_mhz,
            gigabytes(gpu.bus_bytes_per_second)
        ),
    ]);
    table.row(["L2".into(), format!("{} MB", gpu.l2_bytes >> 20)]);
    let start = match gpu.sm_mhz_start {
        0 => "not readable: no sample was rejected".into(),
        mhz => format!("{mhz} MHz under load at the start, {} MHz at most", gpu.sm_mhz_max),
    };
    table.row(["SM clock".into(), start]);
    table.row(["temperature".into(), pair(&gpu.celsius, "°C")]);
    table.row(["power".into(), pair(&gpu.watts, "W")]);
    table.row(["driver".into(), format!("{}, CUDA {}", known(&gpu.driver), gpu.cuda)]);
    table.row(["PTX".into(), method.ptx.clone()]);
    table.row(["peers".into(), known(&method.peers)]);
    table.row([
        "taken".into(),
        format!("{} {} UTC, in {:.0} s", taken.date, taken.time, taken.seconds),
    ]);
    table.row(["commit".into(), taken.commit.clone()]);
    table.row(["command".into(), format!("`{}`", taken.command)]);
    table.row(["input".into(), format!("{}, seed {}", method.input, method.seed)]);
    let gate = match method.gated {
        true => "the stream was held back until all launches of a sample were queued",
        false => "the stream could not be held back: times hold gaps of the host",
    };
    table.row(["launches", gate]);
    let rejected: u32 = run.cells.iter().map(|cell| cell.rejected).sum();
    let rounds: u32 = run.cells.iter().map(|cell| cell.rounds).sum();
    table.row(["rounds".into(), format!(
        "{rounds} kept, {rejected} thrown away because the SM clock had dropped; up to {} a cell, fewer where every interval was below {} % first",
        method.rounds,
        100.0 * method.target
    )]);
    format!("{table}\n")
}

/// Medians, a row a variant, a column a size.
pub fn times(run: &Run, element: &str, cache: Cache, clock: Clock) -> Table {
    by_size(run, element, cache, clock, |variant, place| {
        run.time(&variant.name, place).map(|time| micros(time.median))
    })
}

/// Bandwidths, a row a variant, a column a size; the last columns are shares of the bus.
pub fn rates(run: &Run, element: &str, cache: Cache) -> Table {
    by_size(run, element, cache, Clock::Gpu, |variant, place| {
        // A bandwidth of nothing: an empty kernel reads no input.
        (variant.role != Role::Floor).then(|| run.bandwidth(variant, place).map(gigabytes))?
    })
}

/// Ratios to the peer, for every other variant.
pub fn against(run: &Run, element: &str, cache: Cache) -> Table {
    against_on(run, element, cache, Clock::Gpu)
}

/// Ratios to the peer on a clock.
pub fn against_on(run: &Run, element: &str, cache: Cache, clock: Clock) -> Table {
    by_size(run, element, cache, clock, |variant, place| {
        let counts = variant.role.sums() && variant.name != PEER;
        counts.then(|| marked(run, PEER, &variant.name, place))?
    })
}

/// Ratios to the peer of what one would call, a row for each clock: what the GPU does, what most
/// measure, and what a caller waits for.
pub fn by_clock(run: &Run, element: &str) -> Table {
    let sizes = run.sizes(element, Cache::Cold, Clock::Gpu);
    let head = ["".to_owned(), "clock".into()].into_iter().chain(sizes.iter().map(|&n| size(n)));
    let mut table = Table::new(head);
    let last = run.steps().last().map(|step| step.name.clone());
    let called = |v: &&Variant| {
        matches!(v.role, Role::Reduce | Role::Study) || Some(&v.name) == last.as_ref()
    };
    for variant in run.env.variant.iter().filter(called) {
        let mut name = variant.name.clone();
        for (clock, said) in
            [(Clock::Gpu, "gated"), (Clock::Ungated, "ungated"), (Clock::Host, "host")]
        {
            let ratio = |&n: &u64| {
                marked(run, PEER, &variant.name, &Place { element, n, cache: Cache::Cold, clock })
            };
            let cells: Vec<Option<String>> = sizes.iter().map(ratio).collect();
            if cells.iter().any(Option::is_some) {
                let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "–".into()));
                table.row([std::mem::take(&mut name), said.to_owned()].into_iter().chain(cells));
            }
        }
    }
    table
}

/// Ratios of each step to the one before.
pub fn steps(run: &Run, element: &str) -> Table {
    let steps = run.steps();
    by_size(run, element, Cache::Cold, Clock::Gpu, |variant, place| {
        let at = steps.iter().position(|step| step.name == variant.name)?;
        let before = steps.get(at.checked_sub(1)?)?;
        marked(run, &before.name, &variant.name, place)
    })
}

/// How far each sum was from the exact one. Integers are exact, or they are not measured.
pub fn errors(run: &Run, element: &str) -> Table {
    by_size(run, element, Cache::Cold, Clock::Gpu, |variant, place| {
        let error = run.error(&variant.name, place).filter(|_| element.starts_with('f'))?;
        Some(table::billionths(error))
    })
}

/// A row for each variant that has a cell, a column for each size.
fn by_size(
    run: &Run,
    element: &str,
    cache: Cache,
    clock: Clock,
    cell: impl Fn(&Variant, &Place<'_>) -> Option<String>,
) -> Table {
    let sizes = run.sizes(element, cache, clock);
    let mut table = Table::new([String::new()].into_iter().chain(sizes.iter().map(|&n| size(n))));
    for variant in &run.env.variant {
        let cells: Vec<Option<String>> =
            sizes.iter().map(|&n| cell(variant, &Place { element, n, cache, clock })).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "–".into()));
            table.row([variant.name.clone()].into_iter().chain(cells));
        }
    }
    table
}

/// An effect of the order below this is not listed.
const ORDER: f64 = 0.02;

/// Where the order of the contenders changes a time.
fn order(run: &Run) -> String {
    let mut table = Table::new(["variant", "where", "slower in one order by"]);
    for cell in &run.cells {
        let place =
            Place { element: &cell.element, n: cell.n, cache: cell.cache, clock: Clock::Gpu };
        for variant in &run.env.variant {
            let effect = run.order_effect(&variant.name, &place).filter(|effect| *effect > ORDER);
            if let Some(effect) = effect {
                let at = format!("{} {}, {}", size(cell.n), cell.element, cell.cache);
                table.row([variant.name.clone(), at, format!("{:.1} %", 100.0 * effect)]);
            }
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "## What ran before\n\nEvery sample follows untimed runs of the same variant, and every ratio is that of a round and the next, in which the order is reversed. \
         Where the two orders still differ by more than {} %, what ran before has left the GPU in another state.\n\n{table}\n",
        100.0 * ORDER
    )
}

/// What was not measured.
fn gaps(run: &Run) -> String {
    if run.env.absent.is_empty() {
        return String::new();
    }
    let mut table = Table::of_words(["not measured", "where", "why"]);
    for absent in &run.env.absent {
        let element = if absent.element.is_empty() { "all types" } else { &absent.element };
        let n = if absent.n == 0 { "all sizes".into() } else { size(absent.n) };
        table.row([&absent.variant, &format!("{element}, {n}"), &absent.reason]);
    }
    format!("## Not measured\n\n{table}\n")
}

/// The cells that did not converge.
fn unsettled(run: &Run) -> String {
    let mut table =
        Table::new(["not converged", "rounds", "thrown away", "widest interval", "of", "why"]);
    for cell in run.cells.iter().filter(|cell| !cell.converged) {
        let place =
            Place { element: &cell.element, n: cell.n, cache: cell.cache, clock: Clock::Gpu };
        let names = cell.pair.split(" / ");
        let times = names.filter_map(|name| run.time(name, &place).map(|time| time.median));
        let shorter = times.fold(f64::INFINITY, f64::min);
        let why = match Width::of(cell.widest, shorter, 0.0, run.tick) {
            Width::Tick => {
                format!("{:.0} ns, within the tick of {} ns", cell.widest * shorter, run.tick)
            }
            Width::Narrow | Width::Noise => "noise".to_owned(),
        };
        table.row([
            format!("{} {}, {}", size(cell.n), cell.element, cell.cache),
            cell.rounds.to_string(),
            cell.rejected.to_string(),
            format!("{:.1} %", 100.0 * cell.widest),
            cell.pair.clone(),
            why,
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "## Did not converge\n\nThe rounds or the time given were used up before every paired ratio's interval was below {} %.\n\n{table}\n",
        100.0 * run.env.method.target
    )
}

/// The ladder in one table, for the front page: every step and peer at a small, a middle and a
/// large size, with the ratio to the step before and to CUB.
///
/// `kind` are the runs of the same program on GPUs of the same kind, this one among them: ratios are
/// theirs.
pub fn ladder(run: &Run, kind: &[&Run]) -> String {
    let element = "f32";
    let sizes = run.sizes(element, Cache::Cold, Clock::Gpu);
    let wanted: Vec<u64> =
        [20u32, 28].iter().map(|power| 1u64 << power).filter(|n| sizes.contains(n)).collect();
    let Some(&large) = wanted.last() else {
        return "Nothing has been measured at 2^20 or 2^28 yet.\n".into();
    };
    let mut head = vec!["step".to_owned()];
    head.extend(wanted.iter().map(|&n| format!("{} µs", size(n))));
    head.extend(["GB/s".into(), "% of bus".into(), "step before =".into(), "CUB =".into()]);
    let mut table = Table::new(head);
    let steps = run.steps();
    let at = |n| Place { element, n, cache: Cache::Cold, clock: Clock::Gpu };
    let ratio = |slow: &str, fast: &str| {
        let ratio = Between::ratio(kind, slow, fast, &at(large));
        ratio.map_or("–".to_owned(), |ratio| ratio.to_string())
    };
    let shown = |v: &&Variant| !matches!(v.role, Role::Floor | Role::Study | Role::Experiment);
    for variant in run.env.variant.iter().filter(shown) {
        let times: Vec<Option<f64>> =
            wanted.iter().map(|&n| run.time(&variant.name, &at(n)).map(|t| t.median)).collect();
        if times.iter().all(Option::is_none) {
            continue;
        }
        let name = match variant.role {
            Role::Step => format!("[{0}](steps/{0})", variant.name),
            Role::Reduce => format!("[{0}]({0})", variant.name),
            _ => variant.name.clone(),
        };
        let mut row = vec![name];
        row.extend(times.iter().map(|time| time.map_or("–".into(), micros)));
        let rate = run.bandwidth(variant, &at(large));
        row.push(rate.map_or("–".into(), gigabytes));
        let bus = run.env.gpu.bus_bytes_per_second;
        row.push(
            rate.filter(|_| bus > 0.0).map_or("–".into(), |r| format!("{:.1}", 100.0 * r / bus)),
        );
        let before = steps.iter().position(|step| step.name == variant.name);
        let before = before.and_then(|at| at.checked_sub(1)).and_then(|at| steps.get(at));
        row.push(before.map_or("–".into(), |before| ratio(&before.name, &variant.name)));
        let sum = variant.role.sums() && variant.name != PEER;
        row.push(if sum { ratio(PEER, &variant.name) } else { "–".into() });
        table.row(row);
    }
    let floor =
        run.env.of(Role::Floor).next().and_then(|floor| run.time(&floor.name, &at(wanted[0])));
    let mut text = format!(
        "{} {element}, L2 cold, medians; GB/s and everything to the right of it at {}. Paired: both ran in every round.\n\n{table}\n",
        run.env.gpu.name,
        size(large)
    );
    if let Some(floor) = floor {
        let _ = writeln!(
            text,
            "An empty kernel takes {} µs: what is above that is the sum.",
            micros(floor.median)
        );
    }
    if kind.len() > 2 {
        let _ = writeln!(
            text,
            "A ratio is the mean of {} runs on GPUs of this kind, with the interval in which a further run's lies 95 times in 100; *tie* where they disagree about who is faster, or agree within half a percent. [All sizes](results/repeated.md).",
            kind.len()
        );
    }
    let _ =
        writeln!(text, "Every sample, interval and setting: [results/{0}](results/{0}).", run.name);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_interval_says_whether_the_tick_is_to_blame() {
        // Half a percent was asked for, in ticks of 32 ns.
        for (width, shorter, tick, is) in [
            (0.004, 4000.0, 32, Width::Narrow),
            (0.008, 4000.0, 32, Width::Tick),
            (0.0081, 4000.0, 32, Width::Noise),
            (0.008, 40_000.0, 32, Width::Noise),
            (0.02, 40.0, 1, Width::Noise),
        ] {
            assert_eq!(Width::of(width, shorter, 0.005, tick), is, "{width} of {shorter}");
        }
    }
}
