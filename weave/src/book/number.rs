//! `{{num …}}`: a quantity from the sources, with its unit and where it comes from.

use std::{borrow::Cow, collections::BTreeMap};

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::{
    Element,
    plan::{Block, Plan, Problem},
};
use measured::{Cache, Clock, Place, Run, counters::Count};

use super::{
    counts::{self, Case},
    highlight::escape,
    sources::{Sources, size},
};

/// A quantity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantity {
    /// In base units: seconds, bytes a second, shares of one.
    pub(crate) value: f64,
    /// What it is.
    pub(crate) unit: Unit,
    /// Where it comes from, for the tooltip.
    pub(crate) origin: String,
}

/// What a quantity is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unit {
    /// Seconds.
    Time,
    /// Bytes a second.
    Rate,
    /// A share of one, printed in percent.
    Share,
    /// How many times.
    Factor,
    /// Something that is counted.
    Count,
    /// A plain number with a unit's name behind it.
    Named(&'static str),
    /// Words.
    Text(String),
}

/// The words of a directive: names and sizes in order, `key=value` apart.
#[derive(Debug)]
struct Words<'a> {
    plain: Vec<Cow<'a, str>>,
    keys: BTreeMap<&'a str, &'a str>,
}

/// The HTML of a number.
pub(crate) fn html(sources: &Sources, text: &str) -> Result<String> {
    let words = words(text)?;
    let quantity = quantity(sources, text)?;
    let digits = words.keys.get("digits").map(|d| d.parse::<usize>()).transpose()?;
    let bare = words.plain.iter().any(|word| word == "bare");
    let printed = quantity.print(digits, bare);
    Ok(format!(
        "<span class=\"num\" title=\"{}\">{}</span>",
        escape(&quantity.origin),
        escape(&printed)
    ))
}

impl Quantity {
    /// As it is printed: three digits or so, and the unit behind a space that does not break.
    pub(crate) fn print(&self, digits: Option<usize>, bare: bool) -> String {
        let v = self.value;
        let with = |number: String, unit: &str| match bare || unit.is_empty() {
            true => number,
            false => format!("{number}\u{a0}{unit}"),
        };
        let fixed = |v: f64, default: usize| format!("{v:.*}", digits.unwrap_or(default));
        match &self.unit {
            Unit::Text(text) => text.clone(),
            Unit::Time => {
                let (scaled, unit) = match v {
                    _ if v < 1e-6 => (v * 1e9, "ns"),
                    _ if v < 1e-3 => (v * 1e6, "µs"),
                    _ if v < 1.0 => (v * 1e3, "ms"),
                    _ => (v, "s"),
                };
                with(fixed(scaled, places(scaled)), unit)
            }
            Unit::Rate => with(fixed(v / 1e9, if v < 1e11 { places(v / 1e9) } else { 0 }), "GB/s"),
            Unit::Share => with(fixed(100.0 * v, usize::from(v.fract() != 0.0)), "%"),
            Unit::Factor => {
                let number = fixed(v, if v < 10.0 { 2 } else { 1 });
                if bare { number } else { format!("{number}×") }
            }
            Unit::Count => match (v.fract() == 0.0, digits) {
                (true, None) => group(v as u64),
                _ => fixed(v, places(v)),
            },
            Unit::Named(unit) => with(
                if v.fract() == 0.0 && digits.is_none() {
                    format!("{v}")
                } else {
                    fixed(v, places(v))
                },
                unit,
            ),
        }
    }
}

/// Digits behind the point that leave about three in all.
fn places(v: f64) -> usize {
    match v.abs() {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    }
}

