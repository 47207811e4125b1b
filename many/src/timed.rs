//! The commands `many measure` and `many model`, which print tables of measured times and of the
//! model's predictions.

use std::{fmt::Write as _, fs, path::Path, time::Instant};

use many::{
    Error, Options, Result,
    measure::{Bench, Sample},
    model::{self, Times},
    nccl::Nccl,
};

use crate::{
    args::{Measure, Model},
    say::{self, failed, say},
    sum,
};

/// The first line of a file of samples, which contains the column names.
const HEAD: &str = "n,competitor,clock,round,gpu,us\n";

/// Measures every length on all GPUs.
pub(crate) fn measure(asked: &Measure) -> Result<()> {
    if let Some(path) = &asked.csv {
        folder_of(path)?;
    }
    let world = world(asked.gpus, "measure")?;
    let nccl = match asked.without_nccl {
        true => None,
        false => {
            sum::multicast(asked.engine.multicast)?;
            Some(Nccl::find(asked.engine.nccl.as_deref())?)
        }
    };
    let options = Options { timeout: asked.engine.timeout, ..Options::default() };
    let bench = Bench::new(world as usize, nccl.as_ref(), &options)?;
    let start = Instant::now();
    let mut csv = HEAD.to_owned();
    for n in asked.n.iter().map(|size| &size.0) {
        if start.elapsed() > asked.within {
            say(&format!(
                "{n} and later lengths are skipped: the time budget of {:.0} s is used up",
                asked.within.as_secs_f64()
            ));
            break;
        }
        let mut keep = |sample: Sample| {
            let Sample { n, competitor, clock, round, gpu, micros } = sample;
            let _ = writeln!(csv, "{n},{competitor},{clock},{round},{gpu},{micros:.3}");
        };
        match bench.at(*n, asked.rounds, &mut keep) {
            Ok(()) => {}
            // If the driver returns an error at one length, prints the error and continues with the
            // next length.
            Err(error @ Error::Driver { .. }) => say(&format!("{n}: {error}")),
            Err(error) => return Err(error),
        }
        if let Some(path) = &asked.csv {
            fs::write(path, &csv)
                .map_err(|error| failed(format!("cannot write {}: {error}", path.display())))?;
        }
    }
    gated(&read(&csv)?);
    Ok(())
}

/// Returns the number of GPUs that a command uses: by default, all the GPUs of this machine.
pub(crate) fn world(asked: Option<u32>, command: &str) -> Result<u32> {
    let gpus = sum::gpus();
    if gpus == 0 {
        let why = reduce::open(0).err();
        let why = match why {
            None | Some(reduce::Error::NoDriver) => "no NVIDIA driver can be loaded".to_owned(),
            Some(why) => why.to_string(),
        };
        return Err(failed(format!(
            "`many {command}` needs GPUs, but this machine has none ({why}): use `many sum --device simt`, which needs none"
        )));
    }
    let world = asked.unwrap_or(gpus);
    if world == 0 || world > gpus {
        return Err(failed(format!(
            "{world} GPUs were requested, but this machine has {gpus}: request fewer"
        )));
    }
    Ok(world)
}

/// Creates the folder for a file before anything is measured.
fn folder_of(path: &Path) -> Result<()> {
    measured::file::make_folder_of(path).map_err(|error| failed(error.to_string()))
}

fn read(csv: &str) -> Result<Times> {
    Times::read(csv).map_err(failed)
}

/// Returns a time in microseconds as text, with at most two decimals, or a dash if there is no
/// time.
fn cell(time: Option<f64>) -> String {
    let digits = |time: f64| match time.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        _ => 2,
    };
    time.map_or("–".to_owned(), |time| format!("{time:.*}", digits(time)))
}

/// The ways to exchange chunk sums: the names in the samples, and in the tables.
const WAYS: [(&str, &str); 3] =
    [("kernel", "in-kernel"), ("gather", "all-gather"), ("reduce", "all-reduce")];

/// Returns the name of a way in the tables.
fn named(way: &str) -> String {
    WAYS.iter().find(|(name, _)| *name == way).map_or(way, |(_, shown)| shown).to_owned()
}

/// Returns a gated time of the exchange inside the kernel, or a dash if the ranks exchange elements.
/// Such times exceed the wall times.
fn valid(n: u64, time: String) -> String {
    if model::parts(n) { time } else { "–".to_owned() }
}

/// Prints the median times of GPU-gated runs in microseconds, and the differences between runs of
/// the same round.
fn gated(times: &Times) {
    let ways = WAYS.map(|(_, shown)| shown);
    say("Two GPUs: medians of GPU-gated times, in µs. `one` is the sum on one GPU.\n\
         `share` is the time that the slower GPU takes for its shard alone. `in-kernel`,\n\
         `all-gather` and `all-reduce` are sums that exchange chunk sums inside the\n\
         kernels, by an all-gather, or by an all-reduce of integers. `totals` is a sum\n\
         that exchanges totals by an all-reduce. Below 2^16, the gated times of `in-kernel`\n\
         exceed the wall times, so they are omitted.\n");
    let row = |n: u64| {
        let of = |competitor| cell(times.median(competitor, n));
        let [kernel, gather, reduce] = WAYS.map(|(way, _)| of(way));
        let kernel = valid(n, kernel);
        [numbers::size(n), of("one"), of("share"), kernel, gather, reduce, of("totals")]
    };
    let rows: Vec<_> = times.lengths("one").into_iter().map(row).collect();
    say::table(["n", "one", "share", ways[0], ways[1], ways[2], "totals"], &rows);
    say("\nMedians of the differences within a round, in µs: `cut` is the time of the slower\n\
         GPU for the chunks of its shard, minus `share`. The next three columns are the\n\
         times of the sums minus `share`. `bits` is `all-gather` minus `totals`.\n");
    let row = |n: u64| {
        let above =
            |competitor, base| cell(times.above(competitor, base, n).map(|above| above.median));
        let [kernel, gather, reduce] = WAYS.map(|(way, _)| above(way, "share"));
        let kernel = valid(n, kernel);
        let (cut, bits) = (above("parts", "share"), above("gather", "totals"));
        [numbers::size(n), cut, kernel, gather, reduce, bits]
    };
    let rows: Vec<_> = times.lengths("one").into_iter().map(row).collect();
    say::table(["n", "cut", ways[0], ways[1], ways[2], "bits"], &rows);
    if let Some(told) = times.above_at_all("told", "kernel") {
        say(&format!(
            "\nIn-kernel exchange: returning the result to the host takes {told:.2} µs more."
        ));
    }
}

