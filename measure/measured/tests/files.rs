//! Tests the files of a run, which are read from a committed synthetic run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use measured::{
    Cache, Cell, Clock, Env, Place, Role, Run, Sample, Sum, Variant, check, counters::Count,
    history::History, page, repeat,
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/synthetic")
}

fn run() -> Run {
    Run::read(&folder()).unwrap()
}

fn place(n: u64) -> Place<'static> {
    Place { element: "f32", n, cache: Cache::Cold, clock: Clock::Gpu }
}

/// Copies a file to a folder of its own, and replaces a text in the copy.
fn broken(name: &str, file: &str, from: &str, to: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("measured-{}-{name}", std::process::id()));
    let text = fs::read_to_string(folder().join(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
    path
}

#[test]
fn the_run_has_no_faults() {
    assert_eq!(check::faults(&run()), Vec::<String>::new());
    assert_eq!(
        History::read(&folder().join("history.toml")).unwrap().faults(),
        Vec::<String>::new()
    );
}

#[test]
fn times_rates_and_ratios_are_those_of_the_samples() {
    let run = run();
    let time = run.time("v0-naive", &place(1 << 20)).unwrap();
    // The times are 3 µs and 4 MiB at 60 GB/s, with up to 0.4 % noise.
    assert!((72_900.0..73_300.0).contains(&time.median) && time.count == 6, "{time:?}");
    let ratio = run.ratio("v0-naive", "v1-divergence", &place(1 << 24)).unwrap();
    assert!((1.48..1.51).contains(&ratio.0.median), "{ratio}");
    let copy = run.env.variant.iter().find(|v| v.name == "copy").unwrap();
    let rate = run.bandwidth(copy, &place(1 << 24)).unwrap();
    assert!((470e9..490e9).contains(&rate), "{rate}");
    assert_eq!(run.time("v0-naive", &place(1 << 22)), None);
    assert_eq!(run.ratio("v0-naive", "thrust", &place(1 << 20)), None);
    assert_eq!(run.sizes("f32", Cache::Warm, Clock::Gpu), [1 << 10, 1 << 20]);
    assert_eq!(run.elements(), ["f32", "i32"]);
}

#[test]
fn written_files_are_read_back() {
    let folder = folder();
    let path = std::env::temp_dir().join(format!("measured-{}-back", std::process::id()));
    let samples = Sample::read(&folder.join("raw.csv")).unwrap();
    Sample::write(&path, &samples).unwrap();
    assert_eq!(Sample::read(&path).unwrap(), samples);
    // A line holds the times from consecutive rounds. The fixture has one sample per line, as older
    // files do.
    let lines = |path: &Path| fs::read_to_string(path).unwrap().lines().count();
    assert_eq!(lines(&folder.join("raw.csv")), samples.len() + 1);
    assert!(lines(&path) * 4 < samples.len());
    // A run is committed in compressed form.
    let packed = path.with_extension("csv.gz");
    Sample::write(&packed, &samples).unwrap();
    assert_eq!(Sample::read(&packed).unwrap(), samples);
    assert!(fs::read(&packed).unwrap().len() < fs::read(&path).unwrap().len());
    fs::write(&packed, "no archive").unwrap();
    assert!(Sample::read(&packed).unwrap_err().to_string().contains("csv.gz"));
    let cells = Cell::read(&folder.join("cells.csv")).unwrap();
    Cell::write(&path, &cells).unwrap();
    assert_eq!(Cell::read(&path).unwrap(), cells);
    let sums = [Sum {
        variant: "v0-naive".into(),
        element: "f32".into(),
        threads: 256,
        n: 1 << 20,
        sum: 524_288.25,
        error: 0.125,
        bound: 1.5,
    }];
    Sum::write(&path, &sums).unwrap();
    assert_eq!(Sum::read(&path).unwrap(), sums);
    let counts = Count::read(&folder.join("counters.csv")).unwrap();
    assert!(!counts.is_empty());
    Count::write(&path, &counts).unwrap();
    assert_eq!(Count::read(&path).unwrap(), counts);
    let env = Env::read(&folder.join("env.toml")).unwrap();
    env.write(&path).unwrap();
    assert_eq!(Env::read(&path).unwrap(), env);
    fs::remove_file(path).unwrap();
}

#[test]
fn broken_files_are_named_with_their_line() {
    for (name, from, to, why) in [
        ("number", ",gpu,0,", ",gpu,zero,", "line 2: "),
        ("clock", ",gpu,1,", ",cpu,1,", "line 3: unknown variant `cpu`"),
        ("cut", ",cold,gpu,2,", "", "line 4: the line has 4 fields, but the header has 8"),
        (
            "none",
            "v0-naive,f32,256,1024,cold,gpu,0",
            ",f32,256,1024,cold,gpu,0",
            "line 2: a sample must have",
        ),
        ("size", "256,1024,cold,gpu,0,", "256,0,cold,gpu,0,", "line 2: a sample must have"),
        ("instant", ",cold,gpu,0,3070", ",cold,gpu,0,0", "line 2: a sample must have"),
        ("header", "variant,type", "variant,kind", "kind"),
    ] {
        let path = broken(name, "raw.csv", from, to);
        let message = Sample::read(&path).unwrap_err().to_string();
        assert!(message.contains(why) && message.contains(name), "{message}");
        fs::remove_file(path).unwrap();
    }
    let path = broken("text", "raw.csv", "v0-naive", "v0-naive");
    let mut text = fs::read(&path).unwrap();
    let at = text.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    text[at] = 0xff;
    fs::write(&path, text).unwrap();
    let message = Sample::read(&path).unwrap_err().to_string();
    assert!(message.contains("it is not UTF-8"), "{message}");
    fs::remove_file(path).unwrap();
    let path = broken("env", "env.toml", "sms = 10", "sms = ten");
    assert!(Env::read(&path).unwrap_err().to_string().contains("sms"));
    fs::remove_file(path).unwrap();
    let message = Env::read(&folder().join("nowhere.toml")).unwrap_err().to_string();
    assert!(message.starts_with("reading ") && message.contains("nowhere.toml"), "{message}");
}

/// Returns the faults in the run after a change to its samples.
fn faults(change: impl Fn(&mut Sample)) -> Vec<String> {
    let folder = folder();
    let mut samples = Sample::read(&folder.join("raw.csv")).unwrap();
    samples.iter_mut().for_each(change);
    let (env, cells) = (Env::read(&folder.join("env.toml")), Cell::read(&folder.join("cells.csv")));
    check::faults(&Run::new("changed".into(), env.unwrap(), cells.unwrap(), &samples))
}

#[test]
fn impossible_figures_are_found() {
    let only = |s: &Sample| {
        s.variant == "cub" && s.n == 1 << 24 && s.element == "f32" && s.clock == Clock::Gpu
    };
    let found = faults(|s| s.ns = if only(s) { 100_000 } else { s.ns });
    assert!(
        found.len() == 1 && found[0].contains("above the peak bandwidth of 512.0 GB/s"),
        "{found:?}"
    );
    let found = faults(|s| s.ns = if s.variant == "cub" && s.n == 1 << 10 { 2000 } else { s.ns });
    assert!(
        found.len() == 2 && found[0].contains("below the 2.50 µs of an empty kernel"),
        "{found:?}"
    );
    let found = faults(|s| {
        if only(s) {
            s.variant = "unknown".into()
        }
    });
    assert!(found.iter().any(|f| f.contains("env.toml does not")), "{found:?}");
    assert!(
        found.iter().any(|f| f.contains("cub, 2^24 f32, cold: there are no samples, and")),
        "{found:?}"
    );
    let found = faults(|s| {
        if only(s) && s.round == 11 {
            s.n = 1 << 22
        }
    });
    assert!(
        found.iter().any(|f| f.contains("11 samples, but cells.csv has 12 rounds")),
        "{found:?}"
    );
    assert!(found.iter().any(|f| f.contains("cells.csv does not")), "{found:?}");
}

/// Returns the run with an added study kernel, which supports up to 4 MiB and has times on two
/// timers.
fn with_a_study(up_to: u64) -> Run {
    let folder = folder();
    let mut samples = Sample::read(&folder.join("raw.csv")).unwrap();
    let mut env = Env::read(&folder.join("env.toml")).unwrap();
    let like =
        |s: &&Sample| s.variant == "v1-divergence" && s.n <= 1 << 20 && s.clock == Clock::Gpu;
    let way: Vec<Sample> = samples.iter().filter(like).cloned().collect();
    for sample in way {
        let sample = Sample { variant: "mailbox".into(), ..sample };
        samples.push(sample.clone());
        // The ungated samples have few rounds, so cells.csv does not list them.
        if sample.round < 6 {
            samples.push(Sample { clock: Clock::Ungated, ns: 2 * sample.ns, ..sample });
        }
    }
    let cub: Vec<Sample> = samples.iter().filter(|s| s.variant == "cub").cloned().collect();
    let cub = cub.into_iter().filter(|s| s.clock == Clock::Gpu);
    samples.extend(cub.map(|s| Sample { clock: Clock::Ungated, ns: 3 * s.ns, ..s }));
    env.variant.push(Variant {
        name: "mailbox".into(),
        role: Role::Study,
        what: "made up".into(),
        moves: 1,
        up_to,
    });
    let cells = Cell::read(&folder.join("cells.csv")).unwrap();
    Run::new("with a study".into(), env, cells, &samples)
}

#[test]
fn a_kernel_for_small_sums_needs_no_reason_above_them() {
    assert_eq!(check::faults(&with_a_study(4 << 20)), Vec::<String>::new());
    let faults = check::faults(&with_a_study(0));
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("mailbox, 2^24 f32, cold: there are no samples"), "{faults:?}");
}

