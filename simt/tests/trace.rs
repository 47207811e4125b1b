//! Tests that the trace has the lanes, banks and rounds of a block, as data and as JSON.

use crate::common::{Element, STEPS, launch};
use simt::observe::Trace;
use simt::{Arg, Gpu, Module, Watch};

fn traced(step: usize, n: usize, block: u32) -> Trace {
    let module = Module::parse(&STEPS[step].ptx(Element::F32)).unwrap();
    let mut gpu = Gpu::new();
    let (bytes, _) = Element::F32.input(n);
    let (input, out) = (gpu.alloc(4 * n as u64).unwrap(), gpu.alloc(4096).unwrap());
    gpu.write(input, &bytes).unwrap();
    let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64)];
    let entry = STEPS[step].entry(block);
    let blocks = n.div_ceil(block as usize * STEPS[step].loads) as u32;
    let mut watch = Watch::default();
    watch.4.0 = Some(Trace::new(2));
    let launch = launch(&entry, blocks, block, block * 4, args);
    gpu.launch_watched(&module, &launch, Some(&mut watch)).unwrap();
    watch.4.0.unwrap()
}

#[test]
fn the_first_blocks_are_recorded_round_by_round() {
    let trace = traced(1, 256 * 5, 256);
    assert_eq!(trace.blocks.iter().map(|b| b.block).collect::<Vec<_>>(), [0, 1]);
    // There is a round for the load, one for each halving of the distance, and one for the store
    // after the last barrier.
    assert_eq!(trace.blocks[0].rounds.len(), 1 + 8 + 1);
}

/// In each round, v1 has bank conflicts and v2 has none, as in the book's figures.
#[test]
fn conflicts_are_where_the_book_shows_them() {
    let conflicts = |step: usize| -> Vec<u32> {
        let block = &traced(step, 256, 256).blocks[0];
        block
            .rounds
            .iter()
            .map(|r| r.events.iter().filter(|e| e.what == "load").map(|e| e.conflicts).sum())
            .collect()
    };
    // The counters give 70 conflicts for the whole block; the trace gives them per round.
    assert_eq!(conflicts(1).iter().sum::<u32>(), 70);
    assert_eq!(conflicts(2), [0; 10]);
    let trace = traced(1, 256, 256);
    let first = trace.blocks[0].rounds[1].events.iter().find(|e| e.what == "load").unwrap();
    assert_eq!(first.space, "shared");
    assert_eq!(first.line, 17);
    assert_eq!(first.lanes, (0..32).collect::<Vec<_>>());
    assert_eq!(first.banks, (0..32).map(|l| 2 * l % 32).collect::<Vec<_>>());
    assert_eq!((first.wavefronts, first.conflicts), (2, 1));
}

#[test]
fn the_json_has_the_same_data() {
    let trace = traced(6, 128, 64);
    let json: serde_json::Value = serde_json::from_str(&trace.to_json()).unwrap();
    let events = json["blocks"][0]["rounds"][0]["events"].as_array().unwrap();
    assert_eq!(events.iter().filter(|e| e["what"] == "shuffle").count(), 2 * 5);
    assert_eq!(events.iter().filter(|e| e["what"] == "barrier").count(), 2);
    let load = events.iter().find(|e| e["space"] == "global").unwrap();
    assert_eq!(
        (load["what"].as_str(), load["sectors"].as_u64(), load["bytes"].as_u64()),
        (Some("load"), Some(4), Some(4))
    );
    assert_eq!(load["lanes"].as_array().unwrap().len(), 32);
}
