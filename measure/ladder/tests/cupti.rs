//! Tests that the counts that CUPTI collects inside a run equal those that ncu collects from
//! outside. The files in `results/cupti/` are compared with ncu's newest `counters.csv`, which
//! `counters.rs` compares with the interpreter.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use common::device::cupti::counters::METRICS;
use measured::counters::Count;
use serde_json::Value;

type Key = (String, String, u32, u64, u32, String);

fn key(count: &Count) -> Key {
    let Count { variant, element, threads, n, launch, metric, .. } = count.clone();
    (variant, element, threads, n, launch, metric)
}

/// Returns the files with this name in the subfolders of a folder, sorted.
fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path().join(name)).collect();
    files.iter_mut().for_each(|file| *file = measured::file::find(file));
    files.retain(|file| file.exists());
    files.sort();
    files
}

#[test]
fn ncu_counts_the_same_on_the_same_gpu() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/cupti");
    let both = files(&results, "ncu.csv");
    assert!(!both.is_empty(), "results/cupti contains ncu's counts from an H100");
    for file in both {
        let inside = Count::read(&file.with_file_name("counters.csv")).unwrap();
        let inside: BTreeMap<Key, f64> = inside.iter().map(|c| (key(c), c.value)).collect();
        let mut outside = Count::read(&file).unwrap();
        outside.retain(|count| METRICS[..8].contains(&count.metric.as_str()));
        println!("{}: {} counts compared", file.display(), outside.len());
        assert!(outside.len() >= 14 * 2 * 8, "only {}", outside.len());
        for count in outside {
            assert_eq!(inside.get(&key(&count)), Some(&count.value), "{:?}", key(&count));
        }
    }
}

#[test]
fn a_trace_has_every_launch_and_its_events_nest() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/cupti");
    let traces = files(&results, "trace.json");
    assert!(traces.len() >= 2, "{}", traces.len());
    for file in traces {
        let trace: Value = serde_json::from_slice(&measured::file::read(&file).unwrap()).unwrap();
        let mut open: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut kernels = 0;
        for event in trace["traceEvents"].as_array().unwrap() {
            if event["ph"] != "X" {
                continue;
            }
            kernels += usize::from(event["cat"] == "kernel");
            // The times are in microseconds with three decimals, so differences of a nanosecond are
            // visible.
            let (start, took) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
            let open = open.entry(event["tid"].as_u64().unwrap()).or_default();
            open.retain(|end| *end > start + 1e-4);
            assert!(
                open.iter().all(|end| start + took <= end + 1e-4),
                "{}: {event}",
                file.display()
            );
            open.push(start + took);
        }
        let profile = fs::read_to_string(file.with_file_name("profile.txt")).unwrap();
        let said = format!("{kernels} kernels for {kernels} launches, 0");
        assert!(profile.contains(&said), "{}: {said}", file.display());
        assert!(open.len() >= 2, "host and stream");
        println!("{}: {kernels} kernels on {} tracks", file.display(), open.len());
    }
}

/// Returns the steps and study kernels whose counts do not depend on timing.
fn steps() -> Vec<&'static str> {
    ladder::STEPS.iter().map(|step| step.name).chain(["one-cluster"]).collect()
}

#[test]
fn every_step_is_counted_the_same_from_inside_and_outside() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/ladder");
    let ncu = files(&results, "counters.csv").pop().expect("results/ holds counters");
    let ncu: BTreeMap<Key, f64> =
        Count::read(&ncu).unwrap().iter().map(|count| (key(count), count.value)).collect();
    // A new step has no counts until the next run.
    let mut steps = steps();
    steps.retain(|step| ncu.keys().any(|key| key.0 == *step));
    assert!(steps.len() >= 14, "only {steps:?}");
    let folders = files(&results.join("../cupti"), "counters.csv");
    assert!(folders.len() >= 2, "expected an H200 and an H100, found {}", folders.len());
    for file in folders {
        let mut counts = Count::read(&file).unwrap();
        counts.retain(|count| steps.contains(&count.variant.as_str()));
        // Counts that depend on ptxas or on the order of warps may differ in the last digits.
        counts.retain(|count| METRICS[..8].contains(&count.metric.as_str()));
        let differ: Vec<String> = counts
            .iter()
            .filter(|count| ncu.get(&key(count)) != Some(&count.value))
            .map(|count| {
                format!(
                    "{:?}: {} by CUPTI, {:?} by ncu",
                    key(count),
                    count.value,
                    ncu.get(&key(count))
                )
            })
            .collect();
        println!("{}: {} counts compared", file.display(), counts.len());
        assert!(counts.len() > 2000, "only {}", counts.len());
        assert!(differ.is_empty(), "{} of {}:\n{}", differ.len(), counts.len(), differ.join("\n"));
        for step in &steps {
            let of = |element: &str, n: u64| {
                counts.iter().any(|c| c.variant == *step && c.element == element && c.n == n)
            };
            for n in [1 << 20, (1 << 20) + 13] {
                assert!(of("f32", n) && of("i32", n), "{}: {step} on {n}", file.display());
            }
        }
    }
}
