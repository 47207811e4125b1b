//! The interpreter counts what the hardware counts, to the unit: its counts against those that
//! ncu read on a GPU, committed under `results/`.

use std::{collections::BTreeMap, path::PathBuf};

use common::{
    Element,
    device::{Choice, Device, Settings, cupti::counters::METRICS},
    plan::Block,
    ptx,
    run::{self, SAME, Samples},
    sum::{Input, Scalar, Workload},
};
use measured::counters::Count;
use simt::Counts;

/// A count of the interpreter, and ncu's name for the same thing.
type Same = (&'static str, fn(&Counts) -> u64);

/// What `--counters` sets side by side, and what ncu alone has.
fn same() -> impl Iterator<Item = Same> {
    let opcodes: [Same; 2] = [
        ("sass__inst_executed_per_opcode:BAR", |c| c.barriers),
        ("sass__inst_executed_per_opcode:SHFL", |c| c.shuffles),
    ];
    METRICS.into_iter().zip(SAME).chain(opcodes)
}

/// The sizes that are interpreted: a full one, and one with a ragged end.
const SIZES: [u64; 2] = [1 << 20, (1 << 20) + 13];

#[test]
fn equal_to_the_hardware_to_the_unit() {
    let golden = golden();
    let mut compared = 0;
    let mut different = Vec::new();
    let ways = small_sum::STUDY.ways.iter().filter(|way| way.name == "one-cluster");
    for step in ladder::STEPS.iter().chain(ways) {
        for element in [Element::F32, Element::I32] {
            for n in SIZES {
                let asked = [128, 256, 512].map(|threads| Block::new(threads).unwrap());
                for threads in step.among(&asked).into_iter().map(|block| block.threads()) {
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
                            .unwrap_or_else(|| panic!("nothing was counted for {key:?}"));
                        for (metric, ours) in same() {
                            // ncu has no row for an opcode that was never executed.
                            let theirs = hardware.get(metric).copied().unwrap_or(0.0);
                            compared += 1;
                            if ours(counts) as f64 != theirs {
                                different.push(format!(
                                    "{key:?} {metric}: {} here, {theirs} there",
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
    assert!(compared > 2000, "only {compared} counts were compared");
    assert!(
        different.is_empty(),
        "{} of {compared} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}

/// The loads of the bulk copy are the copy engine's: every whole word, and no byte twice.
#[test]
fn bulk_copies_bring_every_word_once() {
    for n in SIZES {
        let copied = interpreted::<f32>(&v12_bulk_copy::STEP, n, 512)[0].copied_bytes;
        assert_eq!(copied, n * 4 / 16 * 16, "{n}");
    }
}

/// The same parts in the same tree: how the last block comes by the partial sums, and how the words
/// come to the threads, changes no bit.
#[test]
fn a_ticket_a_mailbox_and_a_ring_give_the_same_bits() {
    let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
    let block = Block::new(512).unwrap();
    for n in [0, 1, 33, 1025, (1 << 14) + 13, 77_777, 1_572_941] {
        let workload = Workload::<f32>::new(&device, Input::Signed, n, 42).unwrap();
        let sums = [&v10_fixed_tree::STEP, &v11_mailbox::STEP, &v12_bulk_copy::STEP].map(|step| {
            let text = ptx::of(&step.kernel, Element::F32, None).unwrap();
            let samples = Samples { count: 0, warm: true };
            let outcome = run::run(step, &text, &device, &workload, block, samples).unwrap();
            outcome.verdict.sum.as_f64().to_bits()
        });
        assert_eq!([sums[0]; 3], sums, "{n}");
    }
}

/// What the interpreter counts, launch by launch.
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

/// The newest committed counters.
fn golden() -> BTreeMap<Key, BTreeMap<String, f64>> {
    let results = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../results");
    let mut files: Vec<PathBuf> = std::fs::read_dir(results)
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("counters.csv"))
        .collect();
    files.retain(|file| file.exists());
    let newest = files.into_iter().max().expect("results/ holds counters");
    let mut golden: BTreeMap<Key, BTreeMap<String, f64>> = BTreeMap::new();
    for count in Count::read(&newest).unwrap() {
        let key = (count.variant, count.element, count.n, count.threads, count.launch);
        golden.entry(key).or_default().insert(count.metric, count.value);
    }
    golden
}
