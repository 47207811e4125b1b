//! Implements `ladder sweep`, which times every step with every block size, in interleaved rounds.

use std::{
    io::Write,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use common::{
    Element, Error, Result,
    cli::Stop,
    plan::{Block, Size, Sizes},
};
use measured::{Cache, Sample, file::make_folder, stats::Summary, table};

use crate::{
    STEPS,
    cell::Ask,
    options::{OnGpu, positive, progress},
    rig::Rig,
    stop::{file, needs_a_gpu},
};

/// The options of `ladder sweep`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The numbers of elements, as a list
    #[arg(
        long,
        value_name = "N",
        default_value = "2^12,2^16,2^20,2^24,2^28",
        allow_hyphen_values = true
    )]
    pub n: Sizes,

    /// The element type
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    pub element: Element,

    /// The time limit in minutes
    #[arg(long, value_name = "MINUTES", default_value = "2", value_parser = positive)]
    pub minutes: f64,

    /// The number of rounds for each size
    #[arg(long, value_name = "COUNT", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: u32,

    /// The folder of a run, to which sweep.csv is written [default: none, only the table]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// The device to measure on.
    #[command(flatten)]
    pub place: OnGpu,
}

/// Sweeps the block sizes, prints a table for each size, and writes every sample.
pub fn run(options: &Options) -> Result<(), Stop> {
    options.out.as_deref().map_or(Ok(()), make_folder).map_err(file)?;
    let rig = Rig::open(options.place.device, options.place.peers.as_deref())
        .map_err(needs_a_gpu("sweep"))?;
    progress(&rig.device.facts().line);
    let mhz = rig.wake()?;
    let end = Instant::now() + Duration::from_secs_f64(60.0 * options.minutes);
    let steps = |name: &str| STEPS.iter().any(|step| step.name == name);
    let ask = Ask {
        takes: &steps,
        blocks: Block::ALL.to_vec(),
        target: 0.0,
        least: options.rounds,
        most: options.rounds,
        callers: false,
        mhz,
    };
    let mut out = anstream::stdout();
    let mut samples = Vec::new();
    let mut left = options.n.len() as u32;
    for &Size(n) in options.n.iter() {
        let mut until = || {
            let share = end.saturating_duration_since(Instant::now()) / left.max(1);
            left = left.saturating_sub(1);
            Instant::now() + share
        };
        let found = rig.measure(options.element, n, &[Cache::Cold], &ask, &mut until)?;
        if let Some(wrong) = found.wrong.first() {
            return Err(Error::Findings(wrong.clone()).into());
        }
        writeln!(
            out,
            "{} {}, L2 cold, µs\n\n{}",
            numbers::size(n),
            options.element,
            table(&found.samples)
        )?;
        for absent in &found.absent {
            writeln!(out, "{}: {}\n", absent.variant, absent.reason)?;
        }
        out.flush()?;
        samples.extend(found.samples);
    }
    if let Some(folder) = &options.out {
        let path = folder.join("sweep.csv.gz");
        Sample::write(&path, &samples).map_err(file)?;
        writeln!(out, "every sample is in {}", path.display())?;
    }
    Ok(())
}

/// Formats the medians in a table with a row for each step and a column for each block size. The
/// best time in each row is marked.
fn table(samples: &[Sample]) -> table::Table {
    let head = ["step".to_owned()].into_iter().chain(Block::ALL.map(|b| b.threads().to_string()));
    let mut table = table::Table::new(head);
    for step in STEPS {
        let medians = Block::ALL.map(|block| {
            let times =
                samples.iter().filter(|s| s.variant == step.name && s.threads == block.threads());
            Summary::of(times.map(|s| s.ns as f64)).map(|time| time.median)
        });
        let best = medians.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        if best.is_finite() {
            let cell = |median: &Option<f64>| match median {
                Some(ns) if *ns == best => format!("{} *", table::micros(*ns)),
                Some(ns) => table::micros(*ns),
                None => "–".into(),
            };
            table.row([step.name.to_owned()].into_iter().chain(medians.iter().map(cell)));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use measured::Clock;

    use super::*;

    #[test]
    fn a_row_has_the_medians_of_a_step_and_marks_its_best() {
        let sample = |variant: &str, threads, round, ns| Sample {
            variant: variant.into(),
            element: "f32".into(),
            threads,
            n: 1 << 20,
            cache: Cache::Cold,
            clock: Clock::Gpu,
            round,
            ns,
        };
        let samples: Vec<Sample> = [(64, 3000), (128, 2000), (256, 2500)]
            .into_iter()
            .flat_map(|(threads, ns)| {
                (0..3).map(move |round| (threads, round, ns + u64::from(round)))
            })
            .flat_map(|(threads, round, ns)| {
                [
                    sample("v1-divergence", threads, round, ns),
                    sample("v9-made-up", threads, round, 1),
                ]
            })
            .collect();
        let text = table(&samples).to_string();
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
        assert_eq!(lines.len(), 3, "{text}");
        let cells = |head: &str| {
            let at = lines[0].iter().position(|cell| *cell == head);
            lines[2][at.unwrap_or_else(|| panic!("no {head}: {text}"))]
        };
        let found = ["step", "64", "128", "256", "512"].map(cells);
        assert_eq!(found, ["v1-divergence", "3.00", "2.00 *", "2.50", "–"], "{text}");
    }
}
