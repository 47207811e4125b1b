//! Measures the interpreter's speed on v0, with blocks of 256 threads and 2^N floats. N is the
//! first argument, or 20 by default.

use std::time::Instant;

use simt::observe::{Memory, Races, Sync};
use simt::{Arg, Counters, Gpu, Launch, Module, Observer};

const PTX: &str = include_str!("../../steps/v0-naive/src/kernel.f32.ptx");

fn run<O: Observer>(module: &Module, data: &[u8], obs: &mut O) -> f32 {
    let mut gpu = Gpu::new();
    let mut n = data.len() / 4;
    let mut input = gpu.alloc(data.len() as u64).expect("room");
    gpu.write(input, data).expect("just allocated");
    while n > 1 {
        let grid = n.div_ceil(256);
        let output = gpu.alloc(4 * grid as u64).expect("room");
        let launch = Launch {
            entry: "reduce",
            grid: [grid as u32, 1, 1],
            block: [256, 1, 1],
            cluster: [1, 1, 1],
            shared: 1024,
            args: vec![Arg::U64(input), Arg::U64(output), Arg::U64(n as u64)],
        };
        gpu.launch(module, &launch, obs).expect("a step runs");
        (input, n) = (output, grid);
    }
    let mut out = [0; 4];
    gpu.read(input, &mut out).expect("the sum");
    f32::from_le_bytes(out)
}

fn main() {
    let log: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(20);
    let data: Vec<u8> = (0..1u32 << log).flat_map(|i| ((i % 7) as f32).to_le_bytes()).collect();
    let module = Module::parse(PTX).expect("a step loads");
    for _ in 0..3 {
        let start = Instant::now();
        let sum = run(&module, &data, &mut ());
        let bare = start.elapsed();
        let start = Instant::now();
        let mut counters = Counters::default();
        run(&module, &data, &mut counters);
        let counted = start.elapsed();
        let start = Instant::now();
        run(
            &module,
            &data,
            &mut (Counters::default(), Memory::default(), Races::default(), Sync::default()),
        );
        let checked = start.elapsed();
        let insts = counters.total.warp_insts;
        println!(
            "2^{log}: sum {sum}, {insts} warp instructions: {bare:?} bare, {counted:?} counted, {checked:?} checked"
        );
    }
}
