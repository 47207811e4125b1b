//! Benchmarks this step: `cargo bench -p v0-naive`.

fn main() {
    bench::main(&v0_naive::STEP);
}
