//! Implements `ladder validate`: predicts every measured time, and writes the errors.

mod page;

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use common::{
    Element, Error, Result, Step,
    cli::Stop,
    device::{Ptx, ptx},
    plan::{Block, Problem, Sizes},
    run::{chip, timed},
};
use measured::{Cache, Clock, Place, Run};
use numbers::{quantile, sorted};
use predict::Gpu;

use crate::options::progress;

/// The options of `ladder validate`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The folder with the results
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    pub results: PathBuf,
    /// Predict only the times of this GPU, without the predictions from its data sheet: h200 or
    /// h100
    #[arg(long, value_name = "GPU")]
    pub only: Option<String>,
}

/// The runs whose times are predicted: the GPU, the folder, and the goals for the median and the
/// largest error of the steps above 2^16 elements.
const RUNS: [(&str, &str, [f64; 2]); 2] = [
    ("h200", "2026-11-22-nvidia-h200-4", [0.08, 0.25]),
    ("h100", "2026-11-22-nvidia-h100-80gb-hbm3", [0.1, 0.3]),
];

/// The GPU whose step times determine the model's only fitted parameter.
const FITTED_ON: &str = "h200";

/// Times that were measured after the model was committed: the GPU, the file in
/// `results/predictions`, and the set of its kernels. The kernels in `unseen` were not timed
/// until the model had been committed for the last time; those in `others` are by authors who have
/// not worked on the model.
const LATER: [(&str, &str, &str); 6] = [
    ("h200", "2026-11-24-nvidia-h200/threads.txt", "later"),
    ("h200", "2026-11-24-nvidia-h200/edits.txt", "later"),
    ("h100", "2026-11-26-nvidia-h100-80gb-hbm3/threads.txt", "later"),
    ("h100", "2026-11-26-nvidia-h100-80gb-hbm3/edits.txt", "later"),
    ("h100", "2026-11-26-nvidia-h100-80gb-hbm3/unseen.txt", "unseen"),
    ("h100", "2026-11-26-nvidia-h100-80gb-hbm3/others.txt", "others"),
];

/// The folders with these kernels.
const KERNELS: [&str; 2] = ["measure/ladder/edits", "measure/ladder/others"];

/// The values that are tried for the fitted parameter, which is the number of cycles to fetch a
/// line of code.
const FETCHES: [f64; 7] = [20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0];

/// The number of elements at which that parameter is fitted.
const FITTED: u64 = 1 << 10;

/// A measured and a predicted time.
#[derive(Clone, Debug)]
pub struct Point {
    /// The set of the kernel: one of the page's sets, or `again`.
    pub set: &'static str,
    /// The kernel.
    pub kernel: String,
    /// Threads per block.
    pub threads: u32,
    /// Elements.
    pub n: u64,
    /// The median of the measurements, in microseconds.
    pub measured: f64,
    /// The predictions in microseconds: that of the full model, followed by those of the simpler
    /// models in [`MODELS`].
    pub predicted: [f64; 4],
}

/// The models, with the full model first.
pub const MODELS: [&str; 4] = ["predicted", "roofline", "instructions", "bytes in flight"];

impl Point {
    fn error(&self, model: usize) -> f64 {
        self.predicted[model] / self.measured - 1.0
    }

    fn micros(&self, model: usize) -> f64 {
        self.predicted[model] - self.measured
    }
}

/// The number of registers per thread of a kernel, and the number of blocks that fit on a
/// multiprocessor. Each number is given twice: as reported by ptxas, and as estimated.
#[derive(Clone, Debug)]
struct Registers {
    kernel: String,
    threads: u32,
    assembled: u32,
    estimated: u32,
    blocks: [u32; 2],
}

