//! Implements `{{num …}}`, which shows a quantity from the sources, with its unit and its origin.

use std::{borrow::Cow, collections::BTreeMap, fs};

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::plan::Block;
use measured::Cache;

use super::{highlight::escape, history, probe, repeated, rows, zoo};
use crate::book::source::{
    Sources,
    counts::{self, Case},
    flight,
    metric::{allows, issued, metric, per_cycle},
    plan,
    quantity::{Quantity, Unit},
    size,
    timed::{At, between, rate, speedup, time},
};

/// The words of a directive: names and sizes in order, and `key=value` pairs separately.
#[derive(Debug)]
struct Words<'a> {
    plain: Vec<Cow<'a, str>>,
    keys: BTreeMap<&'a str, &'a str>,
}

/// Returns the HTML for a number.
pub(crate) fn html(sources: &Sources, text: &str) -> Result<String> {
    let words = words(text)?;
    let quantity = quantity(sources, text)?;
    let digits = words.keys.get("digits").map(|d| d.parse::<usize>()).transpose()?;
    let bare = words.plain.iter().any(|word| word == "bare");
    let printed = quantity.print(digits, bare);
    // Numbers do not break across lines, but words do.
    let class = if matches!(quantity.unit, Unit::Text(_)) { "words" } else { "num" };
    Ok(format!(
        "<span class=\"{class}\" title=\"{}\">{}</span>",
        escape(&quantity.origin),
        escape(&printed)
    ))
}

/// Splits a text at the spaces that are outside parentheses.
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
            ensure!(bus > 0.0, "the peak memory bandwidth of that GPU is not known");
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
        ["held", which @ ("within" | "between")] => repeated::held(sources, which),
        ["over", fast, slow, n] => repeated::over(sources, on, fast, slow, size(n)?),
        ["runs"] => repeated::runs(sources, on),
        ["issued", step, n] => issued(sources, at, step, size(n)?),
        ["allows", step] => allows(sources, at, step),
        ["per-cycle", name, n] => per_cycle(sources, at, name, size(n)?),
        ["flight", step] => flight::of(sources, step),
        ["waits", step] => flight::wait(sources, on, step),
        ["fills", step] => flight::needed(sources, on, step),
        ["cycles", step] => flight::cycles(sources, on, step),
        ["in-flight", step] => flight::average(sources, on, step),
        ["implied", step] => flight::implied(sources, on, step),
        ["sass", step, opcode] => {
            let value = sources.sass.get(step)?.count(opcode);
            Ok(Quantity::counted(
                value as f64,
                format!("{opcode} in the machine code of {step} for sm_90"),
            ))
        }
        ["registers", step] => registers(sources, step),
        ["plan", step, what, n] => planned(step, what, size(n)?, &words),
        ["diff", step] => {
            let old =
                sources.before(step)?.with_context(|| format!("no step comes before {step}"))?;
            let lines = xtask::diff::changed(old, sources.kernel(step)?);
            Ok(Quantity::counted(
                lines as f64,
                format!("changed lines from {} to {step}", old.name),
            ))
        }
        ["lines", step] => {
            let lines = sources.kernel(step)?.source.lines().count();
            Ok(Quantity::counted(lines as f64, format!("lines of steps/{step}/src/kernel.cu")))
        }
        ["gpu", key] => gpu(sources, on, key),
        ["probe", file, row, column] => probe::number(sources, on, [file, row, column]),
        ["rows", ref rest @ ..] => {
            rows::number(sources, rest, on.unwrap_or("h200"), words.keys.get("per").copied())
        }
        ["zoo", what] => zoo::number(sources, what),
        ["zoo", what, bug] => zoo::of(sources, what, bug),
        ["history", table, row, column] => history::cell(sources, table, row, column),
        ["ratio", a, b] => both(sources, a, b, Unit::Factor, |a, b| a / b),
        ["share", a, b] => both(sources, a, b, Unit::Share, |a, b| a / b),
        ["less", a, b] => both(sources, a, b, Unit::Share, |a, b| 1.0 - a / b),
        _ => bail!("book/DIRECTIVES.md has no `num {text}`"),
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
    ensure!(value.is_finite(), "{} / {} is not a number", a.value, b.value);
    Ok(Quantity { value, unit, origin: format!("{} against {}", a.origin, b.origin) })
}

