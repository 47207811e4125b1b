//! Compares the sums of seven steps with plain Rust under every schedule, and their counts with the
//! hardware's.

use simt::{Arg, Config, Counters, Gpu, Launch, Module, Schedule, Watch, counted, counting};

/// Sizes around the edges of warps, blocks and tiles.
const SIZES: [usize; 14] =
    [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1025, (1 << 16) + 13];

macro_rules! ptx {
    ($($step:literal),+) => {
        [$((
            $step,
            include_str!(concat!("../../steps/", $step, "/src/kernel.f32.ptx")),
            include_str!(concat!("../../steps/", $step, "/src/kernel.i32.ptx")),
            include_str!(concat!("../../steps/", $step, "/src/kernel.f64.ptx")),
        )),+]
    };
}

const STEPS: [(&str, &str, &str, &str); 7] = ptx!(
    "v0-naive",
    "v1-divergence",
    "v2-bank-conflicts",
    "v3-first-add",
    "v4-unroll-warp",
    "v5-template-unroll",
    "v6-shuffle"
);

/// Reduces on the device by repeated launches, until one value is left.
fn sum(
    gpu: &mut Gpu,
    step: usize,
    text: &str,
    block: u32,
    size: usize,
    data: &[u8],
    mut watch: Option<&mut Watch>,
) -> Vec<u8> {
    let module = Module::parse(text).unwrap();
    let entry = if step >= 5 { format!("reduce_{block}") } else { "reduce".to_string() };
    let tile = if step >= 3 { 2 * block } else { block } as usize;
    let mut n = data.len() / size;
    let mut input = gpu.alloc(data.len() as u64).unwrap();
    gpu.write(input, data).unwrap();
    loop {
        let grid = n.div_ceil(tile).max(1);
        let output = gpu.alloc((grid * size) as u64).unwrap();
        let launch = Launch {
            entry: &entry,
            grid: [grid as u32, 1, 1],
            block: [block, 1, 1],
            cluster: [1, 1, 1],
            shared: (if step >= 6 { 32 } else { block as usize } * size) as u32,
            args: vec![Arg::U64(input), Arg::U64(output), Arg::U64(n as u64)],
        };
        gpu.launch_watched(&module, &launch, watch.as_deref_mut()).unwrap();
        gpu.free(input).unwrap();
        (input, n) = (output, grid);
        if n == 1 {
            let mut bytes = vec![0; size];
            gpu.read(input, &mut bytes).unwrap();
            gpu.free(input).unwrap();
            return bytes;
        }
    }
}

fn value(i: usize) -> i32 {
    (i as i32).wrapping_mul(37) % 19 - 9
}

fn check(schedule: Schedule) {
    for (step, (name, f32s, i32s, f64s)) in STEPS.iter().enumerate() {
        for n in SIZES {
            let values: Vec<i32> = (0..n).map(value).collect();
            let want: i32 = values.iter().sum();
            for block in [64, 256] {
                let mut config = Config::default();
                config.schedule = schedule;
                let mut gpu = Gpu::with(config);
                let what = format!("{name} n={n} block={block} {schedule}");
                let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                let got = sum(&mut gpu, step, i32s, block, 4, &data, None);
                assert_eq!(i32::from_le_bytes(got.try_into().unwrap()), want, "{what} i32");
                // Sums of small integers are exact in any order.
                let data: Vec<u8> = values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect();
                let got = sum(&mut gpu, step, f32s, block, 4, &data, None);
                assert_eq!(f32::from_le_bytes(got.try_into().unwrap()), want as f32, "{what} f32");
                let data: Vec<u8> =
                    values.iter().flat_map(|v| f64::from(*v).to_le_bytes()).collect();
                let got = sum(&mut gpu, step, f64s, block, 8, &data, None);
                assert_eq!(
                    f64::from_le_bytes(got.try_into().unwrap()),
                    f64::from(want),
                    "{what} f64"
                );
            }
        }
    }
}

#[test]
fn converged_sums_are_correct() {
    check(Schedule::Converged);
}

#[test]
fn min_pc_sums_are_correct() {
    check(Schedule::MinPc);
}

#[test]
fn adversarial_sums_are_correct() {
    check(Schedule::Adversarial(1));
}

/// The interpreter's counts for a full block of 256 threads equal ncu's counts on an H200.
#[test]
fn counts_equal_the_hardware_s() {
    let want = [
        // The columns are loads, stores, wavefronts of each, conflicts of each, and divergent
        // branches.
        [95, 55, 95, 55, 0, 0, 48],
        [25, 20, 95, 55, 70, 35, 6],
        [25, 20, 25, 20, 0, 0, 6],
    ];
    for (step, want) in want.into_iter().enumerate() {
        let data: Vec<u8> = (0..256).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let mut watch = counting(Counters::default());
        sum(&mut Gpu::new(), step, STEPS[step].1, 256, 4, &data, Some(&mut watch));
        let c = &counted(watch).total;
        let got = [
            c.shared_ld,
            c.shared_st,
            c.shared_ld_wavefronts,
            c.shared_st_wavefronts,
            c.shared_ld_conflicts,
            c.shared_st_conflicts,
            c.divergent_branches,
        ];
        assert_eq!(got, want, "{}", STEPS[step].0);
        assert_eq!(
            [c.global_ld_requests, c.global_ld_sectors, c.global_st_requests, c.global_st_sectors],
            [8, 32, 1, 1]
        );
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let data: Vec<u8> = (0..100_000).flat_map(|i| (i as f32 * 0.1).to_le_bytes()).collect();
    let run = |threads| {
        let mut config = Config::default();
        config.threads = threads;
        let mut watch = counting(Counters::per_block());
        let sum = sum(&mut Gpu::with(config), 0, STEPS[0].1, 128, 4, &data, Some(&mut watch));
        let blocks: Vec<_> = counted(watch)
            .launches
            .iter()
            .map(|l| (l.blocks.clone(), l.lines.clone(), l.rounds.clone()))
            .collect();
        (sum, blocks)
    };
    assert_eq!(run(1), run(4));
}
