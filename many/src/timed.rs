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

fn read(csv: &str) -> Result<Times> {
    Times::read(csv).map_err(failed)
}

/// A number of microseconds, if there is one.
fn cell(time: Option<f64>) -> String {
    time.map_or("–".to_owned(), |time| format!("{time:.2}"))
}

/// Medians of gated runs, in microseconds, and what they are above others in their own round.
fn table(times: &Times) {
    let names = ["n", "one GPU", "its share", "the cut", "in-kernel", "Δ", "all-gather", "Δ"];
    let more = ["integer all-reduce", "Δ", "totals", "the same bits"];
    say(&format!("| {} | {} |", names.join(" | "), more.join(" | ")));
    say(&format!("|{}", "--:|".repeat(names.len() + more.len())));
    for n in times.lengths("one") {
        let of = |contender| cell(times.median(contender, n));
        let above =
            |contender, base| cell(times.above(contender, base, n).map(|above| above.median));
        let cells = [
            n.to_string(),
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
        ];
        say(&format!("| {} |", cells.join(" | ")));
    }
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
    say(
        "| n | one GPU | in-kernel | all-gather | integer all-reduce | torch |\n|--:|--:|--:|--:|--:|--:|",
    );
    for n in torch {
        let names = ["one", "kernel", "gather", "reduce", "torch"];
        let cells = names.map(|name| cell(times.caller(name, n)));
        say(&format!("| {n} | {} |", cells.join(" | ")));
    }
}

/// How much two GPUs are worth: of one sum in less time, and of twice as many elements in the same.
fn scaling(times: &Times) {
    let ways = [("in-kernel", "kernel"), ("all-gather", "gather"), ("all-reduce", "reduce")];
    let from = ways.map(|(name, contender)| match times.pays_from(contender) {
        Some(n) => format!("{name} from {n} elements on"),
        None => format!("{name} at no length"),
    });
    say(&format!("\nTwo GPUs take less than one: {}.", from.join(", ")));
    let over = |one: u64, contender: &str, two: u64| {
        Some(times.median("one", one)? / times.median(contender, two)?)
    };
    let each = |of: &dyn Fn(&str) -> Option<String>| {
        let all = ways.map(|(name, contender)| Some(format!("{name} {}", of(contender)?)));
        all.into_iter().collect::<Option<Vec<_>>>().map(|all| all.join(", "))
    };
    let strong = |contender: &str| Some(format!("{:.2}", over(1 << 28, contender, 1 << 28)?));
    let weak =
        |contender: &str| Some(format!("{:.1} %", 100.0 * over(1 << 30, contender, 1 << 31)?));
    if let Some(strong) = each(&strong) {
        say(&format!("Strong scaling at 2^28, times one GPU: {strong}."));
    }
    if let Some(weak) = each(&weak) {
        say(&format!("Weak scaling at 2^30 a GPU: {weak}."));
    }
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
    say(
        "Gated, two GPUs, medians, µs; Δ is what is above the slower GPU's own share in the same round, and the same bits cost what an all-gather is above totals:\n",
    );
    table(&times);
    scaling(&times);
    callers(&times);
    say(
        "\nHeld out, two GPUs, µs:\n\n| contender | n | model | measured | error |\n|:--|--:|--:|--:|--:|",
    );
    for line in times.held_out() {
        let error = 100.0 * (line.model / line.measured - 1.0);
        say(&format!(
            "| {} | {} | {:.2} | {:.2} | {error:+.1} % |",
            line.contender, line.n, line.model, line.measured
        ));
    }
    say(
        "\nModel, eight GPUs a host, µs:\n\n| elements a GPU | contender | 2 | 4 | 8 | 64 | 1024 |\n|--:|:--|--:|--:|--:|--:|--:|",
    );
    let powers = times.lengths("share").into_iter().filter(|n| n.is_power_of_two());
    for n in powers.filter(|n| model::parts(*n)) {
        for contender in ["kernel", "gather", "reduce"] {
            let of = |p| times.predict(contender, n / 2, p);
            let cell =
                |time: Option<f64>| time.map_or("–".to_owned(), |time| format!("{time:.1}"));
            let cells = [2, 4, 8, 64, 1024].map(|p| cell(of(p)));
            say(&format!("| {} | {contender} | {} |", n / 2, cells.join(" | ")));
        }
    }
    Ok(())
}