/// Returns the case of a count, in which `block=` and `n=` replace the defaults.
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

/// Returns the cases that a directive needs, so that they can be counted in advance.
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
    Ok(Quantity::counted(value / divisor, origin))
}

/// Returns the divisor for `per-block` and similar words, and its name.
fn scaled(words: &[&str], case: &Case, blocks: u64) -> Result<(f64, &'static str)> {
    let warps = blocks * u64::from(case.threads / 32);
    for word in words {
        return Ok(match *word {
            "total" => continue,
            "per-block" => (blocks as f64, " per block"),
            "per-warp" => (warps as f64, " per warp"),
            "per-thread" => ((32 * warps) as f64, " per thread"),
            "per-element" => (case.n as f64, " per element"),
            word => bail!("`{word}`: use total, per-block, per-warp, per-thread or per-element"),
        });
    }
    Ok((1.0, ""))
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
        "{name}{what} of {step}, counted by the hardware: first launch, n = {}, blocks of {}, results/ladder/{}/counters.csv",
        measured::table::size(case.n),
        case.threads,
        found.folder
    );
    Ok(match name.contains(".pct_") {
        true => Quantity { value: found.value / 100.0, unit: Unit::Share, origin },
        false => Quantity::counted(found.value / divisor, origin),
    })
}

/// Returns the registers per thread of a step's only kernel for f32, as ptxas allocates them.
fn registers(sources: &Sources, step: &str) -> Result<Quantity> {
    let kernel = sources.kernel(step)?;
    let ptx = fs::read_to_string(kernel.folder.join(kernel.ptx("f32")))?;
    let hash = compiler::Stamp::read(&ptx, step)?.body;
    let table = fs::read_to_string(sources.generated().join("sass/registers.csv"))?;
    let prefix = format!("{hash},reduce,");
    let count = table.lines().find_map(|line| line.strip_prefix(&prefix)?.parse::<u32>().ok());
    let count = count.with_context(|| {
        format!(
            "book/generated/sass/registers.csv has no kernel `reduce` of {step}: run `cargo x sass`"
        )
    })?;
    Ok(Quantity::counted(
        count.into(),
        format!("registers per thread in the machine code of {step} for sm_90"),
    ))
}

fn planned(step: &str, what: &str, n: u64, words: &Words<'_>) -> Result<Quantity> {
    let threads = words.keys.get("block").map_or(Ok(counts::THREADS), |t| t.parse())?;
    let plan = plan::of(step, n, threads)?;
    let first = &plan.launches[0];
    let value = match what {
        "launches" => plan.launches.len() as f64,
        "blocks" => f64::from(first.grid),
        "shared" => f64::from(first.shared),
        "depth" => f64::from(plan.depth()),
        _ => bail!("`num plan`: use launches, blocks, shared or depth"),
    };
    let origin =
        format!("the plan of {step} for {} f32 in blocks of {threads}", measured::table::size(n));
    Ok(Quantity::counted(value, origin))
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
        "libraries" => (0.0, Unit::Text(run.env.method.peers.clone())),
        _ => bail!(
            "`num gpu {key}`: use name, sms, l2, memory, bus, bus-width, memory-clock, sm-clock, sm-clock-max, driver, date or libraries"
        ),
    };
    Ok(Quantity { value, unit, origin: format!("results/ladder/{}/env.toml", run.name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_cases_are_found() {
        let found = cases("num ratio (count a warp_insts block=64) (count b warp_insts n=2^10)");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].threads, found[1].n), (64, 1024));
        assert_eq!(cases("num time a 2^20"), []);
    }
}
