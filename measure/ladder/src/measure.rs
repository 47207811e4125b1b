//! Implements `ladder measure`, which times all competitors in interleaved rounds, and writes a
//! folder in `results/`.

mod todo;

use std::{
    collections::HashSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;
use common::{
    Element, Error, Result,
    cli::Stop,
    plan::{Block, Sizes},
    ptx,
};
use measured::{
    Absent, Cache, Cell, Clock, Env, Gpu, Method, Run, Sample, Sum, Taken, Variant,
    file::make_folder, page,
};

use self::todo::Todo;
use crate::{
    STEPS,
    cell::{Ask, Found, INPUT, SEED},
    date,
    options::{CacheName, OnGpu, positive, progress},
    rig::Rig,
    stop::{file, needs_a_gpu},
};

/// The options of `ladder measure`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The numbers of elements, as a list [default: 2^10 to 2^32, in powers of four]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub n: Option<Sizes>,

    /// The element types, as a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32,i32")]
    pub element: Vec<Element>,

    /// The cache states, as a list: cold (input in memory) or warm (input in L2, only for sizes
    /// that fit)
    #[arg(
        long,
        value_enum,
        value_name = "CACHE",
        value_delimiter = ',',
        default_value = "cold,warm"
    )]
    pub cache: Vec<CacheName>,

    /// The number of threads per block, for the steps
    #[arg(long, value_name = "THREADS", default_value = "256")]
    pub threads: Block,

    /// The time limit in minutes; sizes that are not reached are omitted, and the run lists them
    #[arg(long, value_name = "MINUTES", default_value = "10", value_parser = positive)]
    pub minutes: f64,

    /// The width of a paired ratio's interval, in percent of the ratio, at which rounds stop
    #[arg(long, value_name = "PERCENT", default_value = "0.5", value_parser = positive)]
    pub percent: f64,

    /// The maximum number of rounds for a type, size and cache state
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rounds: u32,

    /// Measure only these steps and peers, given as a list of names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,

    /// The folder in which the run's folder is created
    #[arg(long, value_name = "FOLDER", default_value = "results/ladder")]
    pub out: PathBuf,

    /// The device to measure on.
    #[command(flatten)]
    pub place: OnGpu,
}

/// The facts about a run that are known when it starts.
struct Begun {
    started: Instant,
    date: String,
    time: String,
    mhz: u32,
    sensors: Sensors,
}

fn sensors(rig: &Rig) -> Sensors {
    (rig.monitor.celsius(), rig.monitor.watts())
}

/// Measures, and writes a folder.
pub fn run(options: &Options) -> Result<(), Stop> {
    let started = Instant::now();
    let (date, time) = date::now();
    make_folder(&options.out).map_err(file)?;
    let rig = Rig::open(options.place.device, options.place.peers.as_deref())
        .map_err(needs_a_gpu("measure"))?;
    progress(&rig.device.facts().line);
    let mhz = rig.wake()?;
    let begun = Begun { started, date, time, mhz, sensors: sensors(&rig) };
    let takes = |name: &str| options.only.is_empty() || options.only.iter().any(|n| n == name);
    let ask = Ask {
        takes: &takes,
        blocks: vec![options.threads],
        target: options.percent / 100.0,
        least: 20.min(options.rounds),
        most: options.rounds,
        callers: true,
        mhz,
    };
    let todo = todo::all(options, rig.device.facts().l2)?;
    match cells(options, &rig, &begun, &ask, &todo)? {
        (Some(folder), all) => finish(&folder, &all),
        (None, _) => Err(Error::Usage(
            "there is nothing to measure: no size fits in L2, and `--cache` excludes cold; pass smaller sizes, or `--cache cold`".into(),
        )
        .into()),
    }
}

