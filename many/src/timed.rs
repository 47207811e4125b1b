//! `many measure` and `many model`: tables of times, and of what a model makes of them.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Read},
    path::Path,
    time::Instant,
};

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

/// The order of a file of samples.
const HEAD: &str = "n,contender,clock,round,gpu,us\n";

/// Times every length on all GPUs.
pub(crate) fn measure(asked: &Measure) -> Result<()> {
    let gpus = sum::gpus();
    if gpus == 0 {
        reduce::open(0)?;
    }
    let world = asked.gpus.unwrap_or(gpus);
    if world == 0 || world > gpus {
        return Err(failed(format!(
            "{world} GPUs are asked for, and this machine has {gpus}: ask for fewer"
        )));
    }
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
    for n in &asked.n {
        if start.elapsed() > asked.within {
            say(&format!(
                "{n} and what follows are left out: {:.0} s are over",
                asked.within.as_secs_f64()
            ));
            break;
        }
        let mut keep = |sample: Sample| {
            let Sample { n, contender, clock, round, gpu, micros } = sample;
            let _ = writeln!(csv, "{n},{contender},{clock},{round},{gpu},{micros:.3}");
        };
        match bench.at(*n, asked.rounds, &mut keep) {
            Ok(()) => {}
            // What does not fit is a line, and the others go on.
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

/// What a file says, packed or not.
fn text(path: &Path) -> io::Result<String> {
    if path.extension().is_none_or(|end| end != "gz") {
        return fs::read_to_string(path);
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

fn read(csv: &str) -> Result<Times> {
    Times::read(csv).map_err(failed)
}

/// A number of microseconds, if there is one, to four digits and to a hundredth at most.
fn cell(time: Option<f64>) -> String {
    let digits = |time: f64| match time.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        _ => 2,
    };
    time.map_or("–".to_owned(), |time| format!("{time:.*}", digits(time)))
}

/// Medians of gated runs, in microseconds, and what they are above others in their own round.
fn gated(times: &Times) {
    say("Two GPUs, gated, medians, µs.");
    say("one: one GPU. share: the slower GPU's own share. cut: the parts alone above it.");
    say("kernel, gather, reduce: exchanged in the kernel, by an all-gather, by an");
    say("all-reduce of integers; Δ: that above the share, in the same round.");
    say("totals: an all-reduce of totals. bits: the all-gather above it.\n");
    let row = |n: u64| {
        let of = |contender| cell(times.median(contender, n));
        let above =
            |contender, base| cell(times.above(contender, base, n).map(|above| above.median));
        [
            numbers::size(n),
            of("one"),
            of("share"),
            above("parts", "share"),
            of("kernel"),
            above("kernel", "share"),
            of("gather"),
            above("gather", "share"),
            of("reduce"),
            above("reduce", "share"),
            of("totals"),
            above("gather", "totals"),
        ]
    };
    let rows: Vec<_> = times.lengths("one").into_iter().map(row).collect();
    say::table(
        ["n", "one", "share", "cut", "kernel", "Δ", "gather", "Δ", "reduce", "Δ", "totals", "bits"],
        &rows,
    );
    if let Some(told) = times.above_at_all("told", "kernel") {
        say(&format!("\nIn-kernel, a result that the host is told of takes {told:.2} µs more."));
    }
}

/// What a caller waits for, and torch's beside it.
fn callers(times: &Times) {
    let torch = times.called("torch");
    if torch.is_empty() {
        return;
    }
    say("\nA caller waits, two GPUs, medians, µs:\n");
    let names = ["one", "kernel", "gather", "reduce", "torch"];
    let row = |n| {
        let [one, kernel, gather, reduce, torch] = names.map(|name| cell(times.caller(name, n)));
        [numbers::size(n), one, kernel, gather, reduce, torch]
    };
    let rows: Vec<_> = torch.into_iter().map(row).collect();
    say::table(["n", "one", "kernel", "gather", "reduce", "torch"], &rows);
}

/// How much two GPUs are worth: of one sum in less time, and of twice as many elements in the same.
fn scaling(times: &Times) {
    let over = |one: u64, contender: &str, two: u64| {
        Some(times.median("one", one)? / times.median(contender, two)?)
    };
    let or_none = |figure: Option<String>| figure.unwrap_or_else(|| "–".to_owned());
    let rows = ["kernel", "gather", "reduce"].map(|way| {
        let strong = over(1 << 28, way, 1 << 28).map(|times| format!("{times:.2}"));
        let weak = over(1 << 30, way, 1 << 31).map(|times| format!("{:.1} %", 100.0 * times));
        let from = times.pays_from(way).map(numbers::size);
        [way.to_owned(), or_none(from), or_none(strong), or_none(weak)]
    });
    say("\nTwo GPUs: from which length on they take less than one; how many times as fast");
    say("they add 2^28 elements (strong scaling); and 2^30 elements each, as a share of");
    say("one GPU's speed (weak scaling).\n");
    say::table(["way", "less from", "strong", "weak"], &rows);
}

/// The model's lines: held against what was not fitted, and beyond two GPUs.
pub(crate) fn model(asked: &Model) -> Result<()> {
    let path = asked.csv.display();
    let csv = text(&asked.csv).map_err(|error| failed(format!("cannot read {path}: {error}")))?;
    let times = read(&csv)?;
    if times.lengths("share").is_empty() {
        return Err(failed(format!(
            "{path} has no gated times of two GPUs: make some with many measure --csv"
        )));
    }
    gated(&times);
    scaling(&times);
    callers(&times);
    say("\nHeld out of the fit, two GPUs, µs:\n");
    let row = |line: model::Line| {
        let error = 100.0 * (line.model / line.measured - 1.0);
        [
            line.contender.to_owned(),
            numbers::size(line.n),
            cell(Some(line.model)),
            cell(Some(line.measured)),
            format!("{error:+.1} %"),
        ]
    };
    let rows: Vec<_> = times.held_out().into_iter().map(row).collect();
    say::table(["way", "n", "model", "measured", "error"], &rows);
    say("\nModel, eight GPUs a host, µs, by how many GPUs there are:\n");
    let powers = times.lengths("share").into_iter().filter(|n| n.is_power_of_two());
    let row = |contender: &str, n: u64| {
        let [a, b, c, d, e] = [2, 4, 8, 64, 1024].map(|p| {
            let time = times.predict(contender, n / 2, p);
            time.map_or("–".to_owned(), |time| format!("{time:.1}"))
        });
        [contender.to_owned(), numbers::size(n / 2), a, b, c, d, e]
    };
    let rows: Vec<_> = powers
        .filter(|n| model::parts(*n))
        .flat_map(|n| ["kernel", "gather", "reduce"].map(|contender| row(contender, n)))
        .collect();
    say::table(["way", "elements a GPU", "2", "4", "8", "64", "1024"], &rows);
    Ok(())
}
