//! Tests the page and the reported faults of a run after changes to the run's parts.

use std::{fs, path::PathBuf};

use measured::{
    Absent, Cache, Cell, Clock, Env, Place, Role, Run, Sample, Variant, check, competitor_order,
    folders, page, repeat,
};

/// The parts of the synthetic run.
struct Parts {
    env: Env,
    cells: Vec<Cell>,
    samples: Vec<Sample>,
}

impl Parts {
    fn read() -> Parts {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/synthetic");
        Parts {
            env: Env::read(&folder.join("env.toml")).unwrap(),
            cells: Cell::read(&folder.join("cells.csv")).unwrap(),
            samples: Sample::read(&folder.join("raw.csv")).unwrap(),
        }
    }

    fn run(&self) -> Run {
        Run::new("changed".into(), self.env.clone(), self.cells.clone(), &self.samples)
    }

    fn faults(&self) -> Vec<String> {
        check::faults(&self.run())
    }

    fn without(mut self, gone: impl Fn(&Sample) -> bool) -> Parts {
        self.samples.retain(|sample| !gone(sample));
        self
    }

    fn timed(mut self, ns: impl Fn(&Sample) -> u64) -> Parts {
        self.samples.iter_mut().for_each(|sample| sample.ns = ns(sample));
        self
    }

    /// Adds another competitor, whose times are those of an existing one multiplied by a factor in
    /// thousandths.
    fn with(mut self, name: &str, role: Role, like: &str, per_mille: u64) -> Parts {
        let alike: Vec<Sample> =
            self.samples.iter().filter(|s| s.variant == like).cloned().collect();
        self.samples.extend(alike.into_iter().map(|sample| Sample {
            variant: name.into(),
            ns: sample.ns * per_mille / 1000,
            ..sample
        }));
        let what = "made up".to_owned();
        self.env.variant.push(Variant { name: name.into(), role, what, moves: 1, up_to: 0 });
        self
    }
}

/// Returns the page that `ladder measure` writes for a run.
fn page_of(run: &Run) -> String {
    page::of(run, page::Writer::Ladder)
}

/// Returns whether a sample belongs to this cell, measured on the GPU's timer.
fn of(s: &Sample, variant: &str, element: &str, n: u64, cache: Cache) -> bool {
    (s.variant.as_str(), s.element.as_str(), s.n, s.cache, s.clock)
        == (variant, element, n, cache, Clock::Gpu)
}

/// Returns the cells in the first line that contains a text.
fn line(text: &str, with: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.contains(with));
    let line = line.unwrap_or_else(|| panic!("no {with} in {text}"));
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn a_cell_is_that_of_its_type() {
    let mut parts = Parts::read();
    parts.cells.retain(|cell| (&*cell.element, cell.n) != ("i32", 1 << 24));
    let faults = parts.faults();
    assert!(!faults.is_empty());
    let wanted = "2^24 i32, cold: raw.csv has samples of this cell, but cells.csv does not list it";
    assert!(faults.iter().all(|fault| fault.contains(wanted)), "{faults:?}");
}

#[test]
fn as_fast_as_the_floor_and_the_bus_is_no_fault() {
    // 2^24 floats in 131,072 ns are exactly 512 GB/s, which is the peak of the memory bus.
    let at_the_bus = |s: &Sample| of(s, "cub", "f32", 1 << 24, Cache::Cold);
    let parts = Parts::read().timed(|s| if at_the_bus(s) { 131_072 } else { s.ns });
    assert_eq!(parts.faults(), Vec::<String>::new());
    let small = |s: &Sample| s.n == 1 << 10 && ["cub", "empty-kernel"].contains(&&*s.variant);
    let parts = Parts::read().timed(|s| if small(s) { 2500 } else { s.ns });
    assert_eq!(parts.faults(), Vec::<String>::new());
    // If the peak is unknown, no bandwidth is reported as exceeding the peak.
    let mut parts = Parts::read();
    parts.env.gpu.bus_bytes_per_second = 0.0;
    assert_eq!(parts.faults(), Vec::<String>::new());
}