/// `1556480` as `1,556,480`; four digits stay together.
pub(crate) fn group(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size as readers of the book know it: `2^20` with a raised exponent.
pub(crate) fn power(n: u64) -> String {
    match n.checked_ilog2() {
        Some(p) if n == 1 << p && p >= 10 => format!("2<sup>{p}</sup>"),
        _ => group(n),
    }
}

/// Splits at spaces; what is in parentheses stays together.
fn words(text: &str) -> Result<Words<'_>> {
    let mut words = Words { plain: Vec::new(), keys: BTreeMap::new() };
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = match rest.strip_prefix('(') {
            Some(inner) => inner.find(')').map(|at| at + 2).context("a `(` has no `)`")?,
            None => rest.find(' ').unwrap_or(rest.len()),
        };
        let word = &rest[..end];
        match word.split_once('=') {
            Some((key, value)) if !word.starts_with('(') => {
                words.keys.insert(key, value);
            }
            _ => words.plain.push(word.trim_matches(['(', ')']).into()),
        }
        rest = rest[end..].trim_start();
    }
    Ok(words)
}

/// Resolves a number.
pub(crate) fn quantity(sources: &Sources, text: &str) -> Result<Quantity> {
    let words = words(text)?;
    let at = At {
        on: words.keys.get("on").copied(),
        cache: if words.plain.iter().any(|word| word == "warm") {
            Cache::Warm
        } else {
            Cache::Cold
        },
        element: words.keys.get("type").copied().unwrap_or("f32"),
    };
    let on = at.on;
    let plain: Vec<&str> = words
        .plain
        .iter()
        .map(|word| &**word)
        .filter(|word| !["bare", "warm"].contains(word))
        .collect();
    match plain[..] {
        ["time", name, n] => time(sources, at, name, size(n)?),
        ["gbps", name, n] => rate(sources, at, name, size(n)?),
        ["bus%", name, n] => {
            let rate = rate(sources, at, name, size(n)?)?;
            let bus = sources.run(on)?.env.gpu.bus_bytes_per_second;
            ensure!(bus > 0.0, "the bus of that GPU is not known");
            Ok(Quantity { value: rate.value / bus, unit: Unit::Share, ..rate })
        }
        ["speedup", fast, slow, n] => speedup(sources, at, fast, slow, size(n)?),
        ["saved", fast, slow, n] => {
            let factor = speedup(sources, at, fast, slow, size(n)?)?;
            Ok(Quantity { value: 1.0 - 1.0 / factor.value, unit: Unit::Share, ..factor })
        }
        ["count", step, ref rest @ ..] => count(sources, step, rest, &words),
        ["hw", step, metric, ref rest @ ..] => hardware(sources, on, step, metric, rest, &words),
        ["between", name, n] => between(sources, at, name, size(n)?),
        ["issued", step, n] => issued(sources, at, step, size(n)?),
        ["allows", step] => allows(sources, at, step),
        ["per-cycle", name, n] => per_cycle(sources, at, name, size(n)?),
        ["flight", step] => super::flight::of(sources, step),
        ["sass", step, opcode] => {
            let value = sources.sass.get(step)?.count(opcode);
            Ok(counted(value as f64, format!("{opcode} in the machine code of {step} for sm_90")))
        }
        ["plan", step, what, n] => planned(step, what, size(n)?, &words),
        ["diff", step] => {
            let old =
                sources.before(step)?.with_context(|| format!("no step comes before {step}"))?;
            let lines = xtask::diff::changed(old, sources.kernel(step)?);
            Ok(counted(lines as f64, format!("changed lines from {} to {step}", old.name)))
        }
        ["lines", step] => {
            let lines = sources.kernel(step)?.source.lines().count();
            Ok(counted(lines as f64, format!("lines of steps/{step}/src/kernel.cu")))
        }
        ["gpu", key] => gpu(sources, on, key),
        ["history", table, row, column] => super::history::cell(sources, table, row, column),
        ["ratio", a, b] => both(sources, a, b, Unit::Factor, |a, b| a / b),
        ["share", a, b] => both(sources, a, b, Unit::Share, |a, b| a / b),
        ["less", a, b] => both(sources, a, b, Unit::Share, |a, b| 1.0 - a / b),
        _ => bail!("`num {text}` asks for nothing that book/DIRECTIVES.md has"),
    }
}

