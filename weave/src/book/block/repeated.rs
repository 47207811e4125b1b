//! Shows statistics over several runs of one program: the fastest step, the reproducibility of
//! ratios, and the results for each timer.

use anyhow::{Context, Result, ensure};
use measured::{
    Cache, Clock, PEER, Place,
    repeat::{self, Between, Kind},
    table::micros,
};

use crate::results::library;

use super::{
    highlight::escape,
    table::{link, table},
};
use crate::book::source::{
    Sources,
    quantity::{Quantity, Unit, power},
    timed::place,
};

/// Returns the runs on the named kind of GPU, or on H200s.
fn kind<'a>(sources: &'a Sources, on: Option<&str>) -> Result<Kind<'a>> {
    let kind = repeat::kind_of(&sources.runs, sources.run(on)?);
    ensure!(kind.len() > 1, "results/ has only one run on a {}", kind[0].env.gpu.name);
    Ok(kind)
}

/// Returns a phrase with the number of runs and the name of their GPU.
fn of_runs(kind: &Kind<'_>) -> String {
    format!("{} runs on GPUs with the name {}", kind.len(), escape(&kind[0].env.gpu.name))
}

/// Formats a ratio, with its interval, and with a mark if it is a tie.
fn cell(ratio: Option<Between>) -> String {
    let Some(ratio) = ratio else { return "–".into() };
    match ratio.to_string().split_once(' ') {
        Some((mean, rest)) => {
            let rest = rest.replace("tie", "<em>tie</em>");
            format!("{mean}<br><small>{rest}</small>")
        }
        None => ratio.to_string(),
    }
}

/// Implements `{{fastest}}`, which shows the fastest step at every size, the steps that tie with
/// it, and `reduce`.
pub(crate) fn fastest(sources: &Sources) -> Result<String> {
    let kind = kind(sources, None)?;
    let rows = first_rows(&kind);
    let head =
        ["elements", "fastest step", "ties with it", "speedup of <code>reduce</code> over it"];
    let caption = format!(
        "The times are GPU-gated, for f32 and L2 cold, from {}. <em>Tie</em> means that the runs disagree about which variant is faster, or that all their ratios are within half a per cent of 1. Where no <em>tie</em> is shown, all runs agree on which variant is faster, although the interval may contain 1. The last column is the speedup of <code>reduce</code>, with the 95 % prediction interval for a further run's ratio.",
        of_runs(&kind)
    );
    Ok(table(&caption, &head.map(str::to_owned), &rows))
}

fn first_rows(kind: &Kind<'_>) -> Vec<Vec<String>> {
    let row = |first: &repeat::First| {
        let ties: Vec<String> = first.ties.iter().map(|name| link(name, "")).collect();
        vec![
            power(first.n),
            link(&first.step, ""),
            if ties.is_empty() { "–".into() } else { ties.join(", ") },
            cell(first.reduce),
        ]
    };
    repeat::first(kind).iter().map(row).collect()
}

/// Implements `{{against NAME…}}`, which shows the speedup over CUB at every size, over all runs.
pub(crate) fn against(sources: &Sources, names: &[&str], on: Option<&str>) -> Result<String> {
    let kind = kind(sources, on)?;
    let newest = kind.last().context("a kind has runs")?;
    let mut rows = Vec::new();
    for n in newest.sizes("f32", Cache::Cold, Clock::Gpu) {
        let ratios = names.iter().map(|name| Between::ratio(&kind, PEER, name, &place(n)));
        let ratios: Vec<_> = ratios.collect();
        if ratios.iter().any(Option::is_some) {
            rows.push([power(n)].into_iter().chain(ratios.into_iter().map(cell)).collect());
        }
    }
    for (at, name) in names.iter().enumerate() {
        let any = rows.iter().any(|row: &Vec<String>| row[at + 1] != "–");
        ensure!(any, "no run on a {} has a ratio of {name} to CUB", newest.env.gpu.name);
    }
    let head: Vec<String> =
        ["elements"].iter().chain(names).map(|name| (*name).to_owned()).collect();
    let caption = format!(
        "Speedup over CUB for f32, L2 cold, GPU-gated, from {}, each with {}. <em>Tie</em> means that the runs disagree about which variant is faster, or that all their ratios are within half a per cent of 1. Where no <em>tie</em> is shown, all runs agree on which variant is faster, although the interval may contain 1. A ratio without an interval is from one run.",
        of_runs(&kind),
        match kind.len() {
            2 => "both runs' medians after their mean",
            _ => "the 95 % prediction interval for a further run's ratio",
        }
    );
    Ok(table(&caption, &head, &rows))
}