#[test]
fn missing_samples_need_a_matching_reason() {
    let gone = |n, cache| Parts::read().without(move |s| of(s, "cub", "f32", n, cache));
    let hole = |n: u32, cache| {
        vec![format!("cub, 2^{n} f32, {cache}: there are no samples, and env.toml gives no reason")]
    };
    assert_eq!(gone(1 << 20, Cache::Warm).faults(), hole(20, "warm"));
    assert_eq!(gone(1 << 20, Cache::Cold).faults(), hole(20, "cold"));
    // A copy is measured only with a cold cache.
    let parts = Parts::read().without(|s| of(s, "copy", "f32", 1 << 20, Cache::Cold));
    assert_eq!(parts.faults().len(), 1);
    // A cell without rounds has no samples.
    let mut parts = gone(1 << 20, Cache::Warm);
    let cell = parts.cells.iter_mut().find(|c| (c.n, c.cache) == (1 << 20, Cache::Warm)).unwrap();
    cell.rounds = 0;
    let none = parts.without(|s| (&*s.element, s.n, s.cache) == ("f32", 1 << 20, Cache::Warm));
    assert_eq!(none.faults(), Vec::<String>::new());
    // An absence entry names one size or all sizes, and one type or all types.
    for (element, n, faults) in
        [("f32", 0, 0), ("", 1 << 20, 0), ("f32", 1 << 10, 1), ("i32", 0, 1)]
    {
        let mut parts = gone(1 << 20, Cache::Warm);
        let (variant, reason) = ("cub".into(), "made up".into());
        parts.env.absent.push(Absent { variant, element: element.into(), n, reason });
        assert_eq!(parts.faults().len(), faults, "{element} {n}");
    }
    // A kernel that supports up to 4 MiB must have samples at 4 MiB.
    let mut parts = Parts::read().with("mailbox", Role::Study, "v1-divergence", 1000);
    parts.env.variant.last_mut().unwrap().up_to = 4 << 20;
    let parts = parts.without(|s| s.variant == "mailbox" && s.n >= 1 << 20);
    assert_eq!(parts.faults().len(), 4, "{:?}", parts.faults());
}