fn both(
    sources: &Sources,
    a: &str,
    b: &str,
    unit: Unit,
    f: fn(f64, f64) -> f64,
) -> Result<Quantity> {
    let (a, b) = (quantity(sources, a)?, quantity(sources, b)?);
    let value = f(a.value, b.value);
    ensure!(value.is_finite(), "{} / {} is no number", a.value, b.value);
    Ok(Quantity { value, unit, origin: format!("{} against {}", a.origin, b.origin) })
}

fn counted(value: f64, origin: String) -> Quantity {
    Quantity { value, unit: Unit::Count, origin }
}

/// Where a time is taken from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    /// The folder of the run, if it is not the newest on an H200.
    on: Option<&'a str>,
    /// Where the input was.
    cache: Cache,
    /// The type of an element.
    element: &'a str,
}

impl Default for At<'_> {
    fn default() -> Self {
        At { on: None, cache: Cache::Cold, element: "f32" }
    }
}

impl<'a> At<'a> {
    fn place(&self, n: u64) -> Place<'a> {
        Place { element: self.element, n, cache: self.cache, clock: Clock::Gpu }
    }

    /// In words, for a tooltip.
    fn words(&self, n: u64) -> String {
        format!("{} {}, L2 {}", measured::table::size(n), self.element, self.cache)
    }
}

/// A cell of the run: f32, L2 cold, on the GPU's clock.
pub(crate) fn place(n: u64) -> Place<'static> {
    At::default().place(n)
}

/// The median time of a step or peer.
pub(crate) fn time(sources: &Sources, at: At<'_>, name: &str, n: u64) -> Result<Quantity> {
    let run = sources.run(at.on)?;
    let time = run.time(name, &at.place(n)).ok_or_else(|| {
        anyhow!("results/{} has no time of `{name}` at {}", run.name, at.words(n))
    })?;
    let origin =
        format!("{name}, {}: median of {} samples, results/{}", at.words(n), time.count, run.name);
    Ok(Quantity { value: time.median / 1e9, unit: Unit::Time, origin })
}

/// By what share of the longer one a time differs between the newest two runs on the same kind of GPU.
fn between(sources: &Sources, at: At<'_>, name: &str, n: u64) -> Result<Quantity> {
    let newest = sources.run(at.on)?;
    let kind = |run: &&Run| run.env.gpu.name == newest.env.gpu.name && run.name != newest.name;
    let other = sources
        .runs
        .iter()
        .rev()
        .find(kind)
        .with_context(|| format!("results/ has no second run on a {}", newest.env.gpu.name))?;
    let of = |on| time(sources, At { on, ..at }, name, n);
    let (a, b) = (of(Some(&newest.name))?, of(Some(&other.name))?);
    let value = 1.0 - a.value.min(b.value) / a.value.max(b.value);
    Ok(Quantity { value, unit: Unit::Share, origin: format!("{} against {}", a.origin, b.origin) })
}

/// The bandwidth of a step or peer.
pub(crate) fn rate(sources: &Sources, at: At<'_>, name: &str, n: u64) -> Result<Quantity> {
    let time = time(sources, at, name, n)?;
    let run = sources.run(at.on)?;
    let moves = run.env.variant.iter().find(|v| v.name == name).map_or(1, |v| v.moves);
    let value = (at.place(n).bytes() * u64::from(moves)) as f64 / time.value;
    Ok(Quantity { value, unit: Unit::Rate, origin: time.origin })
}

/// How many times faster the first is than the second: paired by rounds.
pub(crate) fn speedup(
    sources: &Sources,
    at: At<'_>,
    fast: &str,
    slow: &str,
    n: u64,
) -> Result<Quantity> {
    // The message for a name that is not there.
    time(sources, at, fast, n)?;
    time(sources, at, slow, n)?;
    let run = sources.run(at.on)?;
    let ratio = run.ratio(slow, fast, &at.place(n)).with_context(|| {
        format!("results/{}: {fast} and {slow} were not measured in the same rounds", run.name)
    })?;
    let origin = format!(
        "time of {slow} / time of {fast}, {}: median over batches of paired rounds, 95 % interval {:.3} to {:.3}, results/{}",
        at.words(n),
        ratio.0.low,
        ratio.0.high,
        run.name
    );
    Ok(Quantity { value: ratio.0.median, unit: Unit::Factor, origin })
}