/// Predicts all measured times, and writes the predictions, the errors and the ranges.
pub fn run(options: &Options) -> Result<(), Stop> {
    let folder = options.results.join("predictions");
    let say = |file: &str, text: String| {
        write(&folder.join(file), &text)?;
        println!("{text}");
        Ok::<(), Error>(())
    };
    let mut sheets = [0.0f64; 3];
    let wanted =
        |run: &&(&str, &str, [f64; 2])| options.only.as_deref().is_none_or(|only| only == run.0);
    if !RUNS.iter().any(|run| wanted(&run)) {
        let known = RUNS.map(|run| run.0).join(" or ");
        return Err(Error::Usage(format!("no run has times to validate: choose {known}")).into());
    }
    for &(name, from, goals) in RUNS.iter().filter(wanted) {
        let gpu = named(name)?;
        let run = Run::read(&options.results.join("ladder").join(from))
            .map_err(|error| Error::Usage(error.to_string()))?;
        let fits = if name == FITTED_ON { fits(&gpu, &run)? } else { Vec::new() };
        let points = points(&gpu, name, &run, &fits, &options.results)?;
        write(&folder.join(format!("{name}.csv")), &page::csv(&points))?;
        let ranges = page::ranges(&points);
        write(&folder.join(format!("{name}.toml")), &page::toml(ranges))?;
        say(&format!("{name}.md"), page::page(&gpu, from, Some(goals), &points, &fits))?;
        if options.only.is_some() {
            continue;
        }
        // The same steps, predicted from the data sheet alone.
        let sheet = named(&format!("{name}-sheet"))?;
        let steps = steps::STEPS.iter().map(|step| ("step", *step));
        let points = times(&sheet, &run, steps, |_| None)?;
        write(&folder.join(format!("{name}-sheet.csv")), &page::csv(&points))?;
        say(&format!("{name}-sheet.md"), page::page(&sheet, from, None, &points, &[]))?;
        // The ranges for predictions from a data sheet are never narrower than those for
        // predictions from probes.
        for ranges in [ranges, page::ranges(&points)] {
            sheets.iter_mut().zip(ranges).for_each(|(most, range)| *most = most.max(range));
        }
    }
    if options.only.is_none() {
        write(&folder.join("sheets.toml"), &page::toml(sheets))?;
    }
    say("registers.md", page::registers(&registers()?))?;
    Ok(())
}

fn named(name: &str) -> Result<Gpu> {
    Gpu::named(name).map_err(|error| Error::Usage(error.to_string()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let doing = format!("writing {}", path.display());
    fs::write(path, text).map_err(|source| Error::File { doing, source })
}

/// Predicts one time, with the full model and with the simpler ones.
pub fn predict(gpu: &Gpu, step: &Step, ptx: &Ptx, n: u64, threads: u32) -> Result<[f64; 4]> {
    let block = step.block(Some(Block::new(threads)?));
    let problem = Problem { n, block, element: Element::F32, chip: chip(gpu) };
    let prediction = timed(step, ptx, gpu, problem)?;
    let first = prediction.first;
    let launches = gpu.launch[0] + (prediction.launches - 1) as f64 * gpu.launch[1];
    let bytes = n as f64 * 4.0 / f64::from(gpu.sms);
    let share = gpu.dram / f64::from(gpu.sms);
    let memory = bytes / share;
    let issue = first.ran.issued as f64 / 4.0;
    let flight = bytes / share.min(first.flight.max(1.0) / gpu.load[0][1]);
    let us = |cycles: f64| launches + cycles / gpu.mhz;
    Ok([prediction.us, us(memory.max(issue)), us(issue), us(flight)])
}

/// Returns the points of a run, and those that were measured later on the same kind of GPU. The fit
/// for a step leaves out that step.
fn points(
    gpu: &Gpu,
    name: &str,
    run: &Run,
    fits: &[(String, f64)],
    results: &Path,
) -> Result<Vec<Point>> {
    let variants =
        steps::STEPS.iter().flat_map(|step| step.variants.iter().map(|v| ("variant", v)));
    let ways = steps::STUDIES.iter().flat_map(|study| study.ways.iter().map(|way| ("study", *way)));
    let steps = steps::STEPS.iter().map(|step| ("step", *step));
    let own = |step: &str| fits.iter().find(|fit| fit.0 == step).map(|fit| fit.1);
    let mut points = times(gpu, run, steps.chain(variants).chain(ways), own)?;
    for (_, file, set) in LATER.iter().filter(|(on, ..)| *on == name) {
        let path = results.join("predictions").join(file);
        let doing = format!("reading {}", path.display());
        let text = fs::read_to_string(&path).map_err(|source| Error::File { doing, source })?;
        points.extend(later(gpu, &text, set)?);
    }
    Ok(points)
}

/// Predicts the times of these kernels in a run. `fetch` returns the fitted parameter for a kernel.
fn times<'s>(
    gpu: &Gpu,
    run: &Run,
    kernels: impl Iterator<Item = (&'static str, &'s Step)>,
    fetch: impl Fn(&str) -> Option<f64>,
) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for (set, step) in kernels {
        let own = Gpu { fetch: fetch(step.name).unwrap_or(gpu.fetch), ..gpu.clone() };
        let ptx = committed(step);
        for n in run.sizes("f32", Cache::Cold, Clock::Gpu) {
            let place = Place { element: "f32", n, cache: Cache::Cold, clock: Clock::Gpu };
            let Some(time) = run.time(step.name, &place) else { continue };
            let predicted = match predict(&own, step, &ptx, n, 256) {
                Ok(predicted) => predicted,
                Err(error) => {
                    progress(&format!("{} on {n}: {error}", step.name));
                    continue;
                }
            };
            let threads = step.block(None).threads();
            let (kernel, measured) = (step.name.to_owned(), time.median / 1000.0);
            points.push(Point { set, kernel, threads, n, measured, predicted });
        }
    }
    Ok(points)
}