#[test]
fn a_variant_transfers_its_input_once_by_default() {
    let parts = Parts::read();
    let path = std::env::temp_dir().join(format!("measured-{}-once", std::process::id()));
    parts.env.write(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    // If the size is unlimited, it is not written.
    assert!(!text.contains("up_to"), "{text}");
    fs::write(&path, text.replace("moves = 1\n", "")).unwrap();
    assert_eq!(Env::read(&path).unwrap(), parts.env);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_run_lists_its_sizes_and_types() {
    let run = Parts::read().without(|s| s.element == "i32" && s.n == 1 << 24).run();
    assert_eq!(run.sizes("i32", Cache::Cold, Clock::Gpu), [1 << 10, 1 << 20]);
    assert_eq!(run.sizes("f32", Cache::Cold, Clock::Gpu), [1 << 10, 1 << 20, 1 << 24]);
    let has = |variant, element, cache, clock| run.has(variant, element, cache, clock);
    assert!(has("v0-naive", "f32", Cache::Warm, Clock::Gpu));
    assert!(has("thrust", "i32", Cache::Cold, Clock::Host));
    assert!(!has("v9-made-up", "f32", Cache::Cold, Clock::Gpu));
    assert!(!has("v0-naive", "f64", Cache::Cold, Clock::Gpu));
    assert!(!has("copy", "f32", Cache::Warm, Clock::Gpu));
    assert!(!has("thrust", "f32", Cache::Cold, Clock::Gpu));
}

#[test]
fn the_tick_divides_every_short_time_of_the_gpu() {
    let tick = |ns: fn(&Sample) -> u64| Parts::read().timed(ns).run().tick;
    assert_eq!(tick(|s| s.ns), 1);
    assert_eq!(tick(|s| if s.clock == Clock::Gpu { s.ns / 96 * 96 } else { s.ns | 1 }), 96);
    // The driver reports times of a millisecond or more with too few digits for ticks to be
    // visible.
    let long = |s: &Sample| match s.ns / 96 * 96 {
        ns if ns < 700_000 => ns,
        ns if ns < 1_000_000 => 1_000_000,
        ns => ns + 1,
    };
    assert_eq!(tick(long), 96);
}

#[test]
fn a_folder_of_a_run_has_an_environment() {
    let results = std::env::temp_dir().join(format!("measured-{}-results", std::process::id()));
    assert_eq!(folders(&results).unwrap(), Vec::<PathBuf>::new());
    let put = |name: &str| {
        fs::create_dir_all(results.join(name).parent().unwrap()).unwrap();
        fs::write(results.join(name), "").unwrap();
    };
    for name in ["b/env.toml", "a/env.toml", "a/raw.csv.gz", "c/notes.md", "page.md"] {
        put(name);
    }
    assert_eq!(folders(&results).unwrap(), ["a", "b"].map(|name| results.join(name)));
    for figures in ["raw.csv", "raw.csv.gz", "cells.csv"] {
        put(&format!("d/{figures}"));
        let message = folders(&results).unwrap_err().to_string();
        assert!(message.contains("has figures but no env.toml"), "{figures}: {message}");
        fs::remove_file(results.join("d").join(figures)).unwrap();
    }
    fs::remove_dir_all(results).unwrap();
}

#[test]
fn steps_come_in_order_before_others() {
    let mut names = ["cub", "v10-fixed-tree", "v2-b", "vector", "v2-a", "atomic"];
    names.sort_by_key(|name| competitor_order(name));
    assert_eq!(names, ["v2-a", "v2-b", "v10-fixed-tree", "atomic", "cub", "vector"]);
}

#[test]
fn a_page_names_its_writer_and_links_only_to_a_page_that_exists() {
    let run = Parts::read().run();
    for (writer, by, link) in [
        (page::Writer::Ladder, "`ladder measure`", false),
        (page::Writer::Results { repeated: false }, "`cargo x results`", false),
        (page::Writer::Results { repeated: true }, "`cargo x results`", true),
    ] {
        let page = page::of(&run, writer);
        assert!(page.contains(&format!("is generated by {by} from")), "{page}");
        assert_eq!(page.contains("[all runs](../repeated.md)"), link, "{page}");
    }
}

#[test]
fn an_effect_of_the_order_is_listed_with_its_place() {
    assert!(!page_of(&Parts::read().run()).contains("Effects of the order"));
    let odd = |s: &Sample| of(s, "v0-naive", "i32", 1 << 20, Cache::Cold) && s.round % 2 == 1;
    let all = Parts::read().timed(|s| if s.variant == "v0-naive" { 10_000 } else { s.ns });
    let run = all.timed(|s| if odd(s) { 11_000 } else { s.ns }).run();
    let place = Place { element: "i32", n: 1 << 20, cache: Cache::Cold, clock: Clock::Gpu };
    assert!((run.order_effect("v0-naive", &place).unwrap() - 0.1).abs() < 1e-9);
    assert_eq!(run.order_effect("v9-made-up", &place), None);
    let (_, after) = page_of(&run)
        .split_once("## Effects of the order")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let rows: Vec<&str> = after.split("\n\n").nth(2).unwrap().lines().skip(2).collect();
    assert_eq!(rows.len(), 1, "{after}");
    assert_eq!(line(&after, "v0-naive"), ["v0-naive", "2^20 i32, cold", "10.0 %"]);
}

#[test]
fn a_wide_interval_is_marked_and_the_marks_are_explained() {
    let ticks = "at most one 32 ns tick of the GPU's timer";
    // If no interval reaches the target width, the reason is noise, or the tick if there is one.
    let mut parts = Parts::read();
    parts.env.method.target = 1e-6;
    let text = page_of(&parts.run());
    assert!(text.contains("] ~") && !text.contains("] °") && !text.contains(ticks), "{text}");
    let text = page_of(&parts.timed(|s| s.ns / 32 * 32).run());
    assert!(text.contains("] °") && text.contains(ticks), "{text}");
}

#[test]
fn only_gated_runs_are_described_as_gated() {
    let gated = "times are GPU-gated: the stream is held back";
    let mut parts = Parts::read();
    assert!(page_of(&parts.run()).contains(gated));
    parts.env.method.gated = false;
    assert!(!page_of(&parts.run()).contains(gated));
    parts.env.method.gated = true;
    let parts = parts.without(|s| s.clock == Clock::Host);
    assert!(!page_of(&parts.run()).contains(gated));
}

#[test]
fn the_ladder_has_times_rates_and_ratios_of_its_competitors() {
    let parts = Parts::read()
        .with("reduce", Role::Reduce, "cub", 900)
        .with("mailbox", Role::Study, "cub", 800)
        .with("v1-again", Role::Experiment, "v1-divergence", 1000);
    let run = parts.run();
    let text = page::ladder(&run, &[&run]);
    assert_eq!(
        line(&text, "vs. previous"),
        ["step", "2^20 µs", "GB/s", "% of peak", "vs. previous", "vs. CUB"]
    );
    // The times and ratios are those on the page; the bandwidths are 57.4 and 339.7 of 512 GB/s.
    assert_eq!(
        line(&text, "v0-naive"),
        ["[v0-naive](steps/v0-naive)", "73.06", "57.4", "11.2", "–", "0.169"]
    );
    assert_eq!(
        line(&text, "v1-divergence"),
        ["[v1-divergence](steps/v1-divergence)", "49.72", "84.4", "16.5", "1.470", "0.249"]
    );
    assert_eq!(line(&text, "| cub "), ["cub", "12.35", "339.7", "66.3", "–", "–"]);
    assert_eq!(line(&text, "| read-only ")[4..], ["–", "–"]);
    let reduce = line(&text, "[reduce](reduce)");
    assert_eq!((&*reduce[1], &*reduce[4], &*reduce[5]), ("11.11", "–", "1.111"), "{text}");
    for aside in ["empty-kernel", "mailbox", "v1-again", "thrust"] {
        assert!(!text.contains(aside), "{aside}: {text}");
    }
    assert!(text.contains("An empty kernel takes 2.51 µs"), "{text}");
    // With three runs, a ratio is their mean. With fewer runs, the page does not mention a mean.
    let said = |kind: &[&Run]| page::ladder(&run, kind).contains("is the mean of");
    assert_eq!([said(&[&run]), said(&[&run; 2]), said(&[&run; 3])], [false, false, true]);
    assert!(page::ladder(&run, &[&run; 3]).contains("the mean of 3 runs"));
}

#[test]
fn the_ladder_has_no_fraction_of_an_unknown_bus() {
    let mut parts = Parts::read();
    parts.env.gpu.bus_bytes_per_second = 0.0;
    let run = parts.run();
    assert_eq!(line(&page::ladder(&run, &[&run]), "| cub ")[2..4], ["339.7", "–"]);
    let small = Parts::read().without(|s| s.n == 1 << 20).run();
    assert_eq!(page::ladder(&small, &[&small]), "Nothing has been measured at 2^20 or 2^28 yet.\n");
}

#[test]
fn repeated_runs_are_compared_with_cub_and_the_previous_step() {
    let run = Parts::read().run();
    let page = repeat::page(&[vec![&run, &run]]);
    let names = |title: &str| -> Vec<String> {
        let (_, after) = page.split_once(title).unwrap();
        let rows = after.split("\n\n").nth(1).unwrap().lines().skip(2);
        rows.map(|row| row.split('|').nth(1).unwrap().trim().to_owned()).collect()
    };
    assert_eq!(names("f32, L2 cold: speedup over CUB"), ["v0-naive", "v1-divergence"]);
    assert_eq!(names("f32, L2 cold: speedup over the previous step"), ["v1-divergence"]);
    let (_, after) = page.split_once("over the previous step").unwrap();
    assert_eq!(line(after, "v1-divergence")[2], "1.470 (1.470, 1.470)");
    // With two steps, three sizes of f32 and two of i32, each run's median lies in the other's
    // interval.
    assert_eq!(repeat::held(&[&run, &run]).0.tried, 20);
}