/// The case of a count: `block=` and `n=` change the usual one.
pub(crate) fn case(step: &str, keys: &BTreeMap<&str, &str>) -> Result<Case> {
    let mut case = Case::of(step);
    if let Some(n) = keys.get("n") {
        case.n = size(n)?;
    }
    if let Some(threads) = keys.get("block") {
        case.threads = Block::new(threads.parse()?).map_err(|e| anyhow!("{e}"))?.threads();
    }
    Ok(case)
}

/// The cases that a directive asks for, so that they can be counted beforehand.
pub(crate) fn cases(text: &str) -> Vec<Case> {
    let Ok(words) = words(text) else { return Vec::new() };
    let plain: Vec<&str> = words.plain.iter().map(|word| &**word).collect();
    match plain[..] {
        ["num", "count", step, ..] => case(step, &words.keys).into_iter().collect(),
        ["num", "ratio" | "share" | "less", a, b] => {
            [a, b].iter().flat_map(|part| cases(&format!("num {part}"))).collect()
        }
        _ => Vec::new(),
    }
}

fn count(sources: &Sources, step: &str, rest: &[&str], words: &Words<'_>) -> Result<Quantity> {
    sources.kernel(step)?;
    let [name, scale @ ..] = rest else { bail!("`num count STEP COUNT`: the count is missing") };
    let case = case(step, &words.keys)?;
    let counted_case = sources.counts.get(&case)?;
    let all = scale.contains(&"total");
    let value = counted_case.count(name, all)? as f64;
    let (divisor, what) = scaled(scale, &case, counted_case.blocks(all))?;
    let which = if all { "all launches" } else { "the first launch" };
    let origin = format!(
        "{name}{what} of {step}, counted by the interpreter: {which}, n = {}, blocks of {}",
        measured::table::size(case.n),
        case.threads
    );
    Ok(counted(value / divisor, origin))
}

/// What `per-block` and its like divide by.
fn scaled(words: &[&str], case: &Case, blocks: u64) -> Result<(f64, &'static str)> {
    let warps = blocks * u64::from(case.threads / 32);
    for word in words {
        return Ok(match *word {
            "total" => continue,
            "per-block" => (blocks as f64, " per block"),
            "per-warp" => (warps as f64, " per warp"),
            "per-thread" => ((32 * warps) as f64, " per thread"),
            "per-element" => (case.n as f64, " per element"),
            word => bail!("`{word}`: take total, per-block, per-warp, per-thread or per-element"),
        });
    }
    Ok((1.0, ""))
}

/// A metric of the first launch, as a GPU counted it.
pub(crate) struct Metric<'s> {
    /// Its value.
    pub(crate) value: f64,
    /// Blocks of the launch.
    pub(crate) blocks: u64,
    /// The folder of `results/` that has it.
    pub(crate) folder: &'s str,
}

/// A metric, from the newest folder that has it.
pub(crate) fn metric<'s>(
    sources: &'s Sources,
    on: Option<&str>,
    case: &Case,
    metric: &str,
) -> Result<Metric<'s>> {
    let here = |count: &&Count| {
        let same = count.metric == metric || count.metric.strip_suffix(".sum") == Some(metric);
        same && count.variant == case.step
            && count.launch == 1
            && count.n == case.n
            && count.threads == case.threads
            && count.element == "f32"
    };
    let mut folders = sources.counters.iter().filter(|(name, _)| match on {
        Some(on) => name.contains(on),
        None => name.contains("h200"),
    });
    folders
        .find_map(|(folder, counts)| {
            let count = counts.iter().find(here)?;
            Some(Metric { value: count.value, blocks: count.grid, folder })
        })
        .with_context(|| {
            format!(
                "no counters.csv of results/ has {metric} of {} at n = {}, blocks of {}",
                case.step,
                measured::table::size(case.n),
                case.threads
            )
        })
}

