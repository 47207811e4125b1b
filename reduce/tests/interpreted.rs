//! Every operation on every type, on the interpreter: right, and the same bits for every grid.

use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use reduce::{
    Element,
    shape::{CHUNKS, Shape, pick},
};
use simt::{Arg, Config, Counters, Gpu, Launch, Module, Schedule};

/// Runs an operation in the shape for `n` on a grid of at most `resident` blocks.
fn run<T: Element>(
    gpu: &mut Gpu,
    module: &Module,
    operation: &str,
    input: u64,
    n: u64,
    clusters: bool,
    resident: u32,
) -> u64 {
    let shape = pick(n, size_of::<T>() as u64, clusters);
    let output = gpu.alloc(8).unwrap();
    gpu.fill(output, 0, 8).unwrap();
    let state = gpu.alloc((2 + 2 * CHUNKS) * 8).unwrap();
    gpu.fill(state, 0, (2 + 2 * CHUNKS) * 8).unwrap();
    let mut args = vec![Arg::U64(input), Arg::U64(output), Arg::U64(n)];
    let (entry, grid, cluster) = match shape {
        Shape::Block { words } => (format!("block_{operation}_{words}"), 1, 1),
        Shape::Cluster { blocks, words } => {
            (format!("cluster_{operation}_{words}"), blocks, blocks)
        }
        Shape::Chunks { chunk, count } => {
            args.extend([Arg::U32(chunk), Arg::U32(count), Arg::U64(state)]);
            (format!("chunks_{operation}"), count.min(resident), 1)
        }
    };
    let launch = Launch {
        entry: &entry,
        grid: [grid, 1, 1],
        block: [shape.threads(), 1, 1],
        cluster: [cluster, 1, 1],
        shared: 0,
        args,
    };
    let mut word = [0; 8];
    // Twice: the state is left as it was found.
    for _ in 0..2 {
        gpu.launch(module, &launch, &mut Counters::default())
            .unwrap_or_else(|e| panic!("{entry}: {e}"));
        gpu.read(output, &mut word).unwrap();
    }
    let mut left = vec![1; (2 + 2 * CHUNKS as usize) * 8];
    gpu.read(state, &mut left).unwrap();
    assert!(left.iter().all(|&byte| byte == 0), "{entry} of {n} leaves its state changed");
    gpu.free(state).unwrap();
    gpu.free(output).unwrap();
    u64::from_le_bytes(word)
}

/// Sizes of one block, of every cluster, and of chunks that are not whole.
fn sizes<T>() -> Vec<u64> {
    let bytes =
        [0, 8, 1000, 16 << 10, (16 << 10) + 8, 64 << 10, 100_000, 200_000, 400_000, 600_008];
    bytes.into_iter().map(|bytes| bytes / size_of::<T>() as u64).collect()
}

/// Holds all sizes against what the host makes of the same values.
fn check<T: Element>(
    operation: &str,
    draw: impl Fn(&mut ChaCha8Rng) -> (T, Vec<u8>),
    expected: impl Fn(&[T]) -> T::Output,
    close: impl Fn(T::Output, T::Output, usize) -> bool,
) {
    for (clusters, ptx) in [false, true].into_iter().zip(reduce::ptx::<T>()) {
        let module = Module::parse(ptx).unwrap();
        for n in sizes::<T>() {
            let mut rng = ChaCha8Rng::seed_from_u64(n);
            let drawn: Vec<(T, Vec<u8>)> = (0..n).map(|_| draw(&mut rng)).collect();
            let values: Vec<T> = drawn.iter().map(|(value, _)| *value).collect();
            let bytes: Vec<u8> = drawn.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            let mut first = None;
            for (resident, schedule, shift) in [
                (528, Schedule::Converged, 0),
                (3, Schedule::Converged, 0),
                (2, Schedule::Adversarial(n), size_of::<T>() as u64),
            ] {
                let mut config = Config::default();
                config.schedule = schedule;
                let mut gpu = Gpu::with(config);
                let memory = gpu.alloc(bytes.len() as u64 + 16).unwrap();
                gpu.write(memory + shift, &bytes).unwrap();
                let word =
                    run::<T>(&mut gpu, &module, operation, memory + shift, n, clusters, resident);
                let result = T::from_word(word);
                let want = expected(&values);
                assert!(
                    close(result, want, values.len()),
                    "{operation} of {n} {}: {result:?}, not {want:?}",
                    std::any::type_name::<T>()
                );
                assert_eq!(*first.get_or_insert(word), word, "{operation} of {n}: other bits");
            }
        }
    }
}

macro_rules! integers {
    ($($test:ident $type:ty;)+) => {$(
        #[test]
        fn $test() {
            let draw = |rng: &mut ChaCha8Rng| {
                let value: $type = rng.random();
                (value, value.to_le_bytes().to_vec())
            };
            let equal = |a, b, _| a == b;
            let sum = |values: &[$type]| values.iter().fold(0, |a: $type, &b| a.wrapping_add(b));
            check::<$type>("sum", draw, sum, equal);
            check::<$type>("min", draw, |v| v.iter().copied().min().unwrap_or(<$type>::MAX), equal);
            check::<$type>("max", draw, |v| v.iter().copied().max().unwrap_or(<$type>::MIN), equal);
        }
    )+};
}
integers! { i32s i32; u32s u32; i64s i64; u64s u64; }

macro_rules! floats {
    ($($test:ident $type:ty, $output:ty, $roundoff:expr, $from:expr;)+) => {$(
        #[test]
        fn $test() {
            let draw = |rng: &mut ChaCha8Rng| {
                let from: fn(f32) -> $type = $from;
                let value = from(rng.random());
                (value, value.to_le_bytes().to_vec())
            };
            let wide = |v: &[$type]| -> Vec<f64> { v.iter().map(|&v| f64::from(v)).collect() };
            let close = |a: $output, b: $output, n: usize| {
                (f64::from(a) - f64::from(b)).abs() <= 64.0 * $roundoff * n as f64 + f64::from(a) * $roundoff
            };
            let equal = |a: $output, b: $output, _| a == b;
            check::<$type>("sum", draw, |v| wide(v).iter().sum::<f64>() as $output, close);
            check::<$type>("min", draw, |v| wide(v).into_iter().fold(f64::INFINITY, f64::min) as $output, equal);
            check::<$type>("max", draw, |v| wide(v).into_iter().fold(f64::NEG_INFINITY, f64::max) as $output, equal);
        }
    )+};
}
floats! {
    f32s f32, f32, 2f64.powi(-24), |v| v;
    f64s f64, f64, 2f64.powi(-53), f64::from;
    f16s f16, f32, 2f64.powi(-24), f16::from_f32;
    bf16s bf16, f32, 2f64.powi(-24), bf16::from_f32;
}