#[test]
fn ungated_ratios_stand_beside_the_gated_ones() {
    let run = with_a_study(4 << 20);
    let ungated = Place { clock: Clock::Ungated, ..place(1 << 20) };
    let (gated, seen) = (place(1 << 20), ungated);
    let ratio = |at| run.ratio("cub", "mailbox", at).unwrap().0.median;
    assert!((ratio(&seen) / ratio(&gated) - 1.5).abs() < 0.01);
    let page = page::of(&run, page::Writer::Ladder);
    let section = "## f32, L2 cold, ungated: speedup over CUB";
    let (_, after) = page.split_once(section).unwrap();
    assert!(after.lines().find(|line| line.contains("mailbox")).unwrap().contains("0.373"));
    assert!(page.contains("Ungated times are measured between two events"), "{page}");
    // An env.toml with a study is unchanged after it is written and read.
    let path = std::env::temp_dir().join(format!("measured-{}-study", std::process::id()));
    run.env.write(&path).unwrap();
    assert_eq!(Env::read(&path).unwrap(), run.env);
    fs::remove_file(path).unwrap();
}

#[test]
fn only_runs_of_the_same_program_are_repeats() {
    let named = |name: &str, commit: &str| {
        let mut run = run();
        (run.name, run.env.run.commit) = (name.into(), commit.into());
        run
    };
    let runs = [named("a", "1"), named("b", "1"), named("c", "2")];
    let names = |runs: &[Run]| {
        let name = |kind: Vec<&Run>| kind.iter().map(|run| run.name.as_str()).collect::<String>();
        repeat::kinds(runs).into_iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&runs), ["ab"]);
    assert_eq!(names(&[runs[2].clone(), named("d", "2"), named("e", "1")]), ["cd"]);
    assert_eq!(names(&[runs[0].clone(), named("d", "2"), named("e", "1")]), ["ae"]);
    // The kind with the newest run comes last.
    let both = [named("a", "1"), named("c", "2"), named("d", "2"), named("e", "1")];
    assert_eq!(names(&both), ["cd", "ae"]);
    assert_eq!(names(&runs[1..]), Vec::<String>::new());
    assert_eq!(names(&[]), Vec::<String>::new());
    let alone = repeat::kind_of(&runs, &runs[2]);
    assert_eq!(alone.iter().map(|run| &run.name).collect::<Vec<_>>(), ["c"]);
    assert_eq!(repeat::kind_of(&runs, &runs[0]).len(), 2);
}

