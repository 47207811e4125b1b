//! Tests films of kernels whose behaviour can be computed by hand.

use std::sync::Arc;

use super::*;
use crate::{
    code::{Code, Inst, Kind},
    trace::{Op, What},
};

/// Returns a block in which each warp issues `loads` vector loads, then one addition that depends
/// on all of them.
fn recorded(loads: usize, warps: usize) -> Blocks {
    let inst = |kind, reads: &[u16], writes: &[u16]| Inst {
        kind,
        slots: 1,
        reads: reads.to_vec(),
        writes: writes.to_vec(),
        skips: None,
        barrier: false,
        branch: false,
        fence: false,
    };
    let mut insts: Vec<Inst> =
        (0..loads as u16).map(|at| inst(Kind::Other, &[], &[at + 1])).collect();
    let all: Vec<u16> = (1..=loads as u16).collect();
    insts.push(inst(Kind::Float, &all, &[0]));
    let load = What::Load { sectors: 16, far: true };
    let mut ops: Vec<Op> = (0..loads as u32).map(|pc| Op { pc, what: load }).collect();
    ops.push(Op { pc: loads as u32, what: What::Plain });
    let code = Code {
        lines: vec![0; insts.len()],
        insts,
        registers: loads + 1,
        live: 8,
        ..Code::default()
    };
    let threads = 32 * warps as u32;
    Blocks {
        blocks: vec![(0, vec![ops; warps])],
        code: Arc::new(code),
        threads,
        ..Blocks::default()
    }
}

#[test]
fn a_slot_is_in_one_state_at_a_time_and_a_load_leaves_before_it_is_back() {
    let gpu = Gpu::named("h200").unwrap();
    let film = film(&gpu, &recorded(2, 8), 132 * 64, None, 4000);
    let lanes: usize = film.lanes.iter().map(Vec::len).sum();
    assert!((49..=64).contains(&lanes), "{lanes}");
    assert_eq!((film.fits, film.blocks), ((8, "threads"), 64));
    assert!((7..=8).contains(&film.resident), "{}", film.resident);
    for lane in film.lanes.iter().flatten() {
        assert!(lane.states.is_sorted_by(|a, b| a.from < b.from), "{lane:?}");
        assert!(lane.states.iter().all(|shown| shown.from < 4000));
        assert!(lane.warps.is_sorted());
        let first = lane.states.iter().find(|shown| shown.state == State::Memory).unwrap();
        assert_eq!(first.pc, 1, "it waits after its second load");
    }
    // Other warps take the slots of warps that have ended.
    assert!(film.lanes.iter().flatten().any(|lane| lane.warps.len() > 1));
    for load in &film.flights {
        let order = [load.leaves, load.bus[0], load.bus[1], load.back];
        assert!(order.is_sorted() && load.bytes == 512.0, "{load:?}");
        // The duration of each transfer matches `film.rate`.
        assert!((load.bytes - film.rate * (load.bus[1] - load.bus[0])).abs() < 1e-6, "{load:?}");
    }
}

#[test]
fn the_transfer_of_a_large_first_copy_takes_its_time() {
    let gpu = Gpu::named("h200").unwrap();
    let mut recorded = recorded(1, 1);
    recorded.blocks[0].1[0][0].what = What::Copy { bytes: 32 << 10, barrier: 0 };
    let film = film(&gpu, &recorded, 132, None, 8192);
    let [from, to] = film.flights[0].bus;
    assert!((film.rate * (to - from) - 32768.0).abs() < 1e-6, "{from} to {to}");
    assert!((film.part(&gpu, [0, 8192]).bytes - 32768.0).abs() < 1e-6);
}

#[test]
fn a_film_counts_the_blocks_that_are_resident_at_the_same_time() {
    let gpu = Gpu::named("h200").unwrap();
    let at_once = |grid| film(&gpu, &recorded(2, 8), grid, None, 4000).resident;
    // Two or three blocks start before the first one ends.
    assert_eq!([132, 2 * 132, 3 * 132].map(at_once), [1, 2, 3]);
    let wide = film(&gpu, &recorded(2, 8), 132 * 64, Some(128), 4000);
    assert_eq!((wide.fits, wide.resident), ((2, "registers"), 2));
    let small = film(&gpu, &recorded(2, 1), 132 * 64, None, 4000);
    assert_eq!(small.fits, (32, "blocks"));
}

#[test]
fn the_parts_agree_with_the_simulation() {
    let gpu = Gpu::named("h200").unwrap();
    let recorded = recorded(1, 8);
    let film = film(&gpu, &recorded, 132 * 1000, None, 20_000);
    let whole = film.part(&gpu, [0, 20_000]);
    assert!((whole.states.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{whole:?}");
    let issues = |lane: &Lane| lane.states.iter().filter(|s| s.state == State::Issue).count();
    let issued: usize = film.lanes.iter().flatten().map(issues).sum();
    assert!((whole.issue * 4.0 * 20_000.0 - issued as f64).abs() < 1.0, "{whole:?} {issued}");
    // Little's law: bytes in flight = throughput × latency.
    let part = film.part(&gpu, [4000, 18_000]);
    let mean = |of: &dyn Fn(&&Flight) -> f64| {
        let all: Vec<&Flight> =
            film.flights.iter().filter(|load| (4000.0..18_000.0).contains(&load.leaves)).collect();
        all.iter().map(of).sum::<f64>() / all.len() as f64
    };
    let latency = mean(&|load| load.back - load.leaves);
    let rate = part.bus * gpu.dram / f64::from(gpu.sms);
    let law = rate * latency / part.flight;
    assert!((0.9..1.1).contains(&law), "{law} {part:?}");
    let every = film.flights.iter().map(|load| load.back - load.leaves).sum::<f64>();
    let wait = every / film.flights.len() as f64;
    assert!((film.wait() - wait).abs() < 1e-6 && wait >= gpu.load[0][1], "{wait}");
}

#[test]
fn more_loads_in_flight_use_more_of_the_bus_and_a_longer_latency_uses_less() {
    let gpu = Gpu::named("h200").unwrap();
    let bus = |gpu: &Gpu, loads, warps| {
        film(gpu, &recorded(loads, warps), 132 * 1000, None, 6000).part(gpu, [1000, 6000]).bus
    };
    let (one, four) = (bus(&gpu, 1, 2), bus(&gpu, 4, 2));
    assert!(four > 1.5 * one, "{one} {four}");
    let slow = gpu.clone().with_latency(3.0);
    assert!(bus(&slow, 1, 2) < one);
    let wide = gpu.clone().with_bandwidth(0.25);
    assert!(bus(&wide, 8, 8) > 0.9, "{}", bus(&wide, 8, 8));
}

#[test]
fn the_bus_never_carries_more_than_its_bandwidth_allows() {
    let usual = Gpu::named("h200").unwrap();
    for latency in [1.0, 2.0, 4.0] {
        let gpu = usual.clone().with_latency(latency);
        let recorded = recorded(8, 8);
        let film = film(&gpu, &recorded, 132 * 100, None, 8192);
        let most = 512.0 * gpu.dram / f64::from(gpu.sms);
        let carried: Vec<f64> =
            (0..=7680).step_by(256).map(|from| film.part(&gpu, [from, from + 512]).bytes).collect();
        let is_within = carried.iter().all(|&bytes| bytes <= most + 1e-6);
        assert!(is_within, "latency × {latency}: at most {most} bytes per part, but {carried:?}");
        // In later parts, the bus is always busy, so the limit is reached.
        assert!(carried.iter().any(|&bytes| bytes > 0.99 * most), "latency × {latency}");
    }
}
