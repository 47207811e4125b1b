//! Measures the interpreter's speed on v0, with blocks of 256 threads and 2^N floats. N is the
//! first argument, or 20 by default.

use std::time::Instant;

use simt::{Arg, Counters, Gpu, Launch, Module, Watch};

const PTX: &str = include_str!("../../steps/v0-naive/src/kernel.f32.ptx");

fn run(module: &Module, data: &[u8], mut watch: Option<&mut Watch>) -> f32 {
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
        gpu.launch_watched(module, &launch, watch.as_deref_mut()).expect("a step runs");
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
        let sum = run(&module, &data, None);
        let bare = start.elapsed();
        let start = Instant::now();
        let mut counting = simt::counting(Counters::default());
        run(&module, &data, Some(&mut counting));
        let counted = start.elapsed();
        let start = Instant::now();
        let mut all = simt::checks();
        all.0 = Some(Default::default());
        run(&module, &data, Some(&mut all));
        let checked = start.elapsed();
        let insts = simt::counted(counting).total.warp_insts;
        println!(
            "2^{log}: sum {sum}, {insts} warp instructions: {bare:?} bare, {counted:?} counted, {checked:?} checked"
        );
    }
}
