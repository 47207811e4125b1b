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
    model::Gated,
    nccl::Nccl,
};

use crate::{
    args::{Measure, Model},
    say::{failed, say},
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
            sum::multicast(asked.meeting.multicast)?;
            Some(Nccl::find(asked.meeting.nccl.as_deref())?)
        }
    };
    let options = Options { timeout: asked.meeting.timeout, ..Options::default() };
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
    table(&read(&csv)?);
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

fn read(csv: &str) -> Result<Gated> {
    Gated::read(csv).map_err(failed)
}

/// Medians, in microseconds.
fn table(gated: &Gated) {
    say(
        "| n | one GPU | its share | in-kernel | Δ | all-gather | Δ | integer all-reduce | totals |",
    );
    say("|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for n in gated.lengths("one") {
        let of = |contender| gated.median(contender, n);
        let cell = |time: Option<f64>| time.map_or("–".to_owned(), |time| format!("{time:.2}"));
        let above = |time: Option<f64>| cell(time.zip(of("share")).map(|(all, share)| all - share));
        let (kernel, gather) = (of("kernel"), of("gather"));
        let cells = [
            n.to_string(),
            cell(of("one")),
            cell(of("share")),
            cell(kernel),
            above(kernel),
            cell(gather),
            above(gather),
            cell(of("reduce")),
            cell(of("totals")),
        ];
        say(&format!("| {} |", cells.join(" | ")));
    }
}

/// The model's lines: held against what was not fitted, and beyond two GPUs.
pub(crate) fn model(asked: &Model) -> Result<()> {
    let path = asked.csv.display();
    let csv = text(&asked.csv).map_err(|error| failed(format!("cannot read {path}: {error}")))?;
    let gated = read(&csv)?;
    if gated.lengths("share").is_empty() {
        return Err(failed(format!(
            "{path} has no gated times of two GPUs: make some with many measure --csv"
        )));
    }
    say("Gated, two GPUs, medians, µs; Δ is what is above the slower GPU's own share:\n");
    table(&gated);
    let ways = [("in-kernel", "kernel"), ("all-gather", "gather"), ("all-reduce", "reduce")];
    let from = ways.map(|(name, contender)| match gated.pays_from(contender) {
        Some(n) => format!("{name} from {n} elements on"),
        None => format!("{name} at no length"),
    });
    say(&format!("\nTwo GPUs take less than one: {}.", from.join(", ")));
    say(
        "\nHeld out, two GPUs, µs:\n\n| contender | n | model | measured | error |\n|:--|--:|--:|--:|--:|",
    );
    for line in gated.held_out() {
        let error = 100.0 * (line.model / line.measured - 1.0);
        say(&format!(
            "| {} | {} | {:.2} | {:.2} | {error:+.1} % |",
            line.contender, line.n, line.model, line.measured
        ));
    }
    say(
        "\nModel, eight GPUs a host, µs:\n\n| elements a GPU | contender | 2 | 4 | 8 | 64 | 1024 |\n|--:|:--|--:|--:|--:|--:|--:|",
    );
    for n in gated.lengths("share").into_iter().filter(|n| n.is_power_of_two()) {
        for contender in ["kernel", "gather", "reduce"] {
            let of = |p| gated.predict(contender, n / 2, p);
            let cell =
                |time: Option<f64>| time.map_or("–".to_owned(), |time| format!("{time:.1}"));
            let cells = [2, 4, 8, 64, 1024].map(|p| cell(of(p)));
            say(&format!("| {} | {contender} | {} |", n / 2, cells.join(" | ")));
        }
    }
    Ok(())
}