/// Measures all cells within the time limit. The run is written after each cell, so that an
/// interrupted run keeps its finished cells.
fn cells(
    options: &Options,
    rig: &Rig,
    begun: &Begun,
    ask: &Ask<'_>,
    todo: &[Todo],
) -> Result<(Option<PathBuf>, Found), Stop> {
    let mut left: u32 = todo.iter().map(Todo::weights).sum();
    // The wall times of the last size are measured only after that size has used up its share of
    // the time, so extra time is reserved for them.
    let end = begun.started + Duration::from_secs_f64(60.0 * options.minutes * 0.95);
    let mut all = Found { gated: true, ..Found::default() };
    let mut folder = None;
    for cell in todo {
        let (element, n) = (cell.element, cell.n);
        if Instant::now() >= end {
            all.absent.push(Absent {
                variant: "everything".into(),
                element: element.to_string(),
                n,
                reason: format!("the time limit of {} minutes was reached first", options.minutes),
            });
            left -= cell.weights();
            continue;
        }
        // Time that a cell does not use remains for later cells, which are larger.
        let mut until = || {
            let weight = cell.weight();
            let share = end.saturating_duration_since(Instant::now()) * weight / left.max(weight);
            left = left.saturating_sub(weight);
            Instant::now() + share
        };
        let found = rig.measure(element, n, &cell.caches, ask, &mut until)?;
        for cell in &found.cells {
            progress(&said(cell));
        }
        add(&mut all, found);
        let folder = match &folder {
            Some(folder) => folder,
            None => folder.insert(make(&options.out, &begun.date, &rig.device.facts().name)?),
        };
        write(folder, &env(rig, begun, ask, &all)?, &all)?;
    }
    Ok((folder, all))
}

