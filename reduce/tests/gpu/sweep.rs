//! Tests that thousands of exact sums of up to 2^26 elements have the same bits as on the host,
//! even if the elements are shuffled or are added in accumulators on one or two GPUs.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DeviceRepr};
use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use samebits::{Accumulator, ExactAccumulator, ExactElement, Reducer, host};

use crate::{
    Gpu, gpu,
    inputs::{Drawn, KINDS, draw},
    reference::{Wide, check_sum},
};

/// The number of elements that are drawn, which is prime. Longer inputs repeat these elements.
const DRAWN: usize = 1_000_003;

/// The maximum number of elements of an input.
const LONGEST: f64 = (1 << 26) as f64;

/// Adds inputs of one kind, and returns their number, and the number of those that are shuffled.
fn inputs_of<T: Drawn + DeviceRepr + ExactElement<Output: Wide>>(
    streams: &[Arc<CudaStream>],
    kind: usize,
    count: u64,
) -> (u64, u64) {
    let name = format!("{} {}", KINDS[kind], std::any::type_name::<T>());
    // The construction of ill-conditioned data takes n² additions.
    let drawn = if KINDS[kind] == "ill-conditioned" { 2003 } else { DRAWN };
    let few: Vec<T> = draw(kind, drawn, 34);
    let room = LONGEST as usize + DRAWN;
    let values: Vec<T> = few.into_iter().cycle().take(room).collect();
    let on = |stream: &Arc<CudaStream>| {
        (Reducer::<T>::new(stream).unwrap(), stream.clone_htod(&values).unwrap())
    };
    let devices: Vec<_> = streams.iter().map(on).collect();
    let rng = &mut ChaCha8Rng::seed_from_u64(kind as u64);
    let mut shuffled = 0;
    for input in 0..count {
        let n = LONGEST.powf(rng.random::<f64>()) as usize;
        let begin = rng.random_range(0..DRAWN);
        let what = format!("input {input}: {n} {name} from {begin}");
        let slice = &values[begin..begin + n];
        let sum = host::exact_sum(slice);
        if n <= 1 << 12 {
            check_sum(slice, sum, &what);
        }
        let expected = sum.to_bits64();
        let (reducer, device) = &devices[input as usize % devices.len()];
        let found = reducer.exact_sum(&device.slice(begin..begin + n)).unwrap().to_bits64();
        assert_eq!(found, expected, "{what}: {found:#x} instead of {expected:#x}");

        let mut cuts: Vec<usize> =
            (1..rng.random_range(1..=7)).map(|_| rng.random_range(0..=n)).collect();
        cuts.extend([0, n]);
        cuts.sort_unstable();
        let mut parts: Vec<_> = cuts.windows(2).map(|ends| ends[0]..ends[1]).collect();
        parts.shuffle(rng);
        let mut merged = ExactAccumulator::new();
        for (k, part) in parts.iter().enumerate() {
            let (reducer, device) = &devices[k % devices.len()];
            let view = device.slice(begin + part.start..begin + part.end);
            merged.merge(&reducer.exact_accumulator(&view).unwrap()).unwrap();
        }
        assert_eq!(merged.round().to_bits64(), expected, "{what}, in parts {parts:?}");
        assert_eq!(merged.count(), n as u64, "{what}");

        if n <= 1 << 20 {
            let mut other = slice.to_vec();
            other.shuffle(rng);
            let other = streams[0].clone_htod(&other).unwrap();
            let found = devices[0].0.exact_sum(&other).unwrap().to_bits64();
            assert_eq!(found, expected, "{what}, shuffled");
            shuffled += 1;
        }
    }
    (count, shuffled)
}

#[test]
#[ignore = "takes a minute on a GPU: xtask/gpu.sh runs it"]
fn ten_thousand_inputs_on_a_gpu() {
    let Some(Gpu { stream, _turn, .. }) = gpu() else { return };
    let mut streams = vec![stream];
    streams.extend(samebits::open(1).ok());
    let count = std::env::var("EXACT_INPUTS").map_or(10_080, |count| count.parse().unwrap());
    let each = count / (4 * KINDS.len() as u64);
    let mut done = [0; 2];
    for (kind, name) in KINDS.iter().enumerate() {
        for (inputs, shuffled) in [
            inputs_of::<f32>(&streams, kind, each),
            inputs_of::<f64>(&streams, kind, each),
            inputs_of::<f16>(&streams, kind, each),
            inputs_of::<bf16>(&streams, kind, each),
        ] {
            done = [done[0] + inputs, done[1] + shuffled];
        }
        println!("{name}: {} inputs so far", done[0]);
    }
    println!(
        "{} inputs of up to 2^26 elements on {} GPUs, {} of them also shuffled: 0 differing bits",
        done[0],
        streams.len(),
        done[1]
    );
}
