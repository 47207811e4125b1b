//! `ladder measure`: everything, interleaved, into a folder of `results/`.

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
use measured::{Absent, Cache, Cell, Clock, Env, Gpu, Method, Run, Sample, Sum, Taken, Variant};

use crate::{
    STEPS,
    cell::{Ask, Found, INPUT, SEED},
    date,
    options::{CacheName, OnGpu, positive, progress},
    rig::Rig,
    stop::{file, needs_a_gpu},
};

/// What can be asked of a measurement.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many elements, a list [default: 2^10 to 2^32 in steps of four]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub n: Option<Sizes>,

    /// The type of an element, a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32,i32")]
    pub element: Vec<Element>,

    /// Where the input is, a list: in memory, or in L2 (sizes that fit it only)
    #[arg(
        long,
        value_enum,
        value_name = "CACHE",
        value_delimiter = ',',
        default_value = "cold,warm"
    )]
    pub cache: Vec<CacheName>,

    /// Threads of a block, for the steps
    #[arg(long, value_name = "THREADS", default_value = "256")]
    pub threads: Block,

    /// Minutes that it may take; what was not reached by then is left out, and said so
    #[arg(long, value_name = "MINUTES", default_value = "10", value_parser = positive)]
    pub minutes: f64,

    /// The width of a paired ratio's interval, in percent of the ratio, that is narrow enough
    #[arg(long, value_name = "PERCENT", default_value = "0.5", value_parser = positive)]
    pub percent: f64,

    /// The most rounds of a type, size and cache
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rounds: u32,

    /// Measure these only: names of steps and peers, a list
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,

    /// The folder that the run's folder is made in
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    pub out: PathBuf,

    /// Where to measure.
    #[command(flatten)]
    pub place: OnGpu,
}

/// Up to this share of L2, an input that was just read is still in it: H200's 60 MB are two
/// halves, and a line may be in both.
const WARM_SHARE: u64 = 2;

/// Measures, and writes a folder.
pub fn run(options: &Options) -> Result<(), Stop> {
    let started = Instant::now();
    let (date, time) = date::now();
    let rig = Rig::open(options.place.device, options.place.peers.as_deref())
        .map_err(needs_a_gpu("measure"))?;
    let facts = rig.device.facts().clone();
    progress(&facts.line);
    let mhz = rig.wake()?;
    let sensors = |rig: &Rig| (rig.monitor.celsius(), rig.monitor.watts());
    let (start_mhz, start) = (mhz, sensors(&rig));

    let sizes: Vec<u64> = match &options.n {
        None => (10..=32).step_by(2).map(|power| 1 << power).collect(),
        Some(sizes) => sizes.iter().map(|size| size.0).collect(),
    };
    if sizes.contains(&0) {
        return Err(Error::Usage("no elements take no time: `--n` starts at 1 here".into()).into());
    }
    let takes = |name: &str| options.only.is_empty() || options.only.iter().any(|n| n == name);
    let fits = |element: Element, n: u64| n * element.size() <= facts.l2 / WARM_SHARE;
    let caches = |element: Element, n: u64| -> Vec<Cache> {
        let named = |name: &CacheName| match name {
            CacheName::Cold => Some(Cache::Cold),
            CacheName::Warm => fits(element, n).then_some(Cache::Warm),
        };
        options.cache.iter().filter_map(named).collect()
    };
    let todo: Vec<(Element, u64, Vec<Cache>)> = options
        .element
        .iter()
        .flat_map(|&element| sizes.iter().map(move |&n| (element, n)))
        .map(|(element, n)| (element, n, caches(element, n)))
        .filter(|(.., caches)| !caches.is_empty())
        .collect();
    // A round of the largest takes as long as thousands of the smallest.
    let weight = |element: Element, n: u64| ((n * element.size()) >> 30).clamp(1, 4) as u32;
    let weights = |(element, n, caches): &(Element, u64, Vec<Cache>)| {
        weight(*element, *n) * caches.len() as u32
    };
    let mut left: u32 = todo.iter().map(weights).sum();
    // What callers see of the last size is timed after its share, and has this.
    let end = started + Duration::from_secs_f64(60.0 * options.minutes * 0.95);

    let ask = Ask {
        takes: &takes,
        blocks: vec![options.threads],
        target: options.percent / 100.0,
        least: 20.min(options.rounds),
        most: options.rounds,
        callers: true,
        mhz,
    };
    let mut all = Found { gated: true, ..Found::default() };
    let mut folder = None;
    for (element, n, caches) in &todo {
        let (element, n) = (*element, *n);
        if Instant::now() >= end {
            all.absent.push(Absent {
                variant: "everything".into(),
                element: element.to_string(),
                n,
                reason: format!("the {} minutes were used up before it", options.minutes),
            });
            left -= weight(element, n) * caches.len() as u32;
            continue;
        }
        // What one cell leaves of its share, the later and larger ones have more.
        let mut until = || {
            let weight = weight(element, n);
            let share = end.saturating_duration_since(Instant::now()) * weight / left.max(weight);
            left = left.saturating_sub(weight);
            Instant::now() + share
        };
        let found = rig.measure(element, n, caches, &ask, &mut until)?;
        for cell in &found.cells {
            progress(&said(cell));
        }
        add(&mut all, found);
        let env = Env {
            run: Taken {
                date: date.clone(),
                time: time.clone(),
                commit: option_env!("LADDER_COMMIT").unwrap_or("not known").to_owned(),
                command: command(std::env::args()),
                seconds: (started.elapsed().as_secs_f64() * 10.0).round() / 10.0,
            },
            gpu: gpu(&rig, start_mhz, &start, &sensors(&rig))?,
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
            absent: rig
                .peers
                .missing(&takes)
                .into_iter()
                .chain(all.absent.iter().cloned())
                .collect(),
        };
        // After every size, so that what is there survives whatever comes.
        let folder = match &folder {
            Some(folder) => folder,
            None => folder.insert(make(&options.out, &date, &facts.name)?),
        };
        write(folder, &env, &all)?;
    }
    let Some(folder) = folder else {
        return Err(Error::Usage(
            "nothing was left to measure: no size fits L2, and `--cache` leaves out cold".into(),
        )
        .into());
    };
    finish(&folder, &all)
}

