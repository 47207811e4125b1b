//! Benchmarks this step: `cargo bench -p v3-first-add`.

fn main() {
    bench::main(&v3_first_add::STEP);
}
