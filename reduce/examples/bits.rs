//! Prints the bits of sums over awkward numbers of elements, computed on the host: `cargo run -p
//! samebits --example bits`.
//!
//! The output must be the same on every machine. `.ci/foreign --run` compares the output of other
//! systems with that of this system.

use half::{bf16, f16};
use samebits::host;

/// The sizes: zero, one, neighbours of powers of two, and two large sizes.
const SIZES: [usize; 13] =
    [0, 1, 31, 32, 33, 63, 65, 255, 257, 1023, 1025, (1 << 20) + 13, 1_572_941];

fn main() {
    for n in SIZES {
        // The elements are quotients of integers, which every machine rounds in the same way.
        let drawn = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / 1000.0 - 8000.0;
        let doubles: Vec<f64> = (0..n as u32).map(drawn).collect();
        let floats: Vec<f32> = doubles.iter().map(|&x| x as f32).collect();
        let halves: Vec<f16> = doubles.iter().map(|&x| f16::from_f64(x)).collect();
        let brains: Vec<bf16> = doubles.iter().map(|&x| bf16::from_f64(x)).collect();
        println!(
            "{n:>8} f32 {:08x} f64 {:016x} f16 {:08x} bf16 {:08x} max {:08x}",
            host::sum(&floats).to_bits(),
            host::sum(&doubles).to_bits(),
            host::sum(&halves).to_bits(),
            host::sum(&brains).to_bits(),
            host::max(&floats).to_bits(),
        );
    }
}