fn hardware(
    sources: &Sources,
    on: Option<&str>,
    step: &str,
    name: &str,
    rest: &[&str],
    words: &Words<'_>,
) -> Result<Quantity> {
    let case = case(step, &words.keys)?;
    let found = metric(sources, on, &case, name)?;
    let (divisor, what) = scaled(rest, &case, found.blocks)?;
    let origin = format!(
        "{name}{what} of {step}, counted by the hardware: first launch, n = {}, blocks of {}, results/{}/counters.csv",
        measured::table::size(case.n),
        case.threads,
        found.folder
    );
    Ok(match name.contains(".pct_") {
        true => Quantity { value: found.value / 100.0, unit: Unit::Share, origin },
        false => counted(found.value / divisor, origin),
    })
}

/// Instructions that the hardware executes for each element, in the first launch.
fn per_element(sources: &Sources, at: At<'_>, step: &str) -> Result<f64> {
    let found = metric(sources, at.on, &Case::of(step), "smsp__inst_executed.sum")?;
    Ok(found.value / counts::N as f64)
}

/// Instructions that the whole chip can issue in a second: one for each scheduler and cycle.
fn issues(sources: &Sources, at: At<'_>) -> Result<f64> {
    let gpu = &sources.run(at.on)?.env.gpu;
    Ok(f64::from(gpu.sms) * 4.0 * f64::from(gpu.sm_mhz_start) * 1e6)
}

/// The share of the schedulers' cycles in which a step's instructions are issued.
///
/// For steps whose instructions grow with the elements: counted at one size, timed at another.
fn issued(sources: &Sources, at: At<'_>, step: &str, n: u64) -> Result<Quantity> {
    let time = time(sources, at, step, n)?;
    let value = per_element(sources, at, step)? * n as f64 / time.value / issues(sources, at)?;
    let origin = format!(
        "instructions of {step} for an element, counted by the hardware, × elements ÷ time ÷ (SMs × 4 schedulers × clock); {}",
        time.origin
    );
    Ok(Quantity { value, unit: Unit::Share, origin })
}

/// The share of the bus at which a step's instructions would take every cycle of the schedulers.
fn allows(sources: &Sources, at: At<'_>, step: &str) -> Result<Quantity> {
    let elements = issues(sources, at)? / per_element(sources, at, step)?;
    let value = elements * 4.0 / sources.run(at.on)?.env.gpu.bus_bytes_per_second;
    let origin = format!(
        "SMs × 4 schedulers × clock ÷ instructions of {step} for a float, as a share of the bus"
    );
    Ok(Quantity { value, unit: Unit::Share, origin })
}

/// Bytes that an SM takes in, in a cycle of its clock; of the `bus`, what it could bring.
fn per_cycle(sources: &Sources, at: At<'_>, name: &str, n: u64) -> Result<Quantity> {
    let gpu = &sources.run(at.on)?.env.gpu;
    let cycles = f64::from(gpu.sms) * f64::from(gpu.sm_mhz_start) * 1e6;
    let (value, origin) = match name {
        "bus" => (gpu.bus_bytes_per_second, "the bus ÷ SMs ÷ clock".to_owned()),
        _ => {
            let rate = rate(sources, at, name, n)?;
            (rate.value, format!("{} ÷ SMs ÷ clock", rate.origin))
        }
    };
    let value = (10.0 * value / cycles).round() / 10.0;
    Ok(Quantity { value, unit: Unit::Named(""), origin })
}

