//! Benchmarks this step: `cargo bench -p v6-shuffle`.

fn main() {
    bench::main(&v6_shuffle::STEP);
}
