//! Benchmarks this step: `cargo bench -p v13-exact-sum`.

fn main() {
    bench::main(&v13_exact_sum::STEP);
}
