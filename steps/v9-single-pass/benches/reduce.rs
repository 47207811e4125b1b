//! Benchmarks this step: `cargo bench -p v9-single-pass`.

fn main() {
    bench::main(&v9_single_pass::STEP);
}
