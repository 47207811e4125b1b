//! Benchmarks this step: `cargo bench -p v8-wide-loads`.

fn main() {
    bench::main(&v8_wide_loads::STEP);
}