/// Returns the registers of every kernel of the ladder, with blocks of 256 threads or of the
/// kernel's own size.
fn registers() -> Result<Vec<Registers>> {
    let gpu = named("h200")?;
    let mut all = Vec::new();
    for step in crate::steps_and_ways() {
        let block = step.block(None);
        let problem = Problem { n: 1 << 22, block, element: Element::F32, chip: chip(&gpu) };
        let ptx = committed(step);
        let mut edited = ptx.clone();
        // Without its stamp, the kernel is treated as an edited one.
        edited.text = ptx.text.lines().skip(4).collect::<Vec<_>>().join("\n");
        let of = |ptx: &Ptx| timed(step, ptx, &gpu, problem).map(|p| (p.assembled, p.first));
        let (Ok((true, is)), Ok((false, guess))) = (of(&ptx), of(&edited)) else { continue };
        all.push(Registers {
            kernel: step.name.to_owned(),
            threads: block.threads(),
            assembled: is.registers,
            estimated: guess.registers,
            blocks: [is.resident, guess.resident],
        });
    }
    Ok(all)
}

fn committed(step: &Step) -> Ptx {
    let text = step.kernel.ptx(Element::F32).to_owned();
    Ptx { text, source: String::new(), origin: "committed".into(), file: step.name.into() }
}

