//! Tests that the interpreter's counts equal the hardware's counts exactly. The hardware's counts
//! were read by ncu on a GPU, and are committed in `results/`.

use std::{collections::BTreeMap, path::PathBuf};

use common::{
    Element, Step,
    device::{Choice, Device, Settings, cupti::counters::METRICS},
    plan::Block,
    ptx,
    run::{self, SAME, Samples},
    sum::{Input, Scalar, Workload},
};
use measured::counters::Count;
use simt::Counts;
use steps::step;

/// A count of the interpreter, and ncu's metric for the same quantity.
type Same = (&'static str, fn(&Counts) -> u64);

/// Returns the counts that `--counters` shows for both devices, and the counts that only ncu has.
fn same() -> impl Iterator<Item = Same> {
    let opcodes: [Same; 2] = [
        ("sass__inst_executed_per_opcode:BAR", |c| c.barriers),
        ("sass__inst_executed_per_opcode:SHFL", |c| c.shuffles),
    ];
    METRICS.into_iter().zip(SAME).chain(opcodes)
}

/// The sizes to interpret. With the first size, all blocks are full; with the second size, one
/// block is not.
const SIZES: [u64; 2] = [1 << 20, (1 << 20) + 13];

/// Tests blocks of 256 threads, one of which is not full.
#[test]
fn counts_equal_those_of_the_hardware() {
    compare(&SIZES[1..], &[256], 400);
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn counts_equal_those_of_the_hardware_at_both_sizes_and_in_all_blocks() {
    compare(&SIZES, &[128, 256, 512], 2000);
}

/// Compares the counts for all steps with the hardware's, and checks that at least `least` were
/// compared.
fn compare(sizes: &[u64], blocks: &[u32], least: usize) {
    let golden = golden();
    let mut compared = 0;
    let mut different = Vec::new();
    let ways = ladder::STUDIES[0].ways.iter().filter(|way| way.name == "one-cluster");
    // A new step has no counts until the next run. The minimum ensures that the counts of the other
    // steps are not lost.
    let counted = |step: &&&Step| golden.keys().any(|key| key.0 == step.name);
    for step in ladder::STEPS.iter().chain(ways).filter(counted) {
        for element in [Element::F32, Element::I32] {
            for &n in sizes {
                let asked: Vec<Block> = blocks.iter().map(|&b| Block::new(b).unwrap()).collect();
                for threads in step.distinct_blocks(&asked).into_iter().map(|block| block.threads())
                {
                    let launches = match element {
                        Element::I32 => interpreted::<i32>(step, n, threads),
                        _ => interpreted::<f32>(step, n, threads),
                    };
                    for (index, counts) in launches.iter().enumerate() {
                        let key = (
                            step.name.to_owned(),
                            element.to_string(),
                            n,
                            threads,
                            index as u32 + 1,
                        );
                        let hardware = golden
                            .get(&key)
                            .unwrap_or_else(|| panic!("there are no counts for {key:?}"));
                        for (metric, ours) in same() {
                            // ncu has no row for an opcode that was not executed.
                            let theirs = hardware.get(metric).copied().unwrap_or(0.0);
                            compared += 1;
                            if ours(counts) as f64 != theirs {
                                different.push(format!(
                                    "{key:?} {metric}: {} interpreted, {theirs} on the GPU",
                                    ours(counts)
                                ));
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{compared} counts compared");
    assert!(
        compared >= least,
        "only {compared} counts were compared, but at least {least} are required"
    );
    assert!(
        different.is_empty(),
        "{} of {compared} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}

/// CUPTI counted the exact sum in a separate run. CUPTI does not count opcodes.
#[test]
fn counts_of_the_exact_sum_equal_those_of_the_hardware() {
    compare_exact(&SIZES[1..]);
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn counts_of_the_exact_sum_equal_those_of_the_hardware_at_both_sizes() {
    compare_exact(&SIZES);
}

fn compare_exact(sizes: &[u64]) {
    let file = "../../results/variants/variants-2026-11-23-nvidia-h200-2/counters.csv";
    let file = measured::file::find(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file));
    let counts = Count::read(&file).unwrap();
    for &n in sizes {
        let ours = &interpreted::<f32>(step("v13-exact-sum").unwrap(), n, 512)[0];
        for (metric, of) in METRICS.into_iter().zip(SAME) {
            let theirs = counts.iter().find(|count| {
                (count.variant.as_str(), count.element.as_str()) == ("v13-exact-sum", "f32")
                    && (count.n, count.metric.as_str()) == (n, metric)
            });
            let theirs = theirs.unwrap_or_else(|| panic!("no {metric} of {n}")).value;
            // ptxas removes two loads in the thread that rounds.
            let load = metric.ends_with("shared_ld.sum") || metric.ends_with("shared_op_ld.sum");
            let removed = if load { 2.0 } else { 0.0 };
            assert_eq!(of(ours) as f64 - removed, theirs, "{metric} of {n}");
        }
    }
}

/// The copy engine performs the bulk copies. Every whole vector is copied once, and no byte is
/// copied twice.
#[test]
fn bulk_copies_load_every_vector_once() {
    for n in SIZES {
        let copied = interpreted::<f32>(step("v12-bulk-copy").unwrap(), n, 512)[0].copied_bytes;
        assert_eq!(copied, n * 4 / 16 * 16, "{n}");
    }
}

/// These steps use the same chunks in the same tree. The bits depend neither on how the last block
/// receives the partial sums nor on how threads load the vectors.
#[test]
fn a_ticket_message_slots_and_a_ring_give_the_same_bits() {
    let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
    let block = Block::new(512).unwrap();
    for n in [0, 1, 33, 1025, (1 << 14) + 13, 77_777, 1_572_941] {
        let workload = Workload::<f32>::new(&device, Input::Signed, n, 42).unwrap();
        let sums = [
            step("v10-fixed-tree").unwrap(),
            step("v11-mailbox").unwrap(),
            step("v12-bulk-copy").unwrap(),
        ]
        .map(|step| {
            let text = ptx::of(&step.kernel, Element::F32, None).unwrap();
            let samples = Samples { count: 0, warm: true };
            let outcome = run::run(step, &text, &device, &workload, block, samples).unwrap();
            outcome.verdict.sum.as_f64().to_bits()
        });
        assert_eq!([sums[0]; 3], sums, "{n}");
    }
}

/// Returns the interpreter's counts for each launch.
fn interpreted<T: Scalar>(step: &common::Step, n: u64, threads: u32) -> Vec<Counts> {
    let settings = Settings { checks: Some(Vec::new()), ..Settings::default() };
    let device = Device::open(Choice::Simt, &settings).unwrap();
    let workload = Workload::<T>::new(&device, Input::Uniform, n, 42).unwrap();
    let text = ptx::of(&step.kernel, T::ELEMENT, None).unwrap();
    let samples = Samples { count: 0, warm: true };
    let outcome =
        run::run(step, &text, &device, &workload, Block::new(threads).unwrap(), samples).unwrap();
    assert!(outcome.wrong.is_none());
    outcome.observed.unwrap().counters.launches.iter().map(|launch| launch.counts).collect()
}

type Key = (String, String, u64, u32, u32);

/// Returns the newest committed counters.
fn golden() -> BTreeMap<Key, BTreeMap<String, f64>> {
    let results = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../results/ladder");
    let mut files: Vec<PathBuf> = std::fs::read_dir(results)
        .unwrap()
        .flatten()
        .map(|entry| measured::file::find(&entry.path().join("counters.csv")))
        .collect();
    files.retain(|file| file.exists());
    let newest = files.into_iter().max().expect("results/ has counters");
    let mut golden: BTreeMap<Key, BTreeMap<String, f64>> = BTreeMap::new();
    for count in Count::read(&newest).unwrap() {
        let key = (count.variant, count.element, count.n, count.threads, count.launch);
        golden.entry(key).or_default().insert(count.metric, count.value);
    }
    golden
}
