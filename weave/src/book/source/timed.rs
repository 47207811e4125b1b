//! Provides times, bandwidths and ratios from the runs on GPUs.

use anyhow::{Context, Result, anyhow};
use measured::{
    Cache, Clock, Place,
    repeat::{self, Between},
};

use super::{
    Sources,
    quantity::{Quantity, Unit},
};

/// The conditions under which a time was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    /// The folder of the run; `None` for the newest run on an H200.
    pub(crate) on: Option<&'a str>,
    /// Whether the input was in L2.
    pub(crate) cache: Cache,
    /// The element type.
    pub(crate) element: &'a str,
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

    /// Describes the conditions in words, for a tooltip.
    fn words(&self, n: u64) -> String {
        format!("{} {}, L2 {}", measured::table::size(n), self.element, self.cache)
    }
}

/// Returns the default conditions of a time: `n` elements of f32, with a cold L2 cache, GPU-gated.
pub(crate) fn place(n: u64) -> Place<'static> {
    At::default().place(n)
}

/// Returns the median time of a step or competitor.
pub(crate) fn time(sources: &Sources, at: At<'_>, name: &str, n: u64) -> Result<Quantity> {
    let run = sources.run(at.on)?;
    let time = run.time(name, &at.place(n)).ok_or_else(|| {
        anyhow!("results/ladder/{} has no time of `{name}` at {}", run.name, at.words(n))
    })?;
    let origin = format!(
        "{name}, {}: median of {} samples, results/ladder/{}",
        at.words(n),
        time.count,
        run.name
    );
    Ok(Quantity { value: time.median / 1e9, unit: Unit::Time, origin })
}

/// Returns the difference between the runs of one program on the same kind of GPU, as a share of
/// the longest time.
pub(crate) fn between(sources: &Sources, at: At<'_>, name: &str, n: u64) -> Result<Quantity> {
    let newest = sources.run(at.on)?;
    let kind = repeat::kind_of(&sources.runs, newest);
    let times = Between::time(&kind, name, &at.place(n)).filter(|times| times.runs > 1);
    let times = times
        .with_context(|| format!("results/ has no second run on a {}", newest.env.gpu.name))?;
    let origin = format!("{name}, {}: medians of {} runs", at.words(n), times.runs);
    Ok(Quantity { value: 1.0 - times.least / times.most, unit: Unit::Share, origin })
}

/// Returns the bandwidth of a step or competitor.
pub(crate) fn rate(sources: &Sources, at: At<'_>, name: &str, n: u64) -> Result<Quantity> {
    let time = time(sources, at, name, n)?;
    let run = sources.run(at.on)?;
    let moves = run.env.variant.iter().find(|v| v.name == name).map_or(1, |v| v.moves);
    let value = (at.place(n).bytes() * u64::from(moves)) as f64 / time.value;
    Ok(Quantity { value, unit: Unit::Rate, origin: time.origin })
}

/// Returns the speedup of `fast` over `slow`, from paired rounds.
pub(crate) fn speedup(
    sources: &Sources,
    at: At<'_>,
    fast: &str,
    slow: &str,
    n: u64,
) -> Result<Quantity> {
    // If a name is unknown, these calls return the error.
    time(sources, at, fast, n)?;
    time(sources, at, slow, n)?;
    let run = sources.run(at.on)?;
    let ratio = run.ratio(slow, fast, &at.place(n)).with_context(|| {
        format!(
            "results/ladder/{}: {fast} and {slow} were not measured in the same rounds",
            run.name
        )
    })?;
    let origin = format!(
        "time of {slow} / time of {fast}, {}: median over batches of paired rounds, 95 % interval {:.3} to {:.3}, results/ladder/{}",
        at.words(n),
        ratio.0.low,
        ratio.0.high,
        run.name
    );
    Ok(Quantity { value: ratio.0.median, unit: Unit::Factor, origin })
}