/// Returns, for each step, the parameter that best fits all other steps, and finally the parameter
/// that best fits all steps.
fn fits(gpu: &Gpu, run: &Run) -> Result<Vec<(String, f64)>> {
    let place = Place { element: "f32", n: FITTED, cache: Cache::Cold, clock: Clock::Gpu };
    let timed = |step: &&'static Step| Some((*step, run.time(step.name, &place)?.median / 1000.0));
    let known: Vec<(&Step, f64)> = steps::STEPS.iter().filter_map(timed).collect();
    // For each value of the parameter, the errors of all steps.
    let mut errors: Vec<Vec<f64>> = Vec::new();
    for fetch in FETCHES {
        let tried = Gpu { fetch, ..gpu.clone() };
        let error = |(step, measured): &(&Step, f64)| {
            let [us, ..] = predict(&tried, step, &committed(step), FITTED, 256)?;
            Ok((us / measured - 1.0).abs())
        };
        errors.push(known.iter().map(error).collect::<Result<_>>()?);
    }
    let best = |without: Option<usize>| {
        let median = |all: &Vec<f64>| {
            let kept = all.iter().enumerate().filter(|(at, _)| Some(*at) != without);
            quantile(&sorted(kept.map(|(_, error)| *error)), 0.5)
        };
        let medians: Vec<f64> = errors.iter().map(median).collect();
        let at = (0..FETCHES.len()).min_by(|&a, &b| medians[a].total_cmp(&medians[b]));
        FETCHES[at.unwrap_or_default()]
    };
    let mut all: Vec<(String, f64)> = known
        .iter()
        .enumerate()
        .map(|(at, (step, _))| (step.name.to_owned(), best(Some(at))))
        .collect();
    all.push(("none".to_owned(), best(None)));
    Ok(all)
}

/// Reads the output of `ladder compare`. A kernel that was known before is in the set `again`,
/// directly before the edit with which it is compared.
fn later(gpu: &Gpu, text: &str, set: &'static str) -> Result<Vec<Point>> {
    let (mut points, mut threads) = (Vec::new(), 256);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# threads ") {
            let word = rest.split(' ').next().unwrap_or_default();
            threads = word
                .parse()
                .map_err(|_| Error::Usage(format!("`{line}` has no number of threads")))?;
        } else if line.starts_with('#') {
            threads = 256;
        }
        let Some((size, rest)) = line.trim().split_once(" f32, L2 cold: ") else { continue };
        let sizes: Sizes = size.parse().map_err(Error::Usage)?;
        let n = sizes.iter().map(|size| size.0).next().unwrap_or_default();
        let cut = |text: &str, a: &str, b: &str| {
            let from = text.find(a)? + a.len();
            Some(text[from..].split(b).next()?.trim().to_owned())
        };
        let missing =
            || Error::Usage(format!("`{line}` is not a line of the output of `ladder compare`"));
        let second = rest.split(" against ").next().ok_or_else(missing)?.to_owned();
        let first = cut(rest, " against ", ":").ok_or_else(missing)?;
        // A wrong kernel has no prediction, even if its sums are right at some sizes.
        if text.contains(&format!("error: {second} is wrong")) {
            continue;
        }
        let times = cut(rest, "(", " µs").ok_or_else(missing)?;
        let (fast, slow) = times.split_once(" against ").ok_or_else(missing)?;
        for (kernel, us) in [(first, slow), (second, fast)] {
            let measured = us.parse().map_err(|_| missing())?;
            let (step, ptx) = edit(&kernel)?;
            let predicted = predict(gpu, step, &ptx, n, threads)?;
            let known = threads == 256 && !kernel.ends_with(".ptx") && !kernel.starts_with("v13");
            let set = if known { "again" } else { set };
            let threads = step.block(Some(Block::new(threads)?)).threads();
            let kernel = kernel.trim_end_matches(".f32.ptx").to_owned();
            points.push(Point { set, kernel, threads, n, measured, predicted });
        }
    }
    Ok(points)
}

/// Returns the step with this name or, for an edit, the edited step with the edit's PTX.
fn edit(kernel: &str) -> Result<(&'static Step, Ptx)> {
    if !kernel.ends_with(".ptx") {
        let step = steps::step(kernel)?;
        return Ok((step, committed(step)));
    }
    let number = kernel.split('-').next().unwrap_or_default();
    let of = |step: &&&'static Step| step.name.split('-').next() == Some(number);
    let step = steps::STEPS
        .iter()
        .find(of)
        .ok_or_else(|| Error::Usage(format!("no step for {kernel}")))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let paths = KERNELS.map(|folder| root.join(folder).join(kernel));
    let path = paths.iter().find(|path| path.exists()).unwrap_or(&paths[0]);
    Ok((step, ptx::by(None, &step.kernel, Element::F32, Some(path))?))
}