/// Writes the page, holds the run against itself, and prints the short table.
fn finish(folder: &Path, all: &Found) -> Result<(), Stop> {
    let run = Run::read(folder).map_err(file)?;
    let page = folder.join("README.md");
    fs::write(&page, measured::page::of(&run))
        .map_err(|source| Error::File { doing: format!("writing {}", page.display()), source })?;
    let mut out = anstream::stdout();
    writeln!(out, "{}", short(&run))?;
    writeln!(out, "every sample is in {}", folder.display())?;
    let mut faults = measured::check::faults(&run);
    faults.extend(all.wrong.iter().cloned());
    match faults.as_slice() {
        [] => Ok(()),
        faults => Err(Error::Findings(format!(
            "{} of these figures cannot be:\n  {}",
            faults.len(),
            faults.join("\n  ")
        ))
        .into()),
    }
}

/// Every variant at every size of the first type.
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
        false => format!("{title}\nhow many times faster than CUB\n\n{ratios}"),
    }
}

/// One line on a cell, as it is done.
fn said(cell: &Cell) -> String {
    format!(
        "{:>6} {} {}: {} rounds{}, widest interval {:.2} % ({}){}, {:.1} s",
        numbers::size(cell.n),
        cell.element,
        cell.cache,
        cell.rounds,
        match cell.rejected {
            0 => String::new(),
            rejected => format!(" and {rejected} thrown away"),
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

/// Steps from the bottom, `reduce`, studies, peers, ceilings, floor: the order of every table.
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

/// Makes `<date>-<gpu>`, or with a number behind it if that is there: a run is never overwritten.
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

/// A GPU's name as a part of a folder's: lower case, one `-` between words.
fn slug(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The command line as anyone would type it: no path of the machine that it ran on.
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

/// The PTX that the steps are made of.
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
    fn a_run_gets_a_folder_of_its_own() {
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
        // One size that could not be held back is enough to say so.
        add(&mut all, found(&[], 0, false));
        add(&mut all, found(&[], 0, true));
        assert!(!all.gated);
    }

    #[test]
    fn a_cell_is_said_in_a_line() {
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
            "  2^20 f32 cold: 40 rounds and 3 thrown away, widest interval 0.42 % (a / b), 1.3 s"
        );
        let other = said(&Cell { rejected: 0, converged: false, ..cell });
        assert!(other.contains("40 rounds, widest") && other.contains("(a / b), not converged"));
    }

    #[test]
    fn the_short_table_is_that_of_the_first_type_with_its_ratios() {
        let made_up = Path::new(env!("CARGO_MANIFEST_DIR")).join("../measured/tests/synthetic");
        let text = short(&Run::read(&made_up).unwrap());
        assert!(text.starts_with("f32, L2 cold, medians in µs\n\n"), "{text}");
        assert!(
            text.contains("\nhow many times faster than CUB\n") && text.contains("0.249"),
            "{text}"
        );
    }

    #[test]
    fn what_the_kernels_were_made_for_is_said_once() {
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
