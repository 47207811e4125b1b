//! What CUPTI counted from inside of a run is what ncu counted around one: `results/cupti/` against the
//! newest `counters.csv` of ncu, which `counters.rs` holds against the interpreter.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use common::device::cupti::counters::METRICS;
use measured::counters::Count;

type Key = (String, String, u32, u64, u32, String);

fn key(count: &Count) -> Key {
    let Count { variant, element, threads, n, launch, metric, .. } = count.clone();
    (variant, element, threads, n, launch, metric)
}

/// Files of that name below a folder's folders, sorted.
fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path().join(name)).collect();
    files.retain(|file| file.exists());
    files.sort();
    files
}

/// The steps whose counts do not hang on who waits for whom.
fn steps() -> Vec<&'static str> {
    ladder::STEPS.iter().map(|step| step.name).chain(["one-cluster"]).collect()
}

#[test]
fn every_step_is_counted_from_inside_as_it_is_from_outside() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
    let ncu = files(&results, "counters.csv").pop().expect("results/ holds counters");
    let ncu: BTreeMap<Key, f64> =
        Count::read(&ncu).unwrap().iter().map(|count| (key(count), count.value)).collect();
    let steps = steps();
    let folders = files(&results.join("cupti"), "counters.csv");
    assert!(folders.len() >= 2, "an H200 and an H100, and there are {}", folders.len());
    for file in folders {
        let mut counts = Count::read(&file).unwrap();
        counts.retain(|count| steps.contains(&count.variant.as_str()));
        // In the last places stand the counts that hang on ptxas and on the order of warps.
        counts.retain(|count| METRICS[..8].contains(&count.metric.as_str()));
        let differ: Vec<String> = counts
            .iter()
            .filter(|count| ncu.get(&key(count)) != Some(&count.value))
            .map(|count| {
                format!("{:?}: {} here, {:?} there", key(count), count.value, ncu.get(&key(count)))
            })
            .collect();
        println!("{}: {} counts compared", file.display(), counts.len());
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