/// Describes the part of the run that has finished so far.
fn env(rig: &Rig, begun: &Begun, ask: &Ask<'_>, all: &Found) -> Result<Env> {
    let missing = rig.peers.missing(ask.takes).into_iter();
    Ok(Env {
        run: Taken {
            date: begun.date.clone(),
            time: begun.time.clone(),
            commit: option_env!("LADDER_COMMIT").unwrap_or("not known").to_owned(),
            command: command(std::env::args()),
            seconds: (begun.started.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        },
        gpu: gpu(rig, begun.mhz, &begun.sensors, &sensors(rig))?,
        method: Method {
            input: INPUT.to_string(),
            seed: SEED,
            gated: all.gated,
            pool_bytes: all.pool,
            target: ask.target,
            rounds: ask.most,
            ptx: kernels(),
            peers: rig.peers.versions(),
        },
        variant: in_order(&all.variants),
        absent: missing.chain(all.absent.iter().cloned()).collect(),
    })
}

/// Writes the page, checks the run for consistency, and prints the short table.
fn finish(folder: &Path, all: &Found) -> Result<(), Stop> {
    let run = Run::read(folder).map_err(file)?;
    let readme = folder.join("README.md");
    fs::write(&readme, page::of(&run, page::Writer::Ladder))
        .map_err(|source| Error::File { doing: format!("writing {}", readme.display()), source })?;
    let mut out = anstream::stdout();
    writeln!(out, "{}", short(&run))?;
    writeln!(out, "every sample is in {}", folder.display())?;
    let mut faults = measured::check::faults(&run);
    faults.extend(all.wrong.iter().cloned());
    match faults.as_slice() {
        [] => Ok(()),
        faults => Err(Error::Findings(format!(
            "impossible figures: {}\n  {}",
            faults.len(),
            faults.join("\n  ")
        ))
        .into()),
    }
}

/// Formats the times of every variant, at every size, for the first type.
fn short(run: &Run) -> String {
    let element = run.elements().first().cloned().unwrap_or_default();
    let cache = match run.sizes(&element, Cache::Cold, Clock::Gpu).is_empty() {
        true => Cache::Warm,
        false => Cache::Cold,
    };
    let times = measured::page::times(run, &element, cache, Clock::Gpu);
    let ratios = measured::page::against(run, &element, cache);
    let title = format!("{element}, L2 {cache}, medians in µs\n\n{times}");
    match ratios.is_empty() {
        true => title,
        false => format!("{title}\nspeedup over CUB\n\n{ratios}"),
    }
}

/// Formats a progress line for a finished cell.
fn said(cell: &Cell) -> String {
    format!(
        "{:>6} {} {}: {} rounds{}, widest interval {:.2} % ({}){}, {:.1} s",
        numbers::size(cell.n),
        cell.element,
        cell.cache,
        cell.rounds,
        match cell.rejected {
            0 => String::new(),
            rejected => format!(" and {rejected} discarded"),
        },
        100.0 * cell.widest,
        cell.pair,
        if cell.converged { "" } else { ", not converged" },
        cell.seconds
    )
}

fn add(all: &mut Found, found: Found) {
    all.samples.extend(found.samples);
    all.cells.extend(found.cells);
    let known: HashSet<String> = all.variants.iter().map(|v| v.name.clone()).collect();
    all.variants.extend(found.variants.into_iter().filter(|v| !known.contains(&v.name)));
    all.absent.extend(found.absent);
    all.sums.extend(found.sums);
    all.wrong.extend(found.wrong);
    all.pool = all.pool.max(found.pool);
    all.gated &= found.gated;
}

/// Returns the variants in the order used in every table: steps in the order of the lessons,
/// `reduce`, studies, peers, ceilings, and the floor.
fn in_order(variants: &[Variant]) -> Vec<Variant> {
    let place = |variant: &Variant| STEPS.iter().position(|step| step.name == variant.name);
    let mut variants = variants.to_vec();
    variants.sort_by_key(|variant| (variant.role, place(variant)));
    variants
}

fn write(folder: &Path, env: &Env, all: &Found) -> Result<(), Stop> {
    env.write(&folder.join("env.toml")).map_err(file)?;
    Cell::write(&folder.join("cells.csv"), &all.cells).map_err(file)?;
    Sum::write(&folder.join("sums.csv"), &all.sums).map_err(file)?;
    Sample::write(&folder.join("raw.csv.gz"), &all.samples).map_err(file)
}

/// Creates the folder `<date>-<gpu>`. If the folder exists, appends a number to its name, so that
/// no run is overwritten.
fn make(results: &Path, date: &str, gpu: &str) -> Result<PathBuf, Error> {
    let name = format!("{date}-{}", slug(gpu));
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let folder = [name.clone()]
        .into_iter()
        .chain(numbered)
        .map(|name| results.join(name))
        .find(|folder| !folder.exists())
        .unwrap_or_else(|| results.join(&name));
    fs::create_dir_all(&folder)
        .map_err(|source| Error::File { doing: format!("making {}", folder.display()), source })?;
    Ok(folder)
}

/// Returns a GPU's name in the form used in a folder's name: lower case, with one `-` between
/// words.
fn slug(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// Returns the command line with this machine's paths removed.
fn command(arguments: impl Iterator<Item = String>) -> String {
    let mut words = vec!["ladder".to_owned()];
    let mut skip = false;
    for argument in arguments.skip(1) {
        match argument.as_str() {
            _ if skip => skip = false,
            "--out" | "--peers" => skip = true,
            other if other.starts_with("--out=") || other.starts_with("--peers=") => {}
            other => words.push(other.to_owned()),
        }
    }
    words.join(" ")
}

/// Describes the PTX of the steps.
fn kernels() -> String {
    let mut kinds: Vec<String> = Vec::new();
    for step in STEPS {
        let text = step.kernel.ptx(Element::F32);
        let kind = format!("{} for {}", ptx::version(text), ptx::target(text));
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(", ")
}

type Sensors = (Option<u32>, Option<u32>);

fn gpu(rig: &Rig, mhz: u32, start: &Sensors, end: &Sensors) -> Result<Gpu> {
    let cuda = rig.device.gpu()?;
    let (facts, hardware) = (cuda.facts(), cuda.hardware()?);
    let both = |start: Option<u32>, end: Option<u32>| start.into_iter().chain(end).collect();
    Ok(Gpu {
        name: facts.name.clone(),
        architecture: cuda.architecture(),
        sms: facts.chip.sms,
        l2_bytes: facts.l2,
        memory_bytes: hardware.memory_bytes,
        bus_bits: hardware.bus_bits,
        memory_mhz: hardware.memory_mhz,
        bus_bytes_per_second: facts.bus.unwrap_or(0.0),
        sm_mhz_max: rig.monitor.sm_mhz_max().unwrap_or(hardware.sm_mhz),
        sm_mhz_start: mhz,
        driver: rig.monitor.driver().unwrap_or_default(),
        cuda: hardware.cuda,
        celsius: both(start.0, end.0),
        watts: both(start.1, end.1),
        nvml: rig.monitor.reason(),
    })
}

#[cfg(test)]
mod tests {
    use measured::Role;

    use super::*;

    #[test]
    fn a_gpus_name_becomes_a_folder() {
        assert_eq!(slug("NVIDIA H200"), "nvidia-h200");
        assert_eq!(slug("NVIDIA A100-SXM4-80GB"), "nvidia-a100-sxm4-80gb");
        assert_eq!(slug("Tesla T4 (MIG)"), "tesla-t4-mig");
    }

    #[test]
    fn a_run_gets_its_own_folder() {
        let results = std::env::temp_dir().join(format!("ladder-{}-made", std::process::id()));
        let made = || make(&results, "2026-11-21", "NVIDIA H200").unwrap();
        let names =
            ["2026-11-21-nvidia-h200", "2026-11-21-nvidia-h200-2", "2026-11-21-nvidia-h200-3"];
        assert_eq!([made(), made(), made()], names.map(|name| results.join(name)));
        assert!(names.iter().all(|name| results.join(name).is_dir()));
        fs::remove_dir_all(results).unwrap();
    }

    #[test]
    fn sizes_are_added_up_and_a_variant_is_named_once() {
        let variant = |name: &str| Variant {
            name: name.into(),
            role: Role::Step,
            what: String::new(),
            moves: 1,
            up_to: 0,
        };
        let found = |names: &[&str], pool, gated| Found {
            variants: names.iter().map(|name| variant(name)).collect(),
            wrong: vec![names.join(" ")],
            pool,
            gated,
            ..Found::default()
        };
        let mut all = Found { gated: true, ..Found::default() };
        add(&mut all, found(&["a", "b"], 5, true));
        add(&mut all, found(&["b", "c"], 3, true));
        let names: Vec<&str> = all.variants.iter().map(|v| v.name.as_str()).collect();
        assert_eq!((names.as_slice(), all.pool, all.gated), (&["a", "b", "c"][..], 5, true));
        assert_eq!(all.wrong, ["a b", "b c"]);
        // If any size could not be gated, the whole run counts as ungated.
        add(&mut all, found(&[], 0, false));
        add(&mut all, found(&[], 0, true));
        assert!(!all.gated);
    }

    #[test]
    fn a_cell_is_reported_in_one_line() {
        let cell = Cell {
            element: "f32".into(),
            n: 1 << 20,
            cache: Cache::Cold,
            rounds: 40,
            rejected: 3,
            widest: 0.0042,
            pair: "a / b".into(),
            converged: true,
            sm_mhz: 1980,
            seconds: 1.26,
        };
        assert_eq!(
            said(&cell),
            "  2^20 f32 cold: 40 rounds and 3 discarded, widest interval 0.42 % (a / b), 1.3 s"
        );
        let other = said(&Cell { rejected: 0, converged: false, ..cell });
        assert!(other.contains("40 rounds, widest") && other.contains("(a / b), not converged"));
    }

    #[test]
    fn the_short_table_shows_the_first_type_and_its_ratios() {
        let made_up = Path::new(env!("CARGO_MANIFEST_DIR")).join("../measured/tests/synthetic");
        let text = short(&Run::read(&made_up).unwrap());
        assert!(text.starts_with("f32, L2 cold, medians in µs\n\n"), "{text}");
        assert!(text.contains("\nspeedup over CUB\n") && text.contains("0.249"), "{text}");
    }

    #[test]
    fn each_target_of_the_kernels_is_listed_once() {
        let text = kernels();
        let kinds: Vec<&str> = text.split(", ").collect();
        assert!(kinds.iter().all(|kind| kind.contains(" for sm_")), "{text}");
        let distinct: HashSet<&&str> = kinds.iter().collect();
        assert!(distinct.len() == kinds.len() && kinds.len() < STEPS.len(), "{text}");
    }

    #[test]
    fn the_command_names_no_path() {
        let words = "/x/dist/bin/ladder measure --out /y --minutes 10 --peers=/z".split(' ');
        assert_eq!(command(words.map(str::to_owned)), "ladder measure --minutes 10");
    }

    #[test]
    fn tables_begin_with_the_steps_in_their_order() {
        let variant = |name: &str, role| Variant {
            name: name.into(),
            role,
            what: String::new(),
            moves: 1,
            up_to: 0,
        };
        let variants = [
            variant("empty-kernel", Role::Floor),
            variant("copy", Role::Ceiling),
            variant("v1-divergence", Role::Step),
            variant("cub", Role::Peer),
            variant("v0-naive", Role::Step),
        ];
        let names: Vec<String> = in_order(&variants).into_iter().map(|v| v.name).collect();
        assert_eq!(names, ["v0-naive", "v1-divergence", "cub", "copy", "empty-kernel"]);
    }
}