/// Prints the wall times of this program's sums and, if the samples contain them, of torch's sums.
fn callers(times: &Times) {
    let torch = times.called("torch");
    if torch.is_empty() {
        return;
    }
    say("\nWall time, two GPUs: the medians, in µs:\n");
    let names = ["one", "kernel", "gather", "reduce", "torch"];
    let row = |n| {
        let [a, b, c, d, e] = names.map(|name| cell(times.caller(name, n)));
        [numbers::size(n), a, b, c, d, e]
    };
    let rows: Vec<_> = torch.into_iter().map(row).collect();
    let [a, b, c, d, e] = names.map(named);
    say::table(["n", &a, &b, &c, &d, &e], &rows);
}

/// Prints the scaling from one GPU to two: the speedup for a fixed length, and the efficiency for
/// twice as many elements.
fn scaling(times: &Times) {
    let over = |one: u64, competitor: &str, two: u64| {
        Some(times.median("one", one)? / times.median(competitor, two)?)
    };
    let or_none = |figure: Option<String>| figure.unwrap_or_else(|| "–".to_owned());
    let rows = WAYS.map(|(way, shown)| {
        let strong = over(1 << 28, way, 1 << 28).map(|times| format!("{times:.2}"));
        let weak = over(1 << 30, way, 1 << 31).map(|times| format!("{:.1} %", 100.0 * times));
        let from = times.pays_from(way).map(numbers::size);
        [shown.to_owned(), or_none(from), or_none(strong), or_none(weak)]
    });
    say("\nThe length from which two GPUs are faster than one, their speedup for 2^28\n\
         elements (strong scaling), and the speed per GPU with 2^30 elements on each, in\n\
         % of one GPU's speed (weak scaling).\n");
    say::table(["way", "faster from", "strong", "weak"], &rows);
}

/// Prints the model's predictions for held-out lengths, together with the measured times, and its
/// predictions for more than two GPUs.
pub(crate) fn model(asked: &Model) -> Result<()> {
    let path = asked.csv.display();
    let csv = measured::file::read(&asked.csv).map_err(|error| failed(error.to_string()))?;
    let csv = String::from_utf8(csv).map_err(|_| failed(format!("{path} is not UTF-8")))?;
    let times = read(&csv)?;
    if times.lengths("share").is_empty() {
        return Err(failed(format!(
            "{path} has no GPU-gated times of two GPUs: measure them with `many measure --csv`"
        )));
    }
    gated(&times);
    scaling(&times);
    callers(&times);
    say("\nTimes on two GPUs that were held out of the fit, in µs:\n");
    let row = |line: model::Line| {
        let error = 100.0 * (line.model / line.measured - 1.0);
        [
            named(line.competitor),
            numbers::size(line.n),
            cell(Some(line.model)),
            cell(Some(line.measured)),
            format!("{error:+.1} %"),
        ]
    };
    let rows: Vec<_> = times.held_out().into_iter().map(row).collect();
    say::table(["way", "n", "model", "measured", "error"], &rows);
    say("\nModel: predicted times, in µs, by number of GPUs, with eight GPUs per host.");
    say("Only two GPUs were measured, so the times for 4 and 8 GPUs are rounded to whole\n\
         µs, and the times for 64 and 1024 GPUs to two digits.\n");
    let powers = times.lengths("share").into_iter().filter(|n| n.is_power_of_two());
    let row = |competitor: &str, n: u64| {
        let [a, b, c, d, e] = [2, 4, 8, 64, 1024].map(|p| {
            let time = times.predict(competitor, n / 2, p);
            time.map_or("–".to_owned(), |time| modelled(time, p))
        });
        [named(competitor), numbers::size(n / 2), a, b, c, d, e]
    };
    let rows: Vec<_> = powers
        .filter(|n| model::parts(*n))
        .flat_map(|n| WAYS.map(|(competitor, _)| row(competitor, n)))
        .collect();
    say::table(["way", "elements / GPU", "2", "4", "8", "64", "1024"], &rows);
    Ok(())
}

/// Returns a modelled time for `gpus` GPUs as text, with no more digits than the model's precision
/// supports.
fn modelled(time: f64, gpus: u32) -> String {
    match gpus {
        ..=2 => format!("{time:.1}"),
        3..=8 => format!("{time:.0}"),
        _ => {
            let digit = 10f64.powf(time.log10().floor() - 1.0).max(1.0);
            format!("{:.0}", (time / digit).round() * digit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_prints_no_more_digits_than_it_supports() {
        assert_eq!([2, 8].map(|gpus| modelled(87.64, gpus)), ["87.6", "88"]);
        assert_eq!(
            [87.64, 1251.7, 995.0, 9.6].map(|time| modelled(time, 64)),
            ["88", "1300", "1000", "10"]
        );
    }
}
