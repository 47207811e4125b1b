//! Implements `ladder compare A B`, which shows whether a step makes a difference on this machine.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use clap::Args;
use common::{
    Error, Result, Step,
    cli::Stop,
    device::{Choice, Device, Settings},
    plan::{Size, Sizes},
};
use measured::{
    Cache, Sample,
    pair::{Ratio, there_and_back},
    stats::Summary,
    table,
};

use crate::{
    cell::Ask,
    competitors::Entry,
    counted,
    names::find,
    options::{How, OnGpu},
    own, predicted,
    rig::Rig,
    steps_and_ways,
    stop::needs_a_gpu,
};

/// The options of `ladder compare`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// A step or a peer; the beginning of its name is enough, such as v2
    pub first: String,

    /// The other step or peer, or your own kernel, such as my-kernel.cu, which is launched like the
    /// first
    pub second: String,

    /// The numbers of elements, as a list [default: 2^16,2^20,2^24,2^28; without a GPU 2^20]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub n: Option<Sizes>,

    /// Predict the ratio on this GPU, which need not be present: h200, h100, a100, rtx4090, b200 or
    /// orin
    #[arg(long, value_name = "GPU")]
    pub predict: Option<String>,

    /// The settings of the comparison.
    #[command(flatten)]
    pub how: How,

    /// The device: on a GPU, the two are timed alternately; without a GPU, the interpreter counts
    /// their operations
    #[command(flatten)]
    pub place: OnGpu,
}

/// The maximum number of rounds for a size.
const ROUNDS: u32 = 20_000;

/// The default sizes on a GPU; without a GPU, 2^20 is the default.
pub(crate) const SIZES: [u64; 4] = [1 << 16, 1 << 20, 1 << 24, 1 << 28];
pub(crate) const COUNTED: [u64; 1] = [1 << 20];

/// Times the two competitors alternately and prints the verdict; without a GPU, compares the counts
/// of the two.
pub fn run(options: &Options) -> Result<(), Stop> {
    let known: Vec<&Step> = steps_and_ways().collect();
    let own = own::between(&known, &options.first, &options.second)?;
    let words = [&options.first, &options.second].map(|word| own::name(word));
    let sizes = |usual: &[u64]| match &options.n {
        None => usual.to_vec(),
        Some(sizes) => sizes.iter().map(|&Size(n)| n).collect(),
    };
    let pair = || -> Result<_> {
        let all: Vec<&Step> = known.iter().copied().chain(own).collect();
        let [first, second] = words.each_ref().map(|word| own::step(&all, word));
        let pair = (first?, second?);
        distinct(pair.0.name, pair.1.name, options)?;
        Ok(pair)
    };
    if let Some(gpu) = &options.predict {
        return predicted::pair(gpu, pair()?, &sizes(&SIZES), &options.how);
    }
    let device = open(options.place.device)?;
    if device.gpu().is_err() {
        let pair = pair()?;
        return counted::pairs(&device, &[pair], &sizes(&COUNTED), &options.how);
    }
    let mut rig = Rig::on(device, options.place.peers.as_deref())?;
    rig.own.extend(own);
    let names = names(&rig);
    let [first, second] = words.each_ref().map(|word| find(&names, word));
    let pair = (first?, second?);
    distinct(pair.0, pair.1, options)?;
    timed(&rig, &[pair], &sizes(&SIZES), &options.how)
}

/// Opens the device for a comparison: the requested device or, by default, the GPU if there is one
/// and otherwise the interpreter.
pub(crate) fn open(choice: Choice) -> Result<Device, Stop> {
    Device::open(choice, &Settings::default()).map_err(needs_a_gpu("compare"))
}

/// Refuses two names for the same competitor.
fn distinct(first: &str, second: &str, options: &Options) -> Result<()> {
    if first != second {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "`{}` and `{}` are both {first}: name two different competitors",
        options.first, options.second
    )))
}

/// Times the competitors of each pair alternately, and prints a verdict on each pair.
pub(crate) fn timed(
    rig: &Rig,
    pairs: &[(&str, &str)],
    sizes: &[u64],
    how: &How,
) -> Result<(), Stop> {
    let mut out = anstream::stdout();
    writeln!(out, "{}", rig.device.facts().line)?;
    let mhz = rig.wake()?;
    let cache = if how.warm { Cache::Warm } else { Cache::Cold };
    for &(first, second) in pairs {
        let takes = |name: &str| name == first || name == second;
        let ask = Ask {
            takes: &takes,
            blocks: vec![how.threads],
            target: 0.005,
            least: 51,
            most: ROUNDS,
            callers: false,
            mhz,
        };
        for &element in &how.element {
            for &n in sizes {
                let mut until = || Instant::now() + Duration::from_secs_f64(how.seconds);
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
                        "{first} and {second} cannot be paired at {n} elements: one of them returns its sum to the host, so it cannot be timed on the GPU, or does not support so many elements"
                    ))
                })?;
                writeln!(out, "{:>6} {element}, L2 {cache}: {answer}", numbers::size(n))?;
                out.flush()?;
            }
        }
    }
    Ok(())
}

/// Returns the verdict as a sentence.
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

/// Returns the names of everything that can be compared, in the order used in the tables.
fn names(rig: &Rig) -> Vec<String> {
    let mut entries = rig.entries();
    entries.sort_by_key(Entry::role);
    entries.iter().map(|entry| entry.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use measured::Clock;

    use super::*;

    #[test]
    fn the_verdict_is_a_sentence() {
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

    #[test]
    fn a_step_is_not_compared_with_itself() {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            options: Options,
        }
        let words = ["compare", "v3", "v3-first"];
        let Program { options } = <Program as clap::Parser>::try_parse_from(words).unwrap();
        assert!(distinct("v3-first-add", "v4-unroll-warp", &options).is_ok());
        assert_eq!(
            distinct("v3-first-add", "v3-first-add", &options).unwrap_err().to_string(),
            "`v3` and `v3-first` are both v3-first-add: name two different competitors"
        );
    }

    #[test]
    fn default_sizes_are_small_ones_and_large_ones() {
        assert_eq!(SIZES, [65_536, 1_048_576, 16_777_216, 268_435_456]);
        assert_eq!(COUNTED, [1_048_576]);
    }
}
