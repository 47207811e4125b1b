//! `ladder compare A B`: does this step matter here?

use std::{
    io::Write,
    time::{Duration, Instant},
};

use clap::Args;
use common::{
    Element, Error, Result,
    cli::Stop,
    plan::{Block, Size},
};
use measured::{
    Cache, Sample,
    pair::{Ratio, there_and_back},
    stats::Summary,
    table,
};

use crate::{
    cell::Ask,
    contenders::Entry,
    options::{OnGpu, positive},
    rig::Rig,
    stop::needs_a_gpu,
};

/// What is compared.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// A step or a peer; the beginning of its name is enough: v2
    pub first: String,

    /// Another one
    pub second: String,

    /// How many elements, a list
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "2^16,2^20,2^24,2^28",
        allow_hyphen_values = true
    )]
    pub n: Vec<Size>,

    /// The type of an element, a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32")]
    pub element: Vec<Element>,

    /// Threads of a block
    #[arg(long, value_name = "THREADS", default_value = "256")]
    pub threads: Block,

    /// Compare with the input already in L2
    #[arg(long)]
    pub warm: bool,

    /// Seconds that a size may take
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = positive)]
    pub seconds: f64,

    /// Where to measure.
    #[command(flatten)]
    pub place: OnGpu,
}

/// The most rounds of a size.
const ROUNDS: u32 = 20_000;

/// Runs the two in turn, and answers.
pub fn run(options: &Options) -> Result<(), Stop> {
    let rig = Rig::open(options.place.device, options.place.peers.as_deref())
        .map_err(needs_a_gpu("compare"))?;
    let names = names(&rig);
    let first = find(&names, &options.first)?;
    let second = find(&names, &options.second)?;
    if first == second {
        return Err(Error::Usage(format!(
            "`{}` and `{}` are both {first}: name two that differ",
            options.first, options.second
        ))
        .into());
    }
    let mut out = anstream::stdout();
    writeln!(out, "{}", rig.device.facts().line)?;
    let mhz = rig.wake()?;
    let cache = if options.warm { Cache::Warm } else { Cache::Cold };
    let takes = |name: &str| name == first || name == second;
    let ask = Ask {
        takes: &takes,
        blocks: vec![options.threads],
        target: 0.005,
        least: 51,
        most: ROUNDS,
        callers: false,
        mhz,
    };
    for &element in &options.element {
        for &Size(n) in &options.n {
            let mut until = || Instant::now() + Duration::from_secs_f64(options.seconds);
            let found = rig.measure(element, n, &[cache], &ask, &mut until)?;
            if let Some(wrong) = found.wrong.first() {
                return Err(Error::Findings(wrong.clone()).into());
            }
            if let Some(absent) = found.absent.first() {
                let text = format!("{}: {}", absent.variant, absent.reason);
                return Err(Error::Usage(text).into());
            }
            let answer = answer(&found.samples, first, second).ok_or_else(|| {
                Error::Usage(format!(
                    "{first} and {second} cannot be paired at {n}: one of them returns to the host, and has no time on the GPU's clock, or is not meant for as many elements"
                ))
            })?;
            writeln!(out, "{:>6} {element}, L2 {cache}: {answer}", numbers::size(n))?;
            out.flush()?;
        }
    }
    Ok(())
}

/// The sentence that answers.
fn answer(samples: &[Sample], first: &str, second: &str) -> Option<String> {
    let times = |name: &str| -> Vec<(u32, u64)> {
        samples.iter().filter(|s| s.variant == name).map(|s| (s.round, s.ns)).collect()
    };
    let (slow, fast) = (times(first), times(second));
    let ratio = Ratio::of(&slow, &fast)?;
    let median = |times: &[(u32, u64)]| {
        let pairs: Vec<f64> = there_and_back(times).into_iter().map(|(_, ns)| ns).collect();
        Summary::batched(&pairs).map(|time| table::micros(time.median))
    };
    Some(format!(
        "{second} against {first}: {} ({} against {} µs; {ratio} times as fast, {} pairs of rounds)",
        ratio.verdict(),
        median(&fast)?,
        median(&slow)?,
        ratio.0.count
    ))
}

/// Everything that can be named, in the order of every table.
fn names(rig: &Rig) -> Vec<String> {
    let mut entries = rig.entries();
    entries.sort_by_key(Entry::role);
    entries.iter().map(|entry| entry.name().to_owned()).collect()
}

/// The name that is meant: the whole one, or the only one that begins so.
pub(crate) fn find<'n>(names: &'n [String], text: &str) -> Result<&'n str> {
    if let Some(name) = names.iter().find(|name| *name == text) {
        return Ok(name);
    }
    let matching: Vec<&String> = names.iter().filter(|name| name.starts_with(text)).collect();
    match matching[..] {
        [name] => Ok(name),
        [] => Err(Error::Usage(format!(
            "`{text}` is no step, and nothing else that can be named here: take {}",
            names.join(", ")
        ))),
        _ => {
            let some: Vec<&str> = matching.iter().map(|name| name.as_str()).collect();
            Err(Error::Usage(format!("`{text}` may be {}: write more of it", some.join(" or "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use measured::Clock;

    use super::*;

    #[test]
    fn the_beginning_of_a_name_is_enough() {
        let names = ["v1-divergence", "v2-bank-conflicts", "cub", "cub-atomic"].map(String::from);
        assert_eq!(find(&names, "v2").unwrap(), "v2-bank-conflicts");
        assert_eq!(find(&names, "cub").unwrap(), "cub");
        for (text, why) in [("v", "v1-divergence or v2-"), ("x", "no step, and"), ("", "may be")] {
            let message = find(&names, text).unwrap_err().to_string();
            assert!(message.contains(why), "{message}");
        }
    }

    #[test]
    fn the_answer_is_a_sentence() {
        let sample = |variant: &str, round: u32, ns: u64| Sample {
            variant: variant.into(),
            element: "f32".into(),
            threads: 256,
            n: 1 << 20,
            cache: Cache::Cold,
            clock: Clock::Gpu,
            round,
            ns,
        };
        let samples: Vec<Sample> = (0..20)
            .flat_map(|round| {
                [sample("a", round, 2000 + u64::from(round)), sample("b", round, 1000)]
            })
            .collect();
        let text = answer(&samples, "a", "b").unwrap();
        assert_eq!(
            text,
            "b against a: faster (1.00 against 2.01 µs; 2.010 [2.002, 2.017] times as fast, 10 pairs of rounds)"
        );
        assert!(answer(&samples, "b", "a").unwrap().contains("a against b: slower"));
        assert_eq!(answer(&samples, "a", "c"), None);
    }
}