/// Returns the run with other times.
fn moved(change: impl Fn(&Sample) -> u64) -> Run {
    let samples = Sample::read(&folder().join("raw.csv")).unwrap();
    let samples: Vec<_> = samples.into_iter().map(|s| Sample { ns: change(&s), ..s }).collect();
    let (env, cells) = (run().env, run().cells);
    Run::new("again".into(), env, cells, &samples)
}

#[test]
fn variation_between_runs_is_shown() {
    let slower = |name: &'static str, n: u64| {
        move |s: &Sample| if s.variant == name && s.n == n { s.ns * 11 / 10 } else { s.ns }
    };
    let row = |page: &str, size: &str| {
        let table = page.split_once("read-only varied |").unwrap().1;
        let line = table.lines().find(|line| line.starts_with(size)).unwrap();
        line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let same = repeat::page(&[vec![&run(), &moved(|s| s.ns)]]);
    assert_eq!(row(&same, "| 2^20")[4..7], ["0.0 %", "0.0 %", "0.0 %"], "{same}");
    let again = moved(slower("cub", 1 << 20));
    let page = repeat::page(&[vec![&run(), &again, &run()]]);
    assert_eq!(row(&page, "| 2^20")[4..7], ["10.0 %", "0.0 %", "0.0 %"], "{page}");
    assert_eq!(row(&page, "| 2^24")[4..7], ["0.0 %", "0.0 %", "0.0 %"], "{page}");
    // One run's interval contains the median of a copy, but not a median that differs by 10 %.
    let (within, between) = repeat::held(&[&run(), &again, &run(), &run()]);
    assert!(within.held > 0 && within.held < within.tried, "{within}");
    assert!(between.held > 0 && between.held < between.tried, "{between}");
    let (within, between) = repeat::held(&[&run(), &moved(|s| s.ns)]);
    assert_eq!((within.held, between.tried), (within.tried, 0));
}