/// The plan of a step of the ladder on an H200's number of SMs.
pub(crate) fn plan(step: &str, n: u64, threads: u32) -> Result<Plan> {
    let step = ladder::STEPS
        .iter()
        .find(|known| known.name == step)
        .with_context(|| format!("the ladder has no step `{step}`"))?;
    let block = Block::new(threads).map_err(|e| anyhow!("{e}"))?;
    let sms = simt::Config::default().sm_count;
    Ok((step.plan)(&Problem { n, block, element: Element::F32, sms }))
}

fn planned(step: &str, what: &str, n: u64, words: &Words<'_>) -> Result<Quantity> {
    let threads = words.keys.get("block").map_or(Ok(counts::THREADS), |t| t.parse())?;
    let plan = plan(step, n, threads)?;
    let first = &plan.launches[0];
    let value = match what {
        "launches" => plan.launches.len() as f64,
        "blocks" => f64::from(first.grid),
        "shared" => f64::from(first.shared),
        "depth" => f64::from(plan.depth()),
        _ => bail!("`num plan`: take launches, blocks, shared or depth"),
    };
    let origin =
        format!("the plan of {step} for {} f32 in blocks of {threads}", measured::table::size(n));
    Ok(counted(value, origin))
}

fn gpu(sources: &Sources, on: Option<&str>, key: &str) -> Result<Quantity> {
    let run = sources.run(on)?;
    let gpu = &run.env.gpu;
    let (value, unit) = match key {
        "sms" => (f64::from(gpu.sms), Unit::Count),
        "l2" => ((gpu.l2_bytes >> 20) as f64, Unit::Named("MB")),
        "memory" => ((gpu.memory_bytes as f64 / 1e9).round(), Unit::Named("GB")),
        "bus" => (gpu.bus_bytes_per_second, Unit::Rate),
        "bus-width" => (f64::from(gpu.bus_bits), Unit::Named("bits")),
        "memory-clock" => (f64::from(gpu.memory_mhz), Unit::Named("MHz")),
        "sm-clock" => (f64::from(gpu.sm_mhz_start.max(1)), Unit::Named("MHz")),
        "sm-clock-max" => (f64::from(gpu.sm_mhz_max), Unit::Named("MHz")),
        "name" => (0.0, Unit::Text(gpu.name.clone())),
        "driver" => (0.0, Unit::Text(gpu.driver.clone())),
        "date" => (0.0, Unit::Text(run.env.run.date.clone())),
        _ => bail!(
            "`num gpu {key}`: take name, sms, l2, memory, bus, bus-width, memory-clock, sm-clock, sm-clock-max, driver or date"
        ),
    };
    Ok(Quantity { value, unit, origin: format!("results/{}/env.toml", run.name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(value: f64, unit: Unit) -> String {
        Quantity { value, unit, origin: String::new() }.print(None, false).replace('\u{a0}', " ")
    }

    #[test]
    fn quantities_are_printed_with_three_digits_or_so() {
        assert_eq!(print(12.421e-6, Unit::Time), "12.4 µs");
        assert_eq!(print(642.9e-6, Unit::Time), "643 µs");
        assert_eq!(print(2.5476e-3, Unit::Time), "2.55 ms");
        assert_eq!(print(1675.3e9, Unit::Rate), "1675 GB/s");
        assert_eq!(print(0.086, Unit::Share), "8.6 %");
        assert_eq!(print(0.348, Unit::Share), "34.8 %");
        assert_eq!(print(1.0, Unit::Share), "100 %");
        assert_eq!(print(1.6949, Unit::Factor), "1.69×");
        assert_eq!(print(1_556_480.0, Unit::Count), "1,556,480");
        assert_eq!(print(4096.0, Unit::Count), "4096");
        assert_eq!(print(1.5, Unit::Count), "1.50");
    }

    #[test]
    fn nested_cases_are_found() {
        let found = cases("num ratio (count a warp_insts block=64) (count b warp_insts n=2^10)");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].threads, found[1].n), (64, 1024));
        assert_eq!(cases("num time a 2^20"), []);
    }
}
