//! Simulates short sequences of instructions whose times can be computed by hand.

use super::*;
use crate::code::Inst;

fn inst(kind: Kind, reads: &[u16], writes: &[u16]) -> Inst {
    Inst {
        kind,
        slots: 1,
        reads: reads.to_vec(),
        writes: writes.to_vec(),
        skips: None,
        barrier: false,
        branch: false,
        fence: false,
    }
}

fn code(insts: Vec<Inst>) -> Code {
    Code { lines: vec![0; insts.len()], insts, registers: 8, live: 8, ..Code::default() }
}

fn ops(done: &[(u32, What)]) -> Vec<Op> {
    done.iter().map(|&(pc, what)| Op { pc, what }).collect()
}

fn ran(gpu: &Gpu, code: &Code, warps: Vec<Vec<Op>>, blocks: usize, resident: usize) -> Ran {
    let blocks = vec![warps.as_slice(); blocks];
    run(gpu, &Work { code, blocks, resident, busy: gpu.sms })
}

#[test]
fn a_chain_takes_its_latencies_and_warps_hide_them() {
    let gpu = Gpu::named("h200").unwrap();
    let code = code(vec![inst(Kind::Float, &[0], &[0])]);
    let chain = ops(&[(0, What::Plain); 100]);
    let one = ran(&gpu, &code, vec![chain.clone()], 1, 1);
    let latency = gpu.latency[Kind::Float as usize];
    assert!((one.cycles - gpu.block - 100.0 * latency.ceil()).abs() < 20.0, "{}", one.cycles);
    // With eight warps each, the four schedulers issue an instruction in almost every cycle.
    let many = ran(&gpu, &code, vec![chain; 32], 1, 1);
    assert!(many.spent[Spent::Issue as usize] > 0.8 && many.issued == 3200, "{many:?}");
}

#[test]
fn a_barrier_waits_for_the_slowest_warp() {
    let gpu = Gpu::named("h200").unwrap();
    let mut barrier = inst(Kind::Other, &[], &[]);
    barrier.barrier = true;
    let code = code(vec![inst(Kind::Float, &[0], &[0]), barrier]);
    let slow: Vec<(u32, What)> = vec![(0, What::Plain); 100];
    let after = [(1, What::Plain), (0, What::Plain)];
    let slow = ops(&[&slow[..], &after].concat());
    let alone = ran(&gpu, &code, vec![slow.clone()], 1, 1).cycles;
    let both = ran(&gpu, &code, vec![slow, ops(&after)], 1, 1);
    assert!((both.cycles - alone).abs() < 10.0, "{} {alone}", both.cycles);
    assert!(both.spent[Spent::Barrier as usize] > 0.1, "{both:?}");
}

#[test]
fn loads_take_the_latency_and_many_loads_take_the_bandwidth() {
    let gpu = Gpu::named("h200").unwrap();
    let load = inst(Kind::Other, &[1], &[0]);
    let code = code(vec![load, inst(Kind::Float, &[0], &[2])]);
    let one = [(0, What::Load { sectors: 16, far: true }), (1, What::Plain)];
    let alone = ran(&gpu, &code, vec![ops(&one)], 1, 1).cycles;
    assert!((alone - gpu.block - gpu.first).abs() < 20.0, "{alone}");
    let many: Vec<(u32, What)> = (0..2000).map(|at| one[usize::from(at % 8 == 7)]).collect();
    let all = ran(&gpu, &code, vec![ops(&many); 32], 1, 1);
    let least = all.bytes / (gpu.dram / f64::from(gpu.sms));
    assert!(all.cycles > least && all.cycles < 1.1 * least, "{} {least}", all.cycles);
    assert!(all.spent[Spent::Dram as usize] > 0.5, "{all:?}");
}

#[test]
fn a_block_waits_for_a_place() {
    let gpu = Gpu::named("h200").unwrap();
    let code = code(vec![inst(Kind::Float, &[0], &[0])]);
    let chain = vec![ops(&[(0, What::Plain); 500])];
    let together = ran(&gpu, &code, chain.clone(), 4, 4).cycles;
    let apart = ran(&gpu, &code, chain, 4, 1).cycles;
    let each = 500.0 * gpu.latency[Kind::Float as usize].ceil();
    assert!((together - each - 4.0 * gpu.block).abs() < 50.0, "{together}");
    assert!((apart - 4.0 * each - 3.0 * gpu.replace - gpu.block).abs() < 50.0, "{apart}");
}
