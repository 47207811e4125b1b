//! Times sums computed by cubek-reduce, with several numbers of cubes, and by samebits. Prints the
//! time of each call and the bits of its result as CSV.
//!
//! The elements are on the device, and a call is timed until the sum is on the host. Each function
//! is called once in each round; every other round calls the functions in reverse order.

use std::time::Instant;

use cubecl::{
    Runtime,
    cuda::{CudaDevice, CudaRuntime},
    ir::{ElemType, FloatKind},
    prelude::*,
};
use cubek_reduce::shared_sum;
use samebits::{Reducer, host};

/// The numbers of cubes that are timed: 1, the largest number that burn's tuner tries, and one and
/// four cubes for each multiprocessor of an H200.
const CUBES: [u32; 4] = [1, 64, 132, 528];
const POWERS: [u32; 6] = [10, 14, 18, 22, 26, 28];
const ROUNDS: usize = 100;

type Client = ComputeClient<CudaRuntime>;

/// Computes the sum of `n` floats with `cubes` cubes. The cubes add their sums to one output, which
/// this function first sets to zero.
fn cubek(client: &Client, input: &cubecl::server::Handle, n: usize, cubes: u32) -> f32 {
    let output = client.create_from_slice(&0f32.to_le_bytes());
    // SAFETY: `input` has `n` floats, and `output` has one.
    let (x, y) = unsafe {
        (binding(input.clone(), n), binding(output.clone(), 1))
    };
    shared_sum::<CudaRuntime>(client, x, y, cubes, ElemType::Float(FloatKind::F32))
        .unwrap_or_else(|error| panic!("cubek-reduce with {cubes} cubes: {error:?}"));
    let bytes = client.read_one_unchecked(output);
    f32::from_le_bytes(bytes[..4].try_into().expect("a float has four bytes"))
}

/// # Safety
/// The buffer must have `n` floats.
unsafe fn binding(handle: cubecl::server::Handle, n: usize) -> TensorBinding<CudaRuntime> {
    // SAFETY: guaranteed by the caller.
    unsafe { TensorBinding::from_raw_parts(handle, [1].into(), [n].into()) }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("way,clock,elements,round,ns,bits");
    let client = CudaRuntime::client(&CudaDevice::new(0));
    let stream = samebits::open(0)?;
    let reducer = Reducer::<f32>::new(&stream)?;
    for power in POWERS {
        let n = 1usize << power;
        let values: Vec<f32> = (0..n).map(|i| (i as u32).wrapping_mul(2_654_435_761) as f32 / 4e9).collect();
        let expected = host::sum(&values);
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let (there, here) = (client.create_from_slice(&bytes), stream.clone_htod(&values)?);
        let mut ways: Vec<(String, Box<dyn Fn() -> f32 + '_>)> = Vec::new();
        for cubes in CUBES {
            let (client, there) = (&client, &there);
            ways.push((format!("cubek {cubes}"), Box::new(move || cubek(client, there, n, cubes))));
        }
        let ours = || reducer.sum(&here).expect("a valid slice can be summed");
        ways.push(("samebits".into(), Box::new(ours)));
        for _ in 0..3 {
            for (_, sum) in &ways {
                sum();
            }
        }
        for call in 0..ROUNDS {
            let mut order: Vec<_> = ways.iter().collect();
            if call % 2 == 1 {
                order.reverse();
            }
            for (name, sum) in order {
                // One cube takes 45 ms for the longest slice.
                if name == "cubek 1" && power > 26 && call >= 20 {
                    continue;
                }
                let start = Instant::now();
                let sum = sum();
                let ns = start.elapsed().as_nanos();
                println!("{name},host,{n},{call},{ns},{:08x}", sum.to_bits());
                if name == "samebits" && sum.to_bits() != expected.to_bits() {
                    return Err(format!("the sum on the device is {sum}, but on the host it is {expected}").into());
                }
            }
        }
    }
    Ok(())
}
