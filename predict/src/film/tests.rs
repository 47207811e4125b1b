//! Tests films of kernels whose behaviour can be computed by hand.

use std::sync::Arc;

use super::*;
use crate::{
    code::{Code, Inst, Kind},
    trace::{Op, What},
};

/// Returns a block in which each warp issues `loads` loads of a vector, then one addition that
/// needs all of them.
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
    assert!((49..=64).contains(&lanes) && film.resident == 8, "{lanes} {}", film.resident);
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
    }
    assert!(film.bytes() > 0.0);
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
