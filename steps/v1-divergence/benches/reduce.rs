//! Benchmarks this step: `cargo bench -p v1-divergence`.

fn main() {
    bench::main(&v1_divergence::STEP);
}