/// Implements `{{clocks NAME…}}`, which shows the speedup over CUB on each of the three timers.
pub(crate) fn clocks(sources: &Sources, names: &[&str]) -> Result<String> {
    const CLOCKS: [(Clock, &str); 3] = [
        (Clock::Gpu, "GPU-gated"),
        (Clock::Ungated, "ungated"),
        (Clock::Host, "host-side latency"),
    ];
    let kind = kind(sources, None)?;
    let run = kind.last().context("a kind has runs")?;
    let mut rows = Vec::new();
    for n in run.sizes("f32", Cache::Cold, Clock::Host) {
        let mut row = vec![power(n)];
        for name in names {
            for (clock, _) in CLOCKS {
                let at = Place { clock, ..place(n) };
                row.push(cell(Between::ratio(&kind, PEER, name, &at)));
            }
        }
        rows.push(row);
    }
    ensure!(!rows.is_empty(), "results/ladder/{} has no wall times", run.name);
    let mut head = vec!["elements".to_owned()];
    for name in names {
        head.extend(CLOCKS.map(|(_, clock)| format!("{name}, {clock}")));
    }
    let caption = format!(
        "Speedup over CUB on each of the three timers, for f32 and L2 cold, from {}. <code>reduce</code> is called as <code>Reducer::sum</code>; the steps and CUB leave their sum on the device, so their host-side latency includes a copy and a wait.",
        of_runs(&kind)
    );
    Ok(table(&caption, &head, &rows))
}

/// Implements `{{calls sum f32}}`, which shows wall times of `reduce` and CUB, in microseconds, and
/// their ratio. Both libraries are called as an application would call them.
pub(crate) fn calls(sources: &Sources, operation: &str, element: &str) -> Result<String> {
    let (folder, taken) = library::named(&sources.root, "h200")?;
    let title = format!("{operation} of {element}");
    let series = measured::library::series(&taken, Clock::Host);
    let series = series.iter().find(|series| series.title == title);
    let series =
        series.with_context(|| format!("results/library/{folder} has no wall times of {title}"))?;
    let mut rows = Vec::new();
    for &n in series.times.keys() {
        let mut row = vec![power(n)];
        row.extend(
            series
                .ways
                .iter()
                .map(|way| series.time(n, way).map_or("–".into(), |time| micros(time.median))),
        );
        let ratio = series.ratio(n, "reduce");
        row.push(ratio.map_or("–".into(), |(ratio, _)| ratio.to_string()));
        rows.push(row);
    }
    let mut head = vec!["elements".to_owned()];
    head.extend(series.ways.iter().cloned());
    head.push("faster CUB / reduce".into());
    let caption = format!(
        "Time in µs from the call until the {title} is on the host, measured by one program on one GPU (results/library/{folder}). <code>reduce</code> is called as <code>Reducer::sum</code>, whose kernel writes the sum to pinned memory. The columns <em>copied</em> and <em>pinned</em> are the times for a launch, a copy to ordinary or pinned memory, and a wait."
    );
    Ok(table(&caption, &head, &rows))
}

/// Implements `{{num held within}}` and `{{num held between}}`, which show how often an interval
/// contained another run's median.
pub(crate) fn held(sources: &Sources, which: &str) -> Result<Quantity> {
    let kind = kind(sources, None)?;
    let (within, between) = repeat::held(&kind);
    let (held, what) = match which {
        "within" => (within, "of one run contained the median of another"),
        _ => (between, "from all runs except one contained the median of the remaining run"),
    };
    ensure!(held.tried > 0, "there are too few runs to test an interval");
    let origin = format!(
        "ratios to CUB for f32, L2 cold, {}: the interval {what} in {} of {} cases, results/ladder/repeated.md",
        of_runs(&kind),
        held.held,
        held.tried
    );
    Ok(Quantity { value: held.share(), unit: Unit::Share, origin })
}

/// Implements `{{num over FAST SLOW N}}`, which shows the mean ratio over all runs.
pub(crate) fn over(
    sources: &Sources,
    on: Option<&str>,
    fast: &str,
    slow: &str,
    n: u64,
) -> Result<Quantity> {
    let kind = kind(sources, on)?;
    let ratio = Between::ratio(&kind, slow, fast, &place(n))
        .with_context(|| format!("no run has {fast} and {slow} in the same rounds"))?;
    let origin = format!(
        "time of {slow} / time of {fast}: the mean over {}, {ratio}, results/ladder/repeated.md",
        of_runs(&kind)
    );
    Ok(Quantity { value: ratio.mean, unit: Unit::Factor, origin })
}

/// Implements `{{num runs}}`, which shows the number of runs on this kind of GPU.
pub(crate) fn runs(sources: &Sources, on: Option<&str>) -> Result<Quantity> {
    let kind = kind(sources, on)?;
    Ok(Quantity::counted(kind.len() as f64, of_runs(&kind)))
}