#[test]
fn the_first_is_the_fastest_of_all_runs_and_a_disagreement_is_a_tie() {
    let faster = |name: &'static str, by: u64| {
        moved(move |s| if s.variant == name { s.ns * by / 1000 } else { s.ns })
    };
    let plain = run();
    let steps: Vec<String> = plain.steps().iter().map(|step| step.name.clone()).collect();
    let best = repeat::first(&[&plain, &plain]).pop().unwrap();
    assert!(steps.contains(&best.step) && best.ties.is_empty(), "{best:?}");
    // In one of the runs, the other step is made so much faster that it is the fastest step.
    let other: &'static str = steps.iter().find(|step| **step != best.step).unwrap().clone().leak();
    let at = place(best.n);
    let behind = plain.ratio(other, &best.step, &at).unwrap().0.median;
    let ahead = faster(other, (1000.0 / behind / 1.05) as u64);
    let tied = repeat::first(&[&plain, &ahead]).pop().unwrap();
    assert_eq!(tied.ties.len(), 1, "{tied:?}");
}

#[test]
fn errors_are_relative_to_sums_of_their_size() {
    let mut run = run();
    assert!(page::errors(&run, "f32").is_empty());
    let sum = |variant: &str, n: u64, error: f64| Sum {
        variant: variant.into(),
        element: "f32".into(),
        threads: 256,
        n,
        sum: 2e6,
        error,
        bound: 1.0,
    };
    run.sums = vec![sum("v0-naive", 1 << 20, 0.5), sum("cub", 1 << 10, 0.25)];
    let table = page::errors(&run, "f32").to_string();
    let row = |name: &str| table.lines().find(|l| l.contains(name)).unwrap().to_owned();
    assert!(row("v0-naive").contains("250.0") && !row("v0-naive").contains("125.0"), "{table}");
    assert!(row("cub").contains("125.0") && !row("cub").contains("250.0"), "{table}");
    assert!(!table.contains("v1-divergence"), "{table}");
}

#[test]
fn the_page_is_the_committed_one() {
    let made = page::of(&run(), page::Writer::Results { repeated: true });
    let path = folder().join("README.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    assert_eq!(made, fs::read_to_string(path).unwrap(), "run with UPDATE=1 to accept it");
}

#[test]
fn impossible_history_is_found() {
    for (name, from, to, why) in [
        ("bus", "us = 1048.576", "us = 10.0", "above the peak"),
        ("both", "gb_per_s = 25.0", "gb_per_s = 25.0, us = 3.0", "both a time and a bandwidth"),
        ("neither", "gb_per_s = 25.0 ", "", "neither a time"),
        ("mended", "mended = \"printed GB/s are not bytes / time\"", "", "`mended` is empty"),
    ] {
        let from = if name == "neither" { ", gb_per_s = 25.0" } else { from };
        let path = broken(name, "history.toml", from, to);
        let faults = History::read(&path).unwrap().faults();
        assert!(faults.len() == 1 && faults[0].contains(why), "{faults:?}");
        fs::remove_file(path).unwrap();
    }
}
